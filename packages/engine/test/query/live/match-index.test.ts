import type { Value, ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import { prepareCondition } from "../../../src/query/live/live-statement.ts";
import { MatchIndex } from "../../../src/query/live/match-index.ts";
import type { Authority } from "../../../src/query/permission/authority.ts";
import type { StoredDocument } from "../../../src/store/view.ts";
import { authorityOf } from "../../support/caller.ts";
import { testPlatform } from "../../support/test-platform.ts";
import { anyDocuments } from "../generated-documents.ts";
import { anyArguments, anyExpressions } from "../generated-expression.ts";

function newIndex(): MatchIndex<string> {
  return new MatchIndex(testPlatform(), "test");
}

/** Adds `SELECT * FROM c WHERE condition`, known by its condition. */
function add(
  index: MatchIndex<string>,
  condition: string,
  args: ValueObject = {},
  authority?: Authority,
): void {
  const where = condition === "" ? "" : `WHERE ${condition}`;
  const { plan } = prepareCondition(`SELECT * FROM c ${where}`);
  index.add(plan, { args, authority }, condition);
}

function document(fields: ValueObject | undefined, id: Value = "d"): StoredDocument | undefined {
  return fields && { id, fields, types: undefined };
}

type Sides = readonly [before: ValueObject | undefined, after: ValueObject | undefined];

function matches(index: MatchIndex<string>, [before, after]: Sides, id?: Value): string[] {
  const change = { collection: "c", before: document(before, id), after: document(after, id) };
  return [...index.match(change)].map(({ kind, entry }) => `${kind} ${entry.owner}`).sort();
}

function touched(index: MatchIndex<string>, [before, after]: Sides, id?: Value): string[] {
  const change = { collection: "c", before: document(before, id), after: document(after, id) };
  return [...index.touched(change)].map(({ owner }) => owner).sort();
}

test("a document enters, stays in, or leaves a condition", () => {
  const index = newIndex();
  add(index, "n > 1");
  expect(matches(index, [{ n: 1 }, { n: 2 }])).toEqual(["enter n > 1"]);
  expect(matches(index, [undefined, { n: 2 }])).toEqual(["enter n > 1"]);
  expect(matches(index, [{ n: 3 }, { n: 2 }])).toEqual(["stay n > 1"]);
  expect(matches(index, [{ n: 3 }, { n: 1 }])).toEqual(["leave n > 1"]);
  expect(matches(index, [{ n: 3 }, undefined])).toEqual(["leave n > 1"]);
  expect(matches(index, [{ n: 0 }, { n: 1 }])).toEqual([]);
});

test("a condition with an equality is found only for the values that it names", () => {
  const index = newIndex();
  for (const owner of ["ada", "bob", "eve"]) add(index, `owner = '${owner}' AND n > 1`);
  expect(
    touched(index, [
      { owner: "ada", n: 0 },
      { owner: "bob", n: 0 },
    ]),
  ).toEqual(["owner = 'ada' AND n > 1", "owner = 'bob' AND n > 1"]);
  expect(touched(index, [{ owner: null }, { n: 5 }])).toEqual([]);
  expect(matches(index, [undefined, { owner: "eve", n: 2 }])).toEqual([
    "enter owner = 'eve' AND n > 1",
  ]);
});

test("a condition without an equality is found for every document of its collection", () => {
  const index = newIndex();
  add(index, "n > 1");
  add(index, "owner = 'ada' OR n = 1");
  expect(touched(index, [undefined, {}])).toEqual(["n > 1", "owner = 'ada' OR n = 1"]);
  const change = { collection: "other", before: undefined, after: document({}) };
  expect([...index.touched(change)]).toEqual([]);
  expect(index.has("c")).toBe(true);
  expect(index.has("other")).toBe(false);
});

test("the index uses the equality of the query language", () => {
  const index = newIndex();
  add(index, "n = 1.0");
  add(index, "n = :big", { big: 2n ** 60n });
  add(index, "n = '1'");
  add(index, "n = null");
  add(index, "n = :none", { none: null });
  expect(matches(index, [undefined, { n: 1 }])).toEqual(["enter n = 1.0"]);
  expect(matches(index, [undefined, { n: 2n ** 60n }])).toEqual(["enter n = :big"]);
  expect(matches(index, [undefined, { n: "1" }])).toEqual(["enter n = '1'"]);
  expect(matches(index, [undefined, { n: null }])).toEqual([]);
  expect(matches(index, [undefined, {}])).toEqual([]);
});

test("members of IN, ids of any type, nested paths and arguments are found", () => {
  const index = newIndex();
  add(index, "n IN (1, 2)");
  add(index, "_id = :id", { id: { shop: 1, number: 2 } });
  add(index, "'x' = o.p.q");
  add(index, "n IN :list", { list: [2, 3] });
  expect(touched(index, [{ n: 1 }, { n: 2 }])).toEqual(["n IN (1, 2)", "n IN :list"]);
  expect(touched(index, [{ n: 3 }, { n: 9 }])).toEqual(["n IN :list"]);
  expect(touched(index, [{}, { o: { p: { q: "x" } } }])).toEqual(["'x' = o.p.q"]);
  expect(matches(index, [undefined, {}], { number: 2, shop: 1 })).toEqual(["enter _id = :id"]);
});

test("values without a short key are found as well", () => {
  const long = "x".repeat(1000);
  const index = newIndex();
  add(index, "s = :long", { long });
  add(index, "s = [1, 2]");
  expect(matches(index, [undefined, { s: long }])).toEqual(["enter s = :long"]);
  expect(matches(index, [{ s: [1, 2] }, undefined])).toEqual(["leave s = [1, 2]"]);
});

test("of several equalities the index uses the id, then the most selective one", () => {
  const index = newIndex();
  add(index, "kind = 'task' AND _id = 'd'");
  add(index, "done = true AND owner = 'ada'");
  add(index, "kind = 'task' AND owner = :me", { me: "bob" });
  expect(touched(index, [{ kind: "task" }, { done: true }], "other")).toEqual([]);
  for (const owner of ["c", "d", "e", "f"]) add(index, `kind = 'task' AND owner = '${owner}'`);
  // The first of them could not know; the others see that the kind is shared.
  expect(touched(index, [undefined, { kind: "task" }], "other")).toHaveLength(1);
});

test("a failed evaluation is no match, also if it ends a match", () => {
  const index = newIndex();
  add(index, "upper(s) = 'A'");
  expect(matches(index, [{ s: "a" }, { s: 1 }])).toEqual(["leave upper(s) = 'A'"]);
  expect(matches(index, [{ s: 1 }, { s: 2 }])).toEqual([]);
});

test("[P5] a document that the caller may not read matches none of its conditions", () => {
  const index = newIndex();
  add(index, "n > 0", {}, authorityOf({ c: ["owner == 'ada'"] }));
  expect(matches(index, [undefined, { n: 1, owner: "bob" }])).toEqual([]);
  expect(
    matches(index, [
      { n: 1, owner: "bob" },
      { n: 1, owner: "ada" },
    ]),
  ).toEqual(["enter n > 0"]);
  expect(
    matches(index, [
      { n: 1, owner: "ada" },
      { n: 2, owner: "bob" },
    ]),
  ).toEqual(["leave n > 0"]);
});

test("a condition that takes too long for a document is reported, and affects no other condition", () => {
  let now = 0;
  const platform = { ...testPlatform(), elapsed: () => (now += 200) };
  const index = new MatchIndex<string>(platform, "test");
  const loop =
    "ANY x IN t SATISFIES ANY y IN t SATISFIES ANY z IN t SATISFIES x + y + z < 0 END END END";
  add(index, loop);
  add(index, "t IS NOT MISSING");
  const t = Array.from({ length: 40 }, (_, i) => i);
  expect(matches(index, [undefined, { t }])).toEqual([`enter t IS NOT MISSING`, `failed ${loop}`]);
});

test("conditions added later than the time limit of a document are not charged for it", () => {
  let now = 0;
  const platform = { ...testPlatform(), elapsed: () => now };
  const index = new MatchIndex<string>(platform, "test");
  add(index, "n > 0", {}, authorityOf({ c: ["owner == 'ada'"] }));
  expect(matches(index, [undefined, { n: 1, owner: "ada" }])).toEqual(["enter n > 0"]);
  for (const owner of ["bob", "cleo", "dora"]) {
    now += 5000;
    add(index, `n > ${now}`, {}, authorityOf({ c: [`owner == '${owner}'`] }));
  }
  expect(matches(index, [undefined, { n: 5001, owner: "bob" }])).toEqual(["enter n > 5000"]);
});

test("a removed condition is no longer found, and its collection is forgotten", () => {
  const index = newIndex();
  const { plan } = prepareCondition("SELECT * FROM c WHERE n = 1");
  const loose = prepareCondition("SELECT * FROM c");
  const given = { args: {}, authority: undefined };
  const entries = [index.add(plan, given, "a"), index.add(plan, given, "b")];
  entries.push(index.add(loose.plan, given, "c"));
  expect(touched(index, [undefined, { n: 1 }])).toEqual(["a", "b", "c"]);
  for (const entry of entries.slice(1)) index.remove(entry);
  expect(touched(index, [undefined, { n: 1 }])).toEqual(["a"]);
  for (const entry of entries) index.remove(entry);
  expect(index.has("c")).toBe(false);
});

test("a subscription is SELECT * of one collection, and depends on documents alone", () => {
  for (const text of [
    "SELECT a FROM c",
    "SELECT * FROM c ORDER BY a",
    "SELECT * FROM c LIMIT 1",
    "SELECT DISTINCT * FROM c",
    "SELECT * FROM c JOIN d ON c.a = d.a",
    "SELECT * FROM c WHERE a IN (SELECT b FROM d)",
    "SELECT * FROM c UNION SELECT * FROM d",
    "SELECT * FROM c USE IDS 'a'",
    "SELECT * FROM COLLECTION c (a COUNTER)",
    "SELECT * FROM system:collections",
    "SELECT * FROM c WHERE a < clock()",
    "DELETE FROM c",
  ]) {
    expect(() => prepareCondition(text), text).toThrow(/expected/);
  }
});

test("for any conditions and documents the index agrees with evaluating all of them", () => {
  const { condition } = anyExpressions("");
  const conditions = fc.array(condition, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(conditions, anyArguments(), anyDocuments(6), (texts, args, documents) => {
      const all = newIndex();
      const alone = texts.map((text) => {
        const index = newIndex();
        // Hidden from the index: nothing but evaluation can tell.
        add(index, `(${text}) OR false`, args);
        add(all, text, args);
        return index;
      });
      const states = [undefined, ...documents.map(({ _id, ...fields }) => fields)];
      for (const before of states) {
        for (const after of states) {
          for (const id of ["d0", "d1"]) {
            const found = matches(all, [before, after], id);
            const expected = alone.flatMap((index, i) =>
              matches(index, [before, after], id).map(
                (text) => `${text.split(" ")[0]} ${texts[i]}`,
              ),
            );
            expect(found).toEqual(expected.sort());
          }
        }
      }
    }),
    { numRuns: histories(150) },
  );
});

const LONG = "x".repeat(300);

const NUMBERS = [
  -0,
  0,
  1,
  1.5,
  -1,
  2 ** 53 - 1,
  2 ** 53,
  2n ** 53n + 1n,
  2n ** 60n,
  1e300,
  Number.NaN,
];
const TEXTS = ["", "1", "a", "a\0", "\u{1f697}", LONG, `${LONG}a`];
const WHOLES = [[], [1], [1, null], {}, { x: 1 }, { x: 1, y: [] }, new Uint8Array([1])];
const VALUES: readonly Value[] = [...NUMBERS, ...TEXTS, ...WHOLES, true, false, null];

test("for any values the index misses no equality that holds", () => {
  const value = fc.constantFrom(...VALUES);
  const list = fc.array(value, { maxLength: 3 });
  const asked = fc.array(fc.record({ v: value, w: value, list }), { minLength: 1, maxLength: 6 });
  const conditions = ["n = :v", "n IN :list", "n = :v AND m = :w", "o.p = :v AND n IN :list"];
  fc.assert(
    fc.property(asked, fc.array(fc.tuple(value, value), { maxLength: 8 }), (all, pairs) => {
      const index = newIndex();
      const hidden = newIndex();
      for (const args of all) {
        for (const condition of conditions) {
          add(index, condition, args);
          add(hidden, `(${condition}) OR false`, args);
        }
      }
      for (const [n, m] of pairs) {
        const fields = { n, m, o: { p: m } };
        const found = matches(index, [{ n: m, m: n }, fields]);
        const expected = matches(hidden, [{ n: m, m: n }, fields]);
        expect(found).toEqual(
          expected.map((text) => text.replace(/\((.*)\) OR false/, "$1")).sort(),
        );
      }
    }),
    { numRuns: histories(300) },
  );
});
