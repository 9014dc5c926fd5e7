/**
 * Remote statements: the request for a statement and the devices that it is for.
 */
import { parseExact } from "@bigpeer/client/exact-json";
import type { Fields } from "./device-answers.ts";

export interface RemoteForm {
  /** `all`, `one` device by its key, or those for which a condition holds. */
  readonly target: "all" | "one" | "condition";
  readonly device: string;
  readonly condition: string;
  readonly statement: string;
  /** Values of the parameters, as JSON. */
  readonly args: string;
}

export interface RemoteRequest {
  readonly statement: string;
  readonly args: Fields;
}

/** Parameter for the key of the device; a statement has no such name of its own. */
const KEY = "bigpeerDeviceKey";

/** Throws an Error that names the field to correct. */
export function remoteRequest(form: RemoteForm): RemoteRequest {
  const statement = form.statement.trim();
  if (statement === "") throw new Error("expected a statement");
  const args = readArgs(form.args);
  switch (form.target) {
    case "all":
      return { statement: `SYNC CONTEXT ( PEERS ) ${statement}`, args };
    case "one": {
      if (form.device === "") throw new Error("expected a device");
      const context = `SYNC CONTEXT ( PEERS WHERE peerKeyString = :${KEY} )`;
      return { statement: `${context} ${statement}`, args: { ...args, [KEY]: form.device } };
    }
    default: {
      const condition = form.condition.trim();
      if (condition === "") throw new Error("expected a condition for the devices");
      return { statement: `SYNC CONTEXT ( PEERS WHERE ${condition}\n) ${statement}`, args };
    }
  }
}

function readArgs(text: string): Fields {
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    throw new Error('expected parameters in JSON, such as {"open": true}');
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error('expected parameters as an object, such as {"open": true}');
  }
  return value as Fields;
}

export interface RemoteResult {
  readonly peer: { readonly peerKeyString: string; readonly deviceName?: string };
  readonly items: readonly Fields[];
  readonly elapsedMilliseconds?: number;
  readonly warnings?: readonly { readonly description: string }[];
  readonly error?: { readonly description: string };
}

const CODE_AT_END = /^(.*) \(([a-z_.]+)\)$/s;

/** What to do about the failure on a device; undefined if its description says it all. */
export function remoteAdvice(description: string): string | undefined {
  const [, , code = ""] = CODE_AT_END.exec(description) ?? [];
  return ADVICE[code];
}

const ADVICE: Readonly<Record<string, string>> = {
  "remote.refused": "The app on the device decides which statements it runs.",
  "remote.lost": "The device left before it answered. A write may have taken effect there.",
  "query.timeout": "The device did not answer in time. Try again, or ask for fewer rows.",
  "query.busy": "The device has too much to do. Try again later.",
  "query.too_large": "Ask for fewer rows with LIMIT, or select fewer devices.",
};
