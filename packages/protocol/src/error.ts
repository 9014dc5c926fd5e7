/**
 * PeerError: the one error class of the system, with the closed set of its codes.
 *
 * A PeerError is caused by the caller or the environment: bad input, a full disk, a folder in use.
 * Programming errors are assertions (assert.ts). Every code has an entry in docs/errors.md.
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
  "query.syntax",
  "query.semantic",
  "query.evaluation",
  "query.arguments",
  "query.parameter",
  "query.store",
  "query.timeout",
  "query.too_large",
  "query.busy",
  "query.collection",
  "attachment.invalid",
  "attachment.too_large",
  "idempotency.conflict",
  "idempotency.too_large",
  "permission.denied",
  "sync.malformed",
  "remote.refused",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** A place in the text of a user: lines and columns from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
  /** The text that begins there. */
  readonly near: string;
}

export interface ErrorDetails {
  /** Where in the input the fault is, for instance `fields.price` or `line 2, column 8`. */
  readonly at?: string;
  /** The same for a statement; `at` is then made from it. */
  readonly place?: TextPlace | undefined;
  /** What would have been valid there. */
  readonly expected?: string | undefined;
  /** What was probably meant, or a remedy; the message ends with it. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

export class PeerError extends Error {
  readonly code: ErrorCode;
  readonly at: string | undefined;
  readonly place: TextPlace | undefined;
  readonly expected: string | undefined;
  readonly hint: string | undefined;
  /** What is wrong, without place and hint. */
  readonly reason: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const at = details.at ?? (details.place && describePlace(details.place));
    const place = at === undefined ? "" : ` at ${at}`;
    const hint = details.hint === undefined ? "" : `; ${details.hint}`;
    super(
      message + place + hint,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = "PeerError";
    this.code = code;
    this.at = at;
    this.place = details.place;
    this.expected = details.expected;
    this.hint = details.hint;
    this.reason = message;
  }
}

function describePlace({ line, column, near }: TextPlace): string {
  const where = `line ${line}, column ${column}`;
  return near === "" ? `${where} (the end)` : `${where}, near \`${near}\``;
}
