/**
 * Links that end and come back: from their cursors, from the beginning, after outages of any length,
 * with other queries, with clocks that are wrong, and with stores that fail.
 */

import { beforeEach, describe, expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import {
  briefly,
  entriesOf,
  follow,
  followBoth,
  type LinkedStore,
  type LinkWire,
  linkedStore,
  settled,
  shown,
  states,
  turns,
  until,
} from "../support/linked-stores.ts";
import { dump, problems } from "../support/open-store.ts";

let a: LinkedStore;
let b: LinkedStore;

beforeEach(async () => {
  a = await linkedStore("a");
  b = await linkedStore("b");
});

const DAY_MS = 86_400_000;

function numberOf(fields: unknown): number {
  return (fields as { readonly n: number }).n;
}

function modes(wire: LinkWire): string[] {
  return wire.dial.heard.flatMap((message) => (message.t === "subscribed" ? [message.mode] : []));
}

/** The disk of a backup. */
async function copyOf({ storage }: LinkedStore): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  await new MemoryKeyValue(disk).commit(dump(storage));
  return disk;
}

/** Time passes for all stores, in steps in which each of them is awake. */
async function pass(days: number, stores: readonly LinkedStore[], wire?: LinkWire): Promise<void> {
  for (let day = 0; day < days; day++) {
    for (const { platform } of stores) platform.nowMs += DAY_MS;
    for (const { store } of stores) await store.maintain();
    wire?.tick();
    await settled(stores, wire === undefined ? [] : [wire]);
  }
}

