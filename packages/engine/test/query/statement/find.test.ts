/**
 * Filters of the data API: which documents they choose, in which order.
 */
import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { prepareFind } from "../../../src/query/statement/find.ts";
import type { FindRequest } from "../../../src/query/statement-runner.ts";
import { openStatements } from "../../support/run-statements.ts";

const CARS: Value[] = [
  { _id: "a", color: "blue", mileage: 100, tags: ["x", "y"], at: { city: "Oslo", "x-y": 1 } },
  { _id: "b", color: "red", mileage: 900, tags: [], sold: "2024-03-01T00:00:00Z" },
  { _id: "c", color: "blue", mileage: 500, owner: null },
  { _id: { lot: 7 }, color: "light blue", mileage: 50 },
];

async function findIds(request: FindRequest): Promise<Value[]> {
  const { runner, execute } = await openStatements();
  await execute("INSERT INTO cars DOCUMENTS (:cars)", { cars: CARS });
  const { documents } = await runner.find(request);
  return documents.map(({ id }) => id);
}

const ALL = ["a", "b", "c", { lot: 7 }];

describe("a filter chooses documents", () => {
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
  ])("%s", async (query, args, ids) => {
    expect(await findIds({ collection: "cars", query, args })).toEqual(ids);
  });
});

test("several sort keys, each in its direction", async () => {
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

test("limit and offset cut a window out of what was found", async () => {
  const window = { offset: 1, limit: 2 };
  expect(await findIds({ collection: "cars", query: "true", ...window })).toEqual(["b", "c"]);
});

test("a filter that neither language can read tells where it went wrong", async () => {
  const failing = findIds({ collection: "cars", query: "color == 'blue' &&" });
  await expect(failing).rejects.toMatchObject({
    code: "query.syntax",
    place: { line: 1, column: 19 },
  });
});

test("a parameter is asked for under its name, in both spellings", () => {
  const { parameters } = prepareFind({ collection: "cars", query: "a == $args.x && b < :y" });
  expect(parameters.map(({ name }) => name)).toEqual(["x", "y"]);
});

test("a sort key is a path and nothing else; a fault in it has its place in the key", async () => {
  for (const property of ["a == 1", ":x", "1", "a b"]) {
    const sort = [{ property, isDescending: false }];
    const failing = findIds({ collection: "cars", query: "true", sort });
    await expect(failing).rejects.toMatchObject({ code: "query.syntax" });
  }
  const sort = [{ property: "at['x-y']", isDescending: true }];
  const found = await findIds({ collection: "cars", query: "at['x-y'] != null", sort });
  expect(found).toEqual(["a"]);
});

test("a parameter without a value is told with its place in the filter", async () => {
  const failing = findIds({ collection: "cars", query: "color == :x" });
  await expect(failing).rejects.toMatchObject({ place: { line: 1, column: 10, near: ":x" } });
});

test("what find held counts against the memory of a statement", async () => {
  const { runner, execute } = await openStatements({ bytes: 20_000 });
  for (let i = 0; i < 20; i++) {
    await execute("INSERT INTO c DOCUMENTS (:d)", { d: { t: "x".repeat(1000) } });
  }
  const failing = runner.find({ collection: "c", query: "true" });
  await expect(failing).rejects.toMatchObject({ code: "query.too_large" });
});
