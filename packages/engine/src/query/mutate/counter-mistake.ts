/**
 * checkCounters: detects a plain value written over a counter, and an INCREMENT of a plain value.
 *
 * A field holds its counter and its plain value side by side, and the newest is visible. So
 * `SET n = 5` does not change the counter, and INCREMENT does not continue from a plain 5. Both are
 * valid and rarely intended: strict mode refuses them, otherwise there is a warning with the
 * probable intention.
 */

import {
  type Edit,
  getField,
  isObject,
  stringifyJson,
  type TypeMark,
  type Value,
} from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault } from "../fault.ts";
import type { Warnings } from "../run/warnings.ts";
import { printPath } from "../syntax/print-path.ts";

interface CounterMistake {
  readonly reason: string;
  readonly hint: string;
}

export interface CounterCheck {
  readonly isStrict: boolean;
  readonly warnings: Warnings;
  /** Position in the statement. */
  readonly at: number | undefined;
}

/** Longer values are not repeated in messages. */
const VALUE_SHOWN_MAX = 40;

/** Checks the edits of a document that was `before`; throws in strict mode. */
export function checkCounters(
  edits: readonly Edit[],
  before: StoredDocument,
  { isStrict, warnings, at }: CounterCheck,
): void {
  for (const edit of edits) {
    const mistake = mistakeOf(edit, before);
    if (mistake === undefined) continue;
    const { reason, hint } = mistake;
    if (isStrict) throw evaluationFault(reason, at, hint);
    if (warnings.isFull) warnings.total++;
    else warnings.add(`${reason}; ${hint}`, before.id);
  }
}

function mistakeOf(edit: Edit, { fields, types }: StoredDocument): CounterMistake | undefined {
  switch (edit.kind) {
    case "increment":
      return incrementMistake(edit, shownAt(fields, types, edit.path));
    case "set":
      // Most documents have no counters: nothing to check.
      if (types === undefined) return undefined;
      return setMistake(edit.path, edit.value, edit.types, shownAt(fields, types, edit.path).mark);
    default:
      return undefined;
  }
}

interface Shown {
  readonly value: Value | undefined;
  readonly mark: TypeMark | undefined;
}

function shownAt(fields: Value, types: TypeMark | undefined, path: readonly string[]): Shown {
  let value: Value | undefined = fields;
  let mark = types;
  for (const name of path) {
    value = isObject(value) ? getField(value, name) : undefined;
    mark = typeof mark === "object" ? markOf(mark, name) : undefined;
  }
  return { value, mark };
}

function isCounter(mark: TypeMark | undefined): boolean {
  return mark === "counter" || mark === "pn_counter";
}

function incrementMistake(
  { path, by, counter }: Extract<Edit, { readonly kind: "increment" }>,
  { value, mark }: Shown,
): CounterMistake | undefined {
  if (value === undefined || isCounter(mark)) return undefined;
  const name = printPath(path);
  const reason = `${name} shows the plain value ${shown(value)}, and INCREMENT does not go on from it but from the counter of that name (0 if there was none)`;
  if (typeof value !== "number" && typeof value !== "bigint") {
    return { reason, hint: `to start the counter write APPLY ${name} RESTART` };
  }
  // A PN_COUNTER cannot be restarted.
  const sum = Number(value) + Number(by);
  const plain = `SET ${name} = ${name} + ${shown(by)}`;
  const isStartable = counter !== "pn_counter" && Number.isSafeInteger(sum);
  const start = `to make it a counter that goes on from there, write APPLY ${name} RESTART WITH ${sum}`;
  const keep = `to keep a plain value, write ${plain}`;
  return { reason, hint: isStartable ? `${start}; ${keep}` : keep };
}

/** `written`: the type that the value is written as; `mark`: the visible type. */
function setMistake(
  path: readonly string[],
  value: Value,
  written: TypeMark | undefined,
  mark: TypeMark | undefined,
): CounterMistake | undefined {
  if (isCounter(mark)) {
    if (isCounter(written)) return undefined;
    const name = printPath(path);
    const reason = `${name} is a counter, and SET writes a plain value beside it: the next INCREMENT does not go on from ${shown(value)}`;
    const amount = Number.isSafeInteger(value) ? shown(value) : "0";
    return { reason, hint: `to set the counter write APPLY ${name} RESTART WITH ${amount}` };
  }
  // A map is written field by field: only counters in it that the value sets matter.
  if (typeof mark !== "object" || !isObject(value) || written === "register") return undefined;
  for (const name of Object.keys(mark)) {
    const inner = getField(value, name);
    if (inner === undefined) continue;
    const innerWritten = typeof written === "object" ? markOf(written, name) : undefined;
    const mistake = setMistake([...path, name], inner, innerWritten, markOf(mark, name));
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}

function shown(value: Value): string {
  const text = stringifyJson(value);
  return text.length <= VALUE_SHOWN_MAX ? text : "that was given";
}
