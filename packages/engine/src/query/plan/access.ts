/**
 * Access: access path to the documents of one FROM term, chosen from its conditions, its order and
 * the existing indexes.
 *
 * Every path gives the same rows in the same order: that of ids, or that of ORDER BY. So a path can
 * be slow but never wrong. The choice follows rules: more known keys first, then a range, then an
 * order that saves a sort. The number of documents of a path is known only during the read, which
 * falls back to a scan when there are too many (run/index-walk.ts).
 */

import type { IndexKey, Path } from "@bigpeer/protocol";
import type { IndexDefinition } from "../../store/index-entry.ts";
import type { OrderTerm, Use } from "../syntax/tree.ts";
import { isPointTest, type PointTest, type Probe, type RangeTest, type Test } from "./probe.ts";
import { pathOf } from "./reads.ts";

export type Access = ScanAccess | IdsAccess | IndexAccess | UnionAccess | IntersectAccess;

/** Scan of all documents, or of a range of ids, in the order of ids. */
export interface ScanAccess {
  readonly kind: "scan";
  readonly bounds?: readonly RangeTest[];
  readonly isReversed?: boolean;
}

/** Ids known before a row is read. USE IDS gives a row for each, also for repeated ones. */
export interface IdsAccess {
  readonly kind: "ids";
  readonly ids: NamedIds;
  readonly keepsDuplicates: boolean;
}

/** An expression for each id, or one that gives an array of ids. */
export type NamedIds = Extract<Use, { kind: "ids" | "id_list" }>;

export interface IndexAccess {
  readonly kind: "index";
  readonly index: IndexDefinition;
  /** Tests of the first keys. */
  readonly points: readonly PointTest[];
  /** Tests of the key after them. */
  readonly bounds: readonly RangeTest[];
  /** Whether the entries contain every field that is read (covering index). */
  readonly isCovering: boolean;
  /** How entries are read for ORDER BY; undefined where the order is that of ids. */
  readonly walk: Walk | undefined;
  /** Whether rows come in the order of ORDER BY: by the walk, or because it is that of ids. */
  readonly isOrdered: boolean;
}

export interface Walk {
  /** The order of the entries, apart from ids. */
  readonly order: readonly OrderPath[];
  readonly isReversed: boolean;
  /** Entries that agree in so many keys are equal for ORDER BY. */
  readonly tieKeys: number;
  /** The order of ids among those. */
  readonly areIdsDescending: boolean;
}

/** Documents that any of the paths finds. */
export interface UnionAccess {
  readonly kind: "union";
  readonly arms: readonly Access[];
}

/** Documents that all of the paths find. */
export interface IntersectAccess {
  readonly kind: "intersect";
  readonly arms: readonly IndexAccess[];
}

/** What a statement wants of the rows of a term, apart from its conditions. */
export interface Wish {
  /** ORDER BY, if it consists of paths of the first term. */
  readonly order: readonly OrderPath[] | undefined;
  /** Whether a part of the rows may be enough. */
  readonly hasLimit: boolean;
}

export interface OrderPath {
  readonly path: Path;
  readonly isDescending: boolean;
}

export interface Chosen {
  readonly access: Access;
  /** Whether rows come in the wanted order. */
  readonly isOrdered: boolean;
}

/** The properties of a term that the choice depends on. */
export interface AccessTerm {
  readonly probe: Probe | undefined;
  /** The paths that are read of its documents; undefined for whole documents. */
  readonly reads: readonly Path[] | undefined;
  /** The names of the indexes that may be used; undefined for all. */
  readonly hint: readonly string[] | undefined;
}

export const SCAN: ScanAccess = { kind: "scan" };

/**
 * ORDER BY as paths of one term; undefined if it has other expressions or is empty. `isAlone`: no
 * other term gives a document several rows.
 */
export function orderPaths(
  order: readonly OrderTerm[],
  slot: number,
  isAlone: boolean,
): readonly OrderPath[] | undefined {
  const paths: OrderPath[] = [];
  let isDecided = false;
  for (const { expression, isDescending, nulls } of order) {
    const path = pathOf(expression, slot);
    // Null and MISSING are the greatest values in an index.
    const isNatural = nulls === undefined || (nulls === "first") === isDescending;
    if (path === undefined || !(isNatural || isDecided)) return undefined;
    if (isDecided) continue;
    paths.push({ path, isDescending });
    // Ids are unique: a field of the document after an id decides nothing.
    isDecided = isIdPath(path);
    if (isDecided && isAlone) break;
  }
  return paths.length === 0 ? undefined : paths;
}

export function chooseAccess(
  term: AccessTerm,
  wish: Wish,
  indexes: readonly IndexDefinition[],
): Chosen {
  const [first] = wish.order ?? [];
  if (first !== undefined && isIdPath(first.path) && !first.isDescending) {
    // The order of rows on every path.
    const { access } = chooseAccess(term, { ...wish, order: undefined }, indexes);
    return { access, isOrdered: true };
  }
  const usable = usableIndexes(indexes, term.hint);
  const filtering = chooseFiltering(term, wish, usable);
  if (filtering !== undefined) return filtering;
  return (
    reversedScan(term, wish) ??
    chooseOrdering(term, wish, usable) ?? { access: scanOf(term), isOrdered: false }
  );
}

