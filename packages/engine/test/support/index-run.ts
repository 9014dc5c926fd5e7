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
import { INDEX_OPERATORS } from "./index-ways.ts";
import { type Reply, Tally } from "./permission-answer.ts";
import { smallestFailing } from "./smaller-script.ts";

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

/** What differs first, as it was found; undefined when nothing does. */
export async function findDifference(options: RunOptions): Promise<string | undefined> {
  for (let i = 0; i < options.scripts; i++) {
    const script = scriptOf(options.seed + i, options.asked);
    const found = await firstDifference(script, options);
    if (found !== undefined) return `script ${i + 1}: ${found.difference}`;
  }
  return undefined;
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
      if (answer.reported["error"] === undefined) await countWays(tally, pair, step, answer);
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

function count(tally: Tally, step: Asked, { reported, isChecked }: Answer): void {
  tally.count("asked");
  if (isChecked) tally.count("judged");
  if (reported["error"] !== undefined) return;
  tally.count("answered");
  for (const kind of kindsOf(step)) tally.count(kind);
  if (isFound(reported)) tally.count("found");
}

/** Only of what is answered: a plan that fails proves nothing. */
async function countWays(
  tally: Tally,
  pair: IndexPair,
  step: Asked,
  { reported }: Answer,
): Promise<void> {
  const ways = await pair.ways(step);
  for (const way of ways) tally.count(way);
  if (!INDEX_OPERATORS.some((name) => ways.has(name))) return;
  tally.count("from an index");
  if (isFound(reported)) tally.count("found by an index");
}

/** Whether documents were found, rather than none. */
function isFound(reported: Reply): boolean {
  const lists = [reported["rows"], reported["documents"], reported["ids"]] as (
    | readonly unknown[]
    | undefined
  )[];
  return (
    lists.some((all) => all !== undefined && all.length > 0) || Number(reported["count"] ?? 0) > 0
  );
}
