/**
 * Plain states: fast path of most writes, from stored records to stored records, without decoding
 * the CRDT state.
 *
 * In a plain state a document shows, all its fields were written at one stamp, and nothing is
 * marked, hidden or removed. Its records hold all of it: the shown fields, and metadata of one or
 * two stamps. So an insert of a new document and an upsert of all fields map records to records.
 * A SET of single fields and a delete do so for more states; see simple-state.ts. The result is byte
 * for byte that of merging and encoding; all other cases take that way.
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
import {
  isSimpleBefore,
  type PlainWrite,
  type StateRecords,
  simpleUpdate,
} from "./simple-state.ts";
import { StampTable } from "./stamp-table.ts";
import { META_HEAD } from "./state-codec.ts";

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
  if (operation.kind === "delete") return plainDelete(before, stamp, version);
  if (operation.kind !== "update") return undefined;
  const { edits } = operation;
  const [edit] = edits;
  if (edit === undefined) return undefined;
  if (edits.length > 1 || !isRootSet(edit)) return simpleUpdate(before, edits, stamp, version);
  const plain = readPlain(before);
  if (plain === undefined || !isAfter(stamp, plain.stamp) || !isAfter(stamp, plain.alive)) {
    return undefined;
  }
  if (edit.types !== undefined || !writesAll(plain.fields, edit.value)) return undefined;
  return { fields: edit.value, meta: plainMeta(plain.alive, stamp, version) };
}

function plainDelete(before: StateRecords, stamp: Stamp, version: number): PlainWrite | undefined {
  if (!isSimpleBefore(before, stamp)) return undefined;
  const isMerged = ((before.meta[before.offset] as number) & META_HEAD.kids) !== 0;
  return { fields: undefined, meta: tombstone(stamp, version), isMerged };
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
export function readPlain({ shown, meta, offset }: StateRecords): PlainState | undefined {
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

function tombstone(dead: Stamp, version: number): Uint8Array {
  scratch.reset();
  scratch.varint(version);
  scratch.byte(DEAD | STAMPS);
  new StampTable([dead]).write(scratch);
  scratch.varint(1);
  return scratch.finish();
}
