/**
 * `POST /store/write` over HTTP: each row of WriteRequest, WriteCommand, UpdateCommand and
 * WriteResponse.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";

const api = await openDataApi();

interface SentRanges {
  readonly status: number;
  readonly body: { readonly results?: readonly { readonly [name: string]: Value }[] };
}

async function write(...commands: object[]): Promise<SentRanges> {
  const { status, body } = await api.call("write", { commands });
  return { status, body: body as SentRanges["body"] };
}

/** The results of a batch without their transaction, which is the same for all. */
async function results(...commands: object[]): Promise<unknown[]> {
  const { status, body } = await write(...commands);
  expect(status, JSON.stringify(body)).toBe(200);
  const found = body.results ?? [];
  expect(new Set(found.map(({ transactionId }) => transactionId)).size).toBeLessThan(2);
  return found.map(({ transactionId, ...rest }) => {
    expect(transactionId).toEqual(expect.any(Number));
    return rest;
  });
}

async function message(...commands: object[]): Promise<unknown> {
  const { status, body } = await write(...commands);
  expect(status).toBe(400);
  return (body as { message?: unknown }).message;
}

async function read(collection: string, id: unknown, isTyped = false): Promise<unknown> {
  const form = isTyped ? { serializedAs: "latestValuesAndTypes" } : {};
  const { body } = await api.call("findbyid", { collection, id, ...form });
  return (body as { fields?: unknown }).fields;
}

function upsert(collection: string, id: unknown, value: unknown, more: object = {}): object {
  return { method: "upsert", collection, id, value, ...more };
}

function update(collection: string, query: string, ...commands: object[]): object {
  return { method: "update", collection, query, commands };
}

const UPDATED = { method: "update", error: 0, internalError: 0, permissionDenied: 0 };

test("[H26] WriteResponse: one result per command, in order, all with the id of one transaction", async () => {
  const { status, body } = await write(
    upsert("first", "a", { n: 1 }),
    update("first", "n == 1", { method: "set", path: "n", value: 2 }),
    { method: "remove", collection: "first", query: "n == 2" },
  );
  expect(status).toBe(200);
  expect(body).toEqual({
    results: [
      { method: "upsert", transactionId: 1 },
      { ...UPDATED, transactionId: 1, updated: 1 },
      { method: "remove", transactionId: 1, deleted: 1, internalError: 0, permissionDenied: 0 },
    ],
  });
  expect(await read("first", "a")).toBe(null);
});

test("[H26] a batch is atomic: if the last command fails, nothing of the first is written", async () => {
  await api.upsert("atomic", { there: {} });
  const reported = await message(
    upsert("atomic", "a", { n: 1 }),
    { method: "remove", collection: "atomic", query: "true" },
    update("atomic", "true", { method: "increment", path: "n", value: "much" }),
  );
  expect(reported).toEqual(expect.stringContaining("commands[2]"));
  expect(await read("atomic", "a")).toBe(null);
  expect(await read("atomic", "there")).toEqual({});
});

test("[H26] a batch without commands is 200 with no results", async () => {
  expect(await write()).toEqual({ status: 200, body: { results: [] } });
});

