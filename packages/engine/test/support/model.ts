/**
 * The model: the formal definition of a document, written down once more, slow and obvious.
 *
 * It shares no code with the engine: stamps are pairs of numbers, every merge copies everything,
 * the normal form is computed from scratch, floors are looked at again when a value is shown. What
 * it adds to the definition: `seeded` (D24), declared types (D15), the clamp of counters (D16).
 */

import type { Edit, TypeMark, Types, UploadOperation, Value, ValueObject } from "@bigpeer/protocol";
import type { Command, InsertIntent, Intent } from "./history.ts";

export type ModelStamp = readonly [time: number, site: number];
type Written<T> = readonly [stamp: ModelStamp, value: T];
type Amount = bigint | number;

export interface ModelCounter {
  reset: Written<Amount> | undefined;
  /** By birth and site. */
  adds: Map<string, { birth: ModelStamp; site: number; sum: Written<Amount> }>;
}

export interface ModelNode {
  removed: ModelStamp;
  reg: Written<Value> | undefined;
  att: Written<Value> | undefined;
  ctr: ModelCounter | undefined;
  pn: ModelCounter | undefined;
  map: { touch: ModelStamp; kids: Map<string, ModelNode> } | undefined;
}

export interface ModelDoc {
  alive: ModelStamp;
  dead: ModelStamp;
  seeded: boolean;
  kids: Map<string, ModelNode>;
}

const NONE: ModelStamp = [-1, 0];
const ZERO: ModelStamp = [0, 0];

function isLess(a: ModelStamp, b: ModelStamp): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

function larger(...stamps: ModelStamp[]): ModelStamp {
  return stamps.reduce((a, b) => (isLess(a, b) ? b : a), NONE);
}

function isNone(stamp: ModelStamp): boolean {
  return stamp[0] < 0;
}

export function emptyDoc(): ModelDoc {
  return { alive: NONE, dead: NONE, seeded: false, kids: new Map() };
}

function emptyNode(): ModelNode {
  return {
    removed: NONE,
    reg: undefined,
    att: undefined,
    ctr: undefined,
    pn: undefined,
    map: undefined,
  };
}

// merge(A, B) = norm(join(A, B))

export function mergeDocs(a: ModelDoc, b: ModelDoc): ModelDoc {
  return norm({
    alive: larger(a.alive, b.alive),
    dead: larger(a.dead, b.dead),
    seeded: a.seeded || b.seeded,
    kids: joinMaps(a.kids, b.kids, joinNodes),
  });
}

function joinMaps<T>(
  a: Map<string, T>,
  b: Map<string, T>,
  join: (x: T, y: T) => T,
): Map<string, T> {
  const joined = new Map<string, T>();
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const value = joinOptional(a.get(key), b.get(key), join);
    if (value !== undefined) joined.set(key, value);
  }
  return joined;
}

function joinOptional<T>(
  a: T | undefined,
  b: T | undefined,
  join: (x: T, y: T) => T,
): T | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : join(a, b);
}

function joinWritten<T extends Value>(a: Written<T>, b: Written<T>): Written<T> {
  if (isLess(a[0], b[0])) return b;
  if (isLess(b[0], a[0])) return a;
  return canonicalHex(b[1]) > canonicalHex(a[1]) ? b : a;
}

function joinNodes(a: ModelNode, b: ModelNode): ModelNode {
  return {
    removed: larger(a.removed, b.removed),
    reg: joinOptional(a.reg, b.reg, joinWritten),
    att: joinOptional(a.att, b.att, joinWritten),
    ctr: joinOptional(a.ctr, b.ctr, joinCounters),
    pn: joinOptional(a.pn, b.pn, joinCounters),
    map: joinOptional(a.map, b.map, (x, y) => ({
      touch: larger(x.touch, y.touch),
      kids: joinMaps(x.kids, y.kids, joinNodes),
    })),
  };
}

