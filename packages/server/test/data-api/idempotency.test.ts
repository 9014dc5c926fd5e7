/**
 * Idempotency-Key over HTTP: a request that is sent again is answered again and done once.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { Registry } from "../../src/registry/registry.ts";
import { startServer } from "../../src/server.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";

const api = await openDataApi();

const INCREMENT = {
  commands: [
    {
      method: "update",
      collection: "counts",
      query: "true",
      commands: [{ method: "increment", path: "n", value: 1 }],
    },
  ],
};

function keyed(key: string): { headers: Record<string, string> } {
  return { headers: { "idempotency-key": key } };
}

async function value(from: DataApi = api): Promise<unknown> {
  const { body } = await from.call("findbyid", { collection: "counts", id: "a" });
  return (body as { fields: { n?: unknown } }).fields.n;
}

test("[H41] write: the same key and body have one effect and the same answer", async () => {
  await api.upsert("counts", { a: {} });
  const first = await api.call("write", INCREMENT, keyed("w1"));
  expect(first.status).toBe(200);
  expect(first.headers.get("idempotency-replayed")).toBe(null);
  const again = await api.call("write", INCREMENT, keyed("w1"));
  expect(again.status).toBe(200);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await value()).toBe(1);
  await api.call("write", INCREMENT, keyed("w2"));
  expect(await value()).toBe(2);
});

test("[H41] the content type may have another spelling", async () => {
  const headers = { ...keyed("spelt").headers, "content-type": "application/json" };
  const first = await api.call("write", INCREMENT, { headers });
  const other = { ...headers, "content-type": "Application/JSON; charset=utf-8" };
  const again = await api.call("write", INCREMENT, { headers: other });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("[H41] execute: the same key and body have one effect and the same answer, rows included", async () => {
  const statement = "INSERT INTO made DOCUMENTS ({'n': 1}) RETURNING *";
  const first = await api.call("execute", { statement }, keyed("e1"));
  expect(first.status).toBe(200);
  const again = await api.call("execute", { statement }, keyed("e1"));
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  const { body } = await api.call("count", { collection: "made", query: "true" });
  expect(body).toEqual({ count: 1, txnId: expect.any(Number) });
});

test("[H41] concurrent requests with one key have one effect and one answer", async () => {
  await api.upsert("counts", { a: { reset: true } });
  const before = Number(await value());
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => api.call("write", INCREMENT, keyed("together"))),
  );
  expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(await value()).toBe(before + 1);
});

test("[H41] another body with the same key is 422, and nothing is written", async () => {
  await api.call("write", INCREMENT, keyed("other"));
  const before = await value();
  const body = { commands: [...INCREMENT.commands, ...INCREMENT.commands] };
  const { status, body: answer } = await api.call("write", body, keyed("other"));
  expect(status).toBe(422);
  expect(answer).toEqual({ message: expect.stringContaining("(idempotency.conflict)") });
  expect(await value()).toBe(before);
  const statement = "INSERT INTO made DOCUMENTS ({'n': 2})";
  await api.call("execute", { statement }, keyed("e2"));
  const failed = await api.call("execute", { statement: `${statement} ` }, keyed("e2"));
  expect(failed.status).toBe(422);
});

test("[H41] the operation is part of the scope of a key", async () => {
  const written = await api.call("write", { commands: [] }, keyed("both"));
  expect(written.status).toBe(200);
  const statement = "INSERT INTO made DOCUMENTS ({'n': 3})";
  expect((await api.call("execute", { statement }, keyed("both"))).status).toBe(200);
});

test("[H41] the credential is part of the scope of a key", async () => {
  const first = await openDataApi();
  await first.upsert("counts", { a: {} });
  const one = await first.call("write", INCREMENT, keyed("shared"));
  await first.server.close();
  const registry = await Registry.open(first.config.dataDir, testHost());
  const other = registry.keys.draw();
  const { appId } = first.quickstart;
  await registry.keys.add(other, { appId, permissions: FULL_PERMISSIONS });
  await registry.close();
  const server = await startServer(first.config, testHost());
  try {
    const second = new DataApi(server, first.config);
    const headers = { ...keyed("shared").headers, authorization: `Bearer ${other}` };
    const two = await second.call("write", INCREMENT, { headers });
    expect(two.status).toBe(200);
    expect(two.headers.get("idempotency-replayed")).toBe(null);
    expect(two.body).not.toEqual(one.body);
    expect(await value(second)).toBe(2);
  } finally {
    await server.close();
  }
});

test("[H41] a request that failed may be sent again with its key", async () => {
  const insert = { statement: "INSERT INTO unique DOCUMENTS ({'_id': 1})" };
  await api.call("execute", insert);
  expect((await api.call("execute", insert, keyed("late"))).status).toBe(400);
  await api.call("execute", { statement: "DELETE FROM unique" });
  const again = await api.call("execute", insert, keyed("late"));
  expect(again.status).toBe(200);
  expect(again.headers.get("idempotency-replayed")).toBe(null);
});

test("[H41] a statement that only reads runs again", async () => {
  const select = { statement: "SELECT COUNT(*) AS n FROM made" };
  const first = await api.call("execute", select, keyed("read"));
  await api.call("execute", { statement: "INSERT INTO made DOCUMENTS ({'n': 9})" });
  const again = await api.call("execute", select, keyed("read"));
  expect(again.body).not.toEqual(first.body);
});

test.each([
  ["too long", "x".repeat(256)],
  ["with spaces", "a b"],
])("[H41] a key that is %s is 400", async (_, key) => {
  const { status, body } = await api.call("write", { commands: [] }, keyed(key));
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining("the header idempotency-key") });
});

test("[H41] an answer is remembered after a restart", async () => {
  const first = await openDataApi();
  await first.upsert("counts", { a: {} });
  const answer = await first.call("write", INCREMENT, keyed("kept"));
  await first.server.close();
  const server = await startServer(first.config, testHost());
  try {
    const second = new DataApi(server, first.config);
    const again = await second.call("write", INCREMENT, keyed("kept"));
    expect(again.body).toEqual(answer.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await value(second)).toBe(1);
  } finally {
    await server.close();
  }
});
