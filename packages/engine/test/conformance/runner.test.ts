/**
 * The runner of recorded cases finds what differs: a check that finds nothing would pass as well.
 */
import { type ErrorCode, PeerError, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Case, Expectation } from "./cases.ts";
import { type Answer, complainAbout, type Executor, runCase } from "./runner.ts";

function caseOf(expectation: Expectation, change: Partial<Case> = {}): Case {
  return { name: "area/group/case", tier: 1, statement: "SELECT", expect: expectation, ...change };
}

/** Gives the same answer to every statement, and keeps what was asked. */
class Fixed implements Executor {
  readonly asked: string[] = [];
  readonly #answer: Partial<Answer> | Error;

  constructor(answer: Partial<Answer> | Error) {
    this.#answer = answer;
  }

  execute(statement: string): Promise<Answer> {
    this.asked.push(statement);
    if (this.#answer instanceof Error) return Promise.reject(this.#answer);
    return Promise.resolve({ items: [], mutatedDocumentIds: [], ...this.#answer });
  }
}

function differs(expectation: Expectation, answer: Partial<Answer> | Error): Promise<boolean> {
  return runCase(caseOf(expectation), new Fixed(answer)).then((found) => found !== undefined);
}

test("rows are a list where they are ordered, a bag elsewhere", async () => {
  const [one, two]: Value[] = [{ a: 1 }, { a: 2 }];
  const items = [one, two] as Value[];
  expect(await differs({ items, ordered: true }, { items })).toBe(false);
  expect(await differs({ items, ordered: true }, { items: items.toReversed() })).toBe(true);
  expect(await differs({ items, ordered: false }, { items: items.toReversed() })).toBe(false);
  expect(await differs({ items, ordered: false }, { items: [...items, ...items] })).toBe(true);
  expect(await differs({ items: [{ a: 1, b: 2 }] }, { items: [{ b: 2, a: 1 }] })).toBe(false);
  expect(await differs({ items: [{ a: 1 }] }, { items: [{ a: "1" }] })).toBe(true);
  expect(await differs({ items: [{ a: 1 }] }, { items: [{ a: 1, b: null }] })).toBe(true);
});

test("a mutation must give its ids in any order, and rows only where they are expected", async () => {
  const ids = { mutatedDocumentIds: ["a", "b"] };
  expect(await differs(ids, { mutatedDocumentIds: ["b", "a"] })).toBe(false);
  expect(await differs(ids, { mutatedDocumentIds: ["a"] })).toBe(true);
  expect(await differs(ids, { ...ids, items: [{}] })).toBe(true);
  expect(await differs({ mutatedCount: 2 }, ids)).toBe(false);
  expect(await differs({ mutatedCount: 1 }, ids)).toBe(true);
  expect(await differs({ items: [] }, ids)).toBe(true);
});

test("keys are those of all rows together", async () => {
  const items = [{ b: 1 }, { a: 1 }];
  expect(await differs({ keys: ["a", "b"] }, { items })).toBe(false);
  expect(await differs({ keys: ["a"] }, { items })).toBe(true);
});

test.each<[ErrorCode, boolean]>([
  ["query.syntax", true],
  ["query.semantic", false],
  ["store.full", true],
])("%s is not of the class semantic: %s", async (code, isOther) => {
  expect(await differs({ error: "semantic" }, new PeerError(code, "no"))).toBe(isOther);
});

test("an error where rows are expected differs, and so do rows where an error is expected", async () => {
  expect(await differs({ items: [] }, new PeerError("query.syntax", "no"))).toBe(true);
  expect(await differs({ error: "syntax" }, {})).toBe(true);
});

test("the collections of a case are its own, and its settings are put back", async () => {
  const given = caseOf(
    { items: [{ "{c}": "{c2}" }] },
    {
      setup: [{ statement: "INSERT {c}" }],
      statement: "SELECT {c} {c2}",
      teardown: [{ statement: "RESET" }],
    },
  );
  const [first, second] = [new Fixed({}), new Fixed({})];
  await runCase(given, first);
  await runCase(given, second);
  expect(first.asked[0]).toMatch(/^INSERT things\d+$/);
  expect(first.asked[1]).toMatch(/^SELECT things\d+ others\d+$/);
  expect(first.asked.at(-1)).toBe("RESET");
  expect(first.asked[1]).not.toBe(second.asked[1]);
});

test("a difference that is not listed, one that is gone, and a crash are complained of", async () => {
  const [known, unknown] = [new Map([["area/group/case", "a reason"]]), new Map<string, string>()];
  const wrong = [caseOf({ items: [{}] })];
  const right = [caseOf({ items: [] })];
  expect(await complainAbout(wrong, new Fixed({}), unknown)).toHaveLength(1);
  expect(await complainAbout(wrong, new Fixed({}), known)).toEqual([]);
  expect(await complainAbout(right, new Fixed({}), known)).toHaveLength(1);
  expect(await complainAbout(right, new Fixed({}), unknown)).toEqual([]);
  expect(await complainAbout(wrong, new Fixed(new TypeError("x")), known)).toHaveLength(1);
});
