/**
 * The export of a collection over HTTP.
 */

import { readdirSync } from "node:fs";
import { decodeCbor } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openDataApi } from "../support/data-api.ts";

const api = await openDataApi({ managementPort: 0 });

async function exported(query: string, key: string = api.quickstart.apiKey) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${api.server.url}/api/v4/store/export?${query}`, { headers });
  return { response, text: await response.text() };
}

test("[H70] an export has every document in the order of ids, as of one transaction", async () => {
  const ids = Array.from({ length: 3000 }, (_, i) => `c${String(i).padStart(5, "0")}`);
  const documents = ids.map((_id, n) => ({ _id, n, note: "x".repeat(200) }));
  const { body } = await api.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  const { transactionId } = body as { transactionId: number };
  const exporting = exported("collection=cars");
  // Writes meanwhile are all in it, or not at all.
  const writing = api.execute("UPDATE cars SET n = -1 WHERE true");
  const [{ response, text }] = await Promise.all([exporting, writing]);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = text.trimEnd().split("\n");
  const found = lines.map((line) => JSON.parse(line) as { _id: string; n: number });
  expect(found.map(({ _id }) => _id)).toEqual(ids);
  const isBefore = response.headers.get("x-service-txn-id") === String(transactionId);
  expect(found.every(({ n }, i) => n === (isBefore ? i : -1))).toBe(true);
  // The file has no name, so nothing is left of it.
  expect(readdirSync(api.config.dataDir).filter((name) => name.startsWith("export"))).toEqual([]);
});

test("[H71] with types, everything survives: counters, maps, registers and binary", async () => {
  const insert =
    "INSERT INTO COLLECTION kinds (n COUNTER, r REGISTER, m MAP (n COUNTER)) DOCUMENTS (:d)";
  const id = new Uint8Array([1, 2]);
  const d = { _id: id, n: 5, r: { a: 1 }, m: { n: 2 }, b: new Uint8Array([3]) };
  const reply = await api.callCbor("execute", { statement: insert, args: { d } });
  expect(reply.status).toBe(200);
  const { text } = await exported("collection=kinds&types=true");
  const { idCbor, fields } = JSON.parse(text) as {
    idCbor: string;
    fields: Record<string, Record<string, { cbor?: string }>>;
  };
  expect(decodeCbor(Buffer.from(idCbor, "base64"))).toEqual(id);
  expect(fields).toMatchObject({
    n: { counter: { value: 5 } },
    r: { register: { value: { a: 1 } } },
    m: { map: { value: { n: { counter: { value: 2 } } } } },
  });
  expect(decodeCbor(Buffer.from(fields["b"]?.["register"]?.cbor ?? "", "base64"))).toEqual(d.b);
  expect((await exported("collection=kinds")).text).toContain('"b":"Aw=="');
});

test("an unknown collection, a missing parameter and a wrong credential are refused", async () => {
  expect((await exported("collection=carz")).response.status).toBe(400);
  expect((await exported("")).text).toContain("expected the parameter collection");
  expect((await exported("collection=cars&types=1")).text).toContain("true or false");
  expect((await exported("collection=cars", "bp_wrong")).response.status).toBe(401);
});

test("a restricted key gets only the documents that it may read", async () => {
  const url = `${api.server.managementUrl}/namespace/default/bigPeer/big-peer/app/default/apiKey`;
  const rule = { everything: false, queriesByCollection: { cars: ["_id == 'c00007'"] } };
  const permissions = {
    read: rule,
    write: { ...rule, queriesByCollection: {} },
    remoteQuery: false,
  };
  const body = JSON.stringify({ name: "one", permissions });
  const headers = { "content-type": "application/json" };
  const key = (await (await fetch(url, { method: "POST", headers, body })).json()) as string;
  const { text } = await exported("collection=cars", key);
  expect(text.trimEnd().split("\n")).toHaveLength(1);
  expect(JSON.parse(text)).toMatchObject({ _id: "c00007" });
  expect((await exported("collection=kinds", key)).response.status).toBe(401);
});
