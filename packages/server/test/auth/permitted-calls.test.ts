/**
 * What a key with permissions of its own may do over HTTP; docs/permissions.md has the judgements.
 */

import { readPermissions } from "@bigpeer/engine/query";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { download, formOf, upload, uploaded } from "../support/attachment-client.ts";
import { type OperationName, openDataApi, type Reply } from "../support/data-api.ts";

const AUTHOR = { actor: "test" };
const BLUE = { queriesByCollection: { cars: ["color == 'blue'"] } };

const api = await openDataApi();
await api.upsert("cars", { c1: { color: "blue", n: 1 }, c2: { color: "red", n: 2 } });
await api.upsert("people", { p1: { name: "Ann" } });

let made = 0;

async function keyWith(permissions: unknown): Promise<Record<string, string>> {
  made++;
  const { keys } = api.server.registry;
  const content = { name: `key-${made}`, permissions: readPermissions(permissions) };
  const key = await keys.create(api.quickstart.appId, content, AUTHOR);
  return { authorization: `Bearer ${key}` };
}

const readsBlue = await keyWith({ read: BLUE });
const writesBlue = await keyWith({ read: BLUE, write: BLUE });
const nothing = await keyWith({});
const readsAll = await keyWith({ read: { everything: true }, remoteQuery: true });

function call(headers: Record<string, string>, name: OperationName, body: unknown): Promise<Reply> {
  return api.call(name, body, { headers });
}

function upsertOf(id: string, color: string): unknown {
  return { commands: [{ method: "upsert", collection: "cars", id, value: { color } }] };
}

describe("[A3] a credential sees and changes what its permissions allow", () => {
  test("reads are restricted, in every operation", async () => {
    const select = await call(readsBlue, "execute", { statement: "SELECT * FROM cars" });
    expect((select.body as ValueObject)["items"]).toEqual([{ _id: "c1", color: "blue", n: 1 }]);
    const count = await call(readsBlue, "count", { collection: "cars", query: "true" });
    expect((count.body as ValueObject)["count"]).toBe(1);
    const find = await call(readsBlue, "find", { collection: "cars", query: "true" });
    expect((find.body as ValueObject)["documents"]).toEqual([
      { id: "c1", fields: { color: "blue", n: 1 } },
    ]);
    const hidden = await call(readsBlue, "findbyid", { collection: "cars", id: "c2" });
    expect((hidden.body as ValueObject)["fields"]).toBe(null);
  });

  test("a collection without a rule is 401, whether it exists or not", async () => {
    for (const collection of ["people", "nothing-there"]) {
      const asks: [OperationName, unknown][] = [
        ["execute", { statement: `SELECT * FROM \`${collection}\`` }],
        ["count", { collection, query: "true" }],
        ["find", { collection, query: "true" }],
        ["findbyid", { collection, id: "p1" }],
      ];
      for (const [name, body] of asks) {
        const { status, headers } = await call(readsBlue, name, body);
        expect({ name, status }).toEqual({ name, status: 401 });
        expect(headers.get("www-authenticate")).toBe("Bearer");
      }
    }
  });

  test("a write outside them is 403 on write and 401 in a statement, and nothing is applied", async () => {
    const writes: [Record<string, string>, string][] = [
      [readsBlue, "blue"],
      [writesBlue, "red"],
      [nothing, "blue"],
    ];
    for (const [headers, color] of writes) {
      const refused = await call(headers, "write", upsertOf("new", color));
      expect(refused.status).toBe(403);
      expect((refused.body as { message: string }).message).toContain("(permission.denied)");
      const statement = `INSERT INTO cars DOCUMENTS ({'_id': 'new', 'color': '${color}'})`;
      expect((await call(headers, "execute", { statement })).status).toBe(401);
    }
    const found = await api.call("findbyid", { collection: "cars", id: "new" });
    expect((found.body as ValueObject)["fields"]).toBe(null);
    expect((await call(writesBlue, "write", upsertOf("c3", "blue"))).status).toBe(200);
  });

  test("a caller without the permission does not count as a wrong credential, however often it tries", async () => {
    for (let i = 0; i < 25; i++) {
      const { status } = await call(nothing, "count", { collection: "cars", query: "true" });
      expect(status).toBe(401);
    }
  });
});

describe("[A4] attachments", () => {
  const content = Buffer.from("only for those who read a document with it");

  test("can be uploaded by a credential that may write anything", async () => {
    for (const [headers, status] of [
      [writesBlue, 200],
      [readsBlue, 401],
      [readsAll, 401],
      [nothing, 401],
    ] as const) {
      expect((await upload(api, formOf(Buffer.from("x")), { headers })).status).toBe(status);
    }
  });

  test("can be read by a credential that reads a document with it, and do not exist for others", async () => {
    const { id, len } = await uploaded(api, content);
    const command = (document: string): Value => ({
      method: "update",
      collection: "cars",
      query: `_id == '${document}'`,
      commands: [{ method: "setAttachment", path: "photo", value: { id, len } }],
    });
    await api.call("write", { commands: [command("c2")] });
    for (const method of ["GET", "HEAD"]) {
      expect((await download(api, id, { headers: readsBlue, method })).status).toBe(404);
      expect((await download(api, id, { headers: readsAll, method })).status).toBe(200);
    }
    await api.call("write", { commands: [command("c1")] });
    expect((await download(api, id, { headers: readsBlue })).status).toBe(200);
    expect((await download(api, id, { headers: nothing })).status).toBe(404);
  });
});

test("[A5] peers can be queried by a credential that reads everything and has remoteQuery", async () => {
  const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
  const narrow = await keyWith({ read: BLUE, remoteQuery: true });
  const statuses: number[] = [];
  for (const headers of [readsAll, readsBlue, narrow, nothing]) {
    statuses.push((await call(headers, "remote_execute", { statement })).status);
  }
  expect(statuses).toEqual([200, 401, 401, 401]);
});