function joinCounters(a: ModelCounter, b: ModelCounter): ModelCounter {
  return {
    reset: joinOptional(a.reset, b.reset, joinWritten),
    adds: joinMaps(a.adds, b.adds, (x, y) => ({ ...x, sum: joinWritten(x.sum, y.sum) })),
  };
}

function norm(doc: ModelDoc): ModelDoc {
  const kids = pruneKids(doc.kids, doc.dead);
  const alive = isLess(doc.dead, doc.alive) ? doc.alive : NONE;
  return { alive, dead: doc.dead, seeded: doc.seeded, kids };
}

function pruneKids(kids: Map<string, ModelNode>, floor: ModelStamp): Map<string, ModelNode> {
  const pruned = new Map<string, ModelNode>();
  for (const [name, kid] of kids) {
    const node = prune(kid, floor);
    const isEmpty =
      isNone(node.removed) && [node.reg, node.att, node.ctr, node.pn, node.map].every(isAbsent);
    if (!isEmpty) pruned.set(name, node);
  }
  return pruned;
}

function isAbsent(part: unknown): boolean {
  return part === undefined;
}

function prune(node: ModelNode, floor: ModelStamp): ModelNode {
  const f = larger(floor, node.removed);
  const isAbove = (stamp: ModelStamp): boolean => isLess(f, stamp);
  const pruned = emptyNode();
  if (isLess(floor, node.removed)) pruned.removed = node.removed;
  if (node.reg !== undefined && isAbove(node.reg[0])) pruned.reg = node.reg;
  if (node.att !== undefined && isAbove(node.att[0])) pruned.att = node.att;
  pruned.ctr = pruneCounter(node.ctr, f);
  pruned.pn = pruneCounter(node.pn, f);
  if (node.map !== undefined) {
    const touch = isAbove(node.map.touch) ? node.map.touch : NONE;
    const kids = pruneKids(node.map.kids, f);
    if (!isNone(touch) || kids.size > 0) pruned.map = { touch, kids };
  }
  return pruned;
}

function pruneCounter(counter: ModelCounter | undefined, f: ModelStamp): ModelCounter | undefined {
  if (counter === undefined) return undefined;
  const reset =
    counter.reset !== undefined && isLess(f, counter.reset[0]) ? counter.reset : undefined;
  const g = larger(f, reset?.[0] ?? NONE);
  const adds = new Map([...counter.adds].filter(([, add]) => !isLess(add.birth, g)));
  return reset === undefined && adds.size === 0 ? undefined : { reset, adds };
}

// show(D)

const RANKS = ["register", "attachment", "counter", "pn_counter", "map"] as const;
type Rank = (typeof RANKS)[number];
interface Variant {
  readonly stamp: ModelStamp;
  readonly rank: Rank;
  readonly value: Value;
}

export function isDocShown(doc: ModelDoc): boolean {
  return isLess(doc.dead, doc.alive);
}

/** What shows; undefined for MISSING. */
export function showDoc(doc: ModelDoc, declared?: Types): Value | undefined {
  return isDocShown(doc) ? showKids(doc.kids, doc.dead, declared) : undefined;
}

function showKids(
  kids: Map<string, ModelNode>,
  floor: ModelStamp,
  declared: Types | undefined,
): Value {
  const fields: [string, Value][] = [];
  for (const [name, kid] of kids) {
    const shown = variantOf(kid, floor, markOf(declared, name));
    if (shown !== undefined) fields.push([name, shown.value]);
  }
  return Object.fromEntries(fields);
}

function markOf(types: TypeMark | undefined, name: string): TypeMark | undefined {
  return typeof types === "object" && Object.hasOwn(types, name) ? types[name] : undefined;
}

