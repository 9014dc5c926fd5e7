/**
 * Links between real stores, over wires in memory: what comes, what does not, and that it comes to rest.
 */

import { encodeMessage } from "@bigpeer/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { attachmentReferences } from "../../src/store/attachment-view.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import {
  ALL,
  briefly,
  entriesOf,
  follow,
  followBoth,
  type LinkedStore,
  LinkWire,
  linkedStore,
  settled,
  shown,
  states,
  turns,
} from "../support/linked-stores.ts";
import { dump, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";

let a: LinkedStore;
let b: LinkedStore;

beforeEach(async () => {
  a = await linkedStore("a");
  b = await linkedStore("b");
});

const RED = { cars: ["color = 'red'"] };

function transactions({ storage }: LinkedStore): TransactionRecord[] {
  const snapshot = storage.snapshot();
  const range = { from: "t", to: "u" };
  const all = [...snapshot.entries(range)].map(
    ({ value }) => value as unknown as TransactionRecord,
  );
  snapshot.close();
  return all;
}

function pingAt(txn: number): Uint8Array {
  return encodeMessage({ t: "ping", now: 0, txn });
}

function crossed(wire: LinkWire): number {
  return entriesOf(wire.dial).length + entriesOf(wire.accept).length;
}

describe("one way", () => {
  test("[S50] a follower is filled, and then receives every change as it is committed", async () => {
    await a.put("cars", { _id: "1", color: "red" }, { _id: "2", color: "blue" });
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    expect(shown(b)).toEqual(shown(a));
    await a.put("cars", { _id: "3", color: "green" });
    await a.execute("UPDATE cars SET color = 'black' WHERE _id = '1'");
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    expect(Object.keys(shown(b))).toEqual(["1", "2", "3"]);
    expect(entriesOf(wire.accept)).toEqual([]);
    expect(problems(b.storage)).toEqual([]);
    expect(wire.dial.link.status().subscriptions).toEqual([
      { collection: "cars", query: "true", state: "live", txn: a.store.txnId },
    ]);
  });

  test("[S50] only documents that the queries select cross, also of other collections", async () => {
    await a.put("cars", { _id: "1", color: "red" }, { _id: "2", color: "blue" });
    await a.put("boats", { _id: "1", color: "red" });
    const wire = follow(b, a, { queries: RED });
    await settled([a, b], [wire]);
    await a.put("cars", { _id: "3", color: "red" }, { _id: "4", color: "blue" });
    await a.put("boats", { _id: "2", color: "red" });
    await settled([a, b], [wire]);
    expect(briefly(entriesOf(wire.dial))).toEqual(["put 1", "put 3"]);
    expect(shown(b)).toEqual({ 1: { color: "red" }, 3: { color: "red" } });
    expect(shown(b, "boats")).toEqual({});
  });

  test("[S50] several queries of a collection are a union, whatever their form", async () => {
    await a.put("cars", { _id: "1", color: "red", n: 1 }, { _id: "2", color: "blue", n: 1 });
    await a.put("cars", { _id: "3", color: "green", n: 3 }, { _id: "4", cars: { n: 4 } });
    const wire = follow(b, a, {
      queries: { cars: ["color == 'red'", "n>2 && n<4", "n > 2 AND n < 4", "cars.n = 4"] },
    });
    await settled([a, b], [wire]);
    expect(Object.keys(shown(b))).toEqual(["1", "3", "4"]);
    expect(wire.dial.link.status().subscriptions.map(({ state }) => state)).toEqual([
      "live",
      "live",
      "live",
      "live",
    ]);
    await a.execute("UPDATE cars SET color = 'red', n = 9 WHERE _id = '3'");
    await settled([a, b], [wire]);
    expect(states(b)["3"]).toBe(states(a)["3"]);
  });

  test("[S51] a document that stops matching is sent once more and stays, and its delete is still sent", async () => {
    await a.put("cars", { _id: "1", color: "red", n: 1 });
    const wire = follow(b, a, { queries: RED });
    await settled([a, b], [wire]);
    await a.execute("UPDATE cars SET color = 'blue'");
    await settled([a, b], [wire]);
    expect(shown(b)).toEqual({ 1: { color: "blue", n: 1 } });
    await a.execute("UPDATE cars SET n = 2");
    await settled([a, b], [wire]);
    expect(shown(b)).toEqual({ 1: { color: "blue", n: 1 } });
    await a.execute("DELETE FROM cars WHERE _id = '1'");
    await settled([a, b], [wire]);
    expect(shown(b)).toEqual({});
    expect(briefly(entriesOf(wire.dial))).toEqual(["put 1", "left 1", "deleted 1"]);
  });

  test("[S51] deletes of documents that never matched are sent, live, at a resume and with a fill", async () => {
    await a.put("cars", { _id: "1", color: "blue" }, { _id: "2", color: "blue" });
    await a.put("cars", { _id: "3", color: "blue" }, { _id: "4", color: "red" });
    // Held here from elsewhere.
    await b.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 }, { _id: "3", n: 1 });
    await a.execute("DELETE FROM cars WHERE _id = '1'");
    const first = follow(b, a, { queries: RED });
    await settled([a, b], [first]);
    await a.execute("DELETE FROM cars WHERE _id = '2'");
    await settled([a, b], [first]);
    expect(briefly(entriesOf(first.dial))).toEqual(["deleted 1", "put 4", "deleted 2"]);
    first.cut();
    await a.execute("DELETE FROM cars WHERE _id = '3'");
    const second = follow(b, a, { queries: RED });
    await settled([a, b], [second]);
    expect(second.dial.heard.find(({ t }) => t === "subscribed")).toEqual(
      expect.objectContaining({ mode: "resume" }),
    );
    expect(briefly(entriesOf(second.dial))).toEqual(["deleted 3"]);
    expect(Object.keys(shown(b))).toEqual(["4"]);
  });

  test("[S51] a document that its store forgot without a delete is not forgotten over a link", async () => {
    await a.put("cars", { _id: "1", color: "red" });
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    await a.execute("EVICT FROM cars");
    await settled([a, b], [wire]);
    expect(shown(a)).toEqual({});
    expect(shown(b)).toEqual({ 1: { color: "red" } });
    expect(briefly(entriesOf(wire.dial))).toEqual(["put 1"]);
  });

  test("[D24] a seeded document that was deleted is not seeded again by a store that only knows the delete", async () => {
    await a.execute("INSERT INTO cars INITIAL DOCUMENTS ({'_id': '1', 'color': 'red'})");
    await a.execute("DELETE FROM cars");
    const wire = follow(b, a, { queries: { cars: ["color = 'none'"] } });
    await settled([a, b], [wire]);
    const { state } = b.store.read((snapshot) => snapshot.state("cars", "1"));
    expect(state.seeded).toBe(true);
    expect(entriesOf(wire.dial).map((entry) => entry[0])).toEqual(["left"]);
  });

  test("[S52] merged documents keep the stamps and sites of their writer, and the log can be replayed", async () => {
    await a.put("cars", { _id: "1", color: "red" }, { _id: "2", color: "red", tags: { x: 1 } });
    await a.execute("UPDATE cars SET tags.x = 2 WHERE _id = '2'");
    await a.execute("DELETE FROM cars WHERE _id = '1'");
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    const replayed = await replay(b.storage, b.store.identity.site);
    const all = dump(b.storage);
    all.delete("s");
    expect(replayed).toEqual(all);
  });

  test("counts and indexes are right after a fill, changes and deletes", async () => {
    await b.execute("CREATE INDEX by_color ON cars (color)");
    for (let i = 0; i < 50; i++)
      await a.put("cars", { _id: `${i}`, color: i % 2 ? "red" : "blue" });
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    await a.execute("UPDATE cars SET color = 'green' WHERE color = 'red'");
    await a.execute("DELETE FROM cars WHERE color = 'blue'");
    await settled([a, b], [wire]);
    const counted = await b.execute("SELECT COUNT(*) AS n FROM cars WHERE color = 'green'");
    expect(counted.items).toEqual([{ n: 25 }]);
    expect(b.store.read((snapshot) => snapshot.count("cars"))).toBe(25);
    expect(problems(b.storage)).toEqual([]);
  });

  test("[K49] documents arrive with tokens of contents that are not here", async () => {
    const types = { photo: "attachment" } as const;
    const fields = { photo: { id: "abc", len: 3, metadata: {} } };
    await a.store.transact((transaction) =>
      transaction.apply([{ kind: "insert", collection: "cars", id: "1", fields, types }]),
    );
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    expect(states(b)).toEqual(states(a));
    expect(b.store.read((view) => [...attachmentReferences(view, "abc")])).toEqual([
      { collection: "cars", id: "1" },
    ]);
    expect(problems(b.storage)).toEqual([]);
  });
});

