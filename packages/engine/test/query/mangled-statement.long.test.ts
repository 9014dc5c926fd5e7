/**
 * A hundred thousand statements that are nearly right: each gives rows or a plain refusal, in time.
 *
 * By seed: QUERY_SEED starts elsewhere, or repeats what a failure has printed.
 */
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { type Case, nameCollections, readCases } from "../conformance/cases.ts";
import { openStore } from "../support/open-store.ts";
import { Random } from "../support/random.ts";
import { testPlatform } from "../support/test-platform.ts";
import { mangle } from "./mangled-statement.ts";

const BASE_SEED = Number(process.env["QUERY_SEED"] ?? 1);
const STATEMENTS = 50_000;
/** Every so often all is made new: what was written, indexed and set would pile up. */
const STATEMENTS_PER_STORE = 1_000;

const TIMEOUT_MS = 1_000;
/** Far above the deadline: it is the engine that must keep the time, not the machine. */
const ELAPSED_MS_MAX = 5_000;

const REFUSALS = /^(query|value|id|operation)\./;

const cases: Case[] = readCases().map((each) =>
  nameCollections(each, { c: "things", c2: "others" }),
);
const statements = [...new Set(cases.flatMap(statementsOf))];
/** So that the parameters of the recorded statements are there. */
const args = Object.assign(
  { p: 1, l: [1, 2], d: { _id: "d" } },
  ...cases.filter((each) => each.expect.error === undefined).map((each) => each.args),
);

function statementsOf({ setup = [], statement, then = [] }: Case): string[] {
  return [...setup, { statement }, ...then].map((step) => step.statement);
}

const elapsed = (): number => performance.now();

async function newRunner(seed: number): Promise<StatementRunner> {
  const platform = Object.assign(testPlatform(seed), { elapsed });
  const { store } = await openStore({}, platform);
  const runner = new StatementRunner({ store, platform, appId: "mangled" });
  const documents = Array.from({ length: 20 }, (_, i) => ({
    _id: String(i),
    a: i % 7,
    b: i % 2 === 0 ? null : `b${i}`,
    kind: ["pear", "fig", "kiwi"][i % 3],
    o: { p: { q: i } },
    tags: ["g", "s"].slice(i % 3),
  }));
  for (const collection of ["things", "others"]) {
    const statement = `INSERT INTO ${collection} DOCUMENTS (:documents)`;
    await runner.execute({ statement, args: { documents } });
  }
  return runner;
}

/** How the statement ended: `rows`, or the code of the refusal. */
async function outcomeOf(runner: StatementRunner, statement: string): Promise<string> {
  try {
    await runner.execute({ statement, args, timeoutMs: TIMEOUT_MS });
    return "rows";
  } catch (error) {
    if (error instanceof PeerError && REFUSALS.test(error.code)) return error.code;
    throw error;
  }
}

test("every mangled statement returns rows or an error, and none exceeds its deadline", async () => {
  const outcomes = new Map<string, number>();
  let runner = await newRunner(BASE_SEED);
  for (let i = 0; i < STATEMENTS; i++) {
    const seed = BASE_SEED + i;
    if (i % STATEMENTS_PER_STORE === 0) runner = await newRunner(seed);
    const statement = mangle(statements, new Random(seed));
    const startMs = elapsed();
    try {
      const outcome = await outcomeOf(runner, statement);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const tookMs = elapsed() - startMs;
      if (tookMs > ELAPSED_MS_MAX) throw new Error(`took ${Math.round(tookMs)} ms`);
    } catch (error) {
      const shown = JSON.stringify(statement).slice(0, 2_000);
      throw new Error(`seed ${seed}, statement ${shown}`, { cause: error });
    }
  }
  // Neither all refused nor all let through: the mangling does what it is meant to do.
  expect(outcomes.get("rows")).toBeGreaterThan(STATEMENTS / 50);
  expect(outcomes.get("query.syntax")).toBeGreaterThan(STATEMENTS / 10);
  expect(outcomes.get("query.semantic")).toBeGreaterThan(STATEMENTS / 100);
}, 900_000);
