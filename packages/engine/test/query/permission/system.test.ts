/**
 * System collections with permissions: each caller sees what is his.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { Budget } from "../../../src/query/frame/budget.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { authorityOf, type Caller, callerOf, columnOf, type Rules } from "../../support/caller.ts";
import { openStatements, type Statements } from "../../support/run-statements.ts";

interface Bench extends Statements {
  readonly as: (read: Rules, write?: Rules, credential?: string) => Caller;
}

async function bench(): Promise<Bench> {
  const opened = await openStatements();
  const { store, platform } = opened;
  const runner = new StatementRunner({
    store,
    platform,
    appId: "test",
    systemData: {
      info: () => [
        { namespace: "core", key: "server_version", value: "1" },
        { namespace: "store", key: "bytes", value: 5 },
      ],
      rows: (name) => [{ id: "1", fields: { name } }],
    },
  });
  for (const [collection, owner] of [
    ["cars", "ada"],
    ["cars", "bob"],
    ["notes", "bob"],
  ] as const) {
    await runner.execute({
      statement: `INSERT INTO ${collection} DOCUMENTS ({'owner': '${owner}'})`,
    });
  }
  await runner.execute({ statement: "CREATE INDEX i ON cars (owner)" });
  await runner.execute({ statement: "CREATE INDEX i ON notes (owner)" });
  return { ...opened, runner, as: (...rules) => callerOf(runner, authorityOf(...rules)) };
}

const OWN = { cars: ["owner == 'ada'"], notes: ["owner == 'ada'"], nosuch: ["true"] };

describe("requests", () => {
  const HISTORY = "SELECT text FROM system:request_history";

  test("[P18] of the same credential are shown to a caller with permissions", async () => {
    const { as, runner } = await bench();
    const ada = as(OWN);
    const bob = as({ cars: ["true"] }, {}, "bob");
    await ada.rows("SELECT 'of ada' AS x FROM system:dual");
    await bob.rows("SELECT 'of bob' AS x FROM system:dual");
    await runner.execute({ statement: "SELECT 'of nobody' AS x FROM system:dual" });
    const text = (who: string): string => `SELECT 'of ${who}' AS x FROM system:dual`;
    const seen = async (caller: Caller): Promise<unknown> =>
      caller.column(`${HISTORY} WHERE starts_with(text, :begin)`, { begin: "SELECT 'of" });
    expect(await seen(ada)).toEqual([text("ada")]);
    expect(await seen(as({}, {}, "ada"))).toEqual([text("ada")]);
    expect(await seen(bob)).toEqual([text("bob")]);
    expect(await seen(as(true, true, "bob"))).toEqual([text("bob")]);
    const all = await runner.execute({ statement: `${HISTORY} WHERE text LIKE '% AS x %'` });
    expect(columnOf(all.items)).toEqual(["ada", "bob", "nobody"].map(text));
  });

  test("[P18] of others are not shown while they run, and cannot be cancelled", async () => {
    const { as, runner } = await bench();
    const budgetOf = (): Budget =>
      new Budget({ elapsed: () => 0, timeMsMax: 1000, bytesMax: 1000 });
    const begin = (id: string, credential: string | undefined): Budget => {
      const budget = budgetOf();
      runner.requests.begin({ id, text: id, appId: "test", credential, budget });
      return budget;
    };
    const [own, other, unknown] = [begin("r1", "ada"), begin("r2", "bob"), begin("r3", undefined)];
    const ada = as(OWN);
    const active = "FROM system:active_requests WHERE _id LIKE 'r_'";
    expect(await ada.column(`SELECT _id ${active}`)).toEqual(["r1"]);
    const { mutatedDocumentIds } = await ada.execute(`DELETE ${active}`);
    expect(mutatedDocumentIds).toEqual(["r1"]);
    expect(() => own.look()).toThrow(/cancelled/);
    other.look();
    unknown.look();
    // An id is chosen by its caller: of two requests with one id each caller means his own.
    const namesake = begin("r1", "bob");
    expect(runner.requests.cancelAll(["r1"], "ada")).toEqual(["r1"]);
    namesake.look();
    expect(runner.requests.cancelAll(["r1"], "bob")).toEqual(["r1"]);
    expect(() => namesake.look()).toThrow(/cancelled/);
  });

  test("[P18] with the permissions of others, but not by them, are not shown to them", async () => {
    const { as, runner } = await bench();
    const ada = as(OWN);
    const statement = "SELECT 'seen by the admin' AS x FROM system:dual";
    await runner.execute({ statement, authority: authorityOf(OWN), caller: "admin" });
    await ada.rows("SELECT 'of ada' AS x FROM system:dual");
    const own = await ada.column(HISTORY);
    expect(own).toContain("SELECT 'of ada' AS x FROM system:dual");
    expect(own).not.toContain(statement);
    expect(columnOf((await runner.execute({ statement: HISTORY })).items)).toContain(statement);
  });

  test("[P18] of others cannot be deleted from the history", async () => {
    const { as, runner } = await bench();
    await as({}, {}, "bob").rows("SELECT 'of bob' AS x FROM system:dual");
    await as(OWN).execute("DELETE FROM system:request_history");
    const left = await runner.execute({ statement: HISTORY });
    expect(columnOf(left.items)).toContain("SELECT 'of bob' AS x FROM system:dual");
    const bob = as({}, {}, "bob");
    await bob.execute("DELETE FROM system:completed_requests");
    expect(await bob.column(HISTORY)).toEqual(["DELETE FROM system:completed_requests"]);
  });

  test("[P18] do not keep their arguments", async () => {
    const { as } = await bench();
    const ada = as(OWN);
    await ada.rows("SELECT * FROM cars WHERE n = :n", { n: "secret-argument" });
    const rows = await ada.rows("SELECT * FROM system:request_history");
    expect(JSON.stringify(rows)).not.toContain("secret-argument");
  });
});

describe("the store", () => {
  test("[P19] shows the collections and indexes of which a document may be read", async () => {
    const { as } = await bench();
    const { column } = as(OWN);
    expect(await column("SELECT name FROM system:collections")).toEqual(["cars"]);
    expect(await column("SELECT collection FROM system:indexes")).toEqual(["cars"]);
    const all = "SELECT name FROM system:all_collections WHERE namespace = 'default'";
    expect(await column(all)).toEqual(["cars"]);
    expect(await as({}).column("SELECT name FROM system:collections")).toEqual([]);
    expect(await as(true).column("SELECT name FROM system:collections")).toEqual(["cars", "notes"]);
    const byId = "SELECT name FROM system:collections WHERE _id IN ['cars', 'notes']";
    expect(await column(byId)).toEqual(["cars"]);
  });

  test("[P19] shows no statistics of the whole store", async () => {
    const { as } = await bench();
    const info = "SELECT `key`, `value` FROM system:system_info WHERE namespace != 'sync_scopes'";
    const keys = (rows: readonly Value[]): unknown[] =>
      rows.map((row) => [(row as ValueObject)["key"], (row as ValueObject)["value"]]);
    expect(keys(await as(OWN).rows(info))).toEqual([
      ["app_id", "test"],
      ["collection_num_docs[cars]", 1],
      ["server_version", "1"],
    ]);
    expect(await as(OWN).rows("SELECT * FROM system:vitals")).toEqual([]);
    expect((await as(true).rows("SELECT * FROM system:vitals")).length).toBeGreaterThan(0);
  });

  test.each(["shared_statements", "peers", "metrics", "data_sync_info"])(
    "[P19] system:%s is empty for a caller that may not read everything",
    async (name) => {
      const { as } = await bench();
      expect(await as(OWN).rows(`SELECT * FROM system:${name}`)).toEqual([]);
      expect((await as(true, true).rows(`SELECT * FROM system:${name}`)).length).toBeGreaterThan(0);
    },
  );

  test("[P19] texts of statements are shown only to a caller that may do everything", async () => {
    const { as, runner } = await bench();
    await runner.execute({ statement: "UPDATE cars SET a = 'secret' WHERE false" });
    const texts = "SELECT * FROM system:shared_statements";
    expect(await as(true, { cars: ["true"] }).rows(texts)).toEqual([]);
    expect(JSON.stringify(await as(true, true).rows(texts))).toContain("secret");
    const { items } = await runner.execute({ statement: texts });
    expect(JSON.stringify(items)).toContain("secret");
    // Peers and figures are no texts.
    expect((await as(true).rows("SELECT * FROM system:peers")).length).toBeGreaterThan(0);
  });

  test("[P19] settings name only collections with a read rule", async () => {
    const { as, runner } = await bench();
    const scopes = { cars: "AllPeers", notes: "LocalPeerOnly", secrets: "BigPeerOnly" };
    runner.settings.set("USER_COLLECTION_SYNC_SCOPES", scopes);
    const reported = async (caller: Caller): Promise<unknown[]> => [
      await caller.rows("SHOW USER_COLLECTION_SYNC_SCOPES"),
      await caller.rows("SHOW ALL LIKE 'user_collection%'"),
      await caller.column(
        "SELECT `value` FROM system:system_info WHERE `key` LIKE '%user_collection_sync_scopes]'",
      ),
      await caller.rows(
        "SELECT `key`, `value` FROM system:system_info WHERE namespace = 'sync_scopes'",
      ),
    ];
    const reportingOf = (names: { readonly [collection: string]: string }): unknown[] => [
      [{ user_collection_sync_scopes: names }],
      [{ user_collection_sync_scopes: names }],
      [names],
      Object.entries(names).map(([key, value]) => ({ key, value })),
    ];
    expect(await reported(as({ cars: ["false"], nosuch: ["true"] }))).toEqual(
      reportingOf({ cars: "AllPeers" }),
    );
    expect(await reported(as({}))).toEqual(reportingOf({}));
    expect(await reported(as(true))).toEqual(reportingOf(scopes));
  });
});
