/**
 * Plain states: fast path of most writes, from stored records to stored records, without decoding
 * the CRDT state.
 *
 * In a plain state a document shows, all its fields were written at one stamp, and nothing is
 * marked, hidden or removed. Its records hold all of it: the shown fields, and metadata of one or
 * two stamps. So an insert of a new document, an upsert of all fields and a delete map records to
 * records. The result is byte for byte that of merging and encoding; all other cases take that way,
 * except those of simple-state.ts.
 */

import {
  ByteReader,
  ByteWriter,
  isAfter,
  isObject,
  isRootSet,
  NONE,
  type Stamp,
  type Value,
  type ValueObject,
  ZERO,
} from "@bigpeer/protocol";
import type { StateOperation } from "./edit.ts";
import type { Shown } from "./show.ts";
import { StampTable } from "./stamp-table.ts";
import type { DocumentState } from "./state.ts";
import { META_HEAD } from "./state-codec.ts";

/** The records of a document; the metadata begin at `offset`. */
export interface StateRecords {
  readonly shown: Shown | undefined;
  readonly meta: Uint8Array;
  readonly offset: number;
  /** Their state, if it is in memory. */
  readonly state?: DocumentState | undefined;
}

/** The records that a write leaves: fields while the document shows, metadata with the version. */
export interface PlainWrite {
  readonly fields: ValueObject | undefined;
  readonly meta: Uint8Array;
  /** The merged state, for more writes of the same transaction; a plain one is decoded as well. */
  readonly state?: DocumentState;
}

/**
 * The records of a document after an operation at a stamp; `before` is undefined for a new
 * document. Undefined when the operation does not qualify for this path.
 */
export function plainWrite(
  before: StateRecords | undefined,
  operation: StateOperation,
  stamp: Stamp,
  version: number,
): PlainWrite | undefined {
  if (before === undefined) return plainInsert(operation, stamp, version);
  if (operation.kind !== "update" && operation.kind !== "delete") return undefined;
  const plain = readPlain(before.shown, before.meta, before.offset);
  if (plain === undefined || !isAfter(stamp, plain.stamp) || !isAfter(stamp, plain.alive)) {
    return undefined;
  }
  if (operation.kind === "delete") return { fields: undefined, meta: tombstone(stamp, version) };
  const [edit] = operation.edits;
  if (edit === undefined || operation.edits.length > 1) return undefined;
  if (!isRootSet(edit) || edit.types !== undefined) return undefined;
  if (!writesAll(plain.fields, edit.value)) return undefined;
  return { fields: edit.value, meta: plainMeta(plain.alive, stamp, version) };
}

function plainInsert(
  operation: StateOperation,
  stamp: Stamp,
  version: number,
): PlainWrite | undefined {
  if (operation.kind !== "insert") return undefined;
  const { fields, types, clean } = operation;
  if (types !== undefined || clean === true) return undefined;
  return { fields, meta: plainMeta(stamp, stamp, version) };
}

export interface PlainState {
  readonly fields: ValueObject;
  readonly alive: Stamp;
  /** The stamp of all fields. */
  readonly stamp: Stamp;
}

const { alive: ALIVE, aliveIsDefault: ALIVE_IS_DEFAULT, dead: DEAD, stamps: STAMPS } = META_HEAD;
const ONE_STAMP = ALIVE | ALIVE_IS_DEFAULT | STAMPS;
const TWO_STAMPS = ALIVE | STAMPS | META_HEAD.more;

/** The reference to the second stamp of a table. */
const SECOND = 2;

/** The plain state of these records; undefined when their state is not plain. */
export function readPlain(
  shown: Shown | undefined,
  meta: Uint8Array,
  offset: number,
): PlainState | undefined {
  if (shown === undefined || shown.types !== undefined) return undefined;
  const head = meta[offset];
  if (head !== ONE_STAMP && head !== TWO_STAMPS) return undefined;
  const reader = new ByteReader(meta, "state.malformed", offset + 1);
  const table = StampTable.read(reader, head === TWO_STAMPS);
  if (table.size > SECOND) return undefined;
  const stamp = table.default;
  const alive = head === ONE_STAMP ? stamp : table.at(reader.varint(), reader);
  // A document alive by INITIAL is also seeded, so its state is not plain.
  if (reader.left > 0 || alive === NONE || !isAfter(alive, ZERO)) return undefined;
  return { fields: shown.fields, alive, stamp };
}

/** Whether a value writes every shown field, in its order, and perhaps others after them. */
function writesAll(fields: ValueObject, value: ValueObject): boolean {
  const names = Object.keys(value);
  if (names.length === 0) return false;
  return startsWithAll(fields, value, names);
}

function startsWithAll(fields: ValueObject, value: ValueObject, names: readonly string[]): boolean {
  let i = 0;
  for (const name in fields) {
    if (names[i++] !== name) return false;
    const before = fields[name] as Value;
    const after = value[name] as Value;
    if (isObject(before) !== isObject(after)) return false;
    if (!isObject(before) || !isObject(after)) continue;
    if (!startsWithAll(before, after, Object.keys(after))) return false;
  }
  return true;
}

/** Shared: allocating a writer costs more than the bytes that it writes. */
const scratch = new ByteWriter(64);

function plainMeta(alive: Stamp, stamp: Stamp, version: number): Uint8Array {
  scratch.reset();
  scratch.varint(version);
  scratch.byte(alive === stamp ? ONE_STAMP : TWO_STAMPS);
  new StampTable(alive === stamp ? [stamp] : [stamp, alive]).write(scratch);
  if (alive !== stamp) scratch.varint(SECOND);
  return scratch.finish();
}

export function tombstone(dead: Stamp, version: number): Uint8Array {
  scratch.reset();
  scratch.varint(version);
  scratch.byte(DEAD | STAMPS);
  new StampTable([dead]).write(scratch);
  scratch.varint(1);
  return scratch.finish();
}
