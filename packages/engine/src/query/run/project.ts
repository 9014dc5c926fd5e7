/**
 * compileProjection: computes the result row of a statement from the frame of a row.
 */

import {
  assert,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { compile, isStored } from "../compile/expression.ts";
import type { Frame } from "../frame/frame.ts";
import { type RowDocument, wholeDocument } from "../frame/whole-document.ts";
import type { Output, OutputColumn } from "../plan/output.ts";
import type { ScopeTerm } from "../plan/scope.ts";
import { Failure, isDatumObject, MISSING, type PresentDatum, toValue } from "../value/datum.ts";
import { type Execution, warnOf } from "./execution.ts";

export type Project = (frame: Frame, execution: Execution) => Value;

export function compileProjection(output: Output, terms: readonly ScopeTerm[]): Project {
  const [first, ...others] = output.columns;
  if (first?.kind === "all" && others.length === 0) return wholeRow(terms);
  if (output.isRaw && first?.kind === "column") {
    const evaluate = compile(first.expression);
    const settle = isStored(first.expression) ? (datum: PresentDatum) => datum as Value : toValue;
    return (frame) => {
      const datum = evaluate(frame);
      // The side of an outer join without a match.
      return datum === MISSING || datum instanceof Failure ? null : settle(datum);
    };
  }
  const slot = terms[0]?.slot ?? 0;
  const put = output.columns.map((column) => compileColumn(column, slot));
  return (frame, execution) => {
    const row: MutableObject = {};
    for (const each of put) each(row, frame, execution);
    return row;
  };
}

/** The document itself, or with several terms an object with one field for each alias. */
function wholeRow(terms: readonly ScopeTerm[]): Project {
  const [only, ...others] = terms;
  if (only !== undefined && others.length === 0) {
    const { slot } = only;
    return ({ slots }) => wholeDocument(slots[slot] as RowDocument);
  }
  return ({ slots }) => {
    const row: MutableObject = {};
    for (const { alias, slot, isElement } of terms) {
      const held = slots[slot];
      if (held === undefined) continue;
      const value = isElement ? toValue(held as PresentDatum) : wholeDocument(held as RowDocument);
      setField(row, alias, value);
    }
    return row;
  };
}

type Put = (row: MutableObject, frame: Frame, execution: Execution) => void;

function compileColumn(column: OutputColumn, slot: number): Put {
  assert(column.kind !== "all", "* alone");
  const evaluate = compile(column.expression);
  if (column.kind === "spread") {
    return (row, frame, execution) => {
      const outcome = evaluate(frame);
      if (outcome instanceof Failure) warnOf(execution, outcome, frame.slots[slot]);
      else if (isDatumObject(outcome)) spread(row, toValue(outcome) as ValueObject);
    };
  }
  const { name } = column;
  const settle = isStored(column.expression) ? (datum: PresentDatum) => datum as Value : toValue;
  return (row, frame, execution) => {
    const outcome = evaluate(frame);
    if (outcome !== MISSING && !(outcome instanceof Failure)) {
      setField(row, name, settle(outcome));
      return;
    }
    // `c.*, MISSING f` removes a field set before it, and so does a failure.
    delete row[name];
    if (outcome instanceof Failure) warnOf(execution, outcome, frame.slots[slot]);
  };
}

function spread(row: MutableObject, object: ValueObject): void {
  for (const name of Object.keys(object)) setField(row, name, object[name] as Value);
}
