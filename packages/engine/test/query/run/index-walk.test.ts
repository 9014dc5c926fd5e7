/**
 * Walks through indexes: what they look at, as PROFILE tells it, and that they find what a scan finds.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { newFrame } from "../../../src/query/frame/frame.ts";
import type { NamedIds } from "../../../src/query/plan/access.ts";
import { compileIds, idsIn } from "../../../src/query/run/ids.ts";
import { testRun } from "../../support/function-call.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

async function openWith(docs: readonly Value[], ...indexes: string[]): Promise<Statements> {
  const statements = await openStatements();
  await statements.rows("INSERT INTO c DOCUMENTS (:docs)", { docs });
  for (const index of indexes) await statements.rows(`CREATE INDEX ${index}`);
  await statements.store.whenIndexesReady();
  return statements;
}

/** The rows of a statement, and the rows that came out of its operators. */
async function profileOf(
  { rows }: Statements,
  statement: string,
  args?: unknown,
): Promise<{ rows: readonly Value[]; counts: Record<string, number> }> {
  const found = await rows(`PROFILE ${statement}`, args);
  const last = found.at(-1) as ValueObject;
  const profile = last["~request_profile"] as ValueObject;
  const plan = profile["plan"] as ValueObject;
  const counts: Record<string, number> = {};
  for (const step of plan["children"] as readonly ValueObject[]) {
    const stats = step["#stats"];
    if (isObject(stats)) counts[step["#operator"] as string] = stats["rows"] as number;
  }
  return { rows: found.slice(0, -1), counts };
}

const many = Array.from({ length: 3000 }, (_, i) => ({ _id: i, k: i % 100, h: i % 2, n: i }));

