/**
 * Simple states: states whose hidden part is a few stamps, so that frequent writes to documents that
 * were updated before need no decoded state.
 *
 * In a simple state a document shows, was never deleted, and holds nothing beside its shown values:
 * no UNSET, no counter, no attachment, no rival variant of a field. Its metadata name the stamps of
 * the fields that were written after the others. A SET of top-level fields changes a few of these
 * references; a delete needs to know only that every stamp is older. The results are byte for byte
 * those of merging and encoding; all other cases take that way. So do all in a browser: see
 * no-simple-state.ts.
 */

import {
  ByteReader,
  ByteWriter,
  compareText,
  type Edit,
  getField,
  isAfter,
  isObject,
  type MutableObject,
  NONE,
  type SetEdit,
  type Stamp,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { DOCUMENT_STAMPS_MAX } from "../limits.ts";
import type { StateOperation } from "./edit.ts";
import { type PlainWrite, plainWrite, type StateRecords, tombstone } from "./plain-state.ts";
import { StampTable } from "./stamp-table.ts";
import { type DocumentState, EMPTY_STATE, type Kids, type Node } from "./state.ts";
import { decodeState, META_HEAD, NODE } from "./state-codec.ts";

/** The records after an operation; undefined if the state or the operation is not simple. */
export function simpleWrite(
  records: StateRecords,
  operation: StateOperation,
  stamp: Stamp,
  version: number,
): PlainWrite | undefined {
  const plain = plainWrite(records, operation, stamp, version);
  return plain ?? writeToSimple(records, operation, stamp, version);
}

function writeToSimple(
  records: StateRecords,
  operation: StateOperation,
  stamp: Stamp,
  version: number,
): PlainWrite | undefined {
  if (operation.kind === "update") return simpleUpdate(records, operation.edits, stamp, version);
  if (operation.kind !== "delete" || !isSimpleBefore(records, stamp)) return undefined;
  const state = { ...EMPTY_STATE, dead: stamp };
  return { fields: undefined, meta: tombstone(stamp, version), state };
}

function simpleUpdate(
  records: StateRecords,
  edits: readonly Edit[],
  stamp: Stamp,
  version: number,
): PlainWrite | undefined {
  const { shown } = records;
  if (shown === undefined || edits.length === 0) return undefined;
  for (const edit of edits) if (!isFieldSet(edit, shown.fields)) return undefined;
  const simple = readSimple(records, stamp);
  if (simple === undefined) return undefined;
  // A decoded state begins with the fields that have stamps of their own.
  const order = records.state?.root ?? simple.explicit;
  const fields = inOrder(shown.fields, order.keys());
  for (const { path, value } of edits as readonly SetEdit[]) {
    const name = path[0] as string;
    setField(fields, name, value);
    simple.explicit.set(name, NEW);
  }
  const alive = simple.table.stamps[simple.alive - 1] as Stamp;
  const meta = simpleMeta(simple, fields, stamp, version);
  return meta && { fields, meta, state: new MergedState(alive, fields, meta) };
}

/** The state of records that were just written. Its fields, in the order shown, are decoded on use. */
class MergedState implements DocumentState {
  readonly alive: Stamp;
  readonly dead = NONE;
  readonly seeded = false;
  readonly #fields: ValueObject;
  readonly #meta: Uint8Array;
  #root: Kids | undefined;

  constructor(alive: Stamp, fields: ValueObject, meta: Uint8Array) {
    this.alive = alive;
    this.#fields = fields;
    this.#meta = meta;
  }

  get root(): Kids {
    this.#root ??= rootOf(this.#fields, this.#meta);
    return this.#root;
  }
}

function rootOf(fields: ValueObject, meta: Uint8Array): Kids {
  const reader = new ByteReader(meta, "state.malformed");
  reader.varint();
  const { root } = decodeState({ fields, types: undefined }, meta, reader.offset);
  const ordered = new Map<string, Node>();
  for (const name in fields) ordered.set(name, root.get(name) as Node);
  return ordered;
}

/** Whether the state of the records is simple, and a write at the stamp newer than all of it. */
function isSimpleBefore(records: StateRecords, stamp: Stamp): boolean {
  const opened = openSimple(records, stamp);
  if (opened === undefined) return false;
  const { reader, head } = opened;
  if ((head & META_HEAD.aliveIsDefault) === 0) reader.varint();
  return ((head & META_HEAD.kids) === 0 || isShownAlone(reader)) && reader.left === 0;
}

/** Whether the next explicit fields hold their shown values and nothing else. */
function isShownAlone(reader: ByteReader): boolean {
  for (let left = reader.varint(); left > 0; left--) {
    reader.text();
    const flags = reader.byte();
    reader.varint();
    if (flags === SHOWN_REGISTER) continue;
    if (flags !== SHOWN_MAP || !isShownAlone(reader)) return false;
  }
  return true;
}

const SHOWN_REGISTER = NODE.reg | NODE.fromRegister;
const SHOWN_MAP = NODE.map | NODE.fromMap;

/** The flags of a simple state: it was neither deleted nor alive by INITIAL. */
const OF_SIMPLE =
  META_HEAD.alive | META_HEAD.aliveIsDefault | META_HEAD.kids | META_HEAD.stamps | META_HEAD.more;

/** Metadata that may be of a simple state, read up to the stamp of existence. */
interface OpenedMeta {
  readonly fields: ValueObject;
  readonly reader: ByteReader;
  readonly head: number;
  readonly table: StampTable;
}

/** Undefined if the state is not simple, or not older than the stamp. */
function openSimple(records: StateRecords, stamp: Stamp): OpenedMeta | undefined {
  const { shown, meta, offset } = records;
  const head = meta[offset] as number;
  if (shown === undefined || shown.types !== undefined) return undefined;
  if ((head & ~OF_SIMPLE) !== 0 || (head & META_HEAD.alive) === 0) return undefined;
  const reader = new ByteReader(meta, "state.malformed", offset + 1);
  const table = StampTable.read(reader, (head & META_HEAD.more) !== 0);
  for (const known of table.stamps) if (!isAfter(stamp, known)) return undefined;
  return { fields: shown.fields, reader, head, table };
}

/** Whether an edit sets a top-level field that shows no map, and may show nothing, to no map. */
function isFieldSet(edit: Edit, fields: ValueObject): boolean {
  if (edit.kind !== "set" || edit.path.length !== 1 || edit.types !== undefined) return false;
  return !isObject(edit.value) && !isObject(getField(fields, edit.path[0] as string));
}

/** References to stamps: 0 to that of the write, others to the table that was read. */
const NEW = 0;
const DEFAULT = 1;

interface SimpleState {
  readonly table: StampTable;
  readonly alive: number;
  /** The references of the fields that do not have the default stamp, in the order of their names. */
  readonly explicit: Map<string, number>;
}

/** The state of the records; undefined if it is not simple, or a map has stamps of its own. */
function readSimple(records: StateRecords, stamp: Stamp): SimpleState | undefined {
  const opened = openSimple(records, stamp);
  if (opened === undefined) return undefined;
  const { fields, reader, head, table } = opened;
  const { size } = table;
  const alive = (head & META_HEAD.aliveIsDefault) === 0 ? reader.varint() : DEFAULT;
  if (alive < DEFAULT || alive > size) return undefined;
  const explicit = new Map<string, number>();
  for (let left = (head & META_HEAD.kids) === 0 ? 0 : reader.varint(); left > 0; left--) {
    const name = reader.text();
    if (reader.byte() !== SHOWN_REGISTER || !Object.hasOwn(fields, name)) return undefined;
    const reference = reader.varint();
    if (reference <= DEFAULT || reference > size) return undefined;
    explicit.set(name, reference);
  }
  return reader.left > 0 ? undefined : { table, alive, explicit };
}

/** A copy of the fields, the named ones first. */
function inOrder(fields: ValueObject, names: Iterable<string>): MutableObject {
  const copy: MutableObject = {};
  for (const name of names) setField(copy, name, fields[name] as Value);
  for (const name in fields) setField(copy, name, fields[name] as Value);
  return copy;
}

/** Shared: allocating a writer costs more than the bytes that it writes. */
const scratch = new ByteWriter(64);

const WRITTEN = META_HEAD.alive | META_HEAD.kids | META_HEAD.stamps | META_HEAD.more;

/** Undefined if another stamp becomes the default, or if there are too many stamps. */
function simpleMeta(
  state: SimpleState,
  fields: ValueObject,
  stamp: Stamp,
  version: number,
): Uint8Array | undefined {
  const { alive, explicit } = state;
  const after = nextTable(state.table, stamp, usesOf(state, fields));
  if (after === undefined || after.table.uses > DOCUMENT_STAMPS_MAX) return undefined;
  const { table, references } = after;
  const hasOwnAlive = alive !== DEFAULT;
  scratch.reset();
  scratch.varint(version);
  scratch.byte(hasOwnAlive ? WRITTEN : WRITTEN | META_HEAD.aliveIsDefault);
  table.write(scratch);
  if (hasOwnAlive) scratch.varint(references[alive] as number);
  const named = [...explicit].sort((a, b) => compareText(a[0], b[0]));
  scratch.varint(named.length);
  for (const [name, reference] of named) {
    scratch.text(name);
    scratch.byte(SHOWN_REGISTER);
    scratch.varint(references[reference] as number);
  }
  return scratch.finish();
}

/** A table with the references in it of the stamps of an earlier one. */
interface NextTable {
  readonly table: StampTable;
  readonly references: readonly number[];
}

/** The table after a write that is newer than all of it; undefined if its default changes. */
function nextTable(
  { stamps, default: before }: StampTable,
  stamp: Stamp,
  uses: readonly number[],
): NextTable | undefined {
  const [written = 0, most = 0] = uses;
  if (written >= most) return undefined;
  const used = [before, stamp];
  const references = [2, 1];
  let total = written + most;
  for (let i = 2; i <= stamps.length; i++) {
    const count = uses[i] ?? 0;
    if (count === 0) continue;
    const known = stamps[i - 1] as Stamp;
    if (count > most || (count === most && isAfter(known, before))) return undefined;
    references[i] = used.push(known);
    total += count;
  }
  return { table: new StampTable(used, total), references };
}

/** How many places refer to each stamp, by reference. */
function usesOf({ table, alive, explicit }: SimpleState, fields: ValueObject): number[] {
  const uses = [0, ...table.stamps.map(() => 0)];
  uses[alive] = 1;
  for (const reference of explicit.values()) uses[reference] = (uses[reference] as number) + 1;
  uses[DEFAULT] = (uses[DEFAULT] as number) + countEntries(fields) - explicit.size;
  return uses;
}

/** The entries that the fields are made of: a register for each value, a touch for each map. */
function countEntries(fields: ValueObject): number {
  let count = 0;
  for (const name in fields) {
    const value = fields[name];
    count += isObject(value) ? 1 + countEntries(value) : 1;
  }
  return count;
}