describe("both ways", () => {
  test("[S53] documents that came over a link are not sent back on it", async () => {
    const wire = followBoth(b, a);
    await settled([a, b], [wire]);
    await a.put("cars", { _id: "1", color: "red" });
    await b.put("cars", { _id: "2", color: "red" });
    await settled([a, b], [wire]);
    await a.execute("UPDATE cars SET color = 'blue' WHERE _id = '2'");
    await settled([a, b], [wire]);
    await b.execute("DELETE FROM cars WHERE _id = '1'");
    await settled([a, b], [wire]);
    const history = a.store.identity.historyId;
    expect(briefly(entriesOf(wire.dial))).toEqual(["put 1", "put 2"]);
    expect(briefly(entriesOf(wire.accept))).toEqual(["put 2", "deleted 1"]);
    expect(states(b)).toEqual(states(a));
    const changes = transactions(b).filter(
      ({ steps }) => steps[0]?.operations[0]?.kind === "merge",
    );
    expect(changes.map(({ via }) => via)).toEqual([history, history]);
  });

  test("[S53] an own document that comes to match by a change of the follower is sent to the follower", async () => {
    await b.put("cars", { _id: "1", color: "blue", owner: "bo" });
    const wire = new LinkWire({ at: b, queries: ALL }, { at: a, queries: RED });
    await settled([a, b], [wire]);
    expect(shown(a)).toEqual({});
    // A makes a document of the same id; with it that of B comes to match what A follows.
    await a.put("cars", { _id: "1", color: "red" });
    await settled([a, b], [wire]);
    expect(shown(a)).toEqual({ 1: { color: "red", owner: "bo" } });
    expect(states(b)).toEqual(states(a));
  });

  test("[S53] the same holds for a link that comes back", async () => {
    const first = followBoth(b, a);
    await a.put("cars", { _id: "1", color: "red" }, { _id: "2", color: "red" });
    await settled([a, b], [first]);
    await a.execute("UPDATE cars SET color = 'blue' WHERE _id = '2'");
    await settled([a, b], [first]);
    first.cut();
    await b.put("cars", { _id: "3", color: "red" });
    const second = followBoth(b, a);
    await settled([a, b], [second]);
    expect(briefly(entriesOf(second.accept))).toEqual(["put 3"]);
    expect(states(b)).toEqual(states(a));
  });

  test("rule 16: increments on both sides add up, through repeated cuts", async () => {
    await a.execute("INSERT INTO cars DOCUMENTS ({'_id': '1'})");
    let wire = followBoth(b, a);
    await settled([a, b], [wire]);
    for (let i = 1; i <= 6; i++) {
      await a.execute("UPDATE cars APPLY n INCREMENT BY 1");
      await b.execute("UPDATE cars APPLY n INCREMENT BY 10");
      if (i % 2 === 0) {
        wire.cut();
        wire = followBoth(a, b);
      }
    }
    await settled([a, b], [wire]);
    expect(shown(a)).toEqual({ 1: { n: 66 } });
    expect(states(b)).toEqual(states(a));
  });
});

