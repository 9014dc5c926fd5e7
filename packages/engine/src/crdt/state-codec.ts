/**
 * State codec: encodes the CRDT state of a document as two records, shown fields and metadata.
 *
 * Ordinary reads take the shown fields alone; a few bytes of metadata hold everything else. A field
 * whose metadata follows from its shown value and the default stamp costs nothing, so a document
 * written once costs one stamp. The form is canonical: equal states have equal records on every
 * replica (K10 to K14).
 */

import {
  ByteReader,
  ByteWriter,
  compareBytes,
  compareText,
  DEPTH_MAX,
  FIELD_TYPES,
  getField,
  isAfter,
  isObject,
  levelsOf,
  NONE,
  normalInteger,
  readCbor,
  type Stamp,
  type Types,
  type Value,
  writeCanonical,
} from "@bigpeer/protocol";
import { compareAdds, normalize } from "./merge.ts";
import { markOf, type Shown, show, visibleType } from "./show.ts";
import { StampTable } from "./stamp-table.ts";
import {
  type Add,
  type Counter,
  type DocumentState,
  EMPTY_NODE,
  type Entry,
  type Kids,
  type MapState,
  type Node,
  type Reset,
  registerNode,
} from "./state.ts";

/** A state in its two records. */
export interface EncodedState {
  readonly shown: Shown | undefined;
  readonly meta: Uint8Array;
  /** Number of stamps, each counted as often as it occurs. */
  readonly stamps: number;
}

/** Flags of the first byte of metadata. */
export const META_HEAD = {
  alive: 1,
  aliveIsDefault: 2,
  dead: 4,
  seeded: 8,
  kids: 16,
  stamps: 32,
  more: 64,
} as const;

/** Shared: allocating a writer costs more than most metadata. Encoding is synchronous. */
const scratch = new ByteWriter(256);

/** With `version`, the metadata begins with it, as in a store. */
export function encodeState(state: DocumentState, version?: number): EncodedState {
  const shown = show(state);
  scratch.reset();
  if (version !== undefined) scratch.varint(version);
  const stamps = writeMeta(scratch, state, shown !== undefined);
  return { shown, meta: scratch.finish(), stamps };
}

/**
 * Decodes the state from its two records, the second from `offset` on. Throws `state.malformed`
 * when they do not belong together.
 */
export function decodeState(shown: Shown | undefined, meta: Uint8Array, offset = 0): DocumentState {
  const reader = new ByteReader(meta, "state.malformed", offset);
  const state = readMeta(reader, shown);
  reader.end();
  if (isAfter(state.alive, state.dead) !== (shown !== undefined)) {
    reader.fail("expected fields exactly when the document shows");
  }
  return state;
}

/** A state or delta as canonical bytes: for the wire and merges, to compare and hash. */
export function stateToBytes(state: DocumentState): Uint8Array {
  const { shown, meta } = encodeState(state);
  const writer = new ByteWriter(128);
  writer.varint(meta.length);
  writer.raw(meta);
  if (shown !== undefined) {
    writeCanonical(writer, shown.fields);
    writeCanonical(writer, shown.types ?? {});
  }
  return writer.finish();
}

/** Number of stamps of a state, each counted as often as it occurs. */
export function stampsOf(state: DocumentState): number {
  return StampTable.of(state).uses;
}

export function isSameState(a: DocumentState, b: DocumentState): boolean {
  return a === b || compareBytes(stateToBytes(a), stateToBytes(b)) === 0;
}

/** Decodes untrusted bytes; the resulting state is in normal form. */
export function stateOfBytes(bytes: Uint8Array): DocumentState {
  const reader = new ByteReader(bytes, "state.malformed");
  const meta = reader.raw(reader.varint());
  let shown: Shown | undefined;
  if (reader.left > 0) {
    const fields = readCbor(reader);
    const types = readCbor(reader);
    if (!isObject(fields) || !isObject(types) || !isMark(types)) {
      return reader.fail("expected fields and types");
    }
    shown = { fields, types: Object.keys(types).length === 0 ? undefined : (types as Types) };
  }
  reader.end();
  return normalize(decodeState(shown, meta));
}

function isMark(mark: Value): boolean {
  if (typeof mark === "string") return FIELD_TYPES.some((type) => type === mark);
  return isObject(mark) && Object.values(mark).every(isMark);
}

