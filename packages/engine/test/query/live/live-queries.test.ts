import { PeerError, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../../protocol/test/support/test-size.ts";
import type { KeyRange, Snapshot } from "../../../src/platform.ts";
import { CHANGED_DOCUMENTS_MAX } from "../../../src/query/live/document-change.ts";
import { LiveQueries } from "../../../src/query/live/live-queries.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { DEFAULT_RETENTION } from "../../../src/store/maintenance.ts";
import { MemoryKeyValue } from "../../../src/store/memory-key-value.ts";
import { Store } from "../../../src/store/store.ts";
import { authorityOf } from "../../support/caller.ts";
import { openStore } from "../../support/open-store.ts";
import { testPlatform } from "../../support/test-platform.ts";
import { type Followed, hurriedClock, openFollowed } from "./followed-store.ts";

/** Documents a, b, c, … with n from 0 up. */
async function openCounted(count: number, limits = {}, change = {}): Promise<Followed> {
  const followed = await openFollowed(limits, change);
  const documents = Array.from({ length: count }, (_, i) => ({ _id: idOf(i), n: i, s: "x" }));
  await followed.execute("INSERT INTO c DOCUMENTS (:documents)", { documents });
  return followed;
}

/** A clock on which no time passes: nothing takes turns. */
const STILL = { elapsed: (): number => 0 };

function idOf(i: number): string {
  return `d${String(i).padStart(5, "0")}`;
}

function textsOf(queries: readonly { readonly text: string }[]): string[] {
  return queries.map(({ text }) => text);
}

test("a query has its rows as soon as it is registered, and after each commit that changes them", async () => {
  const { live, execute, advance } = await openCounted(3, {}, STILL);
  const registration = live.register({ statement: "SELECT n FROM c WHERE n > 0" });
  if (registration instanceof Promise) throw new Error("expected rows at once");
  const { query } = registration;
  expect(query.rows).toEqual([{ n: 1 }, { n: 2 }]);
  await execute("UPDATE c SET n = 5 WHERE n = 0");
  expect(query.rows).toEqual([{ n: 1 }, { n: 2 }]);
  expect(await advance()).toEqual([query]);
  expect(query.rows).toEqual([{ n: 5 }, { n: 1 }, { n: 2 }]);
  expect(await advance()).toEqual([]);
});

test("an update returns only the queries whose rows differ", async () => {
  const { follow, execute, advance } = await openCounted(3);
  const texts = [
    "SELECT n FROM c",
    "SELECT s FROM c",
    "SELECT * FROM c WHERE n > 1",
    "SELECT * FROM d",
  ];
  for (const text of texts) await follow(text);
  await execute("UPDATE c SET n = 10 WHERE n = 0");
  expect(textsOf(await advance())).toEqual(["SELECT n FROM c", "SELECT * FROM c WHERE n > 1"]);
  await execute("INSERT INTO d DOCUMENTS ({'_id': 1})");
  expect(textsOf(await advance())).toEqual(["SELECT * FROM d"]);
});

test("transactions between two updates count as one: a reverted change is no change", async () => {
  const { follow, execute, advance } = await openCounted(3);
  const query = await follow("SELECT n FROM c");
  await execute("UPDATE c SET n = 10 WHERE n = 0");
  await execute("UPDATE c SET n = 0 WHERE n = 10");
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'new', 'n': 1})");
  await execute("DELETE FROM c WHERE _id = 'new'");
  expect(await advance()).toEqual([]);
  await execute("UPDATE c SET n = 10 WHERE n = 0");
  await execute("UPDATE c SET n = 11 WHERE n = 10");
  expect(await advance()).toEqual([query]);
  expect(query.rows[0]).toEqual({ n: 11 });
});

test("returned rows are never modified", async () => {
  const { follow, execute, advance } = await openCounted(2);
  const query = await follow("SELECT n FROM c");
  const { rows } = query;
  await execute("UPDATE c SET n = n + 1");
  await advance();
  expect(rows).toEqual([{ n: 0 }, { n: 1 }]);
  expect(query.rows).toEqual([{ n: 1 }, { n: 2 }]);
});