test.each<[string, unknown, string]>([
  ["commands is required", {}, "missing required field: expected an array at commands"],
  ["commands is an array", { commands: {} }, "expected an array, found an object at commands"],
  [
    "a command is an object",
    { commands: [1] },
    "expected an object, found the number 1 at commands[0]",
  ],
  [
    "method is required",
    { commands: [{}] },
    "missing required field: expected one of update, upsert, remove at commands[0].method",
  ],
  [
    "method is update, upsert or remove",
    { commands: [{ method: "delete" }] },
    'expected one of update, upsert, remove, found "delete" at commands[0].method',
  ],
  [
    "update needs a collection",
    { commands: [{ method: "update", query: "true", commands: [] }] },
    "missing required field: expected text at commands[0].collection",
  ],
  [
    "update needs a query",
    { commands: [{ method: "update", collection: "c", commands: [] }] },
    "missing required field: expected text at commands[0].query",
  ],
  [
    "update needs commands",
    { commands: [{ method: "update", collection: "c", query: "true" }] },
    "missing required field: expected an array at commands[0].commands",
  ],
  [
    "UpdateCommand: method is one of four",
    { commands: [update("c", "true", { method: "unset", path: "a", value: 1 })] },
    'expected one of set, setAttachment, increment, replaceWithCounter, found "unset" at commands[0].commands[0].method',
  ],
  [
    "UpdateCommand: path is required",
    { commands: [update("c", "true", { method: "set", value: 1 })] },
    "missing required field: expected text at commands[0].commands[0].path",
  ],
  [
    "UpdateCommand: value is required",
    { commands: [update("c", "true", { method: "set", path: "a" })] },
    "missing required field: expected a value at commands[0].commands[0].value",
  ],
  [
    "upsert needs a collection",
    { commands: [{ method: "upsert", value: {} }] },
    "missing required field: expected text at commands[0].collection",
  ],
  [
    "upsert needs a value",
    { commands: [{ method: "upsert", collection: "c" }] },
    "missing required field: expected a value at commands[0].value",
  ],
  [
    "valueTypeOverrides has counter, register or attachment",
    { commands: [upsert("c", 1, { a: 1 }, { valueTypeOverrides: { a: "map" } })] },
    'expected one of counter, register, attachment, found "map" at commands[0].valueTypeOverrides.a',
  ],
  [
    "remove needs a query",
    { commands: [upsert("c", 1, {}), { method: "remove", collection: "c" }] },
    "missing required field: expected text at commands[1].query",
  ],
])("[H6] WriteRequest: %s", async (_, body, expected) => {
  const { status, body: answer } = await api.call("write", body);
  expect(status).toBe(400);
  expect(answer).toEqual({ message: `${expected} (value.invalid)` });
});

test("[H27] upsert: value is the document and id its id, any value except null and floats", async () => {
  expect(await results(upsert("ids", "text", { a: 1 }))).toEqual([{ method: "upsert" }]);
  await results(upsert("ids", 7, { a: 2 }), upsert("ids", { x: 1, y: "b" }, { a: 3 }));
  expect(await read("ids", "text")).toEqual({ a: 1 });
  expect(await read("ids", 7)).toEqual({ a: 2 });
  expect(await read("ids", { y: "b", x: 1 })).toEqual({ a: 3 });
  expect(await message(upsert("ids", null, {}))).toEqual(expect.stringContaining("commands[0].id"));
  expect(await message(upsert("ids", 1.5, {}))).toEqual(expect.stringContaining("commands[0].id"));
});

test("[H27] upsert: an id is generated if it is omitted", async () => {
  await results({ method: "upsert", collection: "made", value: { n: 1 } });
  await results({ method: "upsert", collection: "made", value: { n: 2 } });
  const { body } = await api.call("find", { collection: "made", query: "true" });
  const { documents } = body as unknown as { documents: { id: unknown; fields: unknown }[] };
  expect(documents).toHaveLength(2);
  expect(documents.map(({ fields }) => fields)).toEqual(
    expect.arrayContaining([{ n: 1 }, { n: 2 }]),
  );
  for (const { id } of documents) expect(id).toMatch(/^[0-9a-f-]{36}$/);
});

test("[H27] upsert: _id inside value is the id, and must agree with id", async () => {
  await results({ method: "upsert", collection: "inner", value: { _id: "a", n: 1 } });
  expect(await read("inner", "a")).toEqual({ n: 1 });
  await results(upsert("inner", "b", { _id: "b", n: 2 }));
  expect(await read("inner", "b")).toEqual({ n: 2 });
  const reported = await message(upsert("inner", "c", { _id: "d" }));
  expect(reported).toEqual(expect.stringContaining("commands[0]"));
});

