/**
 * Mistake warnings: warn about likely typos in a statement that finds nothing (Q1 to Q5).
 *
 * Hints use only what the statement itself read, names of collections that the caller may read, and
 * the fields of a few of the documents that were read.
 */

import { getField, isArray, nearest } from "@bigpeer/protocol";
import { nearestCollection } from "../frame/near-collection.ts";
import type { Steps } from "../frame/steps.ts";
import { isAggregate } from "../functions/aggregate.ts";
import type { FieldSuspect } from "../plan/suspect.ts";
import { describeOffset, type Execution } from "../run/execution.ts";
import type { SuspectWatch } from "../run/lookout.ts";
import { printPath } from "../syntax/print-path.ts";
import { sourcesInSteps } from "../syntax/statement-walk.ts";
import type { CollectionRef, Projection, Statement } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { cutName } from "../unknown-name.ts";
import type { StatementOutput, Work } from "./work.ts";

/** Maximum number of field names that are compared for a hint. */
const FIELDS_COMPARED = 1000;

/** Wraps work so that it adds mistake warnings when it is done. */
export function* withMistakeWarnings(work: Work, statement: Statement): Steps<Work> {
  const sources = storedSources(yield* sourcesInSteps(statement));
  // A single unknown collection gives an empty result, or a count of 0.
  const isAlwaysAsked = sources.length > 1 || isCount(statement);
  const { run } = work;
  return {
    ...work,
    *run(execution) {
      const output = yield* run(execution);
      const { lookout } = execution;
      if (lookout === undefined) return output;
      if (isAlwaysAsked || isEmpty(output)) yield* warnOfCollections(sources, execution);
      for (const watch of lookout.unmatched()) yield* warnOfCondition(watch, execution);
      return output;
    },
  };
}

function isEmpty({ items, ids }: StatementOutput): boolean {
  return items.length === 0 && ids.length === 0;
}

/** The stored collections among the references, each once. */
function storedSources(refs: readonly CollectionRef[]): readonly CollectionRef[] {
  const byName = new Map<string, CollectionRef>();
  for (const ref of refs) {
    const { namespace = "default", name } = ref;
    if (namespace === "default" && !byName.has(name)) byName.set(name, ref);
  }
  return [...byName.values()];
}

/** Whether the statement returns a row even if no document matches. */
function isCount(statement: Statement): boolean {
  if (statement.kind !== "select" || statement.groupBy !== undefined) return false;
  return statement.projections.some(hasAggregate);
}

function hasAggregate(projection: Projection): boolean {
  let isFound = false;
  if (projection.kind !== "column") return false;
  eachNode(projection.expression, (node) => {
    isFound ||= node.kind === "call" && isAggregate(node.name);
  });
  return isFound;
}

/** Warns of unknown collections. A collection with a read rule counts as known (P7). */
function* warnOfCollections(sources: readonly CollectionRef[], execution: Execution): Steps<void> {
  const { view, warnings, text } = execution;
  for (const { name, at } of sources) {
    if (view.collectionNumber(name) !== undefined) continue;
    if (warnings.isFullAhead) {
      warnings.total++;
      continue;
    }
    const near = nearestCollection(view, name);
    const what = `unknown collection "${cutName(name)}" at ${describeOffset(text, at)}`;
    warnings.addAhead(`${what}: no document was ever in it${hintOf(near && `"${cutName(near)}"`)}`);
    yield;
  }
}

function* warnOfCondition(watch: SuspectWatch, execution: Execution): Steps<void> {
  const { warnings, text, run } = execution;
  const { lists, texts, joins } = watch.suspects;
  for (const { left, right } of joins) {
    const sign = text.lastIndexOf("||", right);
    const place = describeOffset(text, sign > left ? sign : left);
    warnings.addAhead(`|| at ${place} joins texts${hintOf("OR")}`);
  }
  for (const { parameter, at } of lists) {
    if (!isArray(getField(run.args, parameter))) continue;
    const name = `:${cutName(parameter)}`;
    const place = describeOffset(text, at);
    warnings.addAhead(
      `(${name}) at ${place} is a list that holds the list ${name}${hintOf(`IN ${name}`)}`,
    );
  }
  for (const { text: name, at } of texts) {
    if (text[at] !== '"' || name === "") continue;
    const what = `"${cutName(name)}" at ${describeOffset(text, at)} is a text, not a field`;
    const meant = printPath([cutName(name)]);
    warnings.addAhead(`${what}: a name stands without quotes or in backticks${hintOf(meant)}`);
  }
  yield;
  yield* warnOfFields(watch, execution);
}

function* warnOfFields(watch: SuspectWatch, execution: Execution): Steps<void> {
  const known = new Map<number, ReadonlySet<string>>();
  for (const suspect of watch.absent) {
    const { slot, name, at } = suspect;
    const names = known.get(slot) ?? (yield* knownFields(watch, slot, execution));
    known.set(slot, names);
    // The field exists, but the statement hides it by type declarations or strict mode.
    if (names.has(name)) continue;
    const meaning = meaningOf(suspect, execution.text, names);
    if (meaning === undefined) continue;
    const what = `no document that was looked at has the field ${printPath([cutName(name)])}`;
    execution.warnings.addAhead(`${what} at ${describeOffset(execution.text, at)}${meaning}`);
    yield;
  }
}

/** Hint at the probable meaning, if there is one. */
function meaningOf(
  suspect: FieldSuspect,
  text: string,
  names: Iterable<string>,
): string | undefined {
  const { name, role } = suspect;
  if (name.toLowerCase() === "id") return hintOf("_id");
  const isText = role !== "field" && isBareWord(suspect, text);
  const near = role === "value" && isText ? undefined : nearest(name, names);
  if (near !== undefined) return hintOf(printPath([near]));
  if (!isText) return undefined;
  const reason = "a word without quotes is read as a field, text needs single quotes";
  return `: ${reason}${hintOf(`'${cutName(name)}'`)}`;
}

/** Whether the field is a single word without quotes and without the alias of its term. */
function isBareWord({ name, at }: FieldSuspect, text: string): boolean {
  return text.startsWith(name, at) && text[at + name.length] !== ".";
}

/** Field names of the first documents that the statement read. */
function* knownFields(
  watch: SuspectWatch,
  slot: number,
  { view, run }: Execution,
): Steps<ReadonlySet<string>> {
  const names = new Set<string>();
  const collection = watch.suspects.collections.get(slot);
  if (collection === undefined) return names;
  for (const id of watch.sampleOf(slot)) {
    run.budget.step();
    const document = view.get(collection, id);
    for (const name in document?.fields) {
      if (names.size >= FIELDS_COMPARED) return names;
      names.add(name);
    }
    yield;
  }
  return names;
}

function hintOf(meant: string | undefined): string {
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}