/** The variant that shows: that of the declared type, or else the newest. */
function variantOf(
  node: ModelNode,
  floor: ModelStamp,
  mark: TypeMark | undefined,
): Variant | undefined {
  const f = larger(floor, node.removed);
  const variants: Variant[] = [];
  if (node.reg !== undefined && isLess(f, node.reg[0])) {
    variants.push({ stamp: node.reg[0], rank: "register", value: node.reg[1] });
  }
  if (node.att !== undefined && isLess(f, node.att[0])) {
    variants.push({ stamp: node.att[0], rank: "attachment", value: node.att[1] });
  }
  for (const rank of ["counter", "pn_counter"] as const) {
    const counted = countOf(rank === "counter" ? node.ctr : node.pn, f);
    if (counted !== undefined)
      variants.push({ ...counted, rank, value: shownAmount(rank, counted.sum) });
  }
  const map = mapVariant(node, f, typeof mark === "object" ? mark : undefined);
  if (map !== undefined) variants.push(map);
  if (mark !== undefined) {
    return variants.find(({ rank }) => rank === (typeof mark === "object" ? "map" : mark));
  }
  variants.sort((a, b) => {
    if (isLess(a.stamp, b.stamp)) return -1;
    return isLess(b.stamp, a.stamp) ? 1 : RANKS.indexOf(a.rank) - RANKS.indexOf(b.rank);
  });
  return variants.at(-1);
}

function mapVariant(
  node: ModelNode,
  f: ModelStamp,
  declared: Types | undefined,
): Variant | undefined {
  if (node.map === undefined) return undefined;
  const value = showKids(node.map.kids, f, declared) as ValueObject;
  if (!isLess(f, node.map.touch) && Object.keys(value).length === 0) return undefined;
  const stamp = larger(
    node.map.touch,
    ...[...node.map.kids.values()].map((kid) => newestIn(kid, f)),
  );
  return { stamp, rank: "map", value };
}

/** Every stamp of a node and below it that counts, removals too. */
function newestIn(node: ModelNode, floor: ModelStamp): ModelStamp {
  const f = larger(floor, node.removed);
  const above = (stamp: ModelStamp): ModelStamp => (isLess(f, stamp) ? stamp : NONE);
  return larger(
    isLess(floor, node.removed) ? node.removed : NONE,
    above(node.reg?.[0] ?? NONE),
    above(node.att?.[0] ?? NONE),
    countOf(node.ctr, f)?.stamp ?? NONE,
    countOf(node.pn, f)?.stamp ?? NONE,
    above(node.map?.touch ?? NONE),
    ...[...(node.map?.kids.values() ?? [])].map((kid) => newestIn(kid, f)),
  );
}

function countOf(
  counter: ModelCounter | undefined,
  f: ModelStamp,
): { stamp: ModelStamp; sum: readonly Amount[] } | undefined {
  if (counter === undefined) return undefined;
  const reset =
    counter.reset !== undefined && isLess(f, counter.reset[0]) ? counter.reset : undefined;
  const g = larger(f, reset?.[0] ?? NONE);
  const live = [...counter.adds.values()].filter((add) => !isLess(add.birth, g));
  if (reset === undefined && live.length === 0) return undefined;
  live.sort((a, b) => {
    if (isLess(a.birth, b.birth)) return -1;
    return isLess(b.birth, a.birth) ? 1 : a.site - b.site;
  });
  const stamp = larger(reset?.[0] ?? NONE, ...live.map((add) => add.sum[0]));
  return { stamp, sum: [reset?.[1] ?? 0, ...live.map((add) => add.sum[1])] };
}

function shownAmount(rank: "counter" | "pn_counter", parts: readonly Amount[]): number | bigint {
  if (rank === "pn_counter") return parts.map(Number).reduce((a, b) => a + b);
  const sum = parts.map((part) => BigInt(part)).reduce((a, b) => a + b);
  const limit = 2n ** 63n;
  const clamped = sum >= limit ? limit - 1n : sum < -limit ? -limit : sum;
  return Number.isSafeInteger(Number(clamped)) ? Number(clamped) : clamped;
}

// Operations at tick t by site s; W = the writer's view.

