/**
 * MatchIndex: index of many conditions, which finds those that a changed document may affect.
 *
 * The contract, for a change of one document:
 * - `touched` names every condition that matched before or matches now.
 * - It may name others, which costs only an evaluation. A condition with an equality is found by
 *   its value in the old or new document; the others of the collection are always named.
 * - `match` gives, for each condition that matched before or matches now, which of the two, or that
 *   the evaluation failed.
 *
 * A condition matches a document that its caller may read and for which WHERE is true. A failure is
 * not true. Equal values are those that `=` considers equal.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { StoredDocument } from "../../store/view.ts";
import { Budget } from "../frame/budget.ts";
import { newFrame, type Run } from "../frame/frame.ts";
import type { Authority } from "../permission/authority.ts";
import type { PermissionChecker } from "../permission/permission-checker.ts";
import { joinKeys } from "../value/compare.ts";
import { underMeter } from "../value/cost-meter.ts";
import { type ConditionPlan, keyAt } from "./condition.ts";
import type { DocumentChange } from "./document-change.ts";

/** Arguments and permissions of a condition. */
export interface Given {
  readonly args: ValueObject;
  /** Permissions of the caller; undefined for one who may read everything. */
  readonly authority: Authority | undefined;
}

/** A condition in the index. `owner` is the subscriber of its matches. */
export interface MatchEntry<T> {
  readonly owner: T;
  readonly plan: ConditionPlan;
  readonly run: Run;
  readonly checker: PermissionChecker | undefined;
  /** Its index entry; undefined for conditions that are always named. */
  readonly place: Place | undefined;
}

interface Place {
  /** The path as one text. */
  readonly name: string;
  readonly path: readonly string[];
  /** Empty if the condition never matches: then no value finds it. */
  readonly keys: ReadonlySet<string>;
}

/** `enter`: it matches and did not, `stay`: both, `leave`: it did and does not. */
export type Match<T> =
  | { readonly kind: "enter" | "stay" | "leave"; readonly entry: MatchEntry<T> }
  | { readonly kind: "failed"; readonly entry: MatchEntry<T>; readonly error: unknown };

export type MatchedChange = Pick<DocumentChange, "collection" | "before" | "after">;

/** Memory for the evaluation on one document: far more than any sensible condition needs. */
const MATCH_BYTES_MAX = 16 * 1024 * 1024;

interface PathIndex<T> {
  readonly path: readonly string[];
  readonly byKey: Map<string, Set<MatchEntry<T>>>;
}

class CollectionIndex<T> {
  /** Conditions without an equality. */
  readonly loose = new Set<MatchEntry<T>>();
  readonly paths = new Map<string, PathIndex<T>>();
}

export class MatchIndex<T> {
  readonly #platform: Platform;
  readonly #appId: string;
  /** Shared by all evaluations: each document has the time of a row, the whole has no limit. */
  readonly #budget: Budget;
  readonly #checkers = new WeakMap<Authority, PermissionChecker>();
  readonly #collections = new Map<string, CollectionIndex<T>>();
  #work = 0;

  constructor(platform: Platform, appId: string) {
    this.#platform = platform;
    this.#appId = appId;
    const elapsed = (): number => platform.elapsed();
    this.#budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: MATCH_BYTES_MAX });
  }

  /** Steps of all conditions so far, without permission checks. */
  get work(): number {
    return this.#work;
  }

  /** Whether the index has a condition on this collection. */
  has(collection: string): boolean {
    return this.#collections.has(collection);
  }

