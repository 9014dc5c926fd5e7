/**
 * PlanExplainer: describes plans for people, for EXPLAIN, PROFILE and ADVISE. The folder explain/
 * implements it.
 *
 * Few statements need it, so a host may load it when the first of them comes: nothing else of the
 * query language imports that folder. It works on data alone and compares no classes, because a host
 * may bundle it apart, with its own copies of them.
 */

import { type IndexKey, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { IndexDefinition } from "../../store/index-entry.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Steps } from "../frame/steps.ts";
import type { Chosen, Wish } from "../plan/access.ts";
import type { QueryPlan, RowsPlan, SourcePlan } from "../plan/plan.ts";
import type { ConflictPolicy, Expression, OrderTerm, Statement } from "../syntax/tree.ts";
import type { Profile } from "./profile.ts";

export interface PlanExplainer {
  /** The plan of a statement as EXPLAIN shows it. */
  explain(outline: PlanOutline, how: Explaining): ValueObject;
  /** The indexes that a statement uses, and those that would make it faster. */
  advise(outline: PlanOutline, indexesOf: IndexesOf): Advice;
  /** The row that ADVISE returns. `done` names the indexes that were created. */
  adviceRow(statement: Statement, advice: Advice, done?: ValueObject): Value;
  /** Creates the suggested indexes. Returns what was done, for the row. */
  provision(advice: Advice, transaction: Transaction): Steps<ValueObject>;
  /** Collects statistics of operators, for PROFILE. `elapsed` is a monotonic clock. */
  newProfile(elapsed: () => number): Profile;
  /** The row that PROFILE appends. */
  profileRow(ran: ProfiledStatement): Value;
}

/** A statement that PROFILE ran. Times are in milliseconds. */
export interface ProfiledStatement {
  readonly plan: ValueObject | undefined;
  readonly queryType: string;
  /** Rows returned or documents changed. */
  readonly resultCount: number;
  readonly elapsedMs: number;
  readonly parseMs: number;
  readonly planMs: number;
}

/** What EXPLAIN describes of a prepared statement. */
export type PlanOutline =
  | { readonly kind: "query"; readonly plan: QueryPlan }
  | {
      readonly kind: "insert";
      readonly collection: string;
      /** The query of INSERT … SELECT. */
      readonly source: QueryPlan | undefined;
      readonly onConflict: ConflictPolicy;
    }
  /** Selects documents; the operator writes them, and is undefined if they are read. */
  | {
      readonly kind: "choice";
      readonly choice: ExplainableChoice;
      readonly operator: string | undefined;
    }
  | { readonly kind: "definition"; readonly operator: string; readonly name: string };

export interface ExplainableChoice {
  readonly plan: RowsPlan;
  readonly order: readonly OrderTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
}

/** Information that is not in the plan. */
export interface Explaining {
  /** The access path of a term. */
  readonly choose: (source: SourcePlan, wish: Wish) => Chosen;
  /** Statistics of an operator by its plan node; present after the statement ran. */
  readonly statsOf?: (node: object) => ValueObject | undefined;
  /** The same for an index, by its number. */
  readonly entriesRead?: (index: number) => ValueObject | undefined;
}

export type IndexesOf = (collection: string) => readonly IndexDefinition[];

export interface Advice {
  /** Whether an index could help any term of the statement. */
  readonly hasTerms: boolean;
  readonly existing: readonly SuggestedIndex[];
  readonly suggested: readonly SuggestedIndex[];
}

export interface SuggestedIndex {
  readonly collection: string;
  readonly name: string;
  readonly keys: readonly IndexKey[];
  readonly reason: string;
}

/** Undefined while the host has not loaded it. */
export function loadedExplainer(platform: Platform): PlanExplainer | undefined {
  return platform.explainer() as PlanExplainer | undefined;
}

/** The explainer of a statement that needs one. Throws `query.busy` if it could not be loaded. */
export function explainerOf({ platform }: { readonly platform: Platform }): PlanExplainer {
  const explainer = loadedExplainer(platform);
  if (explainer !== undefined) return explainer;
  const message = "failed to load the code for EXPLAIN; retry when it can be loaded";
  throw new PeerError("query.busy", message);
}
