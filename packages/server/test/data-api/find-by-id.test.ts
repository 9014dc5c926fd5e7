/**
 * `POST /store/findbyid` over HTTP: each row of FindByIdRequest and FindByIdResponse.
 */

import { beforeAll, expect, test } from "vitest";
import { openDataApi, type Reply } from "../support/data-api.ts";

const api = await openDataApi();

beforeAll(async () => {
  await api.execute("INSERT INTO cars DOCUMENTS (:a), (:b), (:c)", {
    a: { _id: "c1", color: "blue" },
    b: { _id: { plate: "B-1", country: "DE" }, color: "red" },
    c: { _id: 7, color: "green" },
  });
});

function findById(id: unknown, more: object = {}): Promise<Reply> {
  return api.call("findbyid", { collection: "cars", id, ...more });
}

test("[H24] FindByIdResponse: a document with id and fields, and the txnId", async () => {
  const { status, body } = await findById("c1");
  expect(status).toBe(200);
  expect(body).toEqual({ id: "c1", fields: { color: "blue" }, txnId: 1 });
});

test("[H24] FindByIdRequest: id is any value; the order of keys in an object does not matter", async () => {
  const id = { country: "DE", plate: "B-1" };
  const { body } = await findById({ plate: "B-1", country: "DE" });
  expect(body).toEqual({ id, fields: { color: "red" }, txnId: 1 });
  expect((await findById(id)).body).toEqual(body);
  expect((await findById(7)).body).toEqual({ id: 7, fields: { color: "green" }, txnId: 1 });
  expect((await findById("7")).body).toEqual({ id: "7", fields: null, txnId: 1 });
});

test("[H24] findbyid of a missing document is 200 with fields null", async () => {
  const { status, body } = await findById("nobody");
  expect(status).toBe(200);
  expect(body).toEqual({ id: "nobody", fields: null, txnId: 1 });
});

test("[H24] FindByIdRequest: serializedAs is latestValues by default, or latestValuesAndTypes", async () => {
  const { body } = await findById("c1", { serializedAs: "latestValuesAndTypes" });
  const fields = { color: { register: { value: "blue" } } };
  expect(body).toEqual({ id: "c1", fields, txnId: 1 });
});

test.each<[string, object, string]>([
  ["collection is required", { id: 1 }, "missing required field: expected text at collection"],
  ["id is required", { collection: "cars" }, "missing required field: expected a value at id"],
  [
    "formatAttachment is a boolean",
    { collection: "cars", id: 1, formatAttachment: "yes" },
    'expected true or false, found "yes" at formatAttachment',
  ],
])("[H6] FindByIdRequest: %s", async (_, body, message) => {
  const reply = await api.call("findbyid", body);
  expect(reply.status).toBe(400);
  expect(reply.body).toEqual({ message: `${message} (value.invalid)` });
});

test.each([
  ["null", null],
  ["a fraction", 1.5],
  ["a fraction inside", { a: [1.5] }],
  ["a text that is too long", "x".repeat(2000)],
])("an id that is %s is 400", async (_, id) => {
  const { status, body } = await findById(id);
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringMatching(/\(id\.invalid\)$/) });
});

test("[H25] an unknown collection is 400", async () => {
  const reply = await api.call("findbyid", { collection: "nowhere", id: 1 });
  expect(reply.status).toBe(400);
  expect(reply.body).toEqual({ message: 'unknown collection "nowhere" (query.collection)' });
});