/** Complete indexes; of these the hinted ones, if there are any. */
function usableIndexes(
  indexes: readonly IndexDefinition[],
  hint: readonly string[] | undefined,
): readonly IndexDefinition[] {
  const complete = indexes.filter(({ building }) => building === undefined);
  if (hint === undefined) return complete;
  const asked = complete.filter(({ name }) => hint.includes(name));
  return asked.length > 0 || hint.length === 0 ? asked : complete;
}

/** The best path that serves a condition. */
function chooseFiltering(
  term: AccessTerm,
  wish: Wish,
  indexes: readonly IndexDefinition[],
): Chosen | undefined {
  const { probe } = term;
  if (probe === undefined) return undefined;
  const tests = testsOf(probe);
  const found: IndexAccess[] = [];
  for (const index of indexes) {
    // An index needs a test of its first key. There may be many indexes and conditions.
    if (!tests.has(pathName(index.keys[0]?.path ?? []))) continue;
    const access = matchIndex(index, tests, { term, wish });
    if (isUseful(access)) found.push(access);
  }
  found.sort((a, b) => rankOf(b) - rankOf(a));
  const [best] = found;
  if (best === undefined) return chooseUnion(probe, indexes);
  if (best.walk !== undefined) return { access: best, isOrdered: true };
  const { isOrdered } = best;
  const arms = intersecting(found);
  const access: Access = arms.length > 1 ? { kind: "intersect", arms } : best;
  return { access, isOrdered };
}

function isUseful({ points, bounds }: IndexAccess): boolean {
  return points.length > 0 || bounds.length > 0;
}

/** Of two equal ones the index with fewer keys ranks higher. */
function rankOf(access: IndexAccess): number {
  return meritOf(access) - access.index.keys.length / 1024;
}

/** Higher the more an index contributes to the statement. */
export function meritOf({ points, bounds, isOrdered, isCovering }: IndexAccess): number {
  const order = isOrdered ? 2 : 0;
  const range = bounds.length > 0 ? 4 : 0;
  return 8 * points.length + range + order + (isCovering ? 1 : 0);
}

/** Limit on the paths of an intersection. */
const ARMS_MAX = 3;

/** The best, and others that test paths which those before do not. */
function intersecting(found: readonly IndexAccess[]): readonly IndexAccess[] {
  const known = new Set<string>();
  const arms: IndexAccess[] = [];
  for (const access of found) {
    const paths = usedPaths(access);
    if (arms.length < ARMS_MAX && paths.some((path) => !known.has(path))) {
      arms.push(access);
      for (const path of paths) known.add(path);
    }
  }
  return arms;
}

function usedPaths({ index, points, bounds }: IndexAccess): string[] {
  const count = points.length + (bounds.length > 0 ? 1 : 0);
  return index.keys.slice(0, count).map(({ path }) => pathName(path));
}

/** A path of its own for each side of an OR. */
function chooseUnion(probe: Probe, indexes: readonly IndexDefinition[]): Chosen | undefined {
  const choices = probe.kind === "all" ? probe.parts : [probe];
  for (const choice of choices) {
    if (choice.kind !== "any") continue;
    const arms = choice.parts.map((part) => armOf(part, indexes));
    if (arms.every((arm) => arm !== undefined)) {
      return { access: { kind: "union", arms }, isOrdered: false };
    }
  }
  return undefined;
}

export const NO_WISH: Wish = { order: undefined, hasLimit: false };

function armOf(probe: Probe, indexes: readonly IndexDefinition[]): Access | undefined {
  const ids = idsAccess(probe);
  if (ids !== undefined) return ids;
  const term = { probe, reads: undefined, hint: undefined };
  const access = chooseFiltering(term, NO_WISH, indexes)?.access ?? scanOf(term);
  return access.kind === "scan" && access.bounds === undefined ? undefined : access;
}

/** The ids that a condition names. */
export function idsAccess(probe: Probe | undefined): IdsAccess | undefined {
  if (probe === undefined) return undefined;
  for (const test of testsOf(probe).get(ID_NAME) ?? []) {
    const ids = namedIds(test);
    if (ids !== undefined) return { kind: "ids", ids, keepsDuplicates: false };
  }
  return undefined;
}

function namedIds(test: Test): NamedIds | undefined {
  if (test.kind === "equal") return { kind: "ids", ids: [test.value] };
  return test.kind === "member" ? { kind: "id_list", list: test.list } : undefined;
}

function scanOf({ probe }: Pick<AccessTerm, "probe">): ScanAccess {
  const tests = probe === undefined ? [] : (testsOf(probe).get(ID_NAME) ?? []);
  const bounds = tests.filter((test): test is RangeTest => test.kind === "compare");
  return bounds.length === 0 ? SCAN : { kind: "scan", bounds };
}