describe("idle links", () => {
  test("[S52] [S54] a ring of three settles: then nothing crosses, and no store writes", async () => {
    const c = await linkedStore("c");
    const stores = [a, b, c];
    const wires = [followBoth(a, b), followBoth(b, c), followBoth(c, a)];
    for (const [i, { put }] of stores.entries()) await put("cars", { _id: `${i}`, n: i });
    await settled(stores, wires);
    await b.execute("UPDATE cars SET n = 10 WHERE _id = '0'");
    await c.execute("DELETE FROM cars WHERE _id = '1'");
    await settled(stores, wires);
    expect(shown(a)).toEqual({ 0: { n: 10 }, 2: { n: 2 } });
    expect(states(b)).toEqual(states(a));
    expect(states(c)).toEqual(states(a));
    const heard = wires.map(crossed);
    const before = stores.map(({ store }) => store.txnId);
    for (let i = 0; i < 40; i++) {
      for (const { platform } of stores) platform.nowMs += 1000;
      for (const wire of wires) wire.tick();
      await turns(5);
    }
    expect(wires.map(crossed)).toEqual(heard);
    expect(stores.map(({ store }) => store.txnId)).toEqual(before);
    for (const wire of wires) wire.cut();
    const again = [followBoth(b, a), followBoth(c, b), followBoth(a, c)];
    await settled(stores, again);
    expect(stores.map(({ store }) => store.txnId)).toEqual(before);
    for (const { storage } of stores) expect(problems(storage)).toEqual([]);
  });

  test("[S54] a cursor that covers no changes is written only when it is far behind", async () => {
    const wire = follow(b, a, { queries: RED });
    await settled([a, b], [wire]);
    const { txnId } = b.store;
    for (let i = 0; i < 999; i++) {
      await a.store.transact((transaction) =>
        transaction.apply([{ kind: "catalog", section: "test", name: "n", value: i }]),
      );
    }
    const target = (): number => wire.dial.link.status().subscriptions[0]?.txn ?? 0;
    wire.dial.link.receive(pingAt(a.store.txnId));
    await settled([a, b], [wire]);
    expect([target(), b.store.txnId]).toEqual([a.store.txnId, txnId]);
    await a.put("boats", { _id: "1" });
    wire.dial.link.receive(pingAt(a.store.txnId));
    await settled([a, b], [wire]);
    expect([target(), b.store.txnId]).toEqual([a.store.txnId, txnId + 1]);
  });

  test("[S54] a link that ends in order writes its cursor, an interrupted one does not", async () => {
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    await a.put("boats", { _id: "1" });
    wire.dial.link.receive(pingAt(a.store.txnId));
    const { txnId } = b.store;
    await wire.dial.link.close("closing", "the test is over");
    expect(b.store.txnId).toBe(txnId + 1);
    const again = follow(b, a);
    await settled([a, b], [again]);
    await a.put("boats", { _id: "2" });
    again.dial.link.receive(pingAt(a.store.txnId));
    again.cut();
    await settled([a, b]);
    expect(b.store.txnId).toBe(txnId + 1);
  });

  test("[K61] documents without changes are not in the log next to those with changes", async () => {
    await a.put("cars", { _id: "1", n: 1 }, { _id: "2", n: 1 });
    const wire = follow(b, a);
    await settled([a, b], [wire]);
    await wire.dial.link.close("closing", "the test is over");
    await a.put("cars", { _id: "3", n: 1 });
    // Another query has no cursor, and brings all of them.
    const again = follow(b, a, { queries: { cars: ["n = 1"] } });
    await settled([a, b], [again]);
    expect(again.dial.link.status().pulled).toEqual(
      expect.objectContaining({ documents: 3, unchanged: 2, transactions: 2 }),
    );
    const merged = transactions(b).flatMap(({ steps }) => steps.flatMap((step) => step.operations));
    const ids = merged.flatMap((operation) => (operation.kind === "merge" ? [operation.id] : []));
    expect(ids).toEqual(["1", "2", "3"]);
  });
});