describe("how much is read", () => {
  test("an equality reads only the documents with the value", async () => {
    const statements = await openWith(many, "k ON c (k)");
    const { rows, counts } = await profileOf(statements, "SELECT n FROM c WHERE k = 7");
    expect(rows.length).toBe(30);
    expect(counts).toEqual({ indexScan: 30, fetch: 30, filter: 30, projection: 30 });
  });

  test("an order with a limit reads only the first entries", async () => {
    const statements = await openWith(many, "n ON c (n)");
    const { rows, counts } = await profileOf(statements, "SELECT k FROM c ORDER BY n DESC LIMIT 2");
    expect(rows).toEqual([{ k: 99 }, { k: 98 }]);
    expect(counts["fetch"]).toBe(2);
  });

  test("if an index finds more than a quarter of the collection, the collection is scanned", async () => {
    const statements = await openWith(many, "h ON c (h)");
    const { rows, counts } = await profileOf(statements, "SELECT n FROM c WHERE h = 1");
    expect(rows.length).toBe(1500);
    expect(counts["fetch"]).toBe(3000);
    expect(rows.slice(0, 2)).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("a limit ends a walk through equal values", async () => {
    const statements = await openWith(many, "h ON c (h)");
    const { counts } = await profileOf(statements, "SELECT n FROM c WHERE h = 1 LIMIT 3");
    expect(counts["fetch"]).toBe(3);
  });

  test("two indexes together find the documents that both find", async () => {
    const docs = Array.from({ length: 3000 }, (_, i) => ({ _id: i, a: i % 10, b: i % 9, n: i }));
    const statements = await openWith(docs, "a ON c (a)", "b ON c (b)");
    const { rows, counts } = await profileOf(statements, "SELECT n FROM c WHERE a = 1 AND b = 1");
    expect(rows.length).toBe(34);
    expect(counts["fetch"]).toBe(34);
  });

  test("the few documents of one index are fetched, not intersected with another index", async () => {
    const statements = await openWith(many, "k ON c (k)", "h ON c (h)");
    const { counts } = await profileOf(statements, "SELECT n FROM c WHERE k = 7 AND h = 1");
    expect(counts["fetch"]).toBe(30);
  });

  test("a join looks up each left row, and reads the right side once if there are many rows", async () => {
    const statements = await openWith(many, "n ON c (n)");
    const few = "SELECT b.k FROM c a JOIN c b ON b.n = a.k WHERE a._id IN (1, 2)";
    expect((await profileOf(statements, few)).rows).toEqual([{ k: 1 }, { k: 2 }]);
    const all = "SELECT count(*) AS n FROM c a JOIN c b ON b.n = a.k";
    expect((await profileOf(statements, all)).rows).toEqual([{ n: 3000 }]);
  });
});

describe("order of rows", () => {
  test("without ORDER BY it is the order of ids, whatever the index", async () => {
    const docs = [3, 1, 2, 0].map((id) => ({ _id: id, v: 9 - id }));
    const { rows } = await openWith(docs, "v ON c (v)");
    expect(await rows("SELECT _id FROM c WHERE v > 0")).toEqual(
      [0, 1, 2, 3].map((id) => ({ _id: id })),
    );
    expect(await rows("SELECT _id FROM c WHERE v IN (9, 7, 8) LIMIT 2")).toEqual([
      { _id: 0 },
      { _id: 1 },
    ]);
  });

  test.each([
    ["ORDER BY v LIMIT 9", [0, 2, 4, 1, 3]],
    ["ORDER BY v DESC LIMIT 9", [1, 3, 0, 2, 4]],
    ["ORDER BY v, _id DESC LIMIT 9", [4, 2, 0, 3, 1]],
    ["ORDER BY v DESC, _id DESC LIMIT 9", [3, 1, 4, 2, 0]],
  ])("equal values are in the order of ids: %s", async (order, ids) => {
    const docs = [0, 1, 2, 3, 4].map((id) => ({ _id: id, v: id % 2, w: -id }));
    for (const index of ["v ON c (v)", "v ON c (v DESC)", "v ON c (v, w)"]) {
      const { rows } = await openWith(docs, index);
      expect(await rows(`SELECT _id FROM c ${order}`)).toEqual(ids.map((id) => ({ _id: id })));
    }
  });

  test("texts that are too long for an index are compared in full", async () => {
    const long = "x".repeat(2000);
    const docs = ["c", "a", "b", ""].map((end, id) => ({ _id: id, v: long + end }));
    const { rows } = await openWith(docs, "v ON c (v)");
    const ids = async (clauses: string): Promise<unknown[]> =>
      (await rows(`SELECT _id FROM c ${clauses}`, { b: `${long}b`, long })).map(
        (row) => (row as ValueObject)["_id"],
      );
    expect(await ids("ORDER BY v LIMIT 9")).toEqual([3, 1, 2, 0]);
    expect(await ids("ORDER BY v DESC LIMIT 9")).toEqual([0, 2, 1, 3]);
    expect(await ids("WHERE v = :b")).toEqual([2]);
    expect(await ids("WHERE v > :b")).toEqual([0]);
    expect(await ids("WHERE v <= :b ORDER BY v")).toEqual([3, 1, 2]);
    expect(await ids("WHERE v LIKE 'xx%a'")).toEqual([1]);
  });
});

describe("values returned from an index", () => {
  test("a covered zero keeps its sign", async () => {
    const { rows } = await openWith(
      [
        { _id: 1, v: -0 },
        { _id: 2, v: 0 },
      ],
      "v ON c (v)",
    );
    const found = await rows("SELECT v FROM c WHERE v = 0");
    expect(found.map((row) => Object.is((row as ValueObject)["v"], -0))).toEqual([true, false]);
  });

  test("a covered document has its nested fields, and no absent ones", async () => {
    const docs = [
      { _id: 1, o: { p: 1, q: 2 } },
      { _id: 2, o: { p: 1 } },
      { _id: 3, o: 5 },
    ];
    const { rows } = await openWith(docs, "o ON c (o.p, o.q)");
    expect(await rows("SELECT o.p, o.q FROM c WHERE o.p = 1")).toEqual([{ p: 1, q: 2 }, { p: 1 }]);
    expect(await rows("SELECT _id FROM c WHERE o.p IS MISSING")).toEqual([{ _id: 3 }]);
  });

  test("an index that changes while a statement reads it is not read twice", async () => {
    const { rows } = await openWith(many, "n ON c (n)");
    await rows("UPDATE c SET n = n + 100000 WHERE n >= 0 AND n < 500");
    const [row] = await rows("SELECT count(*) AS n FROM c WHERE n >= 100000");
    expect(row).toEqual({ n: 500 });
    expect(isArray(await rows("SELECT n FROM c WHERE n = 100499"))).toBe(true);
  });
});

describe("long lists", () => {
  const LISTED = sized(8_000, 20_000);
  const list = Array.from({ length: LISTED }, (_, i) => (i * 7919) % LISTED);

  const LOOKUPS = [
    "SELECT _id FROM c WHERE _id IN :list",
    "SELECT _id FROM c USE IDS LIST :list",
    "SELECT _id FROM c WHERE _id IN :list OR k = 3",
    "SELECT _id FROM c WHERE k IN :list",
  ];
  test.each(LOOKUPS)("%s finds the same as a scan, with pauses", async (statement) => {
    // Each look at the clock is a slice, so each pause that is offered is taken.
    let ms = 0;
    let pauses = 0;
    const elapsed = (): number => (ms += 100);
    const pause = async (): Promise<void> => void pauses++;
    const statements = await openStatements({ timeMs: 1e12 }, { elapsed, pause });
    await statements.rows("INSERT INTO c DOCUMENTS (:docs)", { docs: many });
    await statements.rows("CREATE INDEX k ON c (k)");
    await statements.store.whenIndexesReady();
    const few = [...new Set(list)].filter((i) => i < 3000);
    const sorted = statement.includes("USE") ? few : few.toSorted((a, b) => a - b);
    pauses = 0;
    const found = await statements.rows(statement, { list });
    expect(found).toEqual(sorted.map((_id) => ({ _id })));
    expect(pauses).toBeGreaterThan(sized(6, 15));
  });

  test.each([true, false])("ids are sorted in pieces; repeats are kept: %s", (keepsDuplicates) => {
    const ids: NamedIds = { kind: "id_list", list: { kind: "parameter", name: "list", at: 0 } };
    const named = compileIds({ kind: "ids", ids, keepsDuplicates });
    const frame = newFrame({ ...testRun(), args: { list: [...list, ...list] } }, 1);
    const steps = idsIn(named(frame));
    let pauses = 0;
    let next = steps.next();
    for (; next.done !== true; next = steps.next()) pauses++;
    expect(pauses).toBeGreaterThan(sized(12, 30));
    const sorted = Array.from({ length: LISTED }, (_, i) => i);
    expect(next.value).toEqual(keepsDuplicates ? [...list, ...list] : sorted);
  });
});
