/**
 * findDocuments: reads the documents of an access path through indexes, ordered by id or by ORDER
 * BY.
 *
 * The number of documents of a path is not known in advance. So the ids are collected first; if
 * they are so many that a scan of the collection is cheaper, the scan runs instead. Documents are
 * fetched in the order of ids, which is their order in the store.
 */

import { documentId, isArray, type MutableObject, setField, type Value } from "@bigpeer/protocol";
import { type IndexEntry, type IndexRange, valueAt } from "../../store/index-entry.ts";
import type { Needed, ScanRange, StoredDocument } from "../../store/view.ts";
import type { Budget } from "../frame/budget.ts";
import type { Found } from "../frame/document-view.ts";
import type { Frame } from "../frame/frame.ts";
import { mergeSorted } from "../frame/merge-sort.ts";
import { Pace } from "../frame/pace.ts";
import type { Access, IndexAccess, OrderPath, ScanAccess, Walk } from "../plan/access.ts";
import { compareData } from "../value/compare.ts";
import { memorySize } from "../value/memory-size.ts";
import type { Execution } from "./execution.ts";
import { compileIds, idsIn, type NamedIdValues } from "./ids.ts";
import { indexRanges, spanOf } from "./index-range.ts";

/** A lookup in one collection, with its limits. */
export interface Search {
  readonly execution: Execution;
  /** The surrounding row, whose values the path may use. */
  readonly frame: Frame;
  readonly collection: string;
  /** How many documents are enough, as far as known. */
  readonly wanted: number;
  /** The fields that are read of each document. */
  readonly needed: Needed;
}

/** An access path whose values are known. */
type Way = ScanWay | KeysWay | IndexWay | JoinedWays;

interface ScanWay {
  readonly kind: "scan";
  /** Undefined when no id fits. */
  readonly range: ScanRange | undefined;
}

interface KeysWay {
  readonly kind: "keys";
  readonly ids: NamedIdValues;
}

interface IndexWay {
  readonly kind: "index";
  readonly access: IndexAccess;
  readonly ranges: readonly IndexRange[];
}

interface JoinedWays {
  readonly kind: "union" | "intersect";
  readonly arms: readonly Way[];
}

/** Ids or entries, collected with pauses. Undefined: they are too many. */
type Collecting<T> = Paused<readonly T[] | undefined>;

type Paused<T> = Generator<undefined, T, void>;

/** A search that holds its results so far. */
interface Gathering extends Search {
  readonly held: HeldBytes;
}

/** Memory held by one access path; it is given back, since a statement may have many paths. */
class HeldBytes {
  readonly #budget: Budget;
  #bytes = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  take(bytes: number): void {
    this.#budget.take(bytes);
    this.#bytes += bytes;
  }

  giveAll(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}

/** Evaluates the values of the path at once, and reads documents lazily. */
export function findDocuments(access: Access, search: Search): Found<StoredDocument> {
  const { frame, execution, collection } = search;
  const { budget } = frame.run;
  budget.startPiece();
  const way = wayOf(access, frame);
  budget.endPiece();
  if (way.kind === "scan") {
    const { range } = way;
    return range === undefined
      ? []
      : execution.view.scan(collection, { ...range, ...search.needed });
  }
  if (way.kind !== "index") return findKeys(way, search);
  return way.access.walk === undefined ? findEntries(way, search) : walkEntries(way, search);
}

function wayOf(access: Access, frame: Frame): Way {
  switch (access.kind) {
    case "scan":
      return { kind: "scan", range: scanRange(access, frame) };
    case "ids":
      return { kind: "keys", ids: compileIds(access)(frame) };
    case "index": {
      const ranges = indexRanges(access, frame);
      // The rows are the same, in the order of ids: a path with lists is never used for ORDER BY.
      return ranges === undefined ? { kind: "scan", range: {} } : { kind: "index", access, ranges };
    }
    default:
      return { kind: access.kind, arms: access.arms.map((arm) => wayOf(arm, frame)) };
  }
}