/** Returns the number of stamps of the state. */
function writeMeta(writer: ByteWriter, state: DocumentState, isShown: boolean): number {
  const table = StampTable.of(state);
  const explicit = explicitKids(state.root, table, isShown);
  const hasOwnAlive = state.alive !== NONE && !table.isDefault(state.alive);
  writer.byte(
    (state.alive === NONE ? 0 : META_HEAD.alive) |
      (state.alive !== NONE && !hasOwnAlive ? META_HEAD.aliveIsDefault : 0) |
      (state.dead === NONE ? 0 : META_HEAD.dead) |
      (state.seeded ? META_HEAD.seeded : 0) |
      (explicit.length > 0 ? META_HEAD.kids : 0) |
      (table.size > 0 ? META_HEAD.stamps : 0) |
      (table.size > 1 ? META_HEAD.more : 0),
  );
  if (table.size > 0) table.write(writer);
  if (hasOwnAlive) writer.varint(table.referenceTo(state.alive));
  if (state.dead !== NONE) writer.varint(table.referenceTo(state.dead));
  if (explicit.length > 0) writeKids(writer, explicit, table, isShown);
  return table.uses;
}

function readMeta(reader: ByteReader, shown: Shown | undefined): DocumentState {
  const { head, table, alive, dead } = readIncarnation(reader);
  const root = readKids({ reader, table, depth: 0 }, (head & META_HEAD.kids) !== 0, shown);
  return { alive, dead, seeded: (head & META_HEAD.seeded) !== 0, root };
}

interface Life {
  readonly head: number;
  readonly table: StampTable;
  readonly alive: Stamp;
  readonly dead: Stamp;
}

/** Reads the head of the metadata, in front of the fields. */
function readIncarnation(reader: ByteReader): Life {
  const head = reader.byte();
  if (head >= META_HEAD.more * 2) reader.fail("expected a known head");
  const table =
    (head & META_HEAD.stamps) === 0
      ? new StampTable([])
      : StampTable.read(reader, (head & META_HEAD.more) !== 0);
  const alive = readAlive(reader, table, head);
  const dead = (head & META_HEAD.dead) === 0 ? NONE : readStamp(reader, table);
  return { head, table, alive, dead };
}

/** Whether the metadata say that the document shows, and so must have fields beside them. */
export function isShownByMeta(meta: Uint8Array, offset: number): boolean {
  const reader = new ByteReader(meta, "state.malformed", offset);
  const { alive, dead } = readIncarnation(reader);
  return isAfter(alive, dead);
}

function readAlive(reader: ByteReader, table: StampTable, head: number): Stamp {
  if ((head & META_HEAD.alive) === 0) return NONE;
  return (head & META_HEAD.aliveIsDefault) === 0 ? readStamp(reader, table) : table.default;
}

function readStamp(reader: ByteReader, table: StampTable): Stamp {
  return table.at(reader.varint(), reader);
}

/** Reads the stamp of an entry, which must not be NONE. */
function readWritten(reader: ByteReader, table: StampTable): Stamp {
  const stamp = readStamp(reader, table);
  return stamp === NONE ? reader.fail("expected a stamp, found none") : stamp;
}

type NamedNode = readonly [name: string, node: Node];

/** The fields that do not follow from the shown values, in the order of their names. */
function explicitKids(kids: Kids, table: StampTable, isShown: boolean): NamedNode[] {
  const explicit: NamedNode[] = [];
  for (const [name, node] of kids) {
    if (!isShown || !isImplied(node, table)) explicit.push([name, node]);
  }
  return explicit.length < 2 ? explicit : explicit.sort((a, b) => compareText(a[0], b[0]));
}

/** Whether a node is what impliedNode makes of its shown value. */
function isImplied(node: Node, table: StampTable): boolean {
  if (node.removed !== NONE || node.ctr !== undefined || node.pn !== undefined) return false;
  const { reg, att, map } = node;
  if (map !== undefined) {
    return reg === undefined && att === undefined && isImpliedMap(map, table);
  }
  if (reg !== undefined) return att === undefined && table.isDefault(reg.stamp);
  return att !== undefined && table.isDefault(att.stamp);
}