test("rows keep their order, rows with equal keys the order of their ids", async () => {
  const { follow, execute, advance } = await openCounted(4);
  const query = await follow("SELECT _id, s FROM c ORDER BY s DESC LIMIT 3");
  const ids = (): unknown[] => query.rows.map((row) => (row as { _id: Value })["_id"]);
  expect(ids()).toEqual([idOf(0), idOf(1), idOf(2)]);
  await execute("UPDATE c SET s = 'y' WHERE n IN (2, 3)");
  await advance();
  expect(ids()).toEqual([idOf(2), idOf(3), idOf(0)]);
  await execute("DELETE FROM c WHERE n = 2");
  await advance();
  expect(ids()).toEqual([idOf(3), idOf(0), idOf(1)]);
});

test("USE IDS returns its rows in the given order, repeats included, and follows them", async () => {
  const { follow, execute, advance } = await openCounted(4);
  const query = await follow("SELECT n FROM c USE IDS LIST :ids WHERE n < 9", {
    ids: [idOf(2), idOf(0), idOf(2)],
  });
  expect(query.rows).toEqual([{ n: 2 }, { n: 0 }, { n: 2 }]);
  await execute("UPDATE c SET n = 5 WHERE n IN (1, 2)");
  expect(await advance()).toEqual([query]);
  expect(query.rows).toEqual([{ n: 5 }, { n: 0 }, { n: 5 }]);
  await execute("UPDATE c SET n = 9 WHERE n = 0");
  await advance();
  expect(query.rows).toEqual([{ n: 5 }, { n: 5 }]);
});

/** A store that counts what is read of it. */
async function openCounting(): Promise<{
  readonly live: LiveQueries;
  readonly runner: StatementRunner;
  readonly reads: { snapshots: number; scans: number };
}> {
  const reads = { snapshots: 0, scans: 0 };
  class Counting extends MemoryKeyValue {
    override snapshot(): Snapshot {
      reads.snapshots++;
      const snapshot = super.snapshot();
      const entries = snapshot.entries.bind(snapshot);
      snapshot.entries = (range: KeyRange, ...others: []) => {
        if (range.from.startsWith("d")) reads.scans++;
        return entries(range, ...others);
      };
      return snapshot;
    }
  }
  const platform = testPlatform();
  const store = await Store.open(new Counting(), platform);
  const runner = new StatementRunner({ store, platform, appId: "test" });
  return { live: new LiveQueries({ store, platform, appId: "test" }), runner, reads };
}

test("nothing is read without live queries or without commits", async () => {
  const { live, runner, reads } = await openCounting();
  await runner.execute({ statement: "INSERT INTO c DOCUMENTS ({'_id': 1, 'n': 1})" });
  reads.snapshots = 0;
  await live.advance();
  expect(reads.snapshots).toBe(0);
  const { close } = await live.register({ statement: "SELECT * FROM c" });
  reads.snapshots = 0;
  await live.advance();
  close();
  await runner.execute({ statement: "UPDATE c SET n = 2" });
  reads.snapshots = 0;
  await live.advance();
  expect(reads.snapshots).toBe(0);
});

test("an incrementally updated query reads its collection once, and again only when its reserve is exhausted", async () => {
  const { live, runner, reads } = await openCounting();
  const documents = Array.from({ length: 100 }, (_, i) => ({ _id: idOf(i), n: i }));
  const statement = "INSERT INTO c DOCUMENTS (:documents)";
  await runner.execute({ statement, args: { documents } });
  const { query } = await live.register({ statement: "SELECT n FROM c ORDER BY n LIMIT 2" });
  reads.scans = 0;
  const removeFirst = async (): Promise<void> => {
    const [first] = query.rows as { n: number }[];
    const args = { id: idOf(first?.n ?? 0) };
    await runner.execute({ statement: "DELETE FROM c WHERE _id = :id", args });
    await live.advance();
  };
  for (let i = 0; i < 16; i++) await removeFirst();
  expect(query.rows).toEqual([{ n: 16 }, { n: 17 }]);
  expect(reads.scans).toBe(0);
  await removeFirst();
  expect(query.rows).toEqual([{ n: 17 }, { n: 18 }]);
  expect(reads.scans).toBe(1);
});

