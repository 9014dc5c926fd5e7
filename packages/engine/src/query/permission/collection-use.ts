/**
 * Collection uses: which collections a statement names, and what for. Known from its text alone, so
 * that it can be refused before anything is looked at.
 */

import { unreachable } from "@bigpeer/protocol";
import type { CollectionRef, SelectStatement, Statement } from "../syntax/tree.ts";

export type CollectionUse =
  | {
      readonly kind: "read" | "write";
      readonly collection: string;
      /** Where the name stands in a request of several parts. */
      readonly at?: string;
    }
  /** What concerns the store as a whole. */
  | { readonly kind: "everything" };

/** System collections are not among them: they are free, and show each caller what is his. */
export function usesOf(statement: Statement): readonly CollectionUse[] {
  switch (statement.kind) {
    case "select":
      return usesOfSelect(statement);
    case "insert": {
      const { into, source, returning } = statement;
      const sources = source.kind === "select" ? usesOfSelect(source) : [];
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
    case "advise":
    case "sync_context":
      return usesOf(statement.statement);
    case "create_index":
    case "drop_index":
    case "alter_system":
      return [{ kind: "everything" }];
    case "execute_function":
    case "show":
      return [];
    default:
      return unreachable(statement);
  }
}

function usesOfSelect({ from, joins }: SelectStatement): CollectionUse[] {
  return [from, ...joins.map(({ term }) => term)].flatMap(({ collection }) =>
    useOf("read", collection),
  );
}

function useOf(kind: "read" | "write", { namespace, name }: CollectionRef): CollectionUse[] {
  return namespace === undefined || namespace === "default" ? [{ kind, collection: name }] : [];
}
