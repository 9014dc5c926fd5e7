/**
 * Reading with permissions: what is refused, what is empty, and what is not there.
 */

import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { authorityOf, type Caller, callerOf, columnOf, type Rules } from "../../support/caller.ts";
import { waysIn } from "../../support/index-ways.ts";
import { openCommands } from "../../support/run-commands.ts";
import {
  failureOf,
  numbered,
  openStatements,
  type Statements,
} from "../../support/run-statements.ts";

const CARS = [
  { _id: "a", owner: "ada", n: 1, parts: ["p1"] },
  { _id: "b", owner: "bob", n: 10, parts: ["p2"] },
  { _id: "c", owner: "ada", n: 100, isPublic: true },
  { _id: "d", owner: "bob", n: 1000, isPublic: true },
];
const PARTS = [
  { _id: "p1", car: "a", price: 5 },
  { _id: "p2", car: "b", price: 7 },
];

const ADA = "owner == 'ada'";

interface Bench extends Statements {
  readonly as: (read: Rules, write?: Rules) => Caller;
  readonly column: (statement: string) => Promise<unknown>;
}

async function bench(): Promise<Bench> {
  const opened = await openStatements();
  await opened.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents: CARS });
  await opened.execute("INSERT INTO parts DOCUMENTS (:documents)", { documents: PARTS });
  const as: Bench["as"] = (read, write) => callerOf(opened.runner, authorityOf(read, write));
  return { ...opened, as, column: async (text) => columnOf(await opened.rows(text)) };
}

async function idsSeen(caller: Caller): Promise<unknown> {
  return caller.column("SELECT _id FROM cars");
}

describe("documents", () => {
  test("[P1] are allowed by any query of their collection", async () => {
    const { as } = await bench();
    expect(await idsSeen(as({ cars: [ADA] }))).toEqual(["a", "c"]);
    expect(await idsSeen(as({ cars: [ADA, "isPublic == true"] }))).toEqual(["a", "c", "d"]);
    expect(await idsSeen(as({ cars: ["false", "true"] }))).toEqual(["a", "b", "c", "d"]);
    expect(await idsSeen(as(true))).toEqual(["a", "b", "c", "d"]);
  });

  test.each([ADA, "true"])(
    "fields that the statement does not read take no memory of a caller with the rule %s",
    async (query) => {
      const { runner, store, platform } = await bench();
      const long = "x".repeat(8192);
      await runner.execute({
        statement: "INSERT INTO notes DOCUMENTS (:documents)",
        args: { documents: ["a", "b"].map((_id) => ({ _id, n: 1, owner: "ada", long })) },
      });
      const limits = { bytes: 4096 };
      const tight = new StatementRunner({ store, platform, appId: "tight", limits });
      const statement = "SELECT x._id AS c1 FROM notes x JOIN notes y ON y.n + 0 = x.n";
      const { items } = await tight.execute({
        statement,
        authority: authorityOf({ notes: [query] }),
      });
      expect(items).toEqual([{ c1: "a" }, { c1: "a" }, { c1: "b" }, { c1: "b" }]);
    },
  );

  test.each(["n / 0 > 1", "null", "nosuch", "n", "'true'", "upper(n) == 'A'", "nosuch.x > 1"])(
    "[P3] %s, which is never true, allows no document and gives no warning",
    async (query) => {
      const { as } = await bench();
      const done = await as({ cars: [query] }).execute("SELECT * FROM cars WHERE upper(n) = 'A'");
      expect([done.items, done.totalWarningsCount]).toEqual([[], 0]);
    },
  );

  test("[P3] a rule that fails for one document hides only that one", async () => {
    const { as } = await bench();
    expect(await idsSeen(as({ cars: ["upper(isPublic) == 'X' || n < 50"] }))).toEqual(["a", "b"]);
    expect(await idsSeen(as({ cars: ["regex(owner, '(')", "n > 500"] }))).toEqual(["d"]);
  });

  test("[P3] a rule that exceeds the memory of a check does not allow the document", async () => {
    const { as } = await bench();
    const huge = "length(repeat(repeat(repeat(owner, 1000), 1000), 1000)) > 0";
    expect(await idsSeen(as({ cars: [huge, "n == 10"] }))).toEqual(["b"]);
  });

  test("[P4] are checked as they show, whatever a statement declares", async () => {
    const { as, execute } = await bench();
    await execute(
      "UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 7 WHERE _id = 'a'",
    );
    await execute("UPDATE cars SET hits = 1 WHERE _id = 'a'");
    const one = as({ cars: ["hits == 1"] });
    const seven = as({ cars: ["hits == 7"] });
    const declared = "SELECT hits FROM COLLECTION cars (hits COUNTER)";
    expect(await one.column(declared)).toEqual([7]);
    expect(await seven.column(declared)).toEqual([]);
  });
});