  add(plan: ConditionPlan, { args, authority }: Given, owner: T): MatchEntry<T> {
    const request = { id: "", appId: this.#appId, startMs: 0 };
    const run: Run = { args, platform: this.#platform, budget: this.#budget, request };
    const checker = authority && this.#checkerOf(authority, run);
    const index = this.#ofCollection(plan.collection);
    const place = this.#place(plan, run, index);
    const entry = { owner, plan, run, checker, place };
    if (place === undefined) index.loose.add(entry);
    else putIn(index, place, entry);
    return entry;
  }

  remove(entry: MatchEntry<T>): void {
    const { plan, place } = entry;
    const index = this.#collections.get(plan.collection);
    if (index === undefined) return;
    if (place === undefined) index.loose.delete(entry);
    else takeOut(index, place, entry);
    if (index.loose.size === 0 && index.paths.size === 0) {
      this.#collections.delete(plan.collection);
    }
  }

  /** The conditions that matched before, match now, or may have. Each once. */
  *touched({ collection, before, after }: MatchedChange): Iterable<MatchEntry<T>> {
    const index = this.#collections.get(collection);
    if (index === undefined) return;
    for (const { path, byKey } of index.paths.values()) {
      const oldKey = before && keyAt(before, path);
      const newKey = after && keyAt(after, path);
      const olds = oldKey === undefined ? undefined : byKey.get(oldKey);
      if (olds !== undefined) yield* olds;
      if (newKey === undefined || newKey === oldKey) continue;
      // IN may have both keys.
      for (const entry of byKey.get(newKey) ?? []) if (olds?.has(entry) !== true) yield entry;
    }
    yield* index.loose;
  }

  /** Throws if the evaluation takes too long or too much memory. */
  matches({ plan, run, checker }: MatchEntry<T>, document: StoredDocument): boolean {
    if (checker !== undefined && !checker.mayRead(plan.collection, document)) return false;
    const { evaluate } = plan;
    if (evaluate === undefined) return true;
    const frame = newFrame(run, plan.slots);
    frame.slots[plan.slot] = document;
    return this.#evaluated(() => evaluate(frame) === true);
  }

  /** One evaluation. Its time ends with it: the next clock reading may be for other work. */
  #evaluated<V>(work: () => V): V {
    const before = this.#budget.work;
    this.#budget.startRow();
    try {
      return underMeter(this.#budget, work);
    } finally {
      this.#budget.endPiece();
      this.#work += this.#budget.work - before;
    }
  }

  /** The effect of a change on each condition that it affects. */
  *match(change: MatchedChange): Iterable<Match<T>> {
    for (const entry of this.touched(change)) {
      const match = this.matchOf(entry, change);
      if (match !== undefined) yield match;
    }
  }

  /** Undefined if the condition matched neither before nor now. */
  matchOf(entry: MatchEntry<T>, { before, after }: MatchedChange): Match<T> | undefined {
    try {
      const was = before !== undefined && this.matches(entry, before);
      const is = after !== undefined && this.matches(entry, after);
      if (is) return { kind: was ? "stay" : "enter", entry };
      return was ? { kind: "leave", entry } : undefined;
    } catch (error) {
      return { kind: "failed", entry, error };
    }
  }

  #checkerOf(authority: Authority, run: Run): PermissionChecker | undefined {
    if (authority.isReadingAll) return undefined;
    const checker = this.#checkers.get(authority) ?? authority.checker(run);
    this.#checkers.set(authority, checker);
    return checker;
  }

  #ofCollection(collection: string): CollectionIndex<T> {
    let index = this.#collections.get(collection);
    if (index === undefined) {
      index = new CollectionIndex();
      this.#collections.set(collection, index);
    }
    return index;
  }

  /** The equality that finds the fewest documents in vain. */
  #place(plan: ConditionPlan, run: Run, index: CollectionIndex<T>): Place | undefined {
    let best: Place | undefined;
    let least = Infinity;
    for (const { path, keys: evaluate, isGiven } of plan.equalities) {
      const keys = this.#evaluated(() => evaluate(newFrame(run, plan.slots)));
      if (keys === undefined) continue;
      const cost = costOf(path, keys, index) + (isGiven ? 0 : 0.5);
      if (cost >= least) continue;
      least = cost;
      best = { name: joinKeys(path), path, keys };
    }
    return best;
  }
}

/**
 * How many entries share the values already. Preferred are conditions without values, which never
 * match, and ids, which are unique. A boolean is a poor key, however few entries have it now.
 */
function costOf(
  path: readonly string[],
  keys: ReadonlySet<string>,
  index: CollectionIndex<unknown>,
): number {
  if (keys.size === 0) return -2;
  if (path.length === 1 && path[0] === "_id") return -1;
  const { byKey } = index.paths.get(joinKeys(path)) ?? {};
  let cost = keys.size;
  for (const key of keys) {
    cost += byKey?.get(key)?.size ?? 0;
    if (key === "t" || key === "f") cost += 1000;
  }
  return cost;
}

function putIn<T>(index: CollectionIndex<T>, place: Place, entry: MatchEntry<T>): void {
  const { name, path, keys } = place;
  if (keys.size === 0) return;
  let at = index.paths.get(name);
  if (at === undefined) {
    at = { path, byKey: new Map() };
    index.paths.set(name, at);
  }
  for (const key of keys) {
    const known = at.byKey.get(key);
    if (known === undefined) at.byKey.set(key, new Set([entry]));
    else known.add(entry);
  }
}

function takeOut<T>(index: CollectionIndex<T>, { name, keys }: Place, entry: MatchEntry<T>): void {
  const at = index.paths.get(name);
  if (at === undefined) return;
  for (const key of keys) {
    const known = at.byKey.get(key);
    known?.delete(entry);
    if (known?.size === 0) at.byKey.delete(key);
  }
  if (at.byKey.size === 0) index.paths.delete(name);
}
