/**
 * ADVISE: suggests indexes that would make a statement faster, and lists those that it uses.
 *
 * Keys are listed in the order in which an index can use them: equality, then order, then range. An
 * index is suggested only if it would be chosen over all existing ones.
 */

import {
  INDEX_KEYS_MAX,
  type IndexKey,
  NAME_SIZE_MAX,
  type Path,
  unreachable,
} from "@bigpeer/protocol";
import type { IndexDefinition } from "../../store/index-entry.ts";
import {
  type Access,
  chooseAccess,
  isIdPath,
  meritOf,
  NO_WISH,
  type OrderPath,
  type Wish,
} from "../plan/access.ts";
import type { QueryPlan, SourcePlan } from "../plan/plan.ts";
import { isPointTest, type Probe, type ProbeTerm } from "../plan/probe.ts";
import type { Advice, IndexesOf, PlanOutline, SuggestedIndex } from "../run/plan-explainer.ts";

/** A FROM term that an index could help. */
interface AdvisedTerm {
  readonly source: SourcePlan;
  readonly wish: Wish;
}

interface TermAdvice {
  /** The indexes that the term uses already. */
  readonly existing: readonly IndexDefinition[];
  readonly suggested: readonly SuggestedIndex[];
}

export function advise(outline: PlanOutline, indexesOf: IndexesOf): Advice {
  const terms = termsOfPlan(outline);
  const existing = new Map<string, SuggestedIndex>();
  const suggested = new Map<string, SuggestedIndex>();
  for (const term of terms) {
    const { collection } = term.source;
    if (collection.kind !== "stored") continue;
    const advice = adviseTerm(term, indexesOf(collection.name));
    for (const index of advice.existing) {
      existing.set(JSON.stringify([index.collection, index.name]), { ...index, reason: "" });
    }
    for (const index of advice.suggested) {
      suggested.set(JSON.stringify([index.collection, index.keys]), index);
    }
  }
  return {
    hasTerms: terms.length > 0,
    existing: [...existing.values()],
    suggested: [...suggested.values()],
  };
}

function termsOfPlan(outline: PlanOutline): AdvisedTerm[] {
  switch (outline.kind) {
    case "query":
      return termsOfQuery(outline.plan);
    case "insert":
      return outline.source === undefined ? [] : termsOfQuery(outline.source);
    case "choice": {
      const { source, wish } = outline.choice.plan;
      const isOpen = source.ids === undefined && source.collection.kind === "stored";
      return isOpen ? [{ source, wish }] : [];
    }
    case "definition":
      return [];
    default:
      return unreachable(outline);
  }
}

/** The terms of a query that read a collection and name no ids. */
function termsOfQuery(plan: QueryPlan): AdvisedTerm[] {
  const selects = plan.kind === "select" ? [plan] : plan.arms;
  return selects.flatMap(({ rows }) => {
    const joined = rows.joins.flatMap((join) =>
      join.type === "unnest"
        ? []
        : [{ source: join.source, wish: NO_WISH, isById: join.method.kind === "by_id" }],
    );
    const first = { source: rows.source, wish: rows.wish, isById: false };
    return [first, ...joined].flatMap(({ source, wish, isById }) => {
      if (source.collection.kind === "query") return termsOfQuery(source.collection.plan);
      const isOpen = source.ids === undefined && !isById && source.collection.kind === "stored";
      return isOpen ? [{ source, wish }] : [];
    });
  });
}

function adviseTerm(
  { source, wish }: AdvisedTerm,
  indexes: readonly IndexDefinition[],
): TermAdvice {
  const { access } = chooseAccess(source, wish, indexes);
  const existing = indexesIn(access);
  const { collection } = source;
  if (collection.kind !== "stored") return { existing, suggested: [] };
  const suggested: SuggestedIndex[] = [];
  for (const probe of partsOf(source.probe)) {
    // Only one index can serve an order: not when several are read for one term.
    const partWish = probe === source.probe ? wish : NO_WISH;
    const index = suggestion(collection.name, probe, partWish);
    if (index !== undefined && isBetter(index, { source, probe, wish: partWish }, indexes))
      suggested.push(index);
  }
  return { existing, suggested };
}

