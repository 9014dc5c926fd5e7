/**
 * Ways to the documents through indexes: which one is chosen, as EXPLAIN tells it.
 */

import { isArray, isObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { chooseAccess, NO_WISH } from "../../../src/query/plan/access.ts";
import type { Probe } from "../../../src/query/plan/probe.ts";
import type { Expression } from "../../../src/query/syntax/tree.ts";
import type { IndexDefinition } from "../../../src/store/index-entry.ts";
import { numbered, openStatements, type Statements } from "../../support/run-statements.ts";

const INDEXES = [
  "CREATE INDEX ab ON c (a, b DESC)",
  "CREATE INDEX k ON c (k)",
  "CREATE INDEX n ON c (n)",
  "CREATE INDEX city ON c (owner.city)",
];

async function openIndexed(): Promise<Statements> {
  const statements = await openStatements();
  await statements.rows("INSERT INTO c DOCUMENTS (:docs)", { docs: numbered(20) });
  for (const index of INDEXES) await statements.rows(index);
  return statements;
}

/** One line for each operator: its name, and what says how documents are found. */
async function planOf(statement: string, { rows }: Statements): Promise<string[]> {
  const [row] = await rows(`EXPLAIN ${statement}`);
  const plan = isObject(row) ? row["plan"] : undefined;
  const children = isObject(plan) ? plan["children"] : undefined;
  if (!isArray(children)) throw new Error("expected a plan with children");
  return (children as unknown as readonly Step[]).map(lineOf);
}

/** The parts of an operator that tell how it finds documents. */
interface Step {
  readonly "#operator": string;
  readonly desc?: {
    readonly index: string;
    readonly spans: readonly unknown[];
    readonly covering: boolean;
    readonly order?: string;
  };
  readonly order?: string;
  readonly children?: readonly Step[];
  readonly inner?: Step;
}

function lineOf({ "#operator": name, desc, order, children, inner }: Step): string {
  const parts = [name];
  if (desc !== undefined) parts.push(`${desc.index}/${desc.spans.length}`);
  if (desc?.covering === true) parts.push("covering");
  const direction = order ?? desc?.order;
  if (direction !== undefined) parts.push(direction);
  if (children !== undefined) parts.push(`(${children.map(lineOf).join(", ")})`);
  if (inner !== undefined) parts.push(`of ${lineOf(inner)}`);
  return parts.join(" ");
}

describe("the chosen access path", () => {
  test.each([
    ["a = 1", "indexScan ab/1"],
    ["1 = a", "indexScan ab/1"],
    ["a = :x AND b = 2", "indexScan ab/2"],
    ["a IN (1, 2) AND b > 2", "indexScan ab/2"],
    ["a = 1 AND c > 2", "indexScan ab/1"],
    ["b = 1", "scan"],
    ["k > 1", "indexScan k/1"],
    ["k >= 1 AND k < 5", "indexScan k/1"],
    ["k BETWEEN 1 AND 5", "indexScan k/1"],
    ["k LIKE 'x%'", "indexScan k/1"],
    ["k IS MISSING", "indexScan k/1"],
    ["k IS NULL", "indexScan k/1"],
    ["k IS NOT MISSING", "indexScan k/1"],
    ["k", "indexScan k/1"],
    ["owner.city = 'x'", "indexScan city/1"],
    ["k = 1 + 2", "indexScan k/1"],
    ["k IN (SELECT k FROM d)", "indexScan k/1"],
    ["k != 1", "scan"],
    ["k NOT IN (1)", "scan"],
    ["k NOT BETWEEN 1 AND 2", "scan"],
    ["k NOT LIKE 'x%'", "scan"],
    ["k ILIKE 'x%'", "scan"],
    ["k IS NOT NULL", "scan"],
    ["NOT k = 1", "scan"],
    ["k = n", "scan"],
    ["k + 1 = 2", "scan"],
    ["k = uuid()", "scan"],
    ["k[0] = 1", "scan"],
    ["k = 1 OR n = 2", "unionScan (indexScan k/1, indexScan n/1)"],
    ["k = 1 OR _id = 2", "unionScan (indexScan k/1, idScan)"],
    ["k = 1 OR b = 2", "scan"],
    ["k = 1 AND n = 2", "intersectScan (indexScan k/1, indexScan n/1)"],
    ["k = 1 AND (a = 1 OR n = 2)", "indexScan k/1"],
    ["k = 1 AND _id = 2", "idScan"],
  ])("WHERE %s: %s", async (where, expected) => {
    const statements = await openIndexed();
    const [first] = await planOf(`SELECT x FROM c WHERE ${where}`, statements);
    expect(first).toBe(expected);
  });

  test("documents are fetched unless the index has all the fields that are read", async () => {
    const statements = await openIndexed();
    const plan = (statement: string): Promise<string[]> => planOf(statement, statements);
    expect(await plan("SELECT _id, b FROM c WHERE a = 1")).toEqual([
      "indexScan ab/1 covering",
      "filter",
      "projection",
    ]);
    expect(await plan("SELECT _id, x FROM c WHERE a = 1")).toEqual([
      "indexScan ab/1",
      "fetch",
      "filter",
      "projection",
    ]);
    expect((await plan("SELECT * FROM c WHERE a = 1"))[1]).toBe("fetch");
    expect((await plan("SELECT owner.city FROM c WHERE owner.city > 'a'"))[0]).toBe(
      "indexScan city/1 covering",
    );
    expect((await plan("SELECT owner FROM c WHERE owner.city > 'a'"))[1]).toBe("fetch");
  });

  test.each([
    "UPDATE c SET x = 1 WHERE k = 1",
    "DELETE FROM c WHERE k = 1",
    "EVICT FROM c WHERE k = 1",
  ])("%s finds its documents by the index", async (statement) => {
    expect((await planOf(statement, await openIndexed()))[0]).toMatch(/^indexScan k/);
  });

  test("count(*) of all documents reads none of them", async () => {
    const statements = await openIndexed();
    const [first] = await planOf("SELECT count(*) FROM c", statements);
    expect(first).toBe("countScan");
    expect(await statements.rows("SELECT count(*) AS n FROM c")).toEqual([{ n: 20 }]);
    expect(await statements.rows("SELECT count(*) AS n FROM nothing")).toEqual([{ n: 0 }]);
    const having = "SELECT count(*) AS n FROM c HAVING count(*) > 20";
    expect(await statements.rows(having)).toEqual([]);
  });
});

describe("order", () => {
  test.each([
    ["ORDER BY k LIMIT 2", "indexScan k/0 forward"],
    ["ORDER BY k DESC LIMIT 2", "indexScan k/0 reverse"],
    ["ORDER BY k, _id LIMIT 2", "indexScan k/0 forward"],
    ["ORDER BY a, b DESC LIMIT 2", "indexScan ab/0 forward"],
    ["ORDER BY a DESC, b LIMIT 2", "indexScan ab/0 reverse"],
    ["ORDER BY a LIMIT 2", "indexScan ab/0 forward"],
    ["ORDER BY k NULLS LAST LIMIT 2", "indexScan k/0 forward"],
    ["WHERE a = 1 ORDER BY b", "indexScan ab/1 reverse"],
    ["WHERE a = 1 ORDER BY a, b", "indexScan ab/1 reverse"],
    ["WHERE k > 3 ORDER BY k", "indexScan k/1 forward"],
    ["ORDER BY _id", "scan"],
    ["ORDER BY _id DESC", "scan reverse"],
    ["WHERE _id > 3 ORDER BY _id DESC", "scan reverse"],
    ["WHERE k > 3 ORDER BY _id LIMIT 2", "indexScan k/1"],
    ["WHERE k IN (3, 4) ORDER BY _id LIMIT 2", "indexScan k/1"],
    ["WHERE k = 3 OR n = 4 ORDER BY _id", "unionScan (indexScan k/1, indexScan n/1)"],
    ["WHERE a = 1 ORDER BY a, _id LIMIT 2", "indexScan ab/1"],
    ["WHERE k = 3 ORDER BY _id DESC LIMIT 2", "indexScan k/1 reverse"],
  ])("%s is the order of %s: nothing is sorted", async (clauses, expected) => {
    const plan = await planOf(`SELECT x FROM c ${clauses}`, await openIndexed());
    expect(plan[0]).toBe(expected);
    expect(plan).not.toContain("sort");
  });

  test.each([
    ["ORDER BY k", "scan"],
    ["ORDER BY a, b LIMIT 2", "scan"],
    ["ORDER BY k NULLS FIRST LIMIT 2", "scan"],
    ["ORDER BY k + 1 LIMIT 2", "scan"],
    ["WHERE a IN (1, 2) ORDER BY b LIMIT 2", "indexScan ab/1"],
    ["WHERE k = 1 ORDER BY n LIMIT 2", "indexScan k/1"],
    ["WHERE k > 1 ORDER BY _id DESC LIMIT 2", "indexScan k/1"],
  ])("%s is sorted, of %s", async (clauses, expected) => {
    const plan = await planOf(`SELECT x FROM c ${clauses}`, await openIndexed());
    expect(plan[0]).toBe(expected);
    expect(plan).toContain("sort");
  });
});

describe("joins", () => {
  test.each([
    ["b.k = a.x", "nlJoin of sequence (indexScan k/1, fetch)"],
    ["b.k = a.x AND b.k > 3", "nlJoin of sequence (indexScan k/1, fetch)"],
    ["b.n > a.x", "nlJoin of sequence (indexScan n/1, fetch)"],
    ["b.x = a.x", "hashJoin of scan"],
  ])("ON %s: %s", async (on, expected) => {
    const statement = `SELECT a._id, b.x FROM c a JOIN c b ON ${on}`;
    expect((await planOf(statement, await openIndexed()))[1]).toBe(expected);
  });
});

describe("hints", () => {
  test.each([
    ["USE INDEX ''", "scan"],
    ["USE INDEX 'n'", "indexScan n/1"],
    ["USE INDEX 'nobody'", "intersectScan (indexScan k/1, indexScan n/1)"],
    [`USE DIRECTIVES '{"#index": ["k"]}'`, "indexScan k/1"],
    [`USE DIRECTIVES '{"#index": []}'`, "scan"],
    [`USE DIRECTIVES '{"#other": 1}'`, "intersectScan (indexScan k/1, indexScan n/1)"],
  ])("%s: %s", async (use, expected) => {
    const statement = `SELECT x FROM c ${use} WHERE k = 1 AND n = 1`;
    expect((await planOf(statement, await openIndexed()))[0]).toBe(expected);
  });

  test("a directive that is not JSON is refused", async () => {
    const { failure } = await openIndexed();
    const { code } = await failure("SELECT x FROM c USE DIRECTIVES '{' WHERE k = 1");
    expect(code).toBe("query.semantic");
  });
});

describe("values that indexes do not have", () => {
  test("a declared field is read from the document, so no index is used", async () => {
    const plan = await planOf(
      "SELECT k FROM COLLECTION c (k COUNTER) WHERE k = 1",
      await openIndexed(),
    );
    expect(plan[0]).toBe("scan");
  });

  test("in strict mode no index is used", async () => {
    const statements = await openIndexed();
    await statements.rows("ALTER SYSTEM SET DQL_STRICT_MODE = true");
    expect((await planOf("SELECT k FROM c WHERE k = 1", statements))[0]).toBe("scan");
  });
});

test("many conditions and many indexes: an index is matched only if its first key is used", () => {
  let looks = 0;
  const indexes = Array.from({ length: 60 }, (_, i): IndexDefinition => {
    const keys = [{ path: [`f${i}`], isDescending: false }];
    return {
      collection: "c",
      name: `i${i}`,
      number: i,
      get keys() {
        looks++;
        return keys;
      },
    };
  });
  const value: Expression = { kind: "literal", value: 1, at: 0 };
  const parts = Array.from({ length: 1000 }, (_, i): Probe => {
    return { kind: "term", path: [`f${i % 60}`], test: { kind: "equal", value } };
  });
  const term = { probe: { kind: "any", parts } as const, reads: undefined, hint: undefined };
  expect(chooseAccess(term, NO_WISH, indexes).access.kind).toBe("union");
  expect(looks).toBeLessThan(1.2 * parts.length * indexes.length);
});