/** What an intent comes to; undefined when it writes nothing. */
export function modelDelta(w: ModelDoc, intent: Intent, t: ModelStamp): ModelDoc | undefined {
  const isWShown = isDocShown(w);
  switch (intent.kind) {
    case "insert":
      return isWShown ? undefined : insertDelta(w, intent, t);
    case "upsert":
      return isWShown ? updateDelta(w, upsertAsEdits(intent), t) : insertDelta(w, intent, t);
    case "initial": {
      if (isWShown || !isNone(w.dead)) return undefined;
      return { ...emptyDoc(), alive: ZERO, seeded: true, kids: fieldKids(intent, ZERO) };
    }
    case "delete":
      return isWShown ? { ...emptyDoc(), dead: t } : undefined;
    default:
      return isWShown ? updateDelta(w, intent.edits, t) : undefined;
  }
}

/** What an operation comes to at who applies it: what its writer knew stands in it. */
export function operationDelta(
  w: ModelDoc,
  operation: UploadOperation,
  t: ModelStamp,
): ModelDoc | undefined {
  if (operation.kind === "update") {
    return isDocShown(w) ? updateDelta(w, operation.edits, t) : undefined;
  }
  if (operation.kind === "delete") return modelDelta(w, { kind: "delete" }, t);
  const { fields, types } = operation;
  const intent = { kind: operation.kind, fields, ...(types && { types }) };
  if (operation.kind === "initial") return modelDelta(w, intent, t);
  if (operation.clean === true) return insertDelta(w, intent, t, true);
  return insertDelta(isDocShown(w) ? emptyDoc() : w, intent, t);
}

function insertDelta(
  w: ModelDoc,
  intent: InsertIntent,
  t: ModelStamp,
  isClean: boolean = !isNone(w.dead) || w.seeded || w.kids.size > 0,
): ModelDoc {
  return {
    alive: t,
    dead: isClean ? [t[0], 0] : NONE,
    seeded: false,
    kids: fieldKids(intent, t),
  };
}

function fieldKids({ fields, types }: InsertIntent, t: ModelStamp): Map<string, ModelNode> {
  const kids = new Map<string, ModelNode>();
  for (const [name, value] of Object.entries(fields))
    setAt(kidAt(kids, name), value, markOf(types, name), t);
  return kids;
}

function upsertAsEdits({ fields, types }: InsertIntent): Edit[] {
  return Object.entries(fields).map(([name, value]) => {
    const mark = markOf(types, name);
    return { kind: "set", path: [name], value, ...(mark === undefined ? {} : { types: mark }) };
  });
}

function updateDelta(w: ModelDoc, edits: readonly Edit[], t: ModelStamp): ModelDoc | undefined {
  const delta = emptyDoc();
  for (const edit of edits) editDelta(w, edit, t, delta);
  return delta.kids.size === 0 ? undefined : delta;
}

function editDelta(w: ModelDoc, edit: Edit, t: ModelStamp, delta: ModelDoc): void {
  switch (edit.kind) {
    case "set":
      if (edit.path.length > 0) {
        return setAt(nodeAt(delta, edit.path), edit.value, edit.types, t);
      }
      for (const [name, part] of Object.entries(edit.value as ValueObject)) {
        setAt(kidAt(delta.kids, name), part, markOf(edit.types, name), t);
      }
      return;
    case "unset":
      if (isMapAt(w, edit.path.slice(0, -1), edit.isDeclared)) nodeAt(delta, edit.path).removed = t;
      return;
    case "increment": {
      const kind = edit.counter === "pn_counter" ? "pn" : "ctr";
      const [node, removed] = findAt(w, edit.path);
      const birth =
        edit.birth === undefined
          ? larger(w.alive, removed, node?.[kind]?.reset?.[0] ?? NONE)
          : ([edit.birth[0], Number.parseInt(edit.birth[1], 16)] as const);
      const key = `${birth.join("/")} ${t[1]}`;
      const known = node?.[kind]?.adds.get(key)?.sum;
      // What is offered again is in the sum.
      if (known !== undefined && !isLess(known[0], t)) return;
      const before = known?.[1] ?? 0;
      const sum =
        kind === "pn" ? Number(before) + Number(edit.by) : BigInt(before) + BigInt(edit.by);
      const adds = new Map([[key, { birth, site: t[1], sum: [t, sum] as const }]]);
      nodeAt(delta, edit.path)[kind] = { reset: undefined, adds };
      return;
    }
    case "restart": {
      const kind = edit.counter === "pn_counter" ? "pn" : "ctr";
      const amount = kind === "pn" ? Number(edit.value) : BigInt(edit.value);
      nodeAt(delta, edit.path)[kind] = { reset: [t, amount], adds: new Map() };
    }
  }
}

