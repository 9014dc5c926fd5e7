/**
 * `POST /sync/remote_execute` over HTTP while no peer can connect.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { Registry } from "../../src/registry/registry.ts";
import { startServer } from "../../src/server.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";

const api = await openDataApi();

test.each([
  "SYNC CONTEXT (PEERS) SELECT * FROM cars",
  "SYNC CONTEXT ( PEERS WHERE TRUE ) SELECT * FROM cars WHERE color = 'blue'",
  "SYNC CONTEXT (PEERS WHERE deviceName = 'Küche ☕') SELECT * FROM system:system_info",
])("[H32] %s has an empty result while no peer is connected", async (statement) => {
  const { status, body } = await api.call("remote_execute", { statement });
  expect(status).toBe(200);
  expect(body).toEqual({ result: [] });
});

test("[H32] RemoteExecuteRequest: args hold the named parameters of both parts", async () => {
  const statement = "SYNC CONTEXT (PEERS WHERE os = :os) SELECT * FROM cars WHERE color = :c";
  const args = { os: "linux", c: "blue" };
  expect((await api.call("remote_execute", { statement, args })).body).toEqual({ result: [] });
  const { status, body } = await api.call("remote_execute", { statement, args: { c: "blue" } });
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining(":os") });
});

test.each([
  ["a statement without the clause", "SELECT * FROM cars", "SYNC CONTEXT"],
  ["a broken clause", "SYNC CONTEXT (PEERS WHERE) SELECT * FROM cars", "line 1, column"],
  ["a clause without peers", "SYNC CONTEXT () SELECT * FROM cars", "PEERS"],
  ["a clause alone", "SYNC CONTEXT (PEERS)", "line 1, column"],
  ["an invalid statement", "SYNC CONTEXT (PEERS) SELEC * FROM cars", "line 1, column 22"],
  ["an unknown function", "SYNC CONTEXT (PEERS) SELECT uper(a) FROM cars", "upper"],
])("[H32] %s is 400 with a message", async (_, statement, part) => {
  const { status, body } = await api.call("remote_execute", { statement });
  expect(status).toBe(400);
  expect(body).toEqual({ message: expect.stringContaining(part) });
});

test("[H6] RemoteExecuteRequest: statement is required", async () => {
  const { status, body } = await api.call("remote_execute", { args: {} });
  expect(status).toBe(400);
  expect(body).toEqual({ message: "expected text, found nothing at statement (value.invalid)" });
});

test("[H18] remote_execute does not look at X-SERVICE-TXN-ID", async () => {
  const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
  for (const txnId of ["99999999", "nonsense"]) {
    const headers = { "x-service-txn-id": txnId };
    const { status } = await api.call("remote_execute", { statement }, { headers });
    expect(status).toBe(200);
  }
});

test("[A5] a key without the permission to ask peers is 401", async () => {
  const first = await openDataApi();
  await first.server.close();
  const registry = await Registry.open(first.config.dataDir, testHost());
  const key = registry.keys.draw();
  const permissions = { ...FULL_PERMISSIONS, remoteQuery: false };
  await registry.keys.add(key, { appId: first.quickstart.appId, permissions });
  await registry.close();
  const server = await startServer(first.config, testHost());
  try {
    const limited = new DataApi(server, first.config);
    const headers = { authorization: `Bearer ${key}` };
    const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
    const { status, body } = await limited.call("remote_execute", { statement }, { headers });
    expect(status).toBe(401);
    expect(body).toEqual({ message: "the credential lacks the permission for this operation" });
    const other = await limited.call("execute", { statement: "SELECT * FROM cars" }, { headers });
    expect(other.status).toBe(200);
  } finally {
    await server.close();
  }
});
