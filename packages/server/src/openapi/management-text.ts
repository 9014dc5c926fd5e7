/**
 * Management text: what the OpenAPI document of the management API says about one operation, beside
 * what the schemas say.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Method } from "../management/management-endpoint.ts";

export interface ManagementText {
  readonly operationId: string;
  readonly method: Method;
  /** Path of a resource, after the Big Peer. */
  readonly path: string;
  /** Whether the path has no Big Peer. */
  readonly isOutside?: boolean;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Title of the schema of the body. */
  readonly request?: string;
  readonly requestExample?: Value;
  readonly isBodyOptional?: boolean;
  /** Title of the schema of the answer. */
  readonly response: string;
  readonly example: Value;
  /** Parameters of the query beside those of a list. */
  readonly query?: readonly ValueObject[];
  /** Whether the answer is a list with `?page=&size=`. */
  readonly isList?: boolean;
  /** Meaning of 409, if the operation has it. */
  readonly conflict?: string;
}

/** Of the lists in examples. */
export const META: Value = { page: 1, size: 1, totalPages: 1 };