function setAt(node: ModelNode, value: Value, mark: TypeMark | undefined, t: ModelStamp): void {
  const isObject =
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array);
  if (mark === "attachment") node.att = [t, value];
  else if (mark === "counter") node.ctr = { reset: [t, BigInt(value as number)], adds: new Map() };
  else if (mark === "pn_counter") node.pn = { reset: [t, Number(value)], adds: new Map() };
  else if (mark === "register" || !isObject) node.reg = [t, value];
  else {
    node.map ??= { touch: NONE, kids: new Map() };
    node.map.touch = t;
    for (const [name, part] of Object.entries(value)) {
      setAt(kidAt(node.map.kids, name), part, markOf(mark, name), t);
    }
  }
}

function kidAt(kids: Map<string, ModelNode>, name: string): ModelNode {
  const kid = kids.get(name) ?? emptyNode();
  kids.set(name, kid);
  return kid;
}

function nodeAt(doc: ModelDoc, path: readonly string[]): ModelNode {
  const [first = "", ...rest] = path;
  let node = kidAt(doc.kids, first);
  for (const name of rest) {
    node.map ??= { touch: NONE, kids: new Map() };
    node = kidAt(node.map.kids, name);
  }
  return node;
}

/** The node at a path, and the newest UNSET on the way to it. */
function findAt(doc: ModelDoc, path: readonly string[]): [ModelNode | undefined, ModelStamp] {
  let kids: Map<string, ModelNode> | undefined = doc.kids;
  let node: ModelNode | undefined;
  let removed = NONE;
  for (const name of path) {
    node = kids?.get(name);
    removed = larger(removed, node?.removed ?? NONE);
    kids = node?.map?.kids;
  }
  return [node, removed];
}

/** Whether the way leads through maps: such as show, or such as are there at all. */
function isMapAt(doc: ModelDoc, path: readonly string[], isDeclared = false): boolean {
  let kids = doc.kids;
  let floor = doc.dead;
  for (const name of path) {
    const node = kids.get(name);
    if (node?.map === undefined) return false;
    if (!isDeclared && variantOf(node, floor, undefined)?.rank !== "map") return false;
    floor = larger(floor, node.removed);
    kids = node.map.kids;
  }
  return true;
}

// A history run over the model.

export interface ModelRun {
  readonly docs: readonly ModelDoc[];
  readonly deltas: readonly (ModelDoc | undefined)[];
}

export function runModel(commands: readonly Command[], sites: readonly number[]): ModelRun {
  const replicas = sites.map((site) => ({ site, time: 0, doc: emptyDoc() }));
  const deltas: (ModelDoc | undefined)[] = [];
  const take = (to: number, delta: ModelDoc | undefined): void => {
    const replica = replicas[to];
    if (replica === undefined || delta === undefined) return;
    replica.doc = mergeDocs(replica.doc, delta);
    replica.time = Math.max(replica.time, ...timesOf(replica.doc));
  };
  for (const command of commands) {
    if (command.kind === "sync") take(command.to, replicas[command.from]?.doc);
    else if (command.kind === "deliver") take(command.to, deltas[command.write % deltas.length]);
    else {
      const writer = replicas[command.replica];
      if (writer === undefined) throw new Error(`no replica ${command.replica}`);
      writer.time += 1 + command.skip;
      const delta = modelDelta(writer.doc, command.intent, [writer.time, writer.site]);
      deltas.push(delta);
      take(command.replica, delta);
    }
  }
  return { docs: replicas.map(({ doc }) => doc), deltas };
}

