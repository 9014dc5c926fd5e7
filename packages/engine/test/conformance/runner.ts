/**
 * Runs a recorded case against anything that executes statements, and says how the outcome differs.
 */
import { isArray, isObject, PeerError, sortedKeys, type Value } from "@bigpeer/protocol";
import {
  type Case,
  type CaseStep,
  type CheckedStep,
  type CollectionNames,
  type Expectation,
  nameCollections,
} from "./cases.ts";

export interface Answer {
  readonly items: readonly Value[];
  readonly mutatedDocumentIds: readonly Value[];
}

export interface Executor {
  /** Rejects with a PeerError when the statement is refused. */
  execute(statement: string, args: unknown): Promise<Answer>;
}

export interface RunOptions {
  /** What a way of transport leaves of a value, for instance JSON of binary. */
  readonly seen?: (value: Value) => Value;
  /** The class of an error; the expected class itself where only the failure can be seen. */
  readonly classify?: (error: unknown, expected: string) => string;
}

/** No two cases share a collection, so that all may run on one store. */
let casesRun = 0;

export function nextNames(): CollectionNames {
  casesRun++;
  return { c: `things${casesRun}`, c2: `others${casesRun}` };
}

/** Undefined when the case goes as it was recorded, otherwise how it differs. */
export async function runCase(
  given: Case,
  executor: Executor,
  options: RunOptions = {},
): Promise<string | undefined> {
  const named = nameCollections(given, nextNames());
  const difference = await runSteps(named, executor, options);
  try {
    for (const step of named.teardown ?? []) await executeStep(step, executor);
  } catch (error) {
    return difference ?? `teardown: ${describeError(error)}`;
  }
  return difference;
}

async function runSteps(
  named: Case,
  executor: Executor,
  options: RunOptions,
): Promise<string | undefined> {
  try {
    for (const step of named.setup ?? []) await executeStep(step, executor);
  } catch (error) {
    return `setup: ${describeError(error)}`;
  }
  for (const step of [named, ...(named.then ?? [])]) {
    const difference = await checkStep(step, executor, options);
    if (difference !== undefined) return `${step.statement}: ${difference}`;
  }
  return undefined;
}

function executeStep(step: CaseStep, executor: Executor): Promise<Answer> {
  return executor.execute(step.statement, step.args ?? {});
}

async function checkStep(
  step: CheckedStep,
  executor: Executor,
  { seen = (value) => value, classify = classifyError }: RunOptions,
): Promise<string | undefined> {
  const expected = step.expect.error;
  let answer: Answer;
  try {
    answer = await executeStep(step, executor);
  } catch (error) {
    if (expected !== undefined && classify(error, expected) === expected) return undefined;
    const wanted = expected === undefined ? describeExpectation(step.expect) : `error ${expected}`;
    return `expected ${wanted}, found ${describeError(error)}`;
  }
  if (expected !== undefined) return `expected error ${expected}, found ${describeAnswer(answer)}`;
  return compareAnswer(step.expect, answer, seen);
}

function compareAnswer(
  expect: Expectation,
  answer: Answer,
  seen: (value: Value) => Value,
): string | undefined {
  const { items, keys, mutatedDocumentIds, mutatedCount } = expect;
  if (keys !== undefined) {
    const found = keysOf(answer.items);
    if (found.join() !== keys.join())
      return `expected the keys ${keys.join()}, found ${found.join()}`;
  } else {
    const rows = (items ?? []).map(seen);
    const difference = compareLists(rows, answer.items, expect.ordered === true);
    if (difference !== undefined) return difference;
  }
  const ids = answer.mutatedDocumentIds;
  if (mutatedCount !== undefined) {
    return ids.length === mutatedCount
      ? undefined
      : `expected ${mutatedCount} mutated ids, found ${textOf(ids)}`;
  }
  const difference = compareLists((mutatedDocumentIds ?? []).map(seen), ids, false);
  return difference === undefined ? undefined : `mutated ids: ${difference}`;
}

function keysOf(items: readonly Value[]): string[] {
  return [...new Set(items.flatMap((item) => (isObject(item) ? Object.keys(item) : [])))].sort();
}

export function compareLists(
  expected: readonly Value[],
  found: readonly Value[],
  isOrdered: boolean,
): string | undefined {
  const wanted = expected.map(textOf);
  const given = found.map(textOf);
  const isSame = isOrdered
    ? wanted.join("\n") === given.join("\n")
    : wanted.toSorted().join("\n") === given.toSorted().join("\n");
  return isSame ? undefined : `expected [${wanted.join(", ")}], found [${given.join(", ")}]`;
}

/** The same text for equal values and for no others; keys are sorted, -0 is 0. */
export function textOf(value: Value | undefined): string {
  switch (typeof value) {
    case "undefined":
      return "MISSING";
    case "number":
      return String(value === 0 ? 0 : value);
    case "bigint":
      return String(value);
    case "object":
      if (value === null) return "null";
      if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString("hex")})`;
      if (isArray(value)) return `[${value.map(textOf).join(",")}]`;
      return `{${sortedKeys(value)
        .map((key) => `${JSON.stringify(key)}:${textOf(value[key])}`)
        .join(",")}}`;
    default:
      return JSON.stringify(value);
  }
}

/** `query.syntax` is of the class `syntax`; all that the store refuses is of the class `store`. */
export function classifyError(error: unknown): string {
  if (!(error instanceof PeerError)) return "crash";
  const [family = "", kind = ""] = error.code.split(".");
  if (family === "store") return "store";
  return family === "query" ? kind : error.code;
}

function describeError(error: unknown): string {
  if (error instanceof PeerError) return `error ${classifyError(error)} (${error.message})`;
  return `crash ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function describeAnswer({ items, mutatedDocumentIds }: Answer): string {
  return `items ${textOf(items)}, mutated ids ${textOf(mutatedDocumentIds)}`;
}

function describeExpectation({
  items,
  keys,
  mutatedDocumentIds,
  mutatedCount,
}: Expectation): string {
  if (keys !== undefined) return `keys ${keys.join()}`;
  if (mutatedCount !== undefined) return `${mutatedCount} mutated ids`;
  const ids = mutatedDocumentIds === undefined ? "" : `mutated ids ${textOf(mutatedDocumentIds)} `;
  return `${ids}items ${textOf(items ?? [])}`;
}

/**
 * Runs cases and holds them against the list of known differences. Empty when all is as listed.
 */
export async function complainAbout(
  cases: readonly Case[],
  executor: Executor,
  known: ReadonlyMap<string, string>,
  options: RunOptions = {},
): Promise<string[]> {
  const complaints: string[] = [];
  for (const each of cases) {
    const difference = await runCase(each, executor, options);
    if (difference === undefined && known.has(each.name)) {
      complaints.push(`${each.name}: is a listed difference, but goes as recorded`);
    }
    if (difference !== undefined && !known.has(each.name)) {
      complaints.push(`${each.name}: ${difference}`);
    }
    // Even where we may differ, a crash is no answer.
    if (difference?.includes("found crash")) complaints.push(`${each.name}: ${difference}`);
  }
  return complaints;
}
