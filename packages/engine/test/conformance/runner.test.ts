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

test("the runner compares ordered rows as a list, and other rows as a bag", async () => {
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

test("a mutation must return its ids in any order, and rows only if the case expects them", async () => {
  const ids = { mutatedDocumentIds: ["a", "b"] };
  expect(await differs(ids, { mutatedDocumentIds: ["b", "a"] })).toBe(false);
  expect(await differs(ids, { mutatedDocumentIds: ["a"] })).toBe(true);
  expect(await differs(ids, { ...ids, items: [{}] })).toBe(true);
  expect(await differs({ mutatedCount: 2 }, ids)).toBe(false);
  expect(await differs({ mutatedCount: 1 }, ids)).toBe(true);
  expect(await differs({ items: [] }, ids)).toBe(true);
});

test("the keys of a result are the keys of all its rows", async () => {
  const items = [{ b: 1 }, { a: 1 }];
  expect(await differs({ keys: ["a", "b"] }, { items })).toBe(false);
  expect(await differs({ keys: ["a"] }, { items })).toBe(true);
});

test.each<[ErrorCode, boolean]>([
  ["query.syntax", true],
  ["query.semantic", false],
  ["store.full", true],
])("the runner does not classify %s as semantic: %s", async (code, isOther) => {
  expect(await differs({ error: "semantic" }, new PeerError(code, "no"))).toBe(isOther);
});

test("an error instead of expected rows is a difference, and so are rows instead of an expected error", async () => {
  expect(await differs({ items: [] }, new PeerError("query.syntax", "no"))).toBe(true);
  expect(await differs({ error: "syntax" }, {})).toBe(true);
});

test("each case has its own collections, and the runner restores its settings", async () => {
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

test("the runner reports an unlisted difference, a listed one that no longer occurs, and a crash", async () => {
  const [known, unknown] = [new Map([["area/group/case", "a reason"]]), new Map<string, string>()];
  const wrong = [caseOf({ items: [{}] })];
  const right = [caseOf({ items: [] })];
  expect(await complainAbout(wrong, new Fixed({}), unknown)).toHaveLength(1);
  expect(await complainAbout(wrong, new Fixed({}), known)).toEqual([]);
  expect(await complainAbout(right, new Fixed({}), known)).toHaveLength(1);
  expect(await complainAbout(right, new Fixed({}), unknown)).toEqual([]);
  expect(await complainAbout(wrong, new Fixed(new TypeError("x")), known)).toHaveLength(1);
});