test("[H27] upsert: _id next to value is not an id: 400 with a suggestion, and nothing is written", async () => {
  const beside = { method: "upsert", collection: "beside", _id: "zz", value: { n: 1 } };
  expect(await message(upsert("beside", "first", {}), beside)).toBe(
    "expected the id of the document in `id`, found `_id` at commands[1]; did you mean id? (value.invalid)",
  );
  expect(await message({ ...beside, value: { _id: "zz" } })).toContain("did you mean id?");
  // With an id, or inside the value, it is clear what was meant.
  await results({ ...beside, id: "zz" }, upsert("beside", "a", { n: 2, _id: "a" }));
  expect(await read("beside", "zz")).toEqual({ n: 1 });
  expect(await read("beside", "first")).toBeNull();
});

test("[H27] upsert merges: other fields stay, objects merge deeply, arrays and scalars are replaced", async () => {
  await results(upsert("merged", 1, { a: 1, map: { x: 1, y: 1 }, list: [1, 2] }));
  await results(upsert("merged", 1, { map: { y: 2 }, list: [3], b: true }));
  expect(await read("merged", 1)).toEqual({ a: 1, b: true, map: { x: 1, y: 2 }, list: [3] });
});

test("[H27] upsert: a removed document can be upserted again and starts clean", async () => {
  await results(upsert("again", 1, { a: 1 }));
  await results(
    { method: "remove", collection: "again", query: "true" },
    upsert("again", 1, { b: 1 }),
  );
  expect(await read("again", 1)).toEqual({ b: 1 });
});

test.each([[1], ["text"], [null], [[{}]]])(
  "upsert: the value %j is not a document",
  async (value) => {
    const reported = await message(upsert("none", 1, value));
    expect(reported).toEqual(expect.stringContaining("commands[0].value"));
  },
);

test("[H28] valueTypeOverrides: counter starts a counter at the value, register keeps an object whole", async () => {
  const overrides = { valueTypeOverrides: { n: "counter", whole: "register" } };
  await results(upsert("types", 1, { n: 5, whole: { a: 1, b: 1 }, plain: 1 }, overrides));
  expect(await read("types", 1, true)).toEqual({
    n: { counter: { value: 5 } },
    whole: { register: { value: { a: 1, b: 1 } } },
    plain: { register: { value: 1 } },
  });
  await results(upsert("types", 1, { n: 7, whole: { c: 1 } }, overrides));
  expect(await read("types", 1, true)).toEqual({
    n: { counter: { value: 7 } },
    whole: { register: { value: { c: 1 } } },
    plain: { register: { value: 1 } },
  });
});

test("[H28] valueTypeOverrides: keys must name fields of value, and values must be valid", async () => {
  const unknown = upsert("types", 1, { n: 1 }, { valueTypeOverrides: { m: "counter" } });
  expect(await message(unknown)).toEqual(
    expect.stringContaining("commands[0].valueTypeOverrides.m"),
  );
  const text = upsert("types", 1, { n: "1" }, { valueTypeOverrides: { n: "counter" } });
  expect(await message(text)).toEqual(expect.stringContaining("commands[0].value.n"));
});

test("[H28] valueTypeOverrides may be null", async () => {
  expect(await results(upsert("types", 2, {}, { valueTypeOverrides: null }))).toHaveLength(1);
});

test("[H29] update: every command is applied to every document that the query matches", async () => {
  await api.upsert("cars", { c1: { color: "blue" }, c2: { color: "blue" }, c3: { color: "red" } });
  const commands = [
    { method: "set", path: "color", value: "green" },
    { method: "set", path: "paint.year", value: 2024 },
  ];
  const command = { method: "update", collection: "cars", query: "color == :c", commands };
  const args = { c: "blue" };
  expect(await results({ ...command, args })).toEqual([{ ...UPDATED, updated: 2 }]);
  expect(await read("cars", "c1")).toEqual({ color: "green", paint: { year: 2024 } });
  expect(await read("cars", "c3")).toEqual({ color: "red" });
  expect(await results({ ...command, args })).toEqual([{ ...UPDATED, updated: 0 }]);
});

