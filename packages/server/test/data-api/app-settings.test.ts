/**
 * What the settings of an app change in its answers.
 */

import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import type { AppSettings } from "../../src/registry/app.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { Registry } from "../../src/registry/registry.ts";
import { startServer } from "../../src/server.ts";
import { DataApi, openDataApi } from "../support/data-api.ts";

/** A server whose app has other settings than the default. */
async function openWith(settings: Partial<AppSettings>): Promise<DataApi> {
  const first = await openDataApi();
  await first.server.close();
  const registry = await Registry.open(first.config.dataDir, testHost());
  await registry.apps.setSettings(first.quickstart.appName, settings, SERVER);
  await registry.close();
  return new DataApi(await startServer(first.config, testHost()), first.config);
}

test("an app may treat an unknown collection as empty", async () => {
  const api = await openWith({ isUnknownEmpty: true });
  try {
    const collection = "nowhere";
    const count = await api.call("count", { collection, query: "true" });
    expect(count.body).toEqual({ count: 0, txnId: 0 });
    const find = await api.call("find", { collection, query: "true" });
    expect(find.body).toEqual({ documents: [], txnId: 0 });
    const one = await api.call("findbyid", { collection, id: 1 });
    expect(one.body).toEqual({ id: 1, fields: null, txnId: 0 });
    const commands = [{ method: "remove", collection, query: "true" }];
    const removed = { method: "remove", deleted: 0, internalError: 0, permissionDenied: 0 };
    const write = await api.call("write", { commands });
    expect(write.body).toEqual({ results: [{ ...removed, transactionId: 0 }] });
  } finally {
    await api.server.close();
  }
});

test("an app may run the statements of /api/v4 in strict mode; those of /api/v5 are unaffected", async () => {
  const api = await openWith({ isV4Strict: true });
  try {
    const typesOf = async (id: number, prefix: string): Promise<unknown> => {
      const statement = "INSERT INTO cars DOCUMENTS (:d)";
      const args = { d: { _id: id, owner: { name: "Ada" } } };
      await api.call("execute", { statement, args }, { prefix });
      const asked = { collection: "cars", id, serializedAs: "latestValuesAndTypes" };
      return ((await api.call("findbyid", asked)).body as { fields?: unknown }).fields;
    };
    expect(await typesOf(4, "/api/v4")).toEqual({
      owner: { register: { value: { name: "Ada" } } },
    });
    expect(await typesOf(5, "/api/v5")).toEqual({
      owner: { map: { value: { name: { register: { value: "Ada" } } } } },
    });
  } finally {
    await api.server.close();
  }
});
