/**
 * `POST /store/find` over HTTP: each row of FindRequest and FindResponse.
 */

import type { Value } from "@bigpeer/protocol";
import { beforeAll, expect, test } from "vitest";
import { openDataApi, type Reply } from "../support/data-api.ts";

const api = await openDataApi();

beforeAll(async () => {
  await api.upsert("cars", {
    c1: { color: "blue", mileage: 300 },
    c2: { color: "red", mileage: 100 },
    c3: { color: "blue", mileage: 200 },
  });
});

interface Found {
  readonly documents: readonly { readonly id: Value; readonly fields: Value }[];
  readonly txnId: number;
}

function find(body: object): Promise<Reply> {
  return api.call("find", { collection: "cars", query: "true", ...body });
}

async function ids(body: object): Promise<unknown> {
  const { status, body: answer } = await find(body);
  expect(status).toBe(200);
  return (answer as unknown as Found).documents.map(({ id }) => id);
}

test("[H20] FindResponse: documents with id and fields, and the txnId of the state that was read", async () => {
  const { status, body } = await find({ query: "color == 'red'" });
  expect(status).toBe(200);
  expect(body).toEqual({
    documents: [{ id: "c2", fields: { color: "red", mileage: 100 } }],
    txnId: 1,
  });
});

test("[H20] FindResponse: documents is an empty array when nothing matches", async () => {
  const { body } = await find({ query: "color == 'green'" });
  expect(body).toEqual({ documents: [], txnId: 1 });
});

test("[H20] FindRequest: collection, query and args select the documents", async () => {
  const query = "color == :c && mileage > $args.m";
  expect(await ids({ query, args: { c: "blue", m: 250 } })).toEqual(["c1"]);
});

test("[H20] FindRequest: limit is the maximum number of documents, 0 included", async () => {
  expect(await ids({ limit: 2 })).toEqual(["c1", "c2"]);
  expect(await ids({ limit: 0 })).toEqual([]);
});

test("[H20] FindRequest: limit is 1000 if it is omitted or null", async () => {
  const documents = Object.fromEntries(
    Array.from({ length: 1005 }, (_, i) => [`d${String(i).padStart(4, "0")}`, { i }]),
  );
  await api.upsert("many", documents);
  const { body } = await find({ collection: "many" });
  expect((body as unknown as Found).documents.length).toBe(1000);
  const { body: other } = await find({ collection: "many", limit: null });
  expect((other as unknown as Found).documents.length).toBe(1000);
  const { body: all } = await find({ collection: "many", limit: 2_147_483_647 });
  expect((all as unknown as Found).documents.length).toBe(1005);
});

test("[H20] FindRequest: offset skips documents; it is 0 if it is omitted", async () => {
  expect(await ids({ offset: 1 })).toEqual(["c2", "c3"]);
  expect(await ids({ offset: 1, limit: 1 })).toEqual(["c2"]);
  expect(await ids({ offset: 3 })).toEqual([]);
});

test.each([
  ["limit", -1],
  ["limit", 1.5],
  ["limit", 2_147_483_648],
  ["limit", "10"],
  ["offset", -1],
  ["offset", 99_999_999_999],
])("[H6] FindRequest: %s is an int32 and not %s", async (name, value) => {
  const { status, body } = await find({ [name]: value });
  expect(status).toBe(400);
  const found = typeof value === "string" ? `"${value}"` : `the number ${value}`;
  const message = `expected an integer from 0 to 2147483647, found ${found} at ${name}`;
  expect(body).toEqual({ message: `${message} (value.invalid)` });
});

test("[H21] FindRequest: sort has several keys, each ascending or descending", async () => {
  const sort = [
    { property: "color", direction: "desc" },
    { property: "mileage", direction: "asc" },
  ];
  expect(await ids({ sort })).toEqual(["c2", "c3", "c1"]);
  const other = [
    { property: "color", direction: "asc" },
    { property: "mileage", direction: "desc" },
  ];
  expect(await ids({ sort: other })).toEqual(["c1", "c3", "c2"]);
});

test("[H21] FindRequest: sort by a nested property and by the id", async () => {
  await api.upsert("nested", { a: { at: { city: "Ulm" } }, b: { at: { city: "Aachen" } } });
  const collection = "nested";
  const byCity = [{ property: "at.city", direction: "asc" }];
  expect(await ids({ collection, sort: byCity })).toEqual(["b", "a"]);
  const byId = [{ property: "_id", direction: "desc" }];
  expect(await ids({ collection, sort: byId })).toEqual(["b", "a"]);
});