test("[H30] set: objects merge, other values replace", async () => {
  await api.upsert("sets", { a: { map: { x: 1 }, list: [1], n: 1 } });
  await results(
    update(
      "sets",
      "true",
      { method: "set", path: "map", value: { y: 2 } },
      { method: "set", path: "list", value: [2, 3] },
      { method: "set", path: "n", value: null },
      { method: "set", path: "deep['a-b'].c", value: "made" },
    ),
  );
  expect(await read("sets", "a")).toEqual({
    map: { x: 1, y: 2 },
    list: [2, 3],
    n: null,
    deep: { "a-b": { c: "made" } },
  });
});

test("[H30] increment: adds to a counter, creates one for an absent field, is an error on anything else", async () => {
  const overrides = { valueTypeOverrides: { n: "counter" } };
  await results(
    upsert("incs", "counter", { n: 5 }, overrides),
    upsert("incs", "absent", {}),
    upsert("incs", "number", { n: 5, other: 1 }),
  );
  const reported = await results(
    update(
      "incs",
      "true",
      { method: "set", path: "other", value: 2 },
      { method: "increment", path: "n", value: -2 },
    ),
  );
  expect(reported).toEqual([{ ...UPDATED, updated: 2, error: 1 }]);
  expect(await read("incs", "counter", true)).toEqual({
    n: { counter: { value: 3 } },
    other: { register: { value: 2 } },
  });
  expect(await read("incs", "absent", true)).toEqual({
    n: { counter: { value: -2 } },
    other: { register: { value: 2 } },
  });
  // A document that cannot take an update is left whole.
  expect(await read("incs", "number")).toEqual({ n: 5, other: 1 });
});

test("[H30] set hides a counter under a plain value, which increment counts as an error; replaceWithCounter sets it", async () => {
  await results(upsert("hidden", "a", { n: 10 }, { valueTypeOverrides: { n: "counter" } }));
  const change = (method: string, value: number): object =>
    update("hidden", "_id == 'a'", { method, path: "n", value });
  // The fields of the answer are those of the interface: there is no place for a warning.
  expect(await results(change("set", 5))).toEqual([{ ...UPDATED, updated: 1 }]);
  expect(await read("hidden", "a", true)).toEqual({ n: { register: { value: 5 } } });
  expect(await results(change("increment", 1))).toEqual([{ ...UPDATED, updated: 0, error: 1 }]);
  expect(await results(change("replaceWithCounter", 5), change("increment", 1))).toEqual([
    { ...UPDATED, updated: 1 },
    { ...UPDATED, updated: 1 },
  ]);
  expect(await read("hidden", "a", true)).toEqual({ n: { counter: { value: 6 } } });
});

test("[H30] replaceWithCounter: starts at value, or at the current number if value is null", async () => {
  await api.upsert("reps", { number: { n: 5 }, text: { n: "x" }, absent: {} });
  const start = update("reps", "_id == 'number'", {
    method: "replaceWithCounter",
    path: "n",
    value: 10,
  });
  expect(await results(start)).toEqual([{ ...UPDATED, updated: 1 }]);
  expect(await read("reps", "number", true)).toEqual({ n: { counter: { value: 10 } } });
  await api.upsert("reps", { other: { n: 7 } });
  const current = update("reps", "true", { method: "replaceWithCounter", path: "n", value: null });
  expect(await results(current)).toEqual([{ ...UPDATED, updated: 2, error: 2 }]);
  expect(await read("reps", "other", true)).toEqual({ n: { counter: { value: 7 } } });
  expect(await read("reps", "text")).toEqual({ n: "x" });
});

test("[H29] update: later commands see the result of earlier ones at the same path", async () => {
  await api.upsert("steps", { a: { n: 5 } });
  const both = update(
    "steps",
    "true",
    { method: "replaceWithCounter", path: "n", value: null },
    { method: "increment", path: "n", value: 3 },
  );
  expect(await results(both)).toEqual([{ ...UPDATED, updated: 1 }]);
  expect(await read("steps", "a", true)).toEqual({ n: { counter: { value: 8 } } });
});