test("a query that cannot be updated incrementally runs again only if a change could affect it", async () => {
  const { live, runner, reads } = await openCounting();
  const write = async (statement: string): Promise<number> => {
    await runner.execute({ statement });
    reads.scans = 0;
    await live.advance();
    return reads.scans;
  };
  const insert = (collection: string, document: string): string =>
    `INSERT INTO ${collection} DOCUMENTS (${document}) ON ID CONFLICT DO UPDATE`;
  await write(insert("c", "{'_id': 1, 'n': 1, 'k': 1}"));
  const grouped = await live.register({ statement: "SELECT count(*) AS k FROM c WHERE n = 1" });
  expect(await write(insert("c", "{'_id': 2, 'n': 2}"))).toBe(0);
  expect(await write(insert("c", "{'_id': 2, 'n': 3}"))).toBe(0);
  expect(await write(insert("c", "{'_id': 2, 'n': 1}"))).toBe(1);
  expect(await write(insert("c", "{'_id': 2, 'n': 2}"))).toBe(1);
  expect(await write(insert("d", "{'_id': 1}"))).toBe(0);
  grouped.close();
  const joined = await live.register({
    statement: "SELECT c.n, d.k FROM c JOIN d ON d.k = c.k WHERE c.n IN (SELECT n FROM e)",
  });
  expect(await write(insert("other", "{'_id': 1}"))).toBe(0);
  for (const collection of ["c", "d", "e"]) {
    expect(await write(insert(collection, "{'_id': 3, 'n': 1, 'k': 7}"))).toBeGreaterThan(0);
  }
  expect(joined.query.rows).toEqual([{ n: 1, k: 7 }]);
});

test("equal queries are shared; arguments and permissions make them differ, callers do not", async () => {
  const { live, register } = await openCounted(3);
  const statement = "SELECT n FROM c WHERE n > :n";
  const rules = { c: ["n < 2"] };
  const given = [
    { statement, args: { n: 0 } },
    { statement, args: { n: 0.0 } },
    { statement, args: { n: 1 } },
    { statement, args: { n: 0 }, authority: authorityOf(true) },
    { statement, args: { n: 0 }, authority: authorityOf(rules, {}, "ada") },
    { statement, args: { n: 0 }, authority: authorityOf(rules, {}, "bob") },
  ];
  const all = [];
  for (const request of given) all.push(await register(request));
  expect(live.count).toBe(3);
  expect(all[0]?.query).toBe(all[3]?.query);
  expect(all[4]?.query).toBe(all[5]?.query);
  expect(all[4]?.query.rows).toEqual([{ n: 1 }]);
  all[0]?.close();
  all[0]?.close();
  all[1]?.close();
  expect(live.count).toBe(3);
  for (const { close } of all) close();
  expect(live.count).toBe(0);
  expect(live.heldBytes).toBe(0);
});

test("[P5] a document appears and disappears with the permission to read it", async () => {
  const { register, execute, advance } = await openCounted(2);
  const authority = authorityOf({ c: ["s == 'mine'"] });
  const { query } = await register({ statement: "SELECT n FROM c", authority });
  expect(query.rows).toEqual([]);
  await execute("UPDATE c SET s = 'mine' WHERE n = 1");
  expect(await advance()).toEqual([query]);
  expect(query.rows).toEqual([{ n: 1 }]);
  await execute("UPDATE c SET s = 'yours', n = 7 WHERE n = 1");
  await advance();
  expect(query.rows).toEqual([]);
});

test("[P6] a collection that the caller has no rule for is refused", async () => {
  const { live } = await openCounted(1);
  const authority = authorityOf({ c: ["true"] });
  const statement = "SELECT * FROM c WHERE n IN (SELECT n FROM d)";
  expect(await refusal(() => live.register({ statement, authority }))).toBe("permission.denied");
});

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof PeerError) return error.code;
    throw error;
  }
  return "not refused";
}