describe("cursors", () => {
  test("[S12] [S54] a link continues from its cursor, through restarts of both sides", async () => {
    await a.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 });
    const first = follow(b, a);
    await settled([a, b], [first]);
    first.cut();
    await a.execute("UPDATE cars SET n = 2 WHERE _id = '2'");
    const again = await linkedStore("b", { platform: b.platform, disk: b.disk });
    const second = follow(again, a);
    await settled([a, again], [second]);
    expect(modes(second)).toEqual(["resume"]);
    expect(briefly(entriesOf(second.dial))).toEqual(["put 2"]);
    expect(states(again)).toEqual(states(a));
  });

  test("[S50] a cursor below the start of the log leads to a new fill, and nothing is missing", async () => {
    const first = follow(b, a, { queries: { cars: ["n < 10"] } });
    await a.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 }, { _id: "3", n: 1 });
    await settled([a, b], [first]);
    first.cut();
    await a.execute("DELETE FROM cars WHERE _id = '1'");
    await a.execute("UPDATE cars SET n = 2 WHERE _id = '2'");
    await pass(8, [a, b]);
    const second = follow(b, a, { queries: { cars: ["n < 10"] } });
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["fill"]);
    expect(shown(b)).toEqual({ 2: { n: 2 }, 3: { n: 1 } });
    expect(states(b)).toEqual(states(a));
    expect(second.dial.link.status().pulled).toEqual(
      expect.objectContaining({ documents: 3, unchanged: 1 }),
    );
  });

  test("[S51] [S85] the follower asks for documents that stopped matching while the log was lost", async () => {
    const queries = { cars: ["n < 10"] };
    const first = follow(b, a, { queries });
    await a.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 }, { _id: "3", n: 1 });
    await b.put("cars", { _id: "own", n: 1 }, { _id: "large", n: 90 });
    await settled([a, b], [first]);
    expect(first.accept.heard.some(({ t }) => t === "want")).toBe(false);
    first.cut();
    await a.execute("UPDATE cars SET n = 50 WHERE _id = '1'");
    await a.execute("DELETE FROM cars WHERE _id = '2'");
    await pass(8, [a, b]);
    const second = follow(b, a, { queries });
    await settled([a, b], [second]);
    const wants = second.accept.heard.flatMap((message) =>
      message.t === "want" ? message.ids : [],
    );
    // What is only here is asked for as well, and is nothing there.
    expect(wants).toEqual(["1", "own"]);
    expect(briefly(entriesOf(second.dial))).toEqual(["deleted 2", "put 3", "left 1", "drop own"]);
    expect(shown(b)).toEqual({
      1: { n: 50 },
      3: { n: 1 },
      large: { n: 90 },
      own: { n: 1 },
    });
    second.cut();
    const third = follow(b, a, { queries });
    await settled([a, b], [third]);
    expect(modes(third)).toEqual(["resume"]);
  });

  test("[K62] [S50] [S51] an interrupted fill continues, and sends documents that stopped matching since", async () => {
    for (let i = 0; i < 6; i++) await a.put("cars", { _id: `${i}`, n: 1 });
    a = await linkedStore("a", {
      platform: a.platform,
      disk: a.disk,
      streams: { pieceDocuments: 2, roomBytes: 100 },
    });
    const queries = { cars: ["n < 10"] };
    let pieces = 0;
    const first = follow(
      b,
      a,
      { queries },
      { isCut: (message) => message.t === "documents" && ++pieces > 2 },
    );
    await until(() => first.isOver);
    await settled([a, b]);
    expect(Object.keys(shown(b))).toEqual(["0", "1", "2", "3"]);
    await a.execute("UPDATE cars SET n = 50 WHERE _id = '1'");
    const second = follow(b, a, { queries });
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["fill"]);
    expect(briefly(entriesOf(second.dial)).sort()).toEqual(["left 1", "put 4", "put 5"]);
    expect(states(b)).toEqual(states(a));
    expect(b.store.read((view) => [...view.catalogNames("link")])).toHaveLength(1);
  });

  test("[S50] more changes than the source gathers at once are still sent from the log", async () => {
    a = await linkedStore("a", { streams: { gatheredChanges: 20, joinTransactions: 5 } });
    for (let i = 0; i < 30; i++) await a.put("cars", { _id: `${i}`, n: 0, color: "red" });
    const first = follow(b, a, { queries: { cars: ["color = 'red'"] } });
    await settled([a, b], [first]);
    first.cut();
    for (let i = 0; i < 30; i++) {
      const id = `${i}`;
      await a.execute("UPDATE cars SET n = 1 WHERE _id = :id", { id });
      if (i % 3 === 0) await a.execute("UPDATE cars SET color = 'blue' WHERE _id = :id", { id });
      if (i % 3 === 1) await a.execute("DELETE FROM cars WHERE _id = :id", { id });
    }
    const second = follow(b, a, { queries: { cars: ["color = 'red'"] } });
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["resume"]);
    expect(states(b)).toEqual(states(a));
    const kinds = entriesOf(second.dial).map(([kind]) => kind);
    for (const kind of ["put", "left", "deleted"]) {
      expect(kinds.filter((each) => each === kind)).toHaveLength(10);
    }
    expect(second.dial.heard.some((message) => "range" in message)).toBe(false);
  });

  test("after a restore the source fills the follower again, and gets back what only the follower has", async () => {
    await a.put("cars", { _id: "1", n: 1 });
    const first = followBoth(b, a);
    await settled([a, b], [first]);
    const backup = await copyOf(a);
    await a.put("cars", { _id: "2", n: 1 });
    await a.execute("UPDATE cars SET n = 2 WHERE _id = '1'");
    await settled([a, b], [first]);
    first.cut();
    const storage = new MemoryKeyValue(backup);
    await renewIdentity(storage, a.platform);
    a = await linkedStore("a", { platform: a.platform, disk: backup });
    expect(shown(a)).toEqual({ 1: { n: 1 } });
    await a.put("cars", { _id: "3", n: 1 });
    const second = followBoth(b, a);
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["fill"]);
    expect(Object.keys(shown(a))).toEqual(["1", "2", "3"]);
    expect(states(b)).toEqual(states(a));
    for (const { storage: each } of [a, b]) expect(problems(each)).toEqual([]);
  });

  test("a restored follower receives what it lacks, and does not use its old cursor", async () => {
    await a.put("cars", { _id: "1", n: 1 });
    const first = followBoth(b, a);
    await settled([a, b], [first]);
    const backup = await copyOf(b);
    await b.put("cars", { _id: "2", n: 1 });
    await a.put("cars", { _id: "3", n: 1 });
    await settled([a, b], [first]);
    first.cut();
    await renewIdentity(new MemoryKeyValue(backup), b.platform);
    b = await linkedStore("b", { platform: b.platform, disk: backup });
    const second = followBoth(b, a);
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["fill"]);
    expect(Object.keys(shown(b))).toEqual(["1", "2", "3"]);
    expect(states(b)).toEqual(states(a));
  });
});