/** ORDER BY _id DESC is a reverse scan. */
function reversedScan(term: AccessTerm, { order }: Wish): Chosen | undefined {
  const [first] = order ?? [];
  if (first === undefined || !isIdPath(first.path)) return undefined;
  return { access: { ...scanOf(term), isReversed: true }, isOrdered: true };
}

/** An index used only for its order: worth it with LIMIT or as a covering index. */
function chooseOrdering(
  term: AccessTerm,
  wish: Wish,
  indexes: readonly IndexDefinition[],
): Chosen | undefined {
  if (wish.order === undefined) return undefined;
  for (const index of indexes) {
    const access = matchIndex(index, NO_TESTS, { term, wish });
    if (access.walk !== undefined && (wish.hasLimit || access.isCovering)) {
      return { access, isOrdered: true };
    }
  }
  return undefined;
}

type Tests = ReadonlyMap<string, readonly Test[]>;

const NO_TESTS: Tests = new Map();

/** The tests that must all hold, by the name of their path. */
function testsOf(probe: Probe): Tests {
  const tests = new Map<string, Test[]>();
  const parts = probe.kind === "all" ? probe.parts : [probe];
  for (const part of parts) {
    if (part.kind !== "term") continue;
    const name = pathName(part.path);
    const known = tests.get(name);
    if (known === undefined) tests.set(name, [part.test]);
    else known.push(part.test);
  }
  return tests;
}

interface Asked {
  readonly term: AccessTerm;
  readonly wish: Wish;
}

/** What an index contributes: points for its first keys, a range of the next, an order. */
function matchIndex(index: IndexDefinition, tests: Tests, { term, wish }: Asked): IndexAccess {
  const points: PointTest[] = [];
  for (const { path } of index.keys) {
    const point = tests.get(pathName(path))?.filter(isPointTest).sort(comparePoints)[0];
    if (point === undefined) break;
    points.push(point);
  }
  const next = index.keys[points.length];
  const bounds = next === undefined ? [] : rangeTests(tests.get(pathName(next.path)) ?? []);
  const isCovering = isCoveredBy(index, term.reads);
  const ordering = orderingOf(index.keys, points, wish.order);
  return { kind: "index", index, points, bounds, isCovering, ...ordering };
}

/** A single value before a list. */
function comparePoints(a: PointTest, b: PointTest): number {
  return (a.kind === "member" ? 1 : 0) - (b.kind === "member" ? 1 : 0);
}

function rangeTests(tests: readonly Test[]): RangeTest[] {
  return tests.filter((test): test is RangeTest => !isPointTest(test));
}

function isCoveredBy({ keys }: IndexDefinition, reads: readonly Path[] | undefined): boolean {
  if (reads === undefined) return false;
  const names = new Set(keys.map(({ path }) => pathName(path)));
  return reads.every((path) => isIdPath(path) || names.has(pathName(path)));
}

type Ordering = Pick<IndexAccess, "walk" | "isOrdered">;

const NO_ORDER: Ordering = { walk: undefined, isOrdered: false };

/** How to read an index so that its entries come in the wanted order, if possible. */
function orderingOf(
  keys: readonly IndexKey[],
  points: readonly PointTest[],
  order: readonly OrderPath[] | undefined,
): Ordering {
  if (order === undefined || points.some(({ kind }) => kind === "member")) return NO_ORDER;
  // A value that is the same in all rows does not affect their order.
  const fixed = new Set(keys.slice(0, points.length).map(({ path }) => pathName(path)));
  const terms = order.filter(({ path }) => !fixed.has(pathName(path)));
  const last = terms.at(-1);
  const id = last !== undefined && isIdPath(last.path) ? last : undefined;
  const asked = id === undefined ? terms : terms.slice(0, -1);
  const areIdsDescending = id?.isDescending === true;
  if (asked.length === 0) {
    if (!areIdsDescending) return { walk: undefined, isOrdered: true };
    // All entries would be needed before the first row.
    if (points.length < keys.length) return NO_ORDER;
  }
  let isReversed: boolean | undefined;
  for (const [i, { path, isDescending }] of asked.entries()) {
    const key = keys[points.length + i];
    if (key === undefined || pathName(key.path) !== pathName(path)) return NO_ORDER;
    const isAgainst = key.isDescending !== isDescending;
    if (isReversed !== undefined && isReversed !== isAgainst) return NO_ORDER;
    isReversed = isAgainst;
  }
  const tieKeys = points.length + asked.length;
  const walk = {
    order: asked,
    isReversed: isReversed ?? areIdsDescending,
    tieKeys,
    areIdsDescending,
  };
  return { walk, isOrdered: true };
}

const pathNames = new WeakMap<Path, string>();

const ID_NAME = pathName(["_id"]);

export function isIdPath(path: Path): boolean {
  return path.length === 1 && path[0] === "_id";
}

function pathName(path: Path): string {
  let name = pathNames.get(path);
  if (name === undefined) {
    name = JSON.stringify(path);
    pathNames.set(path, name);
  }
  return name;
}
