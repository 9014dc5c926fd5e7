/**
 * Runs scripts for indexes: all of their steps, or until an index has changed an answer. Then the
 * script is made as small as it can be.
 */

import type { KeyValue } from "../../src/platform.ts";
import { kindsOf } from "./index-kinds.ts";
import { type Answer, IndexPair } from "./index-pair.ts";
import {
  type Asked,
  largeScriptOf,
  type Script,
  type Step,
  scriptOf,
  shownScript,
} from "./index-script.ts";
import { Tally } from "./permission-answer.ts";
import { smallestFailing } from "./smaller-script.ts";

/** Answered from an index, as EXPLAIN tells it. */
export const INDEX_OPERATORS: readonly string[] = ["indexScan", "unionScan", "intersectScan"];

/** Asked before all indexes were complete. */
export const BUILDING = "while an index is being built";

export interface RunOptions {
  readonly seed: number;
  readonly scripts: number;
  readonly asked: number;
  /** In memory unless given. */
  readonly storage?: () => KeyValue;
  /** With so many documents that the store itself builds indexes, in the background. */
  readonly isLarge?: boolean;
}

/** Throws the smallest script that fails; else says what came up how often. */
export async function runScripts(options: RunOptions): Promise<Tally> {
  const tally = new Tally();
  for (let i = 0; i < options.scripts; i++) {
    const make = options.isLarge === true ? largeScriptOf : scriptOf;
    const script = make(options.seed + i, options.asked);
    const found = await firstDifference(script, options, tally);
    if (found === undefined) continue;
    const steps = script.steps.slice(0, found.at + 1);
    const fails = async (smaller: Script): Promise<string | undefined> =>
      (await firstDifference(smaller, options))?.difference;
    const smallest = await smallestFailing({ ...script, steps }, found.difference, fails);
    throw new Error(`${shownScript(smallest.script)}\n${smallest.failure}`);
  }
  return tally;
}

interface Difference {
  readonly at: number;
  readonly difference: string;
}

async function firstDifference(
  { rules, steps }: Script,
  { storage, isLarge = false }: Pick<RunOptions, "storage" | "isLarge">,
  tally?: Tally,
): Promise<Difference | undefined> {
  const more = { ...(storage && { storage }), isBuiltBehind: isLarge };
  const pair = await IndexPair.open({ rules, ...more });
  try {
    for (const [at, step] of steps.entries()) {
      if (!isAsked(step)) {
        await pair.prepare(step);
        continue;
      }
      const isBuilding = pair.isBuilding;
      const answer = await pair.ask(step);
      if (isLarge) await pair.rest();
      if (answer.difference !== undefined) return { at, difference: answer.difference };
      if (tally === undefined) continue;
      count(tally, step, answer);
      if (rules !== undefined) tally.count("with rules");
      if (isBuilding) tally.count(BUILDING);
      await countOperators(tally, pair, step);
    }
    if (isLarge) await pair.whenBuilt();
    const [problem] = pair.problems();
    return problem === undefined ? undefined : { at: steps.length - 1, difference: problem };
  } finally {
    await pair.close();
  }
}

function isAsked(step: Step): step is Asked {
  switch (step.kind) {
    case "statement":
    case "find":
    case "count":
    case "write":
      return true;
    default:
      return false;
  }
}

function count(tally: Tally, step: Asked, { told, isJudged }: Answer): void {
  tally.count("asked");
  if (isJudged) tally.count("judged");
  if (told["error"] !== undefined) return;
  tally.count("answered");
  for (const kind of kindsOf(step)) tally.count(kind);
  const found = told["rows"] ?? told["documents"] ?? [];
  if ((found as readonly unknown[]).length > 0) tally.count("rows");
}

async function countOperators(tally: Tally, pair: IndexPair, step: Asked): Promise<void> {
  const operators = new Set(await pair.operators(step));
  for (const operator of operators) tally.count(`operator ${operator}`);
  if (INDEX_OPERATORS.some((name) => operators.has(name))) tally.count("from an index");
}