describe("a document that is not allowed is absent", () => {
  test("[P5] in rows, groups, aggregates, DISTINCT, order and windows", async () => {
    const { rows, column } = (await bench()).as({ cars: [ADA] });
    expect(await column("SELECT sum(n) AS s FROM cars")).toEqual([101]);
    expect(await rows("SELECT count(*) AS c FROM cars")).toEqual([{ c: 2 }]);
    expect(await rows("SELECT owner, max(n) AS m FROM cars GROUP BY owner")).toEqual([
      { owner: "ada", m: 100 },
    ]);
    expect(await column("SELECT DISTINCT owner FROM cars")).toEqual(["ada"]);
    expect(await column("SELECT _id FROM cars ORDER BY n DESC LIMIT 1 OFFSET 1")).toEqual(["a"]);
    expect(await column("SELECT _id FROM cars USE IDS 'b', 'c', 'b', 'nosuch'")).toEqual(["c"]);
    expect(await column("SELECT _id FROM cars WHERE _id IN ['a', 'b']")).toEqual(["a"]);
  });

  test("[P5] on both sides of a join, by id, by hash and by pairs", async () => {
    const { as } = await bench();
    const { rows } = as({ cars: [ADA], parts: ["true"] });
    const pairs = "SELECT p._id AS p, c._id AS c FROM parts p LEFT JOIN cars c ON ";
    for (const on of ["c._id = p.car", "c.parts[0] = p._id", "c.n < 100 AND c.n >= p.price - 6"]) {
      const found = (await rows(pairs + on)).filter((row) => JSON.stringify(row).includes('"b"'));
      expect([on, found]).toEqual([on, []]);
    }
    expect(await rows(`${pairs}c._id = p.car`)).toEqual([{ p: "p1", c: "a" }, { p: "p2" }]);
    const other = as({ cars: ["true"], parts: ["price > 6"] });
    expect(await other.rows(`${pairs}c._id = p.car`)).toEqual([{ p: "p2", c: "b" }]);
  });

  test("[P5] in warnings, which name rows", async () => {
    const { execute } = (await bench()).as({ cars: [ADA] });
    const { warnings, totalWarningsCount } = await execute("SELECT * FROM cars WHERE n / 0 = 1");
    expect(totalWarningsCount).toBe(2);
    expect(warnings.map(({ _id }) => _id)).toEqual(["a", "c"]);
  });

  test("[P5] PROFILE shows how a change was made, even if the result is not readable", async () => {
    const { as, execute } = await bench();
    await execute("CREATE INDEX by_owner ON cars (owner)");
    const { rows } = as({ cars: [ADA] }, { cars: ["true"] });
    const statement = "UPDATE cars SET owner = 'bob' WHERE owner = 'ada'";
    const explained = waysIn(await rows(`EXPLAIN ${statement}`));
    const profiled = waysIn(await rows(`PROFILE ${statement}`));
    expect([...explained]).toEqual(["indexScan", "an index that has to fetch"]);
    expect(profiled).toEqual(explained);
  });

  test("[P5] in PROFILE, find, count and findById", async () => {
    const { as, runner } = await bench();
    const { authority, rows } = as({ cars: [ADA] });
    const [profile] = (await rows("PROFILE SELECT * FROM cars")).slice(-1);
    const { "~request_profile": run } = profile as { "~request_profile": ValueObject };
    expect(run["resultCount"]).toBe(2);
    const request = { collection: "cars", query: "true", authority };
    expect((await runner.find(request)).documents.map(({ id }) => id)).toEqual(["a", "c"]);
    expect((await runner.count(request)).count).toBe(2);
    expect((await runner.count({ ...request, query: "n > 10" })).count).toBe(1);
    const found = (id: string): unknown =>
      runner.findById({ collection: "cars", id, authority }).document?.fields;
    expect([found("a"), found("b")]).toEqual([{ owner: "ada", n: 1, parts: ["p1"] }, undefined]);
  });

  test("[P5] for the SELECT of an INSERT", async () => {
    const { as, column } = await bench();
    await as({ cars: [ADA] }, { copies: ["true"] }).execute(
      "INSERT INTO copies SELECT _id, n FROM cars",
    );
    expect(await column("SELECT _id FROM copies")).toEqual(["a", "c"]);
  });

  test("[P5] in strict mode and with declarations", async () => {
    const { as, runner } = await bench();
    const { authority } = as({ cars: [ADA] });
    const statement = "SELECT _id FROM COLLECTION cars (x MAP) WHERE n > 0";
    const { items } = await runner.execute({ statement, isStrict: true, authority });
    expect(columnOf(items)).toEqual(["a", "c"]);
  });

  test("[P5] a rule that allows a whole collection uses the count of the store", async () => {
    const { as, runner } = await bench();
    const { authority } = as({ cars: ["false", "true"] });
    const request = { collection: "cars", query: "true", authority };
    expect((await runner.count(request)).count).toBe(4);
  });
});