/** Each side of an OR is looked up separately. */
function partsOf(probe: Probe | undefined): readonly (Probe | undefined)[] {
  return probe?.kind === "any" ? probe.parts : [probe];
}

function indexesIn(access: Access): IndexDefinition[] {
  if (access.kind === "index") return [access.index];
  return access.kind === "union" || access.kind === "intersect"
    ? access.arms.flatMap(indexesIn)
    : [];
}

function suggestion(
  collection: string,
  probe: Probe | undefined,
  { order = [], hasLimit }: Wish,
): SuggestedIndex | undefined {
  const terms = termsOf(probe);
  const points = distinctPaths(terms.filter(({ test }) => isPointTest(test)));
  const ranges = distinctPaths(terms.filter(({ test }) => !isPointTest(test))).slice(0, 1);
  const fixed = new Set(points.map((path) => JSON.stringify(path)));
  const isFixed = (path: Path): boolean => fixed.has(JSON.stringify(path));
  const ordered = order.filter(({ path }) => !isIdPath(path) && !isFixed(path));
  // An order alone saves nothing if all rows are wanted.
  const isFiltering = points.length > 0 || ranges.length > 0;
  const walked = isFiltering || hasLimit ? ordered : [];
  const bounded = ranges.filter((path) => !walked.some((each) => isSamePath(each.path, path)));
  const wanted = [...points.map(ascending), ...walked.map(directed), ...bounded.map(ascending)];
  const keys = wanted.slice(0, INDEX_KEYS_MAX);
  if (keys.length === 0) return undefined;
  const reason = reasonOf({ points, walked, ranges });
  return { collection, name: nameOf(collection, keys), keys, reason };
}

function nameOf(collection: string, keys: readonly IndexKey[]): string {
  const name = ["adv", collection, ...keys.map(({ path }) => path.join("_"))].join("_");
  // Cutting a surrogate pair leaves malformed text.
  return name.length <= NAME_SIZE_MAX ? name : name.slice(0, NAME_SIZE_MAX).toWellFormed();
}

function termsOf(probe: Probe | undefined): ProbeTerm[] {
  if (probe === undefined) return [];
  const parts = probe.kind === "all" ? probe.parts : [probe];
  return parts.filter((part): part is ProbeTerm => part.kind === "term" && !isIdPath(part.path));
}

function distinctPaths(terms: readonly ProbeTerm[]): Path[] {
  const paths = new Map<string, Path>();
  for (const { path } of terms) {
    const name = JSON.stringify(path);
    if (!paths.has(name)) paths.set(name, path);
  }
  return [...paths.values()];
}

function isSamePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

function ascending(path: Path): IndexKey {
  return { path, isDescending: false };
}

function directed({ path, isDescending }: OrderPath): IndexKey {
  return { path, isDescending };
}

interface Used {
  readonly points: readonly Path[];
  readonly walked: readonly OrderPath[];
  readonly ranges: readonly Path[];
}

function reasonOf({ points, walked, ranges }: Used): string {
  const order = walked.map(({ path }) => path);
  return [
    ...reasons("equality on", points),
    ...reasons("order by", order),
    ...reasons("range of", ranges),
  ].join("; ");
}

function reasons(what: string, paths: readonly Path[]): string[] {
  if (paths.length === 0) return [];
  return [`${what} ${paths.map((path) => path.join(".")).join(", ")}`];
}

interface Better {
  readonly source: SourcePlan;
  readonly probe: Probe | undefined;
  readonly wish: Wish;
}

/** Whether it would be used and contributes more than every existing index. */
function isBetter(
  { collection, name, keys }: SuggestedIndex,
  { source, probe, wish }: Better,
  indexes: readonly IndexDefinition[],
): boolean {
  const candidate: IndexDefinition = { collection, name, keys, number: 0 };
  // Covering counts for nothing: the suggestion is not made for it.
  const term = { ...source, probe, reads: undefined };
  const meritWith = (known: readonly IndexDefinition[]): number =>
    bestMerit(chooseAccess(term, wish, known).access);
  return meritWith([candidate]) > meritWith(indexes);
}

function bestMerit(access: Access): number {
  if (access.kind === "index") return meritOf(access);
  return access.kind === "intersect" ? Math.max(...access.arms.map(meritOf)) : 0;
}
