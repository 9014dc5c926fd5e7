/**
 * `POST /store/count` over HTTP: each row of CountRequest and CountResponse.
 */

import { beforeAll, expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";

const api = await openDataApi();

beforeAll(async () => {
  await api.upsert("cars", {
    c1: { color: "blue", mileage: 100 },
    c2: { color: "blue", mileage: 200 },
    c3: { color: "red", mileage: 300 },
  });
});

async function count(body: object): Promise<unknown> {
  const { status, body: answer } = await api.call("count", body);
  return status === 200 ? (answer as { count: unknown }).count : [status, answer];
}

test("[H19] CountResponse: count is the number of matching documents, txnId the state that was read", async () => {
  const { status, body } = await api.call("count", { collection: "cars", query: "true" });
  expect(status).toBe(200);
  expect(body).toEqual({ count: 3, txnId: 1 });
});

test.each([
  ["true", 3],
  ["false", 0],
  ["color == 'blue'", 2],
  ["color == 'blue' && mileage > 100", 1],
  ["color = 'blue' AND mileage > 100", 1],
  ["contains(['red', 'green'], color)", 1],
  ["_id == 'c1'", 1],
  ["!starts_with(color, 'b')", 1],
])("[H19] CountRequest: query %s is a filter expression", async (query, expected) => {
  expect(await count({ collection: "cars", query })).toBe(expected);
});

test("[H44] CountRequest: :param and $args.param placeholders are filled from args", async () => {
  const args = { c: "blue", m: 150 };
  const collection = "cars";
  expect(await count({ collection, query: "color == :c && mileage > :m", args })).toBe(1);
  expect(await count({ collection, query: "color == $args.c", args })).toBe(2);
});

test("CountRequest: args may be omitted or null", async () => {
  expect(await count({ collection: "cars", query: "true", args: null })).toBe(3);
});

test.each<[string, object, string]>([
  [
    "collection is required",
    { query: "true" },
    "missing required field: expected text at collection",
  ],
  ["query is required", { collection: "cars" }, "missing required field: expected text at query"],
  [
    "collection is text",
    { collection: 1, query: "true" },
    "expected text, found the number 1 at collection",
  ],
  ["query is text", { collection: "cars", query: null }, "expected text, found null at query"],
])("[H6] CountRequest: %s", async (_, body, message) => {
  const reported = `${message} (value.invalid)`;
  expect(await count(body)).toEqual([400, { message: reported }]);
});

test("[H44] a parameter without a value is 400, and the message names it", async () => {
  const answer = await count({ collection: "cars", query: "color == :c" });
  expect(answer).toEqual([400, { message: expect.stringContaining(":c") }]);
});

test("args that are not an object are 400", async () => {
  const answer = await count({ collection: "cars", query: "true", args: [1] });
  expect(answer).toEqual([400, { message: expect.stringContaining("(query.arguments)") }]);
});

test("a filter that cannot be parsed is 400 with its place", async () => {
  const answer = await count({ collection: "cars", query: "color == " });
  expect(answer).toEqual([400, { message: expect.stringContaining("line 1, column") }]);
});

test("[H25] an unknown collection is 400 with a suggested name", async () => {
  const answer = await count({ collection: "carz", query: "true" });
  expect(answer).toEqual([
    400,
    { message: 'unknown collection "carz"; did you mean "cars"? (query.collection)' },
  ]);
});

test("[H25] a collection stays known after its last document is deleted, and is known by an index alone", async () => {
  await api.execute("INSERT INTO short DOCUMENTS ({'_id': 1})");
  await api.execute("DELETE FROM short");
  expect(await count({ collection: "short", query: "true" })).toBe(0);
  await api.execute("CREATE INDEX by_name ON planned (name)");
  expect(await count({ collection: "planned", query: "true" })).toBe(0);
});