describe("configuration", () => {
  test("[S56] an added query is filled, a removed one stops, and its documents stay", async () => {
    await a.put("cars", { _id: "1", n: 1 });
    await a.put("boats", { _id: "1", n: 1 });
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    wire.dial.link.configure({ cars: ["true"], boats: ["n = 1"] });
    await settled([a, b], [wire]);
    expect(shown(b, "boats")).toEqual({ 1: { n: 1 } });
    wire.dial.link.configure({ boats: ["n = 1"] });
    await a.put("cars", { _id: "2", n: 1 });
    await a.put("boats", { _id: "2", n: 1 });
    await settled([a, b], [wire]);
    expect(Object.keys(shown(b))).toEqual(["1"]);
    expect(Object.keys(shown(b, "boats"))).toEqual(["1", "2"]);
    wire.dial.link.configure({});
    await a.put("boats", { _id: "3", n: 1 });
    await settled([a, b], [wire]);
    expect(Object.keys(shown(b, "boats"))).toEqual(["1", "2"]);
    expect(a.streams.stats().streams).toBe(0);
    wire.dial.link.configure({ cars: ["true"] });
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    expect(modes(wire)).toEqual(["fill", "fill", "resume"]);
  });

  test("[S50] a query that the source does not understand is reported, and does not end the link", async () => {
    const wire = follow(b, a, { queries: { cars: ["color LIKE", "n = :p"], boats: ["true"] } });
    await a.put("boats", { _id: "1" });
    await settled([a, b], [wire]);
    const { state, subscriptions, lastError } = wire.dial.link.status();
    expect(state).toBe("linked");
    expect(subscriptions.map(({ query, state: each }) => [query, each])).toEqual([
      ["n = :p", "waiting"],
      ["true", "live"],
    ]);
    expect(lastError?.code).toBe("query.semantic");
    expect(shown(b, "boats")).toEqual({ 1: {} });
  });
});

describe("clocks", () => {
  test("[S86] a document too far ahead and all later ones on its stream wait until the clock reaches it", async () => {
    const wire = follow(b, a, { queries: { cars: ["true"], boats: ["true"] } });
    await a.put("cars", { _id: "1", n: 1 });
    await settled([a, b], [wire]);
    a.platform.nowMs += 3_600_000;
    await a.put("cars", { _id: "2", n: 1 });
    await settled([a, b], [wire]);
    a.platform.nowMs -= 3_600_000;
    await a.put("cars", { _id: "3", n: 1 });
    await settled([a, b], [wire]);
    expect(Object.keys(shown(b))).toEqual(["1"]);
    const held = wire.dial.link.status();
    expect(held.subscriptions.map(({ collection, state }) => [collection, state])).toEqual([
      ["cars", "held"],
      ["boats", "live"],
    ]);
    expect(held.lastError?.code).toBe("clock.ahead");
    for (const { platform } of [a, b]) platform.nowMs += 3_590_000;
    wire.tick();
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    expect(wire.dial.link.status().subscriptions.map(({ state }) => state)).toEqual([
      "live",
      "live",
    ]);
    expect(problems(b.storage)).toEqual([]);
  });

  test("[S86] documents before it are merged, and so are other streams of the same transaction", async () => {
    const wire = follow(b, a, { queries: { cars: ["true"], boats: ["true"] } });
    await settled([a, b], [wire]);
    a.platform.nowMs += 3_600_000;
    await a.store.transact((transaction) => {
      transaction.apply([{ kind: "insert", collection: "cars", id: "1", fields: { n: 1 } }]);
      transaction.applyForeign({ time: 1000, site: "00000000000000aa" }, [
        { kind: "insert", collection: "boats", id: "1", fields: { n: 1 } },
      ]);
    });
    await settled([a, b], [wire]);
    expect(shown(b, "boats")).toEqual({ 1: { n: 1 } });
    expect(shown(b)).toEqual({});
  });
});

