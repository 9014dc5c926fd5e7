/**
 * System collections over a real store.
 */
import type { Operation, Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { Budget } from "../../../src/query/frame/budget.ts";
import { present } from "../../../src/query/frame/document-view.ts";
import { StatementCache } from "../../../src/query/statement/statement-cache.ts";
import { Requests } from "../../../src/query/system/requests.ts";
import { Settings } from "../../../src/query/system/settings.ts";
import {
  type SystemContext,
  type SystemData,
  systemCollection,
  systemCollectionNames,
} from "../../../src/query/system/system-collections.ts";
import type { StoredDocument } from "../../../src/store/view.ts";
import { openStore } from "../../support/open-store.ts";
import { START_MS } from "../../support/test-platform.ts";

interface Bench {
  readonly settings: Settings;
  readonly requests: Requests;
  facts?: SystemData;
  readonly write: (...operations: Operation[]) => Promise<unknown>;
  /** Reads within one snapshot, as a statement does. */
  readonly read: <T>(work: (context: SystemContext) => T) => T;
  readonly rows: (name: string) => StoredDocument[];
  readonly identity: { readonly historyId: string; readonly site: string };
}

const elapsed = (): number => 0;

async function bench(): Promise<Bench> {
  const { store, platform } = await openStore();
  const settings = new Settings();
  const requests = new Requests({ platform: { ...platform, elapsed }, settings });
  const result: Bench = {
    settings,
    requests,
    identity: store.identity,
    write: (...operations) => store.transact((transaction) => transaction.apply(operations)),
    read: (work) =>
      store.read((view) => {
        const { facts } = result;
        const caller = { view, store: view, isFull: true };
        const context = { ...caller, settings, requests, appId: "app-1", nowMs: START_MS };
        return work(facts === undefined ? context : { ...context, systemData: facts });
      }),
    rows: (name) =>
      result.read((context) => [...present(systemCollection(name)?.rows(context) ?? [])]),
  };
  return result;
}

function insert(collection: string, id: Value): Operation {
  return { kind: "insert", collection, id, fields: {} };
}

function begin(requests: Requests, text: string): ReturnType<Requests["begin"]> {
  const budget = new Budget({ elapsed, timeMsMax: 1000, bytesMax: 1000 });
  return requests.begin({ text, appId: "app-1", budget });
}

describe("rows", () => {
  test("dual has one row", async () => {
    const { rows } = await bench();
    expect(rows("dual")).toEqual([{ id: "1", fields: { dummy: "X" }, types: undefined }]);
  });

  test("collections are those that were written to, in order", async () => {
    const { rows, write } = await bench();
    expect(rows("collections")).toEqual([]);
    await write(insert("trucks", 1), insert("cars", 1), insert("__hidden", 1));
    expect(rows("collections").map(({ id, fields }) => [id, fields])).toEqual([
      ["__hidden", { name: "__hidden" }],
      ["cars", { name: "cars" }],
      ["trucks", { name: "trucks" }],
    ]);
  });

  test("all_collections also has the system collections", async () => {
    const { rows, write } = await bench();
    await write(insert("cars", 1));
    const all = rows("all_collections");
    expect(all[0]).toMatchObject({ id: "default:cars", fields: { namespace: "default" } });
    expect(all.slice(1).map(({ fields }) => fields["name"])).toEqual(
      [...systemCollectionNames()].sort(),
    );
  });

  test("an index is a row with its keys and their directions", async () => {
    const { rows, write } = await bench();
    await write(
      {
        kind: "create_index",
        collection: "cars",
        name: "by maker",
        keys: [
          { path: ["maker", "name"], isDescending: false },
          { path: ["year"], isDescending: true },
        ],
      },
      {
        kind: "create_index",
        collection: "bikes",
        name: "ix",
        keys: [{ path: ["a"], isDescending: false }],
      },
    );
    const found = rows("indexes").map(({ id, fields }) => ({ _id: id, ...fields }));
    expect(found).toHaveLength(2);
    expect(found).toContainEqual({
      _id: "cars.by maker",
      collection: "cars",
      fields: [
        { direction: "asc", key: ["maker", "name"] },
        { direction: "desc", key: ["year"] },
      ],
    });
    expect(found).toContainEqual({
      _id: "bikes.ix",
      collection: "bikes",
      fields: [{ direction: "asc", key: ["a"] }],
    });
  });

  test("requests are listed while they run and after they ended, under both names", async () => {
    const { rows, requests } = await bench();
    const request = begin(requests, "SELECT 1");
    for (const name of ["active_requests", "actives"]) {
      expect(rows(name).map(({ id }) => id)).toEqual([request.id]);
    }
    request.finish();
    for (const name of ["request_history", "completed_requests"]) {
      expect(rows(name)).toMatchObject([
        { id: request.id, fields: { app_id: "app-1", state: "completed", "~qualifier": "all" } },
      ]);
    }
    expect(rows("actives")).toEqual([]);
  });

  test("finished requests can be deleted by id", async () => {
    const { rows, requests, read } = await bench();
    for (const text of ["a", "b"]) begin(requests, text).finish();
    const [first, second] = rows("request_history").map(({ id }) => id);
    const remove = systemCollection("request_history")?.remove;
    expect(read((context) => remove?.(context, [first ?? null, "nobody"]))).toEqual([first]);
    expect(rows("request_history").map(({ id }) => id)).toEqual([second]);
  });

  test("vitals count the requests", async () => {
    const { rows, requests } = await bench();
    begin(requests, "a").finish();
    begin(requests, "b").finish({ error: new Error("wrong") });
    begin(requests, "c");
    const vitals = new Map(rows("vitals").map(({ id, fields }) => [id, fields["value"]]));
    expect(vitals.get("requests_active")).toBe(1);
    expect(vitals.get("requests_completed")).toBe(1);
    expect(vitals.get("requests_failed")).toBe(1);
    expect(vitals.get("requests_remembered")).toBe(2);
  });

  test.each(["data_sync_info", "metrics", "peers", "refused_writes", "shared_statements"])(
    "%s is empty unless the host has rows for it",
    async (name) => {
      const state = await bench();
      expect(state.rows(name)).toEqual([]);
      const row = { id: "x", fields: { documents: { sync_session_status: "Connected" } } };
      state.facts = { rows: (asked) => (asked === name ? [row] : []) };
      expect(state.rows(name)).toEqual([{ ...row, types: { documents: "register" } }]);
    },
  );

  test("the statement cache supplies its rows as a host does", async () => {
    const state = await bench();
    const cache = new StatementCache<number>();
    cache.get("SELECT 1", () => 1);
    state.facts = { rows: (name) => (name === "shared_statements" ? cache.rows() : []) };
    expect(state.rows("shared_statements")).toMatchObject([
      { id: "1", fields: { text: "SELECT 1", hits: 0 } },
    ]);
  });

  test("no two rows of a collection have the same id, and no row has a field named _id", async () => {
    const state = await bench();
    state.settings.set("dql_strict_mode", true);
    state.settings.set("user_collection_sync_scopes", { cars: "AllPeers" });
    await state.write(insert("cars", 1), insert("bikes", 1));
    begin(state.requests, "a");
    begin(state.requests, "b");
    begin(state.requests, "c").finish();
    for (const name of systemCollectionNames()) {
      const rows = state.rows(name);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      for (const { fields } of rows) expect(fields).not.toHaveProperty("_id");
    }
  });
});

describe("system_info", () => {
  function infoOf(state: Bench): Map<string, Value | undefined> {
    const rows = state.rows("system_info").map(({ fields }) => fields);
    const place = (row: ValueObject): string => {
      return `${row["namespace"] as string} ${row["key"] as string}`;
    };
    return new Map(rows.map((row) => [place(row), row["value"]]));
  }

  test("a row has a namespace, a key, a value and the time of the statement", async () => {
    const { rows } = await bench();
    expect(rows("system_info").map(({ fields }) => fields)).toContainEqual({
      namespace: "core",
      key: "app_id",
      value: "app-1",
      timestamp: START_MS,
    });
  });

  test("system_info shows the facts of the store", async () => {
    const state = await bench();
    await state.write(insert("cars", 1), insert("cars", 2));
    await state.write(insert("bikes", 1));
    const info = infoOf(state);
    expect(info.get("store history_id")).toBe(state.identity.historyId);
    expect(info.get("store site")).toBe(state.identity.site);
    expect(info.get("store format_version")).toBeGreaterThan(0);
    expect(info.get("store transaction_id")).toBe(2);
    expect(info.get("store change_log_transactions")).toBe(2);
    expect(info.get("store collections")).toBe(2);
    expect(info.get("store collection_num_docs[cars]")).toBe(2);
    expect(info.get("store collection_num_docs[bikes]")).toBe(1);
  });

  test("system_info shows which parameters were changed, and the sync scopes", async () => {
    const state = await bench();
    state.settings.set("DQL_STRICT_MODE", true);
    state.settings.set("user_collection_sync_scopes", { cars: "LocalPeerOnly" });
    const info = infoOf(state);
    expect(info.get("core non_default_system_parameter[dql_strict_mode]")).toBe(true);
    expect(info.get("sync_scopes cars")).toBe("LocalPeerOnly");
    expect(info.has("core non_default_system_parameter[tombstone_ttl_hours]")).toBe(false);
  });

  test("a host adds its own facts", async () => {
    const state = await bench();
    state.facts = { info: () => [{ namespace: "core", key: "version", value: "1.2.3" }] };
    expect(infoOf(state).get("core version")).toBe("1.2.3");
  });
});
