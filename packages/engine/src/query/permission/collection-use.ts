/**
 * usesOf: lists the collections that a statement reads and writes, from its text alone, so that it
 * can be refused before any data is read.
 */

import { unreachable } from "@bigpeer/protocol";
import { finish, type Steps } from "../frame/steps.ts";
import { armsOf, isQueryTerm, subqueriesInSteps, termsOf } from "../syntax/statement-walk.ts";
import type { CollectionRef, Query, Statement } from "../syntax/tree.ts";

export type CollectionUse =
  | {
      readonly kind: "read" | "write";
      readonly collection: string;
      /** Position of the name in a request of several parts. */
      readonly at?: string;
    }
  /** Affects the store as a whole. */
  | { readonly kind: "everything" }
  /** Describes other peers: for callers who may read everything. */
  | { readonly kind: "peers" };

/** Omits system collections: every caller may read them, and sees only permitted rows. */
export function usesOf(statement: Statement): readonly CollectionUse[] {
  return finish(usesInSteps(statement));
}

export function* usesInSteps(statement: Statement): Steps<CollectionUse[]> {
  const subqueries = yield* subqueriesInSteps(statement);
  return [...ownUsesOf(statement), ...subqueries.flatMap(usesOf)];
}

/** Without those of its subqueries. */
function ownUsesOf(statement: Statement): readonly CollectionUse[] {
  switch (statement.kind) {
    case "select":
    case "union":
      return usesOfQuery(statement);
    case "insert": {
      const { into, source, returning } = statement;
      const sources = source.kind === "documents" ? [] : usesOfQuery(source);
      const back = returning === undefined ? [] : useOf("read", into);
      return [...useOf("write", into), ...back, ...sources];
    }
    case "update":
    case "remove": {
      const { collection } = statement.term;
      return [...useOf("read", collection), ...useOf("write", collection)];
    }
    case "explain":
    case "profile":
    case "sync_context":
      return usesOf(statement.statement);
    case "advise": {
      const { statement: about, isProvision } = statement;
      return isProvision ? [...usesOf(about), { kind: "everything" }] : usesOf(about);
    }
    case "create_index":
    case "drop_index":
    case "alter_system":
      return [{ kind: "everything" }];
    case "explain_sync":
      return [{ kind: "peers" }];
    case "execute_function":
    case "show":
      return [];
    default:
      return unreachable(statement);
  }
}

function usesOfQuery(query: Query): CollectionUse[] {
  const terms = armsOf(query).flatMap(termsOf);
  return terms.flatMap((term) => (isQueryTerm(term) ? [] : useOf("read", term.collection)));
}

function useOf(kind: "read" | "write", { namespace, name }: CollectionRef): CollectionUse[] {
  return namespace === undefined || namespace === "default" ? [{ kind, collection: name }] : [];
}
