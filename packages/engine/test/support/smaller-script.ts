/**
 * Smaller scripts: what is left of one that fails when everything is gone that the failure does not
 * need. Steps, fields of documents, then parts of the last question; whatever still fails is
 * kept.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { parseFilter } from "../../src/query/syntax/parse-filter.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import { printExpression, printStatement } from "../../src/query/syntax/print.ts";
import type { Expression, Statement } from "../../src/query/syntax/tree.ts";
import type { Script, Step } from "./index-script.ts";

/** How a script fails; undefined when it does not. */
export type Fails = (script: Script) => Promise<string | undefined>;

export interface Smallest {
  readonly script: Script;
  readonly failure: string;
}

/** Nothing is tried for longer than this: a failure is wanted soon. */
const TRIED_MS_MAX = 40_000;

class Attempt {
  readonly #fails: Fails;
  readonly #endMs = performance.now() + TRIED_MS_MAX;
  best: Smallest;

  constructor(fails: Fails, best: Smallest) {
    this.#fails = fails;
    this.best = best;
  }

  /** Takes the steps if they still fail. */
  async take(steps: readonly Step[], more: Partial<Script> = {}): Promise<boolean> {
    if (performance.now() > this.#endMs) return false;
    const script = { ...this.best.script, ...more, steps };
    const failure = await this.#fails(script);
    if (failure === undefined) return false;
    this.best = { script, failure };
    return true;
  }

  get steps(): readonly Step[] {
    return this.best.script.steps;
  }
}

/** `script` fails at its last step. */
export async function smallestFailing(
  script: Script,
  failure: string,
  fails: Fails,
): Promise<Smallest> {
  const attempt = new Attempt(fails, { script, failure });
  await attempt.take(attempt.steps, { rules: undefined });
  for (let size = Math.ceil(script.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    await withoutSteps(attempt, size);
  }
  await withoutDocuments(attempt);
  while (await withSmallerQuestion(attempt));
  await withoutSteps(attempt, 1);
  await withoutFields(attempt);
  return attempt.best;
}

async function withoutSteps(attempt: Attempt, size: number): Promise<void> {
  let start = attempt.steps.length - 1 - size;
  for (; start > -size; start -= size) {
    const from = Math.max(0, start);
    const { steps } = attempt;
    // The last one is the question.
    const end = Math.min(start + size, steps.length - 1);
    await attempt.take([...steps.slice(0, from), ...steps.slice(end)]);
  }
}

/** Of those that come with one statement. */
async function withoutDocuments(attempt: Attempt): Promise<void> {
  for (const [i, step] of attempt.steps.entries()) {
    if (step.kind !== "touch" && step.kind !== "statement") continue;
    let { given } = step.args;
    if (!isArray(given)) continue;
    for (let size = Math.ceil(given.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let start = given.length - size; start >= 0; start -= size) {
        const fewer: readonly Value[] = given.toSpliced(start, size);
        const smaller = { ...step, args: { ...step.args, given: fewer } };
        if (await attempt.take(attempt.steps.with(i, smaller))) given = fewer;
      }
    }
  }
}

async function withoutFields(attempt: Attempt): Promise<void> {
  for (const [i, step] of attempt.steps.entries()) {
    if (step.kind !== "put") continue;
    let { document } = step;
    for (const name of Object.keys(document)) {
      if (name === "_id") continue;
      const { [name]: _, ...rest } = document;
      const smaller = { ...rest, _id: document["_id"] };
      if (await attempt.take(attempt.steps.with(i, { ...step, document: smaller, types: {} }))) {
        document = smaller;
      }
    }
  }
}

async function withSmallerQuestion(attempt: Attempt): Promise<boolean> {
  const last = attempt.steps.at(-1);
  if (last === undefined) return false;
  for (const smaller of smallerQuestions(last)) {
    if (await attempt.take([...attempt.steps.slice(0, -1), smaller])) return true;
  }
  return false;
}

function* smallerQuestions(step: Step): Iterable<Step> {
  switch (step.kind) {
    case "statement": {
      if (step.isStrict) yield { ...step, isStrict: false };
      for (const statement of smallerTexts(step.statement)) yield { ...step, statement };
      return;
    }
    case "find":
    case "count":
      if (step.sort.length > 0) yield { ...step, sort: step.sort.slice(1) };
      if (step.offset > 0) yield { ...step, offset: 0 };
      if (step.limit < 1000) yield { ...step, limit: 1000 };
      for (const query of smallerFilters(step.query)) yield { ...step, query };
      return;
    case "write": {
      const { commands } = step;
      for (const i of commands.keys()) {
        if (commands.length > 1) yield { ...step, commands: commands.toSpliced(i, 1) };
      }
      return;
    }
    default:
      return;
  }
}

function* smallerTexts(text: string): Iterable<string> {
  const { statement } = parseStatement(text);
  const written = printStatement(statement);
  for (const tree of smallerTrees(statement as unknown as ValueObject)) {
    const smaller = printed(() => printStatement(tree as unknown as Statement));
    if (smaller !== undefined && smaller.length < written.length) yield smaller;
  }
}

function* smallerFilters(text: string): Iterable<string> {
  const filter = parseFilter(text);
  const written = printExpression(filter);
  for (const tree of smallerTrees(filter as unknown as ValueObject)) {
    const smaller = printed(() => printExpression(tree as unknown as Expression));
    if (smaller !== undefined && smaller.length < written.length) yield smaller;
  }
}

/** A tree that lost too much has no text. */
function printed(print: () => string): string | undefined {
  try {
    return print();
  } catch {
    return undefined;
  }
}

const OPTIONAL = new Set(["where", "having", "limit", "offset", "groupBy", "returning", "use"]);
const LISTS = new Set(["orderBy", "projections", "joins", "set", "unset", "elements", "others"]);

/** The tree with one part less, wherever that is. Nothing is known of what the parts mean. */
function* smallerTrees(node: ValueObject): Iterable<ValueObject> {
  for (const operand of ["left", "right", "operand", "first"]) {
    const part = node[operand];
    if (isObject(part)) yield part;
  }
  for (const [name, part] of Object.entries(node)) {
    if (OPTIONAL.has(name)) {
      const { [name]: _, ...rest } = node;
      yield rest;
    }
    if (name === "isDistinct" && part === true) yield { ...node, isDistinct: false };
    if (isArray(part)) {
      for (const [i, element] of part.entries()) {
        if (LISTS.has(name)) yield { ...node, [name]: part.toSpliced(i, 1) };
        if (!isObject(element)) continue;
        for (const smaller of smallerTrees(element)) {
          yield { ...node, [name]: part.with(i, smaller) };
        }
      }
    } else if (isObject(part) && name !== "value") {
      for (const smaller of smallerTrees(part)) yield { ...node, [name]: smaller };
    }
  }
}