function scanRange({ bounds, isReversed }: ScanAccess, frame: Frame): ScanRange | undefined {
  const span = bounds === undefined ? {} : spanOf(bounds, frame);
  if (span === undefined) return undefined;
  const { low, high } = span;
  return {
    ...(low && { low }),
    ...(high && { high }),
    ...(isReversed === true && { reverse: true }),
  };
}

/** So many documents are always looked up rather than scanned for. */
const LOOKUPS_MIN = 1024;

/**
 * How many ids may be collected before a scan is cheaper. Estimate: a fetch costs as much as four
 * documents of a scan. If `wanted` documents are enough, a scan passes `wanted * count / matches`
 * documents to find them; the limit lies where the two costs meet.
 */
function roomFor({ execution, collection, wanted }: Search): number {
  const count = execution.view.count(collection);
  if (count === undefined) return Infinity;
  const room = Math.min(count / 4, 4 * Math.sqrt(wanted * count));
  return Math.max(LOOKUPS_MIN, room);
}

/** In the order of ids. */
function* findEntries(way: IndexWay, search: Search): Found<StoredDocument> {
  if (search.wanted < Infinity && isInIdOrder(way)) {
    countUse(way, search);
    for (const entry of entriesOf(way, search)) yield entry && documentOf(entry, way, search);
    return;
  }
  const held = new HeldBytes(search.execution.run.budget);
  try {
    const entries = yield* collectEntries(way, { ...search, held }, roomFor(search));
    if (entries !== undefined) {
      countUse(way, search);
      for (const entry of entries) yield documentOf(entry, way, search);
      return;
    }
  } finally {
    held.giveAll();
  }
  yield* scanAll(search);
}

function countUse({ access }: IndexWay, { execution }: Search): void {
  execution.run.request.indexReads?.add(access.index.number);
}

/** Whether the path reads one range of entries with equal values: these are in the order of ids. */
function isInIdOrder({ access, ranges }: IndexWay): boolean {
  return ranges.length < 2 && access.points.length === access.index.keys.length;
}

function* entriesOf({ access, ranges }: IndexWay, search: Search): Found<IndexEntry> {
  const { view, run, profile } = search.execution;
  const reverse = access.walk?.isReversed === true ? { reverse: true } : {};
  const pace = new Pace(run.budget);
  for (const range of ranges) {
    for (const entry of view.scanIndex(access.index, { ...range, ...reverse })) {
      run.budget.step();
      // A pause may stand for entries that the caller may not read: it is not counted.
      if (entry !== undefined) profile?.countEntry(access.index.number);
      if (pace.isPauseDue()) yield undefined;
      yield entry;
    }
    run.budget.step();
    if (pace.isPauseDue()) yield undefined;
  }
}

/** Approximate bytes of a kept entry. */
const ENTRY_BYTES = 160;

/** Each document once, in the order of ids. */
function* collectEntries(way: IndexWay, search: Gathering, room: number): Collecting<IndexEntry> {
  // Opening a range costs as much as fetching a document, even if the range is empty.
  if (way.ranges.length > room) return undefined;
  const entries: IndexEntry[] = [];
  for (const entry of entriesOf(way, search)) {
    if (entry === undefined) yield undefined;
    else {
      if (entries.length >= room) return undefined;
      search.held.take(ENTRY_BYTES);
      entries.push(entry);
    }
  }
  if (isInIdOrder(way)) return entries;
  const ordered = yield* inOrder(entries, isIdBefore, search);
  return ordered.filter((entry, i) => entry.idKey !== ordered[i - 1]?.idKey);
}

function isIdBefore(a: IndexEntry, b: IndexEntry): boolean {
  return a.idKey < b.idKey;
}