describe("collections without a rule", () => {
  const NAMING = [
    "SELECT * FROM cars",
    "SELECT p._id FROM parts p JOIN cars c ON true",
    "SELECT p._id FROM cars c RIGHT JOIN parts p ON true",
    "INSERT INTO parts SELECT * FROM cars",
    "INSERT INTO cars DOCUMENTS ({'_id': 'z'})",
    "UPDATE cars SET n = 1",
    "DELETE FROM cars",
    "EVICT FROM cars",
    "TOMBSTONE FROM cars",
    "EXPLAIN SELECT * FROM cars",
    "EXPLAIN UPDATE cars SET n = 1",
    "PROFILE SELECT * FROM cars",
    "PROFILE DELETE FROM cars",
    "ADVISE SELECT * FROM cars",
    "SELECT * FROM default:cars USE IDS 'a'",
  ];

  test.each(NAMING)(
    "[P6] %s is refused, with the same message as for one that does not exist",
    async (text) => {
      const { as, column } = await bench();
      const { failure } = as({ parts: ["true"] }, { parts: ["true"] });
      const error = await failure(text);
      const message = "the credential has no permission for the collection cars";
      expect([error.code, error.message]).toEqual(["permission.denied", message]);
      const other = await failure(text.replaceAll("cars", "nosuch"));
      expect(other.message).toBe(message.replace("cars", "nosuch"));
      expect(await column("SELECT _id FROM cars")).toEqual(["a", "b", "c", "d"]);
    },
  );

  test("[P6] a list without queries is not a rule", async () => {
    const { as } = await bench();
    expect((await as({ cars: [] }).failure("SELECT * FROM cars")).code).toBe("permission.denied");
  });

  test("[P6] are refused before arguments and existence are checked", async () => {
    const { as, runner } = await bench();
    const { failure, authority } = as({ parts: ["true"] });
    expect((await failure("SELECT * FROM cars WHERE n = :n")).code).toBe("permission.denied");
    const request = { collection: "nosuch", query: "true", authority, isUnknownRefused: true };
    await expect(runner.find(request)).rejects.toThrow(/no permission for the collection nosuch$/);
    await expect(runner.count(request)).rejects.toThrow(/no permission for the collection nosuch$/);
    expect(() => runner.findById({ ...request, id: null })).toThrow(PeerError);
    expect(() => runner.findById({ ...request, id: null })).toThrow(/no permission for/);
  });

  test("[P6] writing needs a write rule, and selecting documents also a read rule", async () => {
    const { as } = await bench();
    const reader = as({ cars: ["true"] });
    const writer = as({}, { cars: ["true"] });
    for (const text of ["UPDATE cars SET n = 1", "DELETE FROM cars", "EVICT FROM cars"]) {
      expect((await reader.failure(text)).code).toBe("permission.denied");
      expect((await writer.failure(text)).code).toBe("permission.denied");
    }
    const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'z'})";
    expect((await reader.failure(insert)).code).toBe("permission.denied");
    expect((await writer.execute(insert)).mutatedDocumentIds).toEqual(["z"]);
    const returning = "INSERT INTO cars DOCUMENTS ({'_id': 'y'}) RETURNING *";
    expect((await writer.failure(returning)).code).toBe("permission.denied");
  });

  test("[P7] a rule that matches nothing returns nothing", async () => {
    const { as } = await bench();
    const { rows, execute } = as({ cars: ["false"] }, { cars: ["false"] });
    expect(await rows("SELECT * FROM cars")).toEqual([]);
    expect(await rows("SELECT count(*) AS c FROM cars")).toEqual([{ c: 0 }]);
    expect((await execute("UPDATE cars SET n = 2")).mutatedDocumentIds).toEqual([]);
    expect((await execute("DELETE FROM cars")).mutatedDocumentIds).toEqual([]);
  });

  test("[P7] a collection with a rule counts as known", async () => {
    const { as, runner } = await bench();
    const { authority, write } = as({ nosuch: ["true"] }, { nosuch: ["true"] });
    const request = { collection: "nosuch", query: "true", authority, isUnknownRefused: true };
    expect((await runner.find(request)).documents).toEqual([]);
    expect((await runner.count(request)).count).toBe(0);
    expect(runner.findById({ ...request, id: "a" }).document).toBeUndefined();
    expect(await write({ method: "remove", collection: "nosuch", query: "true" })).toEqual([
      { method: "remove", deleted: 0, internalError: 0, permissionDenied: 0 },
    ]);
    const all = authorityOf(true);
    await expect(runner.find({ ...request, authority: all })).rejects.toThrow(/unknown collection/);
  });
});

