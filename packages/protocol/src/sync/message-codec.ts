/**
 * Message codec: encodes sync messages as CBOR, and decodes them with a check of every field. A
 * fault throws PeerError `sync.malformed`, which names the place (rule S1).
 */

import { ByteReader } from "../bytes.ts";
import { encodeCbor, readCbor } from "../cbor.ts";
import { COST_PER_STEP, type DecodeLimits, readCborIncremental } from "../cbor-incremental.ts";
import { encodeCborIncremental } from "../cbor-writing.ts";
import { PeerError } from "../error.ts";
import { getField, isObject, type Value, type ValueObject } from "../value.ts";
import { decodeLimits, hasTooManyContainers, takesMoreThan } from "./container-count.ts";
import {
  describeFields,
  type FieldChecks,
  Misfit,
  readFields,
  readFieldsIncremental,
} from "./field-check.ts";
import {
  type LinkMessage,
  type PeerMessage,
  type ServerMessage,
  SYNC_MESSAGE_BYTES_MAX,
} from "./message.ts";
import { LINK_FIELDS, PEER_FIELDS, SERVER_FIELDS } from "./message-fields.ts";

/** Nesting levels of a message around a value of a document, at most: those of an outcome. */
const LEVELS_AROUND = 8;

/**
 * Messages in which a peer describes itself, whose fields have bounds far below this size. Finding
 * out that a field is too large takes as long as decoding it.
 */
const SMALL_KINDS: ReadonlySet<string> = new Set(["hello", "metadata", "token"]);
const SMALL_BYTES_MAX = 512 * 1024;

type Kinds = { readonly [kind: string]: FieldChecks };

export function encodeMessage(message: PeerMessage | ServerMessage | LinkMessage): Uint8Array {
  return encodeCbor(message as unknown as Value);
}

/** As encodeMessage, with pauses where it takes long. */
export function encodeMessageIncremental(
  message: PeerMessage | ServerMessage | LinkMessage,
): Generator<void, Uint8Array, void> {
  return encodeCborIncremental(message as unknown as Value);
}

/** Decodes a message of a small peer, on the server. */
export function decodePeerMessage(bytes: Uint8Array): PeerMessage {
  requireSize(bytes);
  if (hasTooManyContainers(bytes)) {
    const message = "expected fewer lists, objects and binary values for so many bytes";
    throw new PeerError("sync.malformed", message);
  }
  return decode(bytes, PEER_FIELDS) as unknown as PeerMessage;
}

/** As decodePeerMessage, with pauses where it takes long. */
export function* decodePeerMessageIncremental(bytes: Uint8Array): Generator<void, PeerMessage> {
  if (!takesMoreThan(COST_PER_STEP, bytes)) return decodePeerMessage(bytes);
  const limits = decodeLimits(bytes.length, LEVELS_AROUND);
  return (yield* decodeIncremental(bytes, PEER_FIELDS, limits)) as unknown as PeerMessage;
}

/** Decodes a message of the server, on a small peer. */
export function decodeServerMessage(bytes: Uint8Array): ServerMessage {
  return decode(bytes, SERVER_FIELDS) as unknown as ServerMessage;
}

/** Decodes a message of the other side of a link. */
export function decodeLinkMessage(bytes: Uint8Array): LinkMessage {
  return decode(bytes, LINK_FIELDS) as unknown as LinkMessage;
}

/** As decodeLinkMessage, with pauses. A side that proved the secret has no bound on containers. */
export function* decodeLinkMessageIncremental(bytes: Uint8Array): Generator<void, LinkMessage> {
  if (!takesMoreThan(COST_PER_STEP, bytes)) return decodeLinkMessage(bytes);
  const { length: most } = bytes;
  const limits = { around: LEVELS_AROUND, things: most, listLength: most, fields: most };
  return (yield* decodeIncremental(bytes, LINK_FIELDS, limits)) as unknown as LinkMessage;
}

/** The shape of all messages, a line for each kind: the content of a protocol version. */
export function describeMessages(): string[] {
  return [
    ...describeKinds("peer", PEER_FIELDS),
    ...describeKinds("server", SERVER_FIELDS),
    ...describeKinds("link", LINK_FIELDS),
  ];
}

function describeKinds(who: string, kinds: Kinds): string[] {
  return Object.entries(kinds).map(
    ([kind, fields]) => `${who} ${kind}: ${describeFields(fields).join("; ")}`,
  );
}

function decode(bytes: Uint8Array, kinds: Kinds): Value {
  requireSize(bytes);
  const reader = readerOf(bytes);
  const input = readCbor(reader, LEVELS_AROUND);
  reader.end();
  const { kind, fields, content } = kindOf(input, kinds, bytes.length);
  try {
    return readFields(content, fields, { t: kind });
  } catch (error) {
    throw malformed(error, kind);
  }
}

function* decodeIncremental(
  bytes: Uint8Array,
  kinds: Kinds,
  limits: DecodeLimits,
): Generator<void, Value> {
  requireSize(bytes);
  const reader = readerOf(bytes);
  const input = yield* readCborIncremental(reader, limits);
  reader.end();
  yield;
  const { kind, fields, content } = kindOf(input, kinds, bytes.length);
  try {
    return yield* readFieldsIncremental(content, fields, { t: kind });
  } catch (error) {
    throw malformed(error, kind);
  }
}

function requireSize({ length }: Uint8Array): void {
  if (length <= SYNC_MESSAGE_BYTES_MAX) return;
  const message = `expected at most ${SYNC_MESSAGE_BYTES_MAX} bytes, found ${length}`;
  throw new PeerError("sync.malformed", message);
}

function readerOf(bytes: Uint8Array): ByteReader {
  // A host's own kind of bytes may return views where we rely on copies.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  return new ByteReader(plain, "sync.malformed");
}

/** A message before its fields are checked. */
interface RawMessage {
  readonly kind: string;
  readonly fields: FieldChecks;
  readonly content: ValueObject;
}

function kindOf(input: Value, kinds: Kinds, size: number): RawMessage {
  const kind = isObject(input) ? getField(input, "t") : undefined;
  const fields = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (!isObject(input) || typeof kind !== "string" || fields === undefined) {
    const message = `expected a message of a kind that is known (${Object.keys(kinds).join(", ")})`;
    throw new PeerError("sync.malformed", message, { at: "t" });
  }
  if (size > SMALL_BYTES_MAX && SMALL_KINDS.has(kind)) {
    const message = `expected at most ${SMALL_BYTES_MAX} bytes of ${kind}, found ${size}`;
    throw new PeerError("sync.malformed", message);
  }
  return { kind, fields, content: input };
}

function malformed(error: unknown, kind: string): unknown {
  if (!(error instanceof Misfit)) return error;
  return new PeerError("sync.malformed", error.message, { at: `${kind}.${error.place}` });
}
