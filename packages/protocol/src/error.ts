/**
 * The one error class of the system, and the closed set of its codes.
 *
 * A PeerError is the caller's fault or the world's fault: bad input, a full disk, a folder in use.
 * Our own mistakes are assertions (assert.ts). Every code has an entry in docs/errors.md.
 */

export const ERROR_CODES = [
  "value.invalid",
  "id.invalid",
  "json.syntax",
  "cbor.malformed",
  "state.malformed",
  "operation.invalid",
  "operation.refused",
  "clock.ahead",
  "clock.exhausted",
  "store.write_failed",
  "store.full",
  "store.closed",
  "store.busy",
  "store.snapshot_expired",
  "store.in_use",
  "store.format_newer",
  "store.foreign",
  "store.corrupt",
  "store.not_empty",
  "config.invalid",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetails {
  /** Where in the input the fault lies, for instance `fields.price` or `line 2, column 8`. */
  readonly at?: string;
  readonly cause?: unknown;
}

export class PeerError extends Error {
  readonly code: ErrorCode;
  readonly at: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const place = details.at === undefined ? "" : ` at ${details.at}`;
    super(message + place, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "PeerError";
    this.code = code;
    this.at = details.at;
  }
}