/** Stable sort with pauses, for many items. */
function* inOrder<T>(
  items: readonly T[],
  isBefore: (a: T, b: T) => boolean,
  { execution }: Search,
): Paused<readonly T[]> {
  if (items.length < 2) return items;
  const places = Uint32Array.from(items.keys());
  const comesBefore = (a: number, b: number): boolean => isBefore(items[a] as T, items[b] as T);
  const steps = mergeSorted(places, comesBefore, execution.run.budget);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) yield undefined;
  return Array.from(step.value, (place) => items[place] as T);
}

function* findKeys(way: KeysWay | JoinedWays, search: Search): Found<StoredDocument> {
  const { view, run } = search.execution;
  const held = new HeldBytes(run.budget);
  try {
    const keys = yield* collectKeys(way, { ...search, held }, roomFor(search));
    if (keys !== undefined) {
      for (const key of keys) yield view.getByKey(search.collection, key, search.needed);
      return;
    }
  } finally {
    held.giveAll();
  }
  yield* scanAll(search);
}

function scanAll({ execution, collection, needed }: Search): Found<StoredDocument> {
  return execution.view.scan(collection, needed);
}

/** The keys of ids, each once, in order. */
function* collectKeys(way: Way, search: Gathering, room: number): Collecting<string> {
  switch (way.kind) {
    case "keys":
      return yield* collectNamed(way, search);
    case "index": {
      const entries = yield* collectEntries(way, search, room);
      if (entries !== undefined) countUse(way, search);
      return entries?.map(({ idKey }) => idKey);
    }
    case "scan":
      return yield* collectScanned(way, search, room);
    case "union":
      return yield* collectUnion(way, search, room);
    default:
      return yield* collectIntersection(way, search, room);
  }
}

function* collectNamed({ ids }: KeysWay, { execution }: Search): Paused<readonly string[]> {
  const pace = new Pace(execution.run.budget);
  const keys: string[] = [];
  for (const id of yield* idsIn(ids)) {
    keys.push(documentId(id).key);
    if (pace.isPauseDue()) yield undefined;
  }
  return keys;
}

function* collectScanned({ range }: ScanWay, search: Gathering, room: number): Collecting<string> {
  if (range === undefined) return [];
  const { view, run } = search.execution;
  const pace = new Pace(run.budget);
  const keys: string[] = [];
  for (const document of view.scan(search.collection, { ...range, fields: [] })) {
    run.budget.step();
    if (pace.isPauseDue()) yield undefined;
    if (document === undefined) continue;
    if (keys.length >= room) return undefined;
    search.held.take(ENTRY_BYTES);
    keys.push(documentId(document.id).key);
  }
  return keys;
}

function* collectUnion({ arms }: JoinedWays, search: Gathering, room: number): Collecting<string> {
  const keys = new Set<string>();
  for (const arm of arms) {
    const found = yield* collectKeys(arm, search, room - keys.size);
    if (found === undefined) return undefined;
    for (const key of found) keys.add(key);
  }
  return yield* inOrder([...keys], (a, b) => a < b, search);
}

/** So few documents are fetched rather than looked up in another index. */
const FEW = 64;

/** Reads a further arm only while it may exclude more than it costs. */
function* collectIntersection(
  { arms }: JoinedWays,
  search: Gathering,
  room: number,
): Collecting<string> {
  let keys: readonly string[] | undefined;
  for (const arm of arms) {
    if (keys !== undefined && keys.length <= FEW) break;
    const armRoom = keys === undefined ? room : Math.min(room, 4 * keys.length);
    const found: readonly string[] | undefined = yield* collectKeys(arm, search, armRoom);
    if (found === undefined) continue;
    if (keys === undefined) keys = found;
    else {
      const others = new Set(found);
      keys = keys.filter((key) => others.has(key));
    }
  }
  return keys;
}