test("a statement that depends on more than documents is refused", async () => {
  const { live } = await openCounted(1);
  for (const statement of [
    "EXPLAIN SELECT * FROM c",
    "PROFILE SELECT * FROM c",
    "ADVISE SELECT * FROM c",
    "SHOW ALL",
    "EXECUTE FUNCTION clock()",
    "UPDATE c SET n = 1",
    "INSERT INTO c DOCUMENTS ({'_id': 9})",
    "SELECT * FROM system:collections",
    "SELECT * FROM c WHERE n IN (SELECT name FROM system:indexes)",
    "SELECT * FROM (SELECT * FROM system:dual) t",
    "SELECT * FROM c JOIN system:dual d ON true",
    "SELECT now() AS t FROM c",
    "SELECT * FROM c WHERE n < clock()",
    "SELECT n FROM c ORDER BY uuid()",
    "SELECT n FROM c WHERE EXISTS (SELECT request_info() AS r FROM d)",
    "SELECT count(*) AS k FROM c GROUP BY uuid()",
  ]) {
    expect(await refusal(() => live.register({ statement })), statement).toBe("query.semantic");
  }
  expect(await refusal(() => live.register({ statement: "SELECT" }))).toBe("query.syntax");
  const missing = "SELECT * FROM c WHERE n = :n";
  expect(await refusal(() => live.register({ statement: missing }))).toBe("query.semantic");
  const negative = { statement: "SELECT * FROM c LIMIT :n", args: { n: -1 } };
  expect(await refusal(() => live.register(negative))).toBe("query.semantic");
  expect(live.count).toBe(0);
});

test("a query that would hold too much memory is refused", async () => {
  const { live } = await openCounted(100, { queryBytes: 10_000 });
  expect(await refusal(() => live.register({ statement: "SELECT * FROM c" }))).toBe(
    "query.too_large",
  );
  expect(await refusal(() => live.register({ statement: "SELECT DISTINCT * FROM c" }))).toBe(
    "query.too_large",
  );
  expect(live.heldBytes).toBe(0);
  await live.register({ statement: "SELECT * FROM c LIMIT 3" });
  expect(live.count).toBe(1);
  expect(live.heldBytes).toBeLessThan(10_000);
});

test("all queries together stay within their memory limit", async () => {
  const { live } = await openCounted(10, { heldBytes: 6000 });
  await live.register({ statement: "SELECT * FROM c" });
  expect(await refusal(() => live.register({ statement: "SELECT n, s FROM c" }))).toBe(
    "query.busy",
  );
  expect(live.count).toBe(1);
});

test("a query that grows too large fails once with the reason, and holds nothing", async () => {
  const { live, register, execute, advance } = await openCounted(2, { queryBytes: 10_000 });
  const { query, close } = await register({ statement: "SELECT s FROM c" });
  await register({ statement: "SELECT n FROM c" });
  const held = live.heldBytes;
  await execute("UPDATE c SET s = :s", { s: "x".repeat(5000) });
  expect(await advance()).toEqual([query]);
  expect((query.failure as PeerError).code).toBe("query.too_large");
  expect(live.count).toBe(1);
  expect(live.heldBytes).toBeLessThan(held);
  await execute("UPDATE c SET s = 'a'");
  expect(await advance()).toEqual([]);
  close();
  expect((await register({ statement: "SELECT s FROM c" })).query.rows).toEqual([
    { s: "a" },
    { s: "a" },
  ]);
});

test("if the log no longer reaches back, everything is read again", async () => {
  const retention = { ...DEFAULT_RETENTION, logCount: 0 };
  const { store, platform } = await openStore({ retention });
  const runner = new StatementRunner({ store, platform, appId: "test" });
  const live = new LiveQueries({ store, platform, appId: "test" });
  const insert = (id: number): Promise<unknown> =>
    runner.execute({ statement: "INSERT INTO c DOCUMENTS ({'_id': :id})", args: { id } });
  await insert(1);
  const queries = [];
  for (const statement of ["SELECT * FROM c", "SELECT count(*) AS k FROM c"]) {
    queries.push((await live.register({ statement })).query);
  }
  await insert(2);
  const { txnId } = store;
  await store.maintain();
  expect(store.read(({ head }) => head.floor)).toBe(txnId);
  expect((await live.advance()).changed).toEqual(queries);
  expect(queries.map(({ rows }) => rows)).toEqual([[{ _id: 1 }, { _id: 2 }], [{ k: 2 }]]);
});

