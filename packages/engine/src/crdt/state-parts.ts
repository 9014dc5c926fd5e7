/**
 * State parts: reads and writes a whole CRDT state as the two records of a document, the form in
 * which a server sends it and a store keeps it.
 *
 * So most downloads go from the wire to the store without decoding the state. A state that is not
 * plain is decoded, which finds every fault and gives the canonical form that a store may keep.
 */

import { ByteWriter, isAfter, type StateParts } from "@bigpeer/protocol";
import { normalize } from "./merge.ts";
import { type PlainState, readPlain } from "./plain-state.ts";
import type { Shown } from "./show.ts";
import { type DocumentState, eachStateStamp } from "./state.ts";
import { decodeState, encodeState, stateOfBytes } from "./state-codec.ts";

export function partsOf(state: DocumentState): StateParts {
  const { shown, meta } = encodeState(state);
  return [shown?.fields ?? null, shown?.types ?? null, meta];
}

/** Decodes untrusted parts; the resulting state is in normal form. */
export function stateOfParts(parts: StateParts): DocumentState {
  return normalize(decodeState(shownOfParts(parts), parts[2]));
}

export function shownOfParts([fields, types]: StateParts): Shown | undefined {
  return fields === null ? undefined : { fields, types: types ?? undefined };
}

/** The plain state of the parts, if they hold one in canonical form. */
export function plainOfParts(parts: StateParts): PlainState | undefined {
  const plain = readPlain(shownOfParts(parts), parts[2], 0);
  if (plain === undefined || plain.alive === plain.stamp) return plain;
  // The default stamp is that of most entries, and on a tie the latest (K12).
  const isInForm = isAfter(plain.stamp, plain.alive) && Object.keys(plain.fields).length > 0;
  return isInForm ? plain : undefined;
}

/** The newest time in the parts; 0 when there is none. */
export function newestTime(parts: StateParts): number {
  const plain = plainOfParts(parts);
  if (plain !== undefined) return Math.max(plain.alive.time, plain.stamp.time);
  return newestOf(stateOfParts(parts));
}

export function newestOf(state: DocumentState): number {
  let newest = 0;
  eachStateStamp(state, ({ time }) => {
    if (time > newest) newest = time;
  });
  return newest;
}

/** The state of a merge operation, in normal form. */
export function stateOfMerge(state: Uint8Array | StateParts): DocumentState {
  return state instanceof Uint8Array ? stateOfBytes(state) : stateOfParts(state);
}

/** The newest time in the state of a merge operation; 0 when there is none. */
export function newestOfMerge(state: Uint8Array | StateParts): number {
  return state instanceof Uint8Array ? newestOf(stateOfBytes(state)) : newestTime(state);
}

/** Shared: allocating a writer costs more than the bytes that it writes. */
const scratch = new ByteWriter(64);

/** Metadata as a store keeps them: the version, then those of the parts. */
export function versionedMeta(meta: Uint8Array, version: number): Uint8Array {
  scratch.reset();
  scratch.varint(version);
  scratch.raw(meta);
  return scratch.finish();
}