test.each<[string, unknown, string]>([
  ["an array", {}, "expected an array, found an object at sort"],
  ["of objects", ["color"], 'expected an object, found "color" at sort[0]'],
  [
    "with a property",
    [{ direction: "asc" }],
    "missing required field: expected text at sort[0].property",
  ],
  [
    "with a direction",
    [{ property: "color" }],
    "missing required field: expected one of asc, desc at sort[0].direction",
  ],
  [
    "that is asc or desc",
    [{ property: "color", direction: "ascending" }],
    'expected one of asc, desc, found "ascending" at sort[0].direction',
  ],
])("[H21] FindRequest: sort is %s", async (_, sort, message) => {
  const { status, body } = await find({ sort });
  expect(status).toBe(400);
  expect(body).toEqual({ message: `${message} (value.invalid)` });
});

test("[H22] FindRequest: serializedAs is latestValues by default; latestValuesAndTypes adds the types", async () => {
  await api.call("write", {
    commands: [
      {
        method: "upsert",
        collection: "typed",
        id: 1,
        value: { n: 1, s: "a", list: [1], map: { deep: true }, counted: 5, whole: { a: 1 } },
        valueTypeOverrides: { counted: "counter", whole: "register" },
      },
    ],
  });
  const plain = await find({ collection: "typed" });
  const values = { n: 1, s: "a", list: [1], map: { deep: true }, counted: 5, whole: { a: 1 } };
  expect((plain.body as unknown as Found).documents).toEqual([{ id: 1, fields: values }]);
  const same = await find({ collection: "typed", serializedAs: "latestValues" });
  expect(same.body).toEqual(plain.body);
  const typed = await find({ collection: "typed", serializedAs: "latestValuesAndTypes" });
  expect((typed.body as unknown as Found).documents).toEqual([
    {
      id: 1,
      fields: {
        n: { register: { value: 1 } },
        s: { register: { value: "a" } },
        list: { register: { value: [1] } },
        map: { map: { value: { deep: { register: { value: true } } } } },
        counted: { counter: { value: 5 } },
        whole: { register: { value: { a: 1 } } },
      },
    },
  ]);
});

test("[H22] FindRequest: serializedAs is one of its two values", async () => {
  const { status, body } = await find({ serializedAs: "json" });
  expect(status).toBe(400);
  const message = 'expected one of latestValues, latestValuesAndTypes, found "json"';
  expect(body).toEqual({ message: `${message} at serializedAs (value.invalid)` });
});

test("[H23] FindRequest: describe adds query_details with the plan before the matches, outside limit", async () => {
  const { body } = await find({ query: "color == 'blue'", describe: true, limit: 1 });
  const { documents } = body as unknown as Found;
  expect(documents.map(({ id }) => id)).toEqual(["query_details", "c1"]);
  expect(documents[0]?.fields).toEqual({ full_scan: {}, plan: expect.any(Object) });
  const byId = (await find({ query: "_id == 'c1'", describe: true })).body as unknown as Found;
  expect(byId.documents[0]?.fields).toEqual({
    index_scan: { path: ["_id"] },
    plan: expect.any(Object),
  });
  const { body: without } = await find({ query: "color == 'blue'", describe: false, limit: 1 });
  expect((without as unknown as Found).documents.map(({ id }) => id)).toEqual(["c1"]);
});

test("[H23] FindRequest: describe names the access path and the index", async () => {
  await api.upsert("shelf", { s1: { place: { row: 1 } } });
  await api.call("execute", { statement: "CREATE INDEX by_row ON shelf (place.row)" });
  const details = async (body: object): Promise<unknown> => {
    const reply = await find({ collection: "shelf", describe: true, ...body });
    return (reply.body as unknown as Found).documents[0]?.fields;
  };
  const plan: unknown = expect.any(Object);
  const byRow = { index_scan: { index: "by_row", path: ["place", "row"] }, plan };
  expect(await details({ query: "place.row == 1" })).toEqual(byRow);
  const sort = [{ property: "place.row", direction: "asc" }];
  expect(await details({ query: "true", sort })).toEqual({
    index_scan: { index: "by_row", path: [] },
    plan,
  });
  expect(await details({ query: "true" })).toEqual({ full_scan: {}, plan });
});

test("[H25] an unknown collection is 400", async () => {
  const { status, body } = await find({ collection: "Cars" });
  expect(status).toBe(400);
  expect(body).toEqual({
    message: 'unknown collection "Cars"; did you mean "cars"? (query.collection)',
  });
});

test.each([
  ["", "expected the name of a collection"],
  ["system:collections", 'unknown collection "system:collections"'],
])("the collection %j is 400", async (collection, message) => {
  const { status, body } = await find({ collection });
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining(message) });
});

test("[H21] more sort keys than 64 are refused", async () => {
  const keys = (count: number): object[] =>
    Array.from({ length: count }, (_, i) => ({ property: `p${i}`, direction: "asc" }));
  expect(await ids({ sort: keys(64) })).toEqual(["c1", "c2", "c3"]);
  const { status, body } = await find({ sort: keys(65) });
  expect(status).toBe(400);
  expect(body).toMatchObject({
    message: expect.stringContaining("expected at most 64 elements, found 65 at sort"),
  });
});