describe("the store as a whole", () => {
  test.each([
    "CREATE INDEX i ON cars (n)",
    "DROP INDEX IF EXISTS i ON cars",
    "EXPLAIN CREATE INDEX i ON cars (n)",
    "ALTER SYSTEM SET DQL_STRICT_MODE = true",
    "ALTER SYSTEM RESET ALL",
  ])("[P8] %s needs permission for everything", async (text) => {
    const { as } = await bench();
    for (const caller of [as({ cars: ["true"] }, { cars: ["true"] }), as(true), as({}, true)]) {
      const error = await caller.failure(text);
      const message = "the credential has no permission for the store as a whole";
      expect([error.code, error.message]).toEqual(["permission.denied", message]);
    }
    await as(true, true).execute(text);
  });

  test("[P8] SHOW and EXECUTE FUNCTION need no permission", async () => {
    const { as } = await bench();
    const { rows } = as({});
    expect(await rows("SHOW DQL_STRICT_MODE")).toHaveLength(1);
    expect(await rows("EXECUTE FUNCTION upper('a')")).toEqual([{ result: "A" }]);
    expect(await rows("SELECT 1 AS x FROM system:dual")).toEqual([{ x: 1 }]);
  });

  test("[P20] querying other peers needs remoteQuery", async () => {
    const { as, runner } = await bench();
    const statement = "SYNC CONTEXT (PEERS) SELECT * FROM cars";
    const { authority } = as(true);
    expect(() => runner.checkRemote({ statement, authority })).toThrow(/to ask other peers$/);
    runner.checkRemote({ statement });
  });
});

describe("work", () => {
  test("[P9] skipped documents are processed in slices and end at the time limit", async () => {
    let elapsed = 0;
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses++;
    };
    // A clock that goes on with each look at it.
    const opened = await openStatements({}, { elapsed: () => ++elapsed, pause });
    const documents = numbered(3000);
    await opened.execute("INSERT INTO many DOCUMENTS (:documents)", { documents });
    const { runner } = opened;
    const authority = authorityOf({ many: ["n < 0"] });
    const { rows } = callerOf(runner, authority);
    for (const text of ["SELECT * FROM many", "SELECT * FROM system:collections"]) {
      pauses = 0;
      expect(await rows(text)).toEqual([]);
      expect(pauses).toBeGreaterThan(1);
    }
    pauses = 0;
    expect((await runner.count({ collection: "many", query: "true", authority })).count).toBe(0);
    expect(pauses).toBeGreaterThan(1);
    for (const statement of ["SELECT * FROM many", "DELETE FROM many"]) {
      const late = { statement, authority: authorityOf({ many: ["n < 0"] }, true), timeoutMs: 5 };
      expect((await failureOf(runner, late)).code).toBe("query.timeout");
    }
  });

  test("findById is limited, too", async () => {
    const { runner, write } = await openCommands();
    await write({ method: "upsert", collection: "cars", value: { _id: "a", t: [1] } });
    const authority = authorityOf({ cars: ["contains(t, 1)"] });
    const { document } = runner.findById({ collection: "cars", id: "a", authority });
    expect(document?.fields).toEqual({ t: [1] });
  });
});
