/**
 * Messages as bytes. Whoever reads one checks every field of it before anybody uses it; what is wrong
 * ends in a PeerError `sync.malformed` that names the place (rule S1).
 */

import { ByteReader } from "../bytes.ts";
import { encodeCbor, readCbor } from "../cbor.ts";
import { PeerError } from "../error.ts";
import { getField, isObject, type Value } from "../value.ts";
import { hasTooManyContainers } from "./container-count.ts";
import { describeFields, type FieldChecks, Misfit, readFields } from "./field-check.ts";
import { type PeerMessage, type ServerMessage, SYNC_MESSAGE_BYTES_MAX } from "./message.ts";
import { PEER_FIELDS, SERVER_FIELDS } from "./message-fields.ts";

/** Levels of a message around a value of a document, at most: those of an outcome's document. */
const LEVELS_AROUND = 8;

type Kinds = { readonly [kind: string]: FieldChecks };

export function encodeMessage(message: PeerMessage | ServerMessage): Uint8Array {
  return encodeCbor(message as unknown as Value);
}

/** What a peer says, as a server reads it. */
export function decodePeerMessage(bytes: Uint8Array): PeerMessage {
  if (hasTooManyContainers(bytes)) {
    throw new PeerError("sync.malformed", "expected fewer lists and objects for so many bytes");
  }
  return decode(bytes, PEER_FIELDS) as unknown as PeerMessage;
}

/** What a server says, as a peer reads it. */
export function decodeServerMessage(bytes: Uint8Array): ServerMessage {
  return decode(bytes, SERVER_FIELDS) as unknown as ServerMessage;
}

/** All that messages are made of, a line for each kind: what the version of the protocol stands for. */
export function describeMessages(): string[] {
  return [...describeKinds("peer", PEER_FIELDS), ...describeKinds("server", SERVER_FIELDS)];
}

function describeKinds(who: string, kinds: Kinds): string[] {
  return Object.entries(kinds).map(
    ([kind, fields]) => `${who} ${kind}: ${describeFields(fields).join("; ")}`,
  );
}

function decode(bytes: Uint8Array, kinds: Kinds): Value {
  if (bytes.length > SYNC_MESSAGE_BYTES_MAX) {
    const message = `expected at most ${SYNC_MESSAGE_BYTES_MAX} bytes, found ${bytes.length}`;
    throw new PeerError("sync.malformed", message);
  }
  const input = readMessage(bytes);
  const kind = isObject(input) ? getField(input, "t") : undefined;
  const fields = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (!isObject(input) || typeof kind !== "string" || fields === undefined) {
    const message = `expected a message of a kind that is known (${Object.keys(kinds).join(", ")})`;
    throw new PeerError("sync.malformed", message, { at: "t" });
  }
  try {
    return readFields(input, fields, { t: kind });
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    throw new PeerError("sync.malformed", error.message, { at: `${kind}.${error.place}` });
  }
}

function readMessage(bytes: Uint8Array): Value {
  // A host's own kind of bytes may give out views where we count on copies.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = new ByteReader(plain, "sync.malformed");
  const input = readCbor(reader, LEVELS_AROUND);
  reader.end();
  return input;
}