test.runIf(isFullSize)("a change of very many documents is followed", async () => {
  const { store, follow, advance } = await openCounted(1);
  const count = await follow("SELECT count(*) AS k FROM c WHERE n < 0");
  const first = await follow("SELECT n FROM c ORDER BY n LIMIT 1");
  const inserts = Array.from({ length: CHANGED_DOCUMENTS_MAX + 1 }, (_, i) => {
    return { kind: "insert", collection: "c", id: i, fields: { n: -i } } as const;
  });
  await store.transact((transaction) => transaction.apply(inserts));
  expect(await advance()).toEqual([count, first]);
  expect(count.rows).toEqual([{ k: CHANGED_DOCUMENTS_MAX }]);
  expect(first.rows).toEqual([{ n: -CHANGED_DOCUMENTS_MAX }]);
});

test("long work runs in slices, and callers that ask meanwhile share the next update", async () => {
  const { live, execute } = await openCounted(50, { timeMs: Infinity }, hurriedClock());
  const first = live.register({ statement: "SELECT n FROM c WHERE n < 2" });
  const second = live.register({ statement: "SELECT n FROM c WHERE n < 2" });
  expect(first).toBeInstanceOf(Promise);
  const { query } = await first;
  expect((await second).query).toBe(query);
  await execute("UPDATE c SET n = 1 WHERE n = 30");
  const advances = [live.advance(), live.advance(), live.advance()];
  const late = live.register({ statement: "SELECT n FROM c WHERE n > 48" });
  const reported = await Promise.all(advances.map(async (each) => each));
  expect(reported.map(({ changed }) => changed)).toEqual([[query], [], []]);
  expect(advances[1]).toBe(advances[2]);
  await execute("UPDATE c SET n = 100 WHERE n = 49");
  expect((await live.advance()).changed).toEqual([(await late).query]);
  expect((await late).query.rows).toEqual([{ n: 100 }]);
});

test("a query registered while others are updated misses nothing and keeps nothing", async () => {
  const { live, execute } = await openCounted(400, { timeMs: Infinity }, hurriedClock());
  await live.register({ statement: "SELECT n FROM c LIMIT 1" });
  await execute("UPDATE c SET s = 'y' WHERE n = 0");
  // It shows a newer state than the first one.
  await live.register({ statement: "SELECT n FROM c WHERE s = 'y'" });
  // And so does this one, which will be ready in the middle of the next advance.
  const late = live.register({ statement: "SELECT n FROM c WHERE s = 'z'" });
  await execute("UPDATE c SET s = 'z'");
  const first = live.advance();
  const { query } = await late;
  expect(query.rows).toEqual([]);
  expect((await first).changed).toContain(query);
  expect(query.rows).toHaveLength(400);
  await execute("UPDATE c SET s = 'a' WHERE n > 2");
  expect((await live.advance()).changed).toContain(query);
  expect(query.rows).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
});

test("a query that is closed while it is updated holds nothing afterwards", async () => {
  const { live, execute } = await openCounted(100, { timeMs: Infinity }, hurriedClock());
  const { close } = await live.register({ statement: "SELECT count(*) AS k FROM c" });
  await execute("DELETE FROM c WHERE n = 1");
  const advance = live.advance();
  close();
  expect((await advance).changed).toEqual([]);
  expect(live.heldBytes).toBe(0);
});

test("if the store fails, so does the update, and the next one catches up", async () => {
  const { store, live, follow, execute } = await openCounted(3);
  const query = await follow("SELECT n FROM c");
  await execute("UPDATE c SET n = n + 1");
  const snapshot = store.snapshot.bind(store);
  store.snapshot = () => {
    const taken = snapshot();
    taken.get = () => {
      throw new PeerError("store.snapshot_expired", "held too long");
    };
    return taken;
  };
  expect(await refusal(() => live.advance())).toBe("store.snapshot_expired");
  store.snapshot = snapshot;
  expect(query.failure).toBeUndefined();
  expect((await live.advance()).changed).toEqual([query]);
  expect(query.rows).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("a query in strict mode reads fields as registers, and follows them so", async () => {
  const { register, execute, advance } = await openCounted(1);
  const statement = "SELECT hits FROM c";
  const { query } = await register({ statement, isStrict: true });
  const lax = await register({ statement });
  await execute("UPDATE COLLECTION c (hits COUNTER) APPLY hits INCREMENT BY 2");
  expect(await advance()).toEqual([lax.query]);
  expect(lax.query.rows).toEqual([{ hits: 2 }]);
  expect(query.rows).toEqual([{}]);
});