function isImpliedMap(map: MapState, table: StampTable): boolean {
  if (!table.isDefault(map.touch)) return false;
  for (const kid of map.kids.values()) if (!isImplied(kid, table)) return false;
  return true;
}

function impliedNode(value: Value, mark: ReturnType<typeof markOf>, stamp: Stamp): Node {
  if (mark === "attachment") return { ...EMPTY_NODE, att: { stamp, value } };
  if (!isObject(value) || mark === "register") return registerNode({ stamp, value });
  const kids = new Map<string, Node>();
  const types = typeof mark === "object" ? mark : undefined;
  for (const name in value) {
    kids.set(name, impliedNode(value[name] as Value, markOf(types, name), stamp));
  }
  return { ...EMPTY_NODE, map: { touch: stamp, kids } };
}

/** First byte of an explicit node; `from…` says which variant has its value in the shown fields. */
export const NODE = {
  removed: 1,
  reg: 2,
  att: 4,
  ctr: 8,
  pn: 16,
  map: 32,
  fromRegister: 64,
  fromAttachment: 128,
  fromMap: 192,
  from: 192,
} as const;

function writeKids(
  writer: ByteWriter,
  explicit: readonly NamedNode[],
  table: StampTable,
  isShown: boolean,
): void {
  writer.varint(explicit.length);
  for (const [name, node] of explicit) {
    writer.text(name);
    writeNode(writer, node, table, isShown);
  }
}

/** Input of the decoder: bytes, their stamps, and the current nesting depth. */
interface Source {
  readonly reader: ByteReader;
  readonly table: StampTable;
  depth: number;
}

function readKids(source: Source, hasExplicit: boolean, shown: Shown | undefined): Kids {
  const { reader, table } = source;
  const kids = new Map<string, Node>();
  const count = hasExplicit ? reader.varint() : 0;
  if (count > 0 && ++source.depth > DEPTH_MAX) {
    reader.fail(`expected at most ${DEPTH_MAX} levels of nesting`);
  }
  for (let i = 0; i < count; i++) {
    const name = reader.text();
    kids.set(name, readNode(source, shownAt(shown, name)));
  }
  if (count > 0) source.depth--;
  if (shown === undefined) return kids;
  const { fields, types } = shown;
  for (const name in fields) {
    if (count > 0 && kids.has(name)) continue;
    kids.set(name, impliedNode(fields[name] as Value, markOf(types, name), table.default));
  }
  return kids;
}

interface ShownField {
  readonly value: Value;
  readonly types: Types | undefined;
}

function shownAt(shown: Shown | undefined, name: string): ShownField | undefined {
  if (shown === undefined) return undefined;
  const value = getField(shown.fields, name);
  if (value === undefined) return undefined;
  const mark = markOf(shown.types, name);
  return { value, types: typeof mark === "object" ? mark : undefined };
}

function writeNode(writer: ByteWriter, node: Node, table: StampTable, isShown: boolean): void {
  const visible = isShown ? visibleType(node) : undefined;
  const isMapShown = visible === "map";
  writer.byte(nodeFlags(node) | fromFlag(visible));
  if (node.removed !== NONE) writer.varint(table.referenceTo(node.removed));
  if (node.reg !== undefined) writeEntry(writer, node.reg, table, visible === "register");
  if (node.att !== undefined) writeEntry(writer, node.att, table, visible === "attachment");
  if (node.ctr !== undefined) writeCounter(writer, node.ctr, table);
  if (node.pn !== undefined) writeCounter(writer, node.pn, table);
  if (node.map !== undefined) {
    writer.varint(table.referenceTo(node.map.touch));
    writeKids(writer, explicitKids(node.map.kids, table, isMapShown), table, isMapShown);
  }
}

function nodeFlags(node: Node): number {
  return (
    (node.removed === NONE ? 0 : NODE.removed) |
    (node.reg === undefined ? 0 : NODE.reg) |
    (node.att === undefined ? 0 : NODE.att) |
    (node.ctr === undefined ? 0 : NODE.ctr) |
    (node.pn === undefined ? 0 : NODE.pn) |
    (node.map === undefined ? 0 : NODE.map)
  );
}

function fromFlag(visible: ReturnType<typeof visibleType>): number {
  switch (visible) {
    case "register":
      return NODE.fromRegister;
    case "attachment":
      return NODE.fromAttachment;
    case "map":
      return NODE.fromMap;
    default:
      return 0;
  }
}

