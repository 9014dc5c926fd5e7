/**
 * Filters of the data API: which documents they choose, in which order, how many; and documents by
 * their id.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import { MemoryPool } from "../../../src/query/frame/memory-pool.ts";
import { finish } from "../../../src/query/frame/steps.ts";
import type { FindRequest } from "../../../src/query/request.ts";
import { prepareFind } from "../../../src/query/statement/find.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { rejection } from "../../support/run-commands.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

const CARS: Value[] = [
  { _id: "a", color: "blue", mileage: 100, tags: ["x", "y"], at: { city: "Oslo", "x-y": 1 } },
  { _id: "b", color: "red", mileage: 900, tags: [], sold: "2024-03-01T00:00:00Z" },
  { _id: "c", color: "blue", mileage: 500, owner: null },
  { _id: { lot: 7 }, color: "light blue", mileage: 50 },
];

async function openCars(): Promise<Statements> {
  const opened = await openStatements();
  await opened.execute("INSERT INTO cars DOCUMENTS (:cars)", { cars: CARS });
  return opened;
}

async function findIds(request: FindRequest): Promise<Value[]> {
  const { runner } = await openCars();
  const { documents } = await runner.find(request);
  return documents.map(({ id }) => id);
}

const ALL = ["a", "b", "c", { lot: 7 }];

describe("a filter selects documents", () => {
  test.each<[string, ValueObject, Value[]]>([
    ["true", {}, ALL],
    ["color == 'blue'", {}, ["a", "c"]],
    ["color != 'blue'", {}, ["b", { lot: 7 }]],
    ["mileage > 100 && mileage <= 900", {}, ["b", "c"]],
    ["color == 'red' || mileage < 60", {}, ["b", { lot: 7 }]],
    ["!(color == 'blue')", {}, ["b", { lot: 7 }]],
    ["mileage > $args.m", { m: 400 }, ["b", "c"]],
    ["mileage > :m", { m: 400 }, ["b", "c"]],
    ["at.city == 'Oslo'", {}, ["a"]],
    ["at['x-y'] == 1", {}, ["a"]],
    ["tags[1] == 'y'", {}, ["a"]],
    ["contains(tags, 'x')", {}, ["a"]],
    ["contains(color, 'blue')", {}, ["a", "c", { lot: 7 }]],
    ["starts_with(color, 'light')", {}, [{ lot: 7 }]],
    ["ends_with(color, 'ed')", {}, ["b"]],
    ["regex(color, '^b.+e$')", {}, ["a", "c"]],
    ["sold > '2024-01-01T00:00:00Z'", {}, ["b"]],
    ["owner == null", {}, ALL],
    ["sold != null", {}, ["b"]],
    ["_id == 'a'", {}, ["a"]],
    ["_id == :id", { id: { lot: 7 } }, [{ lot: 7 }]],
    ["_id.lot == 7", {}, [{ lot: 7 }]],
    ["color = 'blue' AND mileage BETWEEN 400 AND 600", {}, ["c"]],
    ["ANY t IN tags SATISFIES t = 'y' END", {}, ["a"]],
    ["sold == null || expired IS NULL", {}, ["a", "c", { lot: 7 }]],
    ["at == null AND owner IS NULL", {}, ["c"]],
    ["color == 'blue' || color IN ('red')", {}, ["a", "b", "c"]],
    ["contains(['red', 'green'], color) AND TRUE", {}, ["b"]],
    ["color LIKE '%blue' && !(mileage BETWEEN 0 AND 100)", {}, ["c"]],
    ["NOT color = 'blue' || tags[0] IS NOT MISSING", {}, ["a", "b", { lot: 7 }]],
    ["ANY t IN tags SATISFIES t == 'y' || t == 'z' END || mileage == 900", {}, ["a", "b"]],
    ["lower(sold) == null", {}, ["a", "c", { lot: 7 }]],
    ["owner = null", {}, []],
    ["owner == :c", { c: null }, []],
    ["sold != :c", { c: null }, []],
  ])("%s", async (query, args, ids) => {
    expect(await findIds({ collection: "cars", query, args })).toEqual(ids);
  });
});

describe("a filter has the same meaning in both syntaxes", () => {
  const TASKS: Value[] = [
    { _id: 1, owner: "ann", expired: "2024", color: "blue" },
    { _id: 2, owner: null, expired: "2024", color: "red" },
    { _id: 3, expired: "2024", color: "red" },
    { _id: 4, owner: "bob", expired: null, color: "green" },
    { _id: 5, owner: "eve", color: "green" },
  ];

  test.each<[string, Value[]]>([
    ["owner == null || expired IS NULL", [2, 3, 4]],
    ["owner == null OR expired IS MISSING", [2, 3, 5]],
    ["owner IS NULL || expired == null", [2, 4, 5]],
    ["owner != null AND expired IS NOT NULL", [1, 5]],
    ["color == 'blue' || color IN ('red')", [1, 2, 3]],
    ["contains(['ann','bob'], owner) AND TRUE", [1, 4]],
  ])("%s", async (query, ids) => {
    const { runner, execute, rows } = await openStatements();
    await execute("INSERT INTO tasks DOCUMENTS (:tasks)", { tasks: TASKS });
    const { documents } = await runner.find({ collection: "tasks", query });
    expect(documents.map(({ id }) => id)).toEqual(ids);
    await runner.write({ commands: [{ method: "remove", collection: "tasks", query }] });
    const left = [1, 2, 3, 4, 5].filter((id) => !ids.includes(id));
    expect(await rows("SELECT _id FROM tasks ORDER BY _id")).toEqual(left.map((_id) => ({ _id })));
  });
});

const anyCondition: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom("color", "mileage", "owner", "sold", "tags[0]", "at.city"),
      fc.constantFrom("==", "!=", "=", "<>", "<", ">="),
      fc.constantFrom("'blue'", "'x'", "500", "null"),
    )
    .map((parts) => parts.join(" ")),
  fc.constantFrom("owner IS NULL", "sold IS NOT MISSING", "mileage BETWEEN 60 AND 600", "true"),
  fc.constantFrom(
    "color IN ('red')",
    "color LIKE '%blue'",
    "contains(tags, 'x')",
    "!(color == 'red')",
  ),
);

test("|| and OR, && and AND, ! and NOT select the same documents", async () => {
  const { runner } = await openCars();
  const idsOf = async (query: string): Promise<Value[]> => {
    const { documents } = await runner.find({ collection: "cars", query });
    return documents.map(({ id }) => id);
  };
  const law = fc.asyncProperty(anyCondition, anyCondition, anyCondition, async (a, b, c) => {
    const either = await idsOf(`${a} || ${b}`);
    expect(await idsOf(`${a} OR ${b}`)).toEqual(either);
    const both = await idsOf(`${a} && ${b}`);
    expect(await idsOf(`${a} and ${b}`)).toEqual(both);
    // What they mean: documents of one of the two, or of both.
    const [left, right] = [await idsOf(a), await idsOf(b)].map((ids) => new Set(ids.map(textOf)));
    const isIn = (id: Value, ids: Set<string> | undefined): boolean =>
      ids?.has(textOf(id)) === true;
    expect(either).toEqual(ALL.filter((id) => isIn(id, left) || isIn(id, right)));
    expect(both).toEqual(ALL.filter((id) => isIn(id, left) && isIn(id, right)));
    const mixed = await idsOf(`!(${a}) OR ${b} && ${c}`);
    expect(await idsOf(`NOT (${a}) || ${b} AND ${c}`)).toEqual(mixed);
  });
  await fc.assert(law, { numRuns: histories(200) });
});

function textOf(id: Value): string {
  return JSON.stringify(id);
}

test("several sort keys apply, each in its direction", async () => {
  const sort = [
    { property: "color", isDescending: false },
    { property: "mileage", isDescending: true },
  ];
  expect(await findIds({ collection: "cars", query: "true", sort })).toEqual([
    "c",
    "a",
    { lot: 7 },
    "b",
  ]);
});

test("limit and offset select a window of the result", async () => {
  const window = { offset: 1, limit: 2 };
  expect(await findIds({ collection: "cars", query: "true", ...window })).toEqual(["b", "c"]);
});

test("an invalid filter gets an error with its place", async () => {
  const failing = findIds({ collection: "cars", query: "color == 'blue' &&" });
  await expect(failing).rejects.toMatchObject({
    code: "query.syntax",
    place: { line: 1, column: 19 },
  });
});

test("a parameter is looked up by its name, in both spellings", () => {
  const { parameters } = finish(
    prepareFind({ collection: "cars", query: "a == $args.x && b < :y" }),
  );
  expect(parameters.map(({ name }) => name)).toEqual(["x", "y"]);
});

test("a sort key is a path and nothing else; an error names the key and the place in it", async () => {
  for (const [property, at, near] of [
    ["a == 1", 3, "near `== 1`"],
    [":x", 1, "near `:x`"],
    ["1", 1, "near `1`"],
    ["a b", 3, "near `b`"],
    ["a[", 3, "(the end)"],
  ] as const) {
    const sort = ["color", property].map((each) => ({ property: each, isDescending: false }));
    const error = await rejection(findIds({ collection: "cars", query: "true", sort }));
    const gap = near === "(the end)" ? " " : ", ";
    const where = `sort[1].property, line 1, column ${at}${gap}${near}`;
    expect([error.code, error.at, error.place?.column]).toEqual(["query.syntax", where, at]);
    expect(error.message.endsWith(` at ${where}`)).toBe(true);
  }
  const long = [{ property: "a".repeat(2_000_000), isDescending: false }];
  const error = await rejection(findIds({ collection: "cars", query: "true", sort: long }));
  expect([error.code, error.at]).toEqual(["query.too_large", "sort[0].property"]);
  const sort = [{ property: "at['x-y']", isDescending: true }];
  const found = await findIds({ collection: "cars", query: "at['x-y'] != null", sort });
  expect(found).toEqual(["a"]);
});

test("a parameter without a value is reported with its place in the filter", async () => {
  const failing = findIds({ collection: "cars", query: "color == :x" });
  await expect(failing).rejects.toMatchObject({ place: { line: 1, column: 10, near: ":x" } });
});

test("the result of find counts against the memory of a statement", async () => {
  const { runner, execute } = await openStatements({ bytes: 20_000 });
  for (let i = 0; i < 20; i++) {
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: { t: "x".repeat(1000) } });
  }
  const failing = runner.find({ collection: "c", query: "true" });
  await expect(failing).rejects.toMatchObject({ code: "query.too_large" });
});

test("the plan is returned on request", async () => {
  const { runner } = await openCars();
  const sort = [{ property: "color", isDescending: true }];
  const request = { collection: "cars", query: "_id == 'a'", sort, isPlanWanted: true };
  const { plan, documents } = await runner.find(request);
  expect(documents).toHaveLength(1);
  expect(plan).toEqual({
    "#operator": "sequence",
    children: [
      {
        "#operator": "idScan",
        collection: "cars",
        datasource: "default",
        alias: "cars",
        ids: ["'a'"],
      },
      { "#operator": "filter", condition: "cars._id = 'a'" },
      { "#operator": "sort", keys: [{ expression: "cars.color", direction: "desc" }] },
    ],
  });
  expect(await runner.find({ collection: "cars", query: "false" })).toEqual({
    documents: [],
    transactionId: 1,
  });
});

describe("count", () => {
  test.each<[string, ValueObject, number]>([
    ["true", {}, 4],
    ["false", {}, 0],
    ["color == 'blue'", {}, 2],
    ["mileage > $args.m", { m: 400 }, 2],
    ["_id == 'a' || _id == 'b'", {}, 2],
    ["_id IN ['a', 'a', 'nobody']", {}, 1],
  ])("%s", async (query, args, count) => {
    const { runner } = await openCars();
    const request = { collection: "cars", query, args };
    expect(await runner.count(request)).toEqual({ count, transactionId: 1 });
  });

  test("keeps no document, so it needs no memory for them", async () => {
    const { runner, execute } = await openStatements({ bytes: 20_000 });
    for (let i = 0; i < 40; i++) {
      await execute("INSERT INTO c DOCUMENTS (:d)", { d: { t: "x".repeat(1000) } });
    }
    const request = { collection: "c", query: "t != 'y'" };
    expect(await runner.count(request)).toEqual({ count: 40, transactionId: 40 });
  });

  test("is in the request history, as a find is", async () => {
    const { runner, rows } = await openCars();
    await runner.count({ collection: "cars", query: "true", requestId: "r1" });
    await runner.find({ collection: "cars", query: "color == 'red'", requestId: "r2" });
    const history = "SELECT _id, text, requestType, resultCount FROM system:request_history";
    expect(await rows(`${history} WHERE requestType IN ['find', 'count']`)).toEqual([
      { _id: "r1", text: "cars: true", requestType: "count", resultCount: 1 },
      { _id: "r2", text: "cars: color == 'red'", requestType: "find", resultCount: 1 },
    ]);
  });

  test("an error has its place in the filter", async () => {
    const { runner } = await openCars();
    const error = await rejection(runner.count({ collection: "cars", query: "nope(1)" }));
    expect(error.code).toBe("query.semantic");
    expect(error.place).toEqual({ line: 1, column: 1, near: "nope(1)" });
  });
});

describe("an unknown collection", () => {
  const WRONG = { collection: "carz", query: "true", isUnknownRefused: true };
  const MESSAGE = 'unknown collection "carz"; did you mean "cars"?';

  test("is refused with a suggested name", async () => {
    const { runner } = await openCars();
    for (const failing of [runner.find(WRONG), runner.count(WRONG)]) {
      const { code, message } = await rejection(failing);
      expect([code, message]).toEqual(["query.collection", MESSAGE]);
    }
    expect(() => runner.findById({ ...WRONG, id: "a" })).toThrow(MESSAGE);
  });

  test("counts as empty by default", async () => {
    const { runner } = await openCars();
    const query = { collection: "carz", query: "true" };
    expect(await runner.find(query)).toEqual({ documents: [], transactionId: 1 });
    expect(await runner.count(query)).toEqual({ count: 0, transactionId: 1 });
    expect(runner.findById({ collection: "carz", id: "a" }).document).toBeUndefined();
  });

  test("stays known after its last document is deleted, and is known by an index alone", async () => {
    const { runner, execute } = await openCars();
    await execute("DELETE FROM cars");
    await execute("CREATE INDEX i ON empty (a)");
    for (const collection of ["cars", "empty"]) {
      const request = { collection, query: "true", isUnknownRefused: true };
      expect((await runner.count(request)).count).toBe(0);
    }
  });

  test.each(["system:indexes", "sys", "x".repeat(200)])(
    "%s is an ordinary name",
    async (collection) => {
      const { runner } = await openCars();
      const error = await rejection(runner.find({ ...WRONG, collection }));
      expect(error.code).toBe("query.collection");
    },
  );

  test.each(["", "x".repeat(257), "\ud800"])("%j is not a valid name", async (collection) => {
    const { runner } = await openCars();
    const request = { collection, query: "true" };
    for (const failing of [runner.find(request), runner.count(request)]) {
      const { code, at } = await rejection(failing);
      expect([code, at]).toEqual(["value.invalid", "collection"]);
    }
    expect(() => runner.findById({ collection, id: 1 })).toThrow("name of a collection");
  });
});

describe("a document by its id", () => {
  test("has the canonical id, its fields and its types", async () => {
    const { runner, execute } = await openCars();
    await execute("UPDATE cars APPLY n INCREMENT BY 2 WHERE _id = 'a'");
    await execute("INSERT INTO cars DOCUMENTS ({'_id': {'b': 2, 'a': 1}, 'x': 1})");
    const { document } = runner.findById({ collection: "cars", id: "a" });
    expect(document?.types).toEqual({ n: "counter" });
    expect(runner.findById({ collection: "cars", id: { b: 2, a: 1 } })).toEqual({
      id: { a: 1, b: 2 },
      document: { id: { a: 1, b: 2 }, fields: { x: 1 }, types: undefined },
      transactionId: 3,
    });
  });

  test("that does not exist, or no longer exists, is undefined", async () => {
    const { runner, execute } = await openCars();
    await execute("DELETE FROM cars WHERE _id = 'a'");
    for (const id of ["a", "nobody", 7]) {
      const found = { id, document: undefined, transactionId: 2 };
      expect(runner.findById({ collection: "cars", id, isUnknownRefused: true })).toEqual(found);
    }
  });

  test.each<[string, unknown, string]>([
    ["null", null, "id"],
    ["a float", 1.5, "id"],
    ["a float inside", { a: [0.5] }, "id.a[0]"],
    ["no value at all", undefined, "id"],
    ["half of a surrogate pair", ["\ud800"], "id[0]"],
    ["too long", "x".repeat(2000), "id"],
  ])("%s is not an id", async (_, id, at) => {
    const { runner } = await openCars();
    // oxlint-disable-next-line require-await -- it throws at once
    const error = await rejection((async () => runner.findById({ collection: "cars", id }))());
    expect([error.code, error.at]).toEqual(["id.invalid", at]);
  });
});

test("statements give their share of memory back when they end", async () => {
  const { store, platform, execute } = await openStatements();
  await execute("INSERT INTO c DOCUMENTS (:d)", { d: { t: "x".repeat(3 * 1024 * 1024) } });
  const memory = new MemoryPool(8 * 1024 * 1024);
  const runner = new StatementRunner({ store, platform, appId: "test", memory });
  const request = { collection: "c", query: "t != 'y'" };
  for (let i = 0; i < 3; i++) expect((await runner.find(request)).documents).toHaveLength(1);
  expect(memory.bytes).toBe(0);
});

test("in a filter a name is a field, also one spelt like the collection", async () => {
  const { runner, execute } = await openStatements();
  const insert =
    "INSERT INTO color DOCUMENTS ({'_id': 1, 'color': 'blue'}), ({'_id': 2, 'color': 'red'})";
  await execute(insert);
  const { documents } = await runner.find({ collection: "color", query: "color == 'blue'" });
  expect(documents.map(({ id }) => id)).toEqual([1]);
  const sort = [{ property: "color", isDescending: true }];
  const sorted = await runner.find({ collection: "color", query: "true", sort });
  expect(sorted.documents.map(({ id }) => id)).toEqual([2, 1]);
  const count = await runner.count({ collection: "color", query: "color.color == 'blue'" });
  expect(count.count).toBe(0);
});