describe("outages and forgotten deletes", () => {
  test("[S52] a link in step brings documents older than the horizon", async () => {
    await a.put("cars", { _id: "old", color: "blue" }, { _id: "gone", color: "blue" });
    await b.put("cars", { _id: "own", color: "blue" });
    await b.execute("DELETE FROM cars WHERE _id = 'own'");
    const wire = follow(b, a, { queries: { cars: ["color = 'red'"] } });
    await settled([a, b], [wire]);
    await pass(40, [a, b], wire);
    expect(b.store.read(({ head }) => head.horizon)).toBeGreaterThan(0);
    // It was inserted long before the horizon of the follower, which has never held it.
    await a.execute("UPDATE cars SET color = 'red' WHERE _id = 'old'");
    await settled([a, b], [wire]);
    expect(states(b)).toEqual({ old: states(a)["old"] });
    wire.dial.link.configure({ cars: ["color = 'red'", "color = 'blue'"] });
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    expect(wire.dial.link.status().pulled.stale).toBe(0);
  });

  test("[S87] after an outage longer than the horizon, a forgotten delete is not undone", async () => {
    await a.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 });
    const first = followBoth(b, a);
    await settled([a, b], [first]);
    await pass(1, [a, b], first);
    first.cut();
    await b.execute("DELETE FROM cars WHERE _id = '1'");
    await pass(2, [a, b]);
    await a.put("cars", { _id: "3", n: 1 });
    await pass(40, [a, b]);
    expect(b.store.read((view) => view.state("cars", "1").version)).toBe(0);
    const second = followBoth(b, a);
    await settled([a, b], [second]);
    expect(modes(second)).toEqual(["fill"]);
    // What A has made meanwhile comes, however old; what B had and has no more is put aside.
    expect(Object.keys(shown(b))).toEqual(["2", "3"]);
    expect(second.dial.link.status().pulled).toEqual(
      expect.objectContaining({ documents: 3, stale: 1 }),
    );
    expect(Object.keys(shown(a))).toEqual(["1", "2", "3"]);
    second.cut();
    const third = followBoth(b, a);
    await settled([a, b], [third]);
    expect(modes(third)).toEqual(["resume"]);
    expect(Object.keys(shown(b))).toEqual(["2", "3"]);
    for (const { storage } of [a, b]) expect(problems(storage)).toEqual([]);
  });

  test("[S52] a floor that only one of the stores has forgotten makes no transaction", async () => {
    const b2 = await linkedStore("b", {
      store: { retention: { ...DEFAULT_RETENTION, horizonMs: 90 * DAY_MS } },
    });
    b = b2;
    await a.put("cars", { _id: "1", x: 1, y: 1 }, { _id: "2", x: 1 });
    await a.execute("UPDATE cars UNSET x WHERE _id = '1'");
    await a.execute("DELETE FROM cars WHERE _id = '2'");
    const wire = followBoth(b, a);
    await settled([a, b], [wire]);
    await pass(40, [a, b], wire);
    expect(a.store.read((view) => view.state("cars", "2").version)).toBe(0);
    expect(b.store.read((view) => view.state("cars", "2").version)).toBeGreaterThan(0);
    const before = a.store.txnId;
    const heard = entriesOf(wire.accept).length;
    const { documents, unchanged } = wire.accept.link.status().pulled;
    // A follows everything of B once more.
    wire.accept.link.configure({ cars: ["true", "_id > ''"] });
    await settled([a, b], [wire]);
    expect(briefly(entriesOf(wire.accept).slice(heard))).toEqual(["put 1", "deleted 2"]);
    expect(wire.accept.link.status().pulled).toEqual(
      expect.objectContaining({ documents: documents + 2, unchanged: unchanged + 2 }),
    );
    // The cursor of the new query, and nothing else.
    expect(a.store.txnId).toBe(before + 1);
  });
});