test.each([
  ["increment", "2"],
  ["increment", 1.5],
  ["increment", null],
  ["replaceWithCounter", "x"],
  ["setAttachment", "x"],
  ["setAttachment", { id: "never-uploaded", len: 3 }],
])("[H30] %s with the value %j fails the batch", async (method, value) => {
  await api.upsert("odd", { a: {} });
  const reported = await message(update("odd", "true", { method, path: "n", value }));
  expect(reported).toEqual(expect.stringContaining("commands[0].commands[0]"));
});

test.each(["", "a..b", "_id", "_id.x", "a[0]", "$foo", "1st"])(
  "[H30] the path %j fails the batch",
  async (path) => {
    await api.upsert("odd", { a: {} });
    const reported = await message(update("odd", "true", { method: "set", path, value: 1 }));
    expect(reported).toEqual(expect.stringContaining("commands[0].commands[0].path"));
  },
);

test("[H31] remove: deletes the matching documents and counts them", async () => {
  await api.upsert("gone", { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
  const command = { method: "remove", collection: "gone", query: "n >= $args.n", args: { n: 2 } };
  const removed = { method: "remove", internalError: 0, permissionDenied: 0 };
  expect(await results(command)).toEqual([{ ...removed, deleted: 2 }]);
  expect(await results(command)).toEqual([{ ...removed, deleted: 0 }]);
  expect(await read("gone", "a")).toEqual({ n: 1 });
  expect(await read("gone", "b")).toBe(null);
});

test("[H25] update and remove in an unknown collection are 400; one created earlier in the batch is known", async () => {
  const remove = { method: "remove", collection: "fresh", query: "true" };
  expect(await message(remove)).toBe(
    'unknown collection "fresh" at commands[0].collection (query.collection)',
  );
  expect(await message(update("fresh", "true"))).toEqual(
    expect.stringContaining("(query.collection)"),
  );
  expect(await message(remove, upsert("fresh", 1, {}))).toEqual(
    expect.stringContaining("commands[0]"),
  );
  expect(await results(upsert("fresh", 1, {}), remove)).toHaveLength(2);
});

test("a filter that cannot be parsed is 400 with the command and the place in the filter", async () => {
  const reported = await message(upsert("odd", 1, {}), {
    method: "remove",
    collection: "odd",
    query: "color == ",
  });
  expect(reported).toEqual(expect.stringMatching(/commands\[1\]\.query.*line 1, column/));
});

test("[H26] a batch that changes nothing has the id of the last transaction", async () => {
  const { body } = await write(upsert("still", "a", {}));
  const transactionId = body.results?.[0]?.["transactionId"];
  const removed = { method: "remove", deleted: 0, internalError: 0, permissionDenied: 0 };
  const nothing = await write({ method: "remove", collection: "still", query: "false" });
  expect(nothing).toEqual({
    status: 200,
    body: { results: [{ ...removed, transactionId: expect.any(Number) }] },
  });
  expect(nothing.body.results?.[0]?.["transactionId"]).toBe(transactionId);
});

test("[H28] [H29] one command changes or types at most 5,000 fields", async () => {
  const names = Array.from({ length: 5001 }, (_, i) => `f${i}`);
  const commands = names.map((path) => ({ method: "set", path, value: 1 }));
  const edited = { method: "update", collection: "wide", query: "true", commands };
  expect(await message(edited)).toContain(
    "expected at most 5000 elements, found 5001 at commands[0].commands",
  );
  const value = Object.fromEntries(names.map((name) => [name, 1]));
  const valueTypeOverrides = Object.fromEntries(names.map((name) => [name, "register"]));
  const typed = { method: "upsert", collection: "wide", id: 1, value, valueTypeOverrides };
  expect(await message(typed)).toContain(
    "expected at most 5000 fields, found 5001 at commands[0].valueTypeOverrides",
  );
});