function readNode(source: Source, shown: ShownField | undefined): Node {
  const { reader, table } = source;
  const flags = reader.byte();
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const from = flags & NODE.from;
  if (from !== 0 && shown === undefined) reader.fail("expected a shown value");
  const valueOf = (flag: number): Value | undefined => (from === flag ? shown?.value : undefined);
  return {
    removed: has(NODE.removed) ? readStamp(reader, table) : NONE,
    reg: has(NODE.reg) ? readEntry(source, valueOf(NODE.fromRegister)) : undefined,
    att: has(NODE.att) ? readEntry(source, valueOf(NODE.fromAttachment)) : undefined,
    ctr: has(NODE.ctr) ? readCounter(reader, table, readInteger) : undefined,
    pn: has(NODE.pn) ? readCounter(reader, table, readFloat) : undefined,
    map: has(NODE.map) ? readMap(source, from === NODE.fromMap ? shown : undefined) : undefined,
  };
}

function writeEntry(writer: ByteWriter, entry: Entry, table: StampTable, isShown: boolean): void {
  writer.varint(table.referenceTo(entry.stamp));
  if (!isShown) writeCanonical(writer, entry.value);
}

function readEntry(source: Source, shown: Value | undefined): Entry {
  const { reader, table, depth } = source;
  const stamp = readWritten(reader, table);
  if (shown !== undefined) return { stamp, value: shown };
  const value = readCbor(reader);
  if (depth + levelsOf(value) > DEPTH_MAX) {
    reader.fail(`expected at most ${DEPTH_MAX} levels of nesting`);
  }
  return { stamp, value };
}

function readMap(source: Source, shown: ShownField | undefined): MapState {
  const { reader, table } = source;
  const touch = readStamp(reader, table);
  const value = shown?.value;
  if (value !== undefined && !isObject(value)) return reader.fail("expected a shown map");
  const fields = value;
  const kids = fields === undefined ? undefined : { fields, types: shown?.types };
  return { touch, kids: readKids(source, true, kids) };
}

function writeCounter(writer: ByteWriter, counter: Counter, table: StampTable): void {
  writer.varint(counter.reset === undefined ? 0 : table.referenceTo(counter.reset.stamp));
  if (counter.reset !== undefined) writeAmount(writer, counter.reset.value);
  writer.varint(counter.adds.length);
  for (const add of counter.adds) {
    writer.varint(table.referenceTo(add.birth));
    writer.varint(table.referenceTo(add.stamp));
    writeAmount(writer, add.sum);
  }
}

type ReadAmount = (reader: ByteReader) => number | bigint;

function readCounter(reader: ByteReader, table: StampTable, readAmount: ReadAmount): Counter {
  const stamp = readStamp(reader, table);
  const reset: Reset | undefined =
    stamp === NONE ? undefined : { stamp, value: readAmount(reader) };
  const count = reader.varint();
  if (count > reader.left) reader.fail("expected more sums");
  const adds: Add[] = [];
  for (let i = 0; i < count; i++) {
    const birth = readWritten(reader, table);
    const add = { birth, stamp: readWritten(reader, table), sum: readAmount(reader) };
    if (i > 0 && compareAdds(adds[i - 1], add) >= 0) reader.fail("expected sums in their order");
    adds.push(add);
  }
  return { reset, adds };
}

/** Encodes a bigint as decimal text, because a sum may exceed the 64 bits of a CBOR integer. */
function writeAmount(writer: ByteWriter, amount: number | bigint): void {
  writeCanonical(writer, typeof amount === "bigint" ? amount.toString() : amount);
}

/** A COUNTER counts in integers. */
function readInteger(reader: ByteReader): number | bigint {
  const amount = readCbor(reader);
  if (Number.isSafeInteger(amount)) return amount as number;
  if (typeof amount === "string" && /^-?\d{1,80}$/.test(amount)) {
    return normalInteger(BigInt(amount));
  }
  return reader.fail("expected an integer");
}

/** A PN_COUNTER counts in floats; CBOR encodes whole ones as integers. */
function readFloat(reader: ByteReader): number {
  const amount = readCbor(reader);
  if (typeof amount === "number" || typeof amount === "bigint") return Number(amount);
  return reader.fail("expected a number");
}
