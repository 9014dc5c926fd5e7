/**
 * Query arguments: values for the parameters of a statement, as apps pass them, and as the peer takes
 * them.
 */

import { encodeCbor, type Value } from "@bigpeer/protocol";
import { Attachment } from "./attachment.ts";
import { jsonText } from "./json-text.ts";

export type DQLQueryArgumentValue =
  | string
  | number
  | boolean
  | Uint8Array
  | null
  | Attachment
  | bigint
  | DQLQueryArgumentValue[]
  | { [key: string]: DQLQueryArgumentValue };

export type DQLQueryArguments = { [key: string]: DQLQueryArgumentValue | undefined };

/**
 * The arguments for the peer: an attachment becomes its token, and a parameter that is undefined
 * becomes null. Undefined if there are none.
 */
export function peerArguments(
  given: DQLQueryArguments | null | undefined,
): Record<string, unknown> | undefined {
  if (given === undefined || given === null) return undefined;
  const entries = Object.entries(given).map(([name, value]) => [name, plainValue(value ?? null)]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function plainValue(value: unknown): unknown {
  if (value instanceof Attachment) return { ...value.token };
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== "object" || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, plainValue(field)]),
  );
}

/** The query of an observer or a subscription, with copies of its arguments. */
export class BoundQuery {
  readonly queryString: string;
  readonly peerArguments: Record<string, unknown> | undefined;

  constructor(query: string, given: DQLQueryArguments | null | undefined) {
    this.queryString = query;
    this.peerArguments = peerArguments(given);
  }

  /** A copy that cannot be changed. */
  get queryArguments(): Readonly<Record<string, unknown>> | undefined {
    return this.peerArguments && Object.freeze({ ...this.peerArguments });
  }

  get queryArgumentsCBORData(): Uint8Array | undefined {
    return this.peerArguments && encodeCbor(this.peerArguments as Value);
  }

  get queryArgumentsJSONString(): string | undefined {
    return this.peerArguments && jsonText(this.peerArguments as Value);
  }
}