/** In the order of ORDER BY; entries that are equal in it come in the order of ids. */
function* walkEntries(way: IndexWay, search: Search): Found<StoredDocument> {
  const { walk, index } = way.access;
  if (walk === undefined) return;
  countUse(way, search);
  const isPlain = walk.tieKeys === index.keys.length && walk.isReversed === walk.areIdsDescending;
  const held = new HeldBytes(search.execution.run.budget);
  const tied = { way, walk, search: { ...search, held } };
  let group: IndexEntry[] = [];
  let tie: string | undefined;
  let isExact = true;
  try {
    for (const entry of entriesOf(way, search)) {
      if (entry === undefined) {
        yield undefined;
        continue;
      }
      if (isPlain && entry.isExact && group.length === 0) {
        yield documentOf(entry, way, search);
        continue;
      }
      const next = entry.tie(walk.tieKeys);
      if (next.text !== tie) {
        yield* tiedDocuments(group, { ...tied, isExact });
        held.giveAll();
        group = [];
        tie = next.text;
        isExact = next.isExact;
      }
      held.take(ENTRY_BYTES);
      group.push(entry);
    }
    yield* tiedDocuments(group, { ...tied, isExact });
  } finally {
    held.giveAll();
  }
}

interface Tied {
  readonly way: IndexWay;
  readonly walk: Walk;
  readonly search: Gathering;
  /** Whether the entries are equal for ORDER BY, or only share a prefix. */
  readonly isExact: boolean;
}

function* tiedDocuments(
  entries: readonly IndexEntry[],
  { way, walk, search, isExact }: Tied,
): Found<StoredDocument> {
  const byId = walk.areIdsDescending
    ? (a: IndexEntry, b: IndexEntry) => isIdBefore(b, a)
    : isIdBefore;
  const ordered = yield* inOrder(entries, byId, search);
  if (isExact) {
    for (const entry of ordered) yield documentOf(entry, way, search);
    return;
  }
  const found: { document: StoredDocument; keys: (Value | undefined)[] }[] = [];
  for (const entry of ordered) {
    const document = documentOf(entry, way, search);
    search.execution.run.budget.step();
    yield undefined;
    if (document === undefined) continue;
    search.held.take(memorySize(document.fields));
    const keys = walk.order.map(({ path }) => valueAt(path, document.fields, entry.idKey));
    found.push({ document, keys });
  }
  const isBefore = (a: { keys: Keys }, b: { keys: Keys }): boolean =>
    compareKeys(a.keys, b.keys, walk.order) < 0;
  for (const { document } of yield* inOrder(found, isBefore, search)) yield document;
}

type Keys = readonly (Value | undefined)[];

function compareKeys(a: Keys, b: Keys, order: readonly OrderPath[]): number {
  for (const [i, { isDescending }] of order.entries()) {
    const compared = compareData(a[i], b[i]);
    if (compared !== 0) return isDescending ? -compared : compared;
  }
  return 0;
}

/** From the entry alone when the index covers all fields that are read, else from the store. */
function documentOf(
  entry: IndexEntry,
  { access: { index, isCovering } }: IndexWay,
  { execution, collection, needed }: Search,
): StoredDocument | undefined {
  const values = isCovering ? entry.values() : undefined;
  if (values?.every(isAsStored) !== true) {
    return execution.view.getByKey(collection, entry.idKey, needed);
  }
  const fields: MutableObject = {};
  for (const [i, { path }] of index.keys.entries()) {
    const value = values[i];
    if (value !== undefined && path[0] !== "_id") setAt(fields, path, value);
  }
  return { id: entry.id, fields, types: undefined };
}

/** An index does not keep -0, not even inside another value. */
function isAsStored(value: Value | undefined): boolean {
  if (value === 0) return false;
  return typeof value !== "object" || value === null || value instanceof Uint8Array;
}

function setAt(fields: MutableObject, path: readonly string[], value: Value): void {
  let at = fields;
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(at, name) ? at[name] : undefined;
    const next: MutableObject = isOpen(inner) ? inner : {};
    setField(at, name, next);
    at = next;
  }
  setField(at, path.at(-1) as string, value);
}

/** An object created here: entries contain none. */
function isOpen(value: Value | undefined): value is MutableObject {
  return typeof value === "object" && value !== null && !isArray(value);
}
