/**
 * Ditto error: the error class of the entry, with the codes of the reference SDK. An error of the
 * peer becomes one of them, and keeps the place in the statement and the hint.
 */

const CODES_AND_MESSAGES = {
  internal: "an error inside the SDK",
  unknown: "an error of unknown kind",
  unsupported: "this environment does not support the feature",
  "authentication/failed-to-authenticate": "the server did not accept the login",
  "authentication/expiration-handler-missing":
    "expected an expiration handler before sync starts; call auth.setExpirationHandler first",
  "io/already-exists": "the file or folder exists already",
  "io/not-found": "the file or folder does not exist",
  "io/permission-denied": "no permission for the file or folder",
  "io/operation-failed": "failed to read or write a file",
  "query/arguments-invalid": "the arguments of the query are not valid",
  "query/evaluation": "the query cannot be evaluated on these documents",
  "query/execution": "the query cannot be executed",
  "query/invalid": "the query is not valid",
  "query/unsupported": "the query has a feature that is not supported here",
  "query/parameter": "the system parameter cannot be set",
  "store/backend": "an error of the storage",
  "store/crdt": "the document cannot be changed in this way",
  "store/document-not-found": "there is no document with this id",
  "store/transaction-read-only": "expected a query that only reads in a read-only transaction",
  "store/document-id": "the id of the document is not valid",
  "store/persistence-directory-locked": "another instance has the persistence directory open",
  "store/attachment-file-permission-denied": "no permission for the file of the attachment",
  "store/attachment-file-not-found": "the file of the attachment does not exist",
  "store/attachment-not-found": "there is no such attachment",
  "store/attachment-token-invalid": "the token of the attachment is not valid",
  "store/failed-to-create-attachment": "failed to create the attachment",
  "store/failed-to-fetch-attachment": "failed to fetch the attachment",
  "activation/license-token-verification-failed": "the license token is not valid",
  "activation/license-token-expired": "the license token has expired",
  "activation/license-token-unsupported-future-version": "the license token is of a newer version",
  "activation/not-activated": "the instance is not activated",
  "activation/unnecessary": "the instance needs no activation",
  "validation/depth-limit-exceeded": "the value has too many levels",
  "validation/invalid-cbor": "expected CBOR",
  "validation/invalid-json": "expected JSON",
  "validation/invalid-transport-config": "the transport config is not valid",
  "validation/invalid-ditto-config": "the config is not valid",
  "validation/not-an-object": "expected an object",
  "validation/not-json-compatible": "expected a value that JSON can hold",
  "validation/size-limit-exceeded": "the value is too large",
  "encryption/extraneous-passphrase-given": "the store is not encrypted and takes no passphrase",
  "differ/identity-key-path-invalid": "the path of an identity key is not valid",
} as const;

/** The code of a {@link DittoError}: `domain/reason`. */
export type ErrorCode = keyof typeof CODES_AND_MESSAGES;

/** The codes, each with the message of an error that has no message of its own. */
export const ERROR_CODES: Readonly<Record<ErrorCode, string>> = CODES_AND_MESSAGES;

/** What an error has besides code and message. */
export interface DittoErrorDetails {
  /** Line of the fault in the statement, from 1. */
  readonly line?: number | undefined;
  /** Column of the fault, from 1. */
  readonly column?: number | undefined;
  /** What was probably meant, or a remedy. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** An error of this entry. `code` says which. */
export class DittoError extends Error {
  readonly code: ErrorCode;
  /** Line and column of the fault in a statement, and what was probably meant. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message?: string | null, details: DittoErrorDetails = {}) {
    const { cause } = details;
    super(message ?? ERROR_CODES[code], cause === undefined ? undefined : { cause });
    this.name = "DittoError";
    this.code = code;
    this.line = details.line;
    this.column = details.column;
    this.hint = details.hint;
  }
}

/** Codes of the peer and of this entry. Those that are not listed become `unknown`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  "query.syntax": "query/invalid",
  "query.semantic": "query/invalid",
  "query.collection": "query/invalid",
  "query.arguments": "query/arguments-invalid",
  "value.invalid": "query/arguments-invalid",
  "query.evaluation": "query/evaluation",
  "query.parameter": "query/parameter",
  "query.store": "query/execution",
  "query.timeout": "query/execution",
  "query.too_large": "query/execution",
  "query.busy": "query/execution",
  "operation.refused": "query/execution",
  "operation.invalid": "store/crdt",
  "id.invalid": "store/document-id",
  "json.syntax": "validation/invalid-json",
  "cbor.malformed": "validation/invalid-cbor",
  "store.in_use": "store/persistence-directory-locked",
  "store.write_failed": "store/backend",
  "store.full": "store/backend",
  "store.busy": "store/backend",
  "store.foreign": "store/backend",
  "store.corrupt": "store/backend",
  "store.format_newer": "store/backend",
  "store.closed": "internal",
  "config.invalid": "validation/invalid-ditto-config",
  "attachment.invalid": "store/attachment-token-invalid",
  "attachment.too_large": "store/failed-to-create-attachment",
  "permission.denied": "authentication/failed-to-authenticate",
};

/** The fields of a PeerError that are used. It may be of another copy of the class. */
interface PeerErrorFields {
  readonly code?: unknown;
  readonly hint?: unknown;
  readonly place?: { readonly line: number; readonly column: number } | undefined;
}

/** Other codes for errors of one call, by the code of the peer. */
export type OtherCodes = Readonly<Record<string, ErrorCode>>;

/** The error as a DittoError. Errors of the app stay as they are. */
export function dittoError(error: unknown, others: OtherCodes = {}): unknown {
  if (!(error instanceof Error) || error.name !== "PeerError") return error;
  const { code, hint, place } = error as PeerErrorFields;
  const known = others[String(code)] ?? CODES[String(code)] ?? "unknown";
  return new DittoError(known, error.message, {
    line: place?.line,
    column: place?.column,
    hint: typeof hint === "string" ? hint : undefined,
    cause: error,
  });
}

/** Runs code of the peer, and throws its errors as DittoErrors. */
export function withDittoErrors<T>(run: () => T, others?: OtherCodes): T {
  try {
    return run();
  } catch (error) {
    throw dittoError(error, others);
  }
}

/** The same for a promise. */
export async function asDittoErrors<T>(run: () => T | Promise<T>, others?: OtherCodes): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw dittoError(error, others);
  }
}
