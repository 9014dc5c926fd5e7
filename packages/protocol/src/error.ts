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
  "store.pending",
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
  "changes.cursor",
  "changes.gone",
  "sync.malformed",
  "remote.refused",
  "cluster.elsewhere",
  "cluster.unanswered",
] as const;

/**
 * The code of a {@link PeerError}. docs/errors.md has an entry for each.
 *
 * @example
 * const retried: readonly ErrorCode[] = ["store.busy", "query.busy"];
 */
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * A place in the text of a statement.
 *
 * @example
 * const mark = ({ line, column }: TextPlace): string => `${line}:${column}`;
 * console.log(mark({ line: 1, column: 8, near: "FORM" })); // 1:8
 */
export interface TextPlace {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1. */
  readonly column: number;
  /** The text that begins there. */
  readonly near: string;
}

/**
 * More about a {@link PeerError}, for its constructor.
 *
 * @example
 * const details: ErrorDetails = { at: "fields.price", hint: "write 2 instead of two" };
 * const error = new PeerError("value.invalid", "expected a number", details);
 * console.log(error.message); // expected a number at fields.price; write 2 instead of two
 */
export interface ErrorDetails {
  /** Where in the input the fault is, for instance `fields.price` or `line 2, column 8`. */
  readonly at?: string | undefined;
  /** The same for a statement; `at` is then made from it. */
  readonly place?: TextPlace | undefined;
  /** What would have been valid there. */
  readonly expected?: string | undefined;
  /** What was probably meant, or a remedy; the message ends with it. */
  readonly hint?: string | undefined;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

/**
 * An error with a code. The caller or the environment caused it: bad input, a full disk, a folder
 * in use.
 *
 * @example
 * try {
 *   await peer.store.execute("SELECT * FORM tasks");
 * } catch (error) {
 *   if (!(error instanceof PeerError)) throw error;
 *   console.log(error.code, error.place?.line, error.place?.column); // query.syntax 1 10
 * }
 */
export class PeerError extends Error {
  /** What kind of error it is, for programs. */
  readonly code: ErrorCode;
  /** Where in the input the fault is, for instance `fields.price`. */
  readonly at: string | undefined;
  /** Of a statement: line and column of the fault. */
  readonly place: TextPlace | undefined;
  /** What would have been valid there. */
  readonly expected: string | undefined;
  /** What was probably meant, or a remedy. */
  readonly hint: string | undefined;
  /** What is wrong, without place and hint. */
  readonly reason: string;

  /** Also true of an error of another copy of this class: code that a browser loads late has its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "PeerError";
  }

  /**
   * Creates an error. Its message is `message`, then the place and the hint.
   *
   * @param code - What kind of error it is.
   * @param message - What is wrong, without place and hint.
   * @param details - Place, hint and cause.
   */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const at = details.at ?? (details.place && describePlace(details.place));
    const place = at === undefined ? "" : ` at ${at}`;
    const hint = details.hint === undefined ? "" : `; ${details.hint}`;
    super(message + place + hint, details.cause === undefined ? undefined : details);
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