describe("failing or slow stores", () => {
  test.runIf(isFullSize)(
    "[S22] [S23] transactions that are too large or too fast for the queue still arrive",
    async () => {
      a = await linkedStore("a", {
        streams: {
          roundBytes: 2000,
          catchUpBytes: 1000,
          frameBytes: 500,
          queueBytes: 4000,
          roomBytes: 1500,
        },
      });
      const wire = follow(b, a, { queries: { cars: ["n < 50"], boats: ["true"] } });
      await settled([a, b], [wire]);
      for (let round = 0; round < 3; round++) {
        await a.store.transact((transaction) =>
          transaction.apply(
            Array.from({ length: 100 }, (_, i) => {
              const fields = { n: (i * 7 + round * 31) % 100, text: "x".repeat(40) };
              const collection = i % 2 === 0 ? "cars" : "boats";
              const edits = [{ kind: "set", path: [], value: fields } as const];
              return round === 0
                ? { kind: "insert", collection, id: `${i}`, fields }
                : { kind: "update", collection, id: `${i}`, edits };
            }),
          ),
        );
        await a.execute("DELETE FROM boats WHERE n % 3 = 0");
        await turns(round * 3);
      }
      for (let i = 0; i < 60; i++) {
        a.platform.nowMs += 1000;
        a.streams.tick();
        wire.tick();
        await turns(20);
      }
      await settled([a, b], [wire]);
      expect(wire.dial.heard.some(({ t }) => t === "behind")).toBe(true);
      expect(states(b, "boats")).toEqual(states(a, "boats"));
      const selected = Object.entries(shown(a)).filter(([, fields]) => numberOf(fields) < 50);
      expect(selected.length).toBeGreaterThan(0);
      for (const [id] of selected) expect(states(b)[id]).toBe(states(a)[id]);
      const held = Object.entries(shown(b)).filter(([, fields]) => numberOf(fields) < 50);
      expect(held.map(([id]) => id)).toEqual(selected.map(([id]) => id));
      expect(problems(b.storage)).toEqual([]);
    },
  );

  test("a change that the store does not take ends the link, and comes again over the next one", async () => {
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    b.disk.failNextWrite("store.full");
    await a.put("cars", { _id: "1", n: 1 });
    await until(() => wire.isOver);
    expect(wire.dial.events.at(-1)).toEqual(
      expect.objectContaining({ kind: "ended", code: "busy" }),
    );
    await settled([a, b]);
    expect(shown(b)).toEqual({});
    const again = follow(b, a);
    await settled([a, b], [again]);
    expect(states(b)).toEqual(states(a));
    expect(problems(b.storage)).toEqual([]);
  });

  test("[S22] changes that wait to be merged are bounded: the link reads nothing more meanwhile", async () => {
    const text = "x".repeat(20_000);
    for (let i = 0; i < 60; i++) await a.put("cars", { _id: `${i}`, text });
    b.disk.holdSyncs();
    const wire = follow(b, a, {
      limits: { waitingBytes: 200_000, batches: 1, batchBytes: 50_000 },
    });
    await turns(300);
    const held = entriesOf(wire.dial).length;
    expect(held).toBeLessThan(40);
    await turns(100);
    expect(entriesOf(wire.dial).length).toBe(held);
    b.disk.releaseSyncs();
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
  });
});