function timesOf(doc: ModelDoc): number[] {
  const ofNode = (node: ModelNode): number[] => [
    ...[node.removed, node.reg?.[0], node.att?.[0], node.map?.touch].map(
      (stamp) => stamp?.[0] ?? 0,
    ),
    ...[node.ctr, node.pn].flatMap((counter) => [
      counter?.reset?.[0][0] ?? 0,
      ...[...(counter?.adds.values() ?? [])].map((add) => add.sum[0][0]),
    ]),
    ...[...(node.map?.kids.values() ?? [])].flatMap(ofNode),
  ];
  return [doc.alive[0], doc.dead[0], ...[...doc.kids.values()].flatMap(ofNode)];
}

// Canonical bytes, as hexadecimal text: CBOR in its shortest form with sorted keys.

export function canonicalHex(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return value ? "f5" : "f4";
    case "bigint":
      return integerHex(value);
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? integerHex(BigInt(value))
        : floatHex(value);
    case "string": {
      const bytes = Buffer.from(value);
      return headHex(3, BigInt(bytes.length)) + bytes.toString("hex");
    }
    default:
      return value === null ? "f6" : containerHex(value as readonly Value[] | ValueObject);
  }
}

function containerHex(value: readonly Value[] | ValueObject): string {
  if (Array.isArray(value)) {
    return (
      headHex(4, BigInt(value.length)) + value.map((part: Value) => canonicalHex(part)).join("")
    );
  }
  const entries = Object.entries(value).sort(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  const parts = entries.map(([name, part]) => canonicalHex(name) + canonicalHex(part));
  return headHex(5, BigInt(entries.length)) + parts.join("");
}

/** An amount that left 64 bits has no integer in CBOR and is written as text. */
function integerHex(integer: bigint): string {
  if (integer >= 2n ** 64n || integer < -(2n ** 63n)) return canonicalHex(integer.toString());
  return integer < 0n ? headHex(1, -1n - integer) : headHex(0, integer);
}

function headHex(major: number, argument: bigint): string {
  const sizes = [
    [24n, 0],
    [2n ** 8n, 1],
    [2n ** 16n, 2],
    [2n ** 32n, 4],
    [2n ** 64n, 8],
  ] as const;
  const index = sizes.findIndex(([limit]) => argument < limit);
  const size = sizes[index]?.[1] ?? 8;
  const low = size === 0 ? Number(argument) : 23 + index;
  const head = (major * 32 + low).toString(16).padStart(2, "0");
  return size === 0 ? head : head + argument.toString(16).padStart(size * 2, "0");
}

function floatHex(float: number): string {
  if (Number.isNaN(float)) return "f97e00";
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(float);
  const sign = (bytes[0] ?? 0) >> 7;
  const exponent =
    bytes.readUInt16BE(0) === 0 ? -15 : ((bytes.readUInt16BE(0) >> 4) & 0x7ff) - 1023;
  const fraction = bytes.readBigUInt64BE() & 0xfffffffffffffn;
  if (float === 0) return sign === 1 ? "f98000" : "00";
  if (exponent >= -14 && exponent <= 15 && fraction % 2n ** 42n === 0n) {
    const bits = (sign << 15) | ((exponent + 15) << 10) | Number(fraction >> 42n);
    return `f9${bits.toString(16).padStart(4, "0")}`;
  }
  if (Math.fround(float) !== float) return `fb${bytes.toString("hex")}`;
  bytes.writeFloatBE(float);
  return `fa${bytes.subarray(0, 4).toString("hex")}`;
}
