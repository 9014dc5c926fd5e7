/**
 * Walks over whole statements: the expressions in their clauses.
 */

import { unreachable } from "@bigpeer/protocol";
import type {
  Expression,
  FromTerm,
  Projection,
  Selection,
  SelectStatement,
  Statement,
} from "./tree.ts";

type Parts = readonly (Expression | undefined)[];

/**
 * The expressions that are evaluated whether or not a document is found: not the right sides of SET,
 * and nothing of a statement that is only looked at.
 */
export function expressionsOf(statement: Statement): Expression[] {
  return partsOf(statement).filter((part) => part !== undefined);
}

function partsOf(statement: Statement): Parts {
  switch (statement.kind) {
    case "select":
      return selectParts(statement);
    case "insert": {
      const { source, returning } = statement;
      const parts = source.kind === "select" ? selectParts(source) : source.documents;
      return [...parts, ...projectionParts(returning ?? [])];
    }
    case "update":
      return [...statement.apply.map(({ value }) => value), ...selectionParts(statement)];
    case "remove":
      return selectionParts(statement);
    case "explain":
    case "advise":
    case "sync_context":
      return [];
    case "profile":
      return partsOf(statement.statement);
    case "execute_function":
      return [statement.call];
    case "alter_system":
      return [statement.value];
    case "create_index":
    case "drop_index":
    case "show":
      return [];
    default:
      return unreachable(statement);
  }
}

function selectParts(select: SelectStatement): Parts {
  return [
    ...projectionParts(select.projections),
    ...termParts(select.from),
    ...select.joins.flatMap(({ term, on }) => [...termParts(term), on]),
    select.where,
    ...(select.groupBy ?? []),
    select.having,
    ...select.orderBy.map(({ expression }) => expression),
    select.limit,
    select.offset,
  ];
}

function selectionParts(selection: Selection): Parts {
  return [
    ...termParts(selection.term),
    selection.where,
    ...selection.orderBy.map(({ expression }) => expression),
    selection.limit,
    selection.offset,
    ...projectionParts(selection.returning ?? []),
  ];
}

function projectionParts(projections: readonly Projection[]): Parts {
  return projections.map((projection) => {
    if (projection.kind === "all") return undefined;
    return projection.kind === "all_of" ? projection.of : projection.expression;
  });
}

function termParts({ use }: FromTerm): Parts {
  if (use?.kind === "ids") return use.ids;
  return use?.kind === "id_list" ? [use.list] : [];
}
