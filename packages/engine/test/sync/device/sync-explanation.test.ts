/**
 * Why a document is on a peer or is not: each verdict with a real server and a real peer, and that
 * what the peer holds agrees with it.
 */

import { timeOfMs, type Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { finish } from "../../../src/query/frame/steps.ts";
import { SYNC_VERDICTS } from "../../../src/sync/device/sync-explanation.ts";
import { authorityOf } from "../../support/caller.ts";
import { type ExplainedPeer, openExplained, PEER_KEY } from "../../support/explained-peer.ts";
import { turns } from "../../support/open-streams.ts";
import { openSyncServer } from "../../support/open-sync-server.ts";
import { type Random, seededRandom } from "../../support/test-platform.ts";

const DAY_MS = 24 * 3600 * 1000;
const ALL = "SELECT * FROM tasks";

/** A peer that is connected and follows something, with all gates open. */
async function connected(query: string = ALL, setup: Parameters<typeof openExplained>[0] = {}) {
  const rig = await openExplained(setup);
  rig.sync.start();
  await turns();
  const subscription = rig.sync.subscribe(query);
  await subscription.whenReady();
  await turns();
  return { ...rig, subscription };
}

describe("verdicts", () => {
  test("[S43] on_peer: it was sent, and the peer has confirmed that it holds it", async () => {
    const rig = await connected();
    await rig.put({ _id: "a", n: 1 });
    expect(rig.explain("a").verdict).toBe("sent");
    await rig.tick();
    const row = rig.explain("a");
    expect(row).toEqual({
      peer: {
        peerKeyString: PEER_KEY,
        deviceName: "phone",
        os: "test",
        sdkVersion: "t1",
        session: 1,
        connectedSince: rig.platform.nowMs,
      },
      verdict: "on_peer",
      reason:
        "the peer has said that it holds all up to transaction 1; the document was changed last by 1",
      document: { collection: "tasks", id: "a", exists: true, isDeleted: false, changedAt: 1 },
      subscriptions: [
        { query: ALL, args: {}, state: "live", isMatching: true, isPermitted: true, sentUpTo: 1 },
      ],
      txnIds: { documentTxn: 1, sentUpTo: 1, appliedUpTo: 1, serverTxn: 1 },
      uploads: [],
    });
    expect(rig.onPeer("a")).toEqual({ n: 1 });
    await rig.close();
  });

  test("[S43] documents of a fill count when a later ping was answered", async () => {
    const rig = await openExplained();
    await rig.put({ _id: "a", n: 1 });
    rig.sync.start();
    await turns();
    await rig.tick();
    await rig.sync.subscribe(ALL).whenReady();
    expect(rig.explain("a").verdict).toBe("sent");
    await rig.tick();
    await rig.tick();
    expect(rig.explain("a").verdict).toBe("on_peer");
    await rig.close();
  });

  test("[S16] sent: the network has taken it, and the peer has not answered since", async () => {
    const rig = await connected();
    await rig.tick();
    rig.wire.shut();
    await rig.put({ _id: "a", n: 1 });
    rig.wire.take(9);
    expect(rig.explain("a").verdict).toBe("sent");
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.wire.arrive(9);
    expect(rig.onPeer("a")).toEqual({ n: 1 });
    await rig.close();
  });

  test("[S22] queued: it was queued and the network has not taken it", async () => {
    const rig = await connected();
    rig.wire.shut();
    await rig.put({ _id: "a", n: 1 });
    await rig.put({ _id: "b", n: 1 });
    expect([rig.explain("a").verdict, rig.explain("b").verdict]).toEqual(["queued", "queued"]);
    expect(rig.explain("b").reason).toMatch(
      /^it was sent as of transaction 2, and waits with \d+ bytes for the peer to read$/,
    );
    rig.wire.take(1);
    expect([rig.explain("a").verdict, rig.explain("b").verdict]).toEqual(["sent", "queued"]);
    rig.wire.take(1);
    expect(rig.explain("b").verdict).toBe("sent");
    await rig.close();
  });

  test("[S15] not_yet_sent: a fill has not reached it", async () => {
    const rig = await openExplained({ limits: { pieceDocuments: 2, roomBytes: 300 } });
    const text = "x".repeat(400);
    for (const id of ["a", "b", "c", "d"]) await rig.put({ _id: id, text });
    rig.sync.start();
    await turns();
    rig.wire.shut();
    rig.sync.subscribe(ALL);
    await turns();
    const verdicts = ["a", "b", "c", "d"].map((id) => rig.explain(id).verdict);
    expect(verdicts).toEqual(["queued", "queued", "not_yet_sent", "not_yet_sent"]);
    const { reason, subscriptions } = rig.explain("d");
    expect(subscriptions).toMatchObject([{ state: "filling", isMatching: true }]);
    expect(reason).toBe(
      "the subscription is being filled or compared; the document was changed last by transaction 4, nothing of it was sent yet",
    );
    await rig.close();
  });

  test("[S22] not_yet_sent: the peer did not read, and is behind its reported position", async () => {
    const rig = await connected(ALL, { limits: { queueBytes: 2000, roomBytes: 100 } });
    await rig.put({ _id: "a", n: 1 });
    rig.wire.shut();
    for (let i = 2; i <= 30; i++) await rig.put({ _id: "a", n: i });
    const { verdict, reason, subscriptions, txnIds } = rig.explain("a");
    expect([verdict, subscriptions[0]?.["state"]]).toEqual(["not_yet_sent", "behind"]);
    const { sentUpTo = 0, documentTxn = 0, serverTxn } = txnIds;
    expect([documentTxn, serverTxn]).toEqual([30, 30]);
    expect(sentUpTo).toBeGreaterThan(1);
    expect(sentUpTo).toBeLessThan(30);
    expect(reason).toContain(`the peer did not read, so it waits; it was sent as of ${sentUpTo}`);
    rig.wire.take(99);
    await rig.wire.arrive(99);
    expect(rig.onPeer("a")).toEqual({ n: sentUpTo });
    await rig.close();
  });

  test("[S13] not_yet_sent: a comparison is not finished; on_peer when it is", async () => {
    const rig = await connected("SELECT * FROM tasks WHERE n < 9");
    await rig.put({ _id: "a", n: 1 });
    await turns();
    rig.wire.shut();
    await rig.changeRights(authorityOf({ tasks: ["n < 7"] }));
    expect(rig.explain("a").verdict).toBe("not_yet_sent");
    await rig.wire.open();
    await rig.tick();
    await rig.tick();
    expect(rig.explain("a").verdict).toBe("on_peer");
    expect(rig.onPeer("a")).toEqual({ n: 1 });
    await rig.close();
  });

  test("[S10] not_subscribed: no subscription selects it", async () => {
    const rig = await connected("SELECT * FROM tasks WHERE n < 5");
    await rig.put({ _id: "a", n: 9 });
    expect(rig.explain("a")).toMatchObject({
      verdict: "not_subscribed",
      reason:
        "the one subscription of the peer to the collection does not match the document as it is",
      subscriptions: [{ state: "live", isMatching: false, isPermitted: true, sentUpTo: 1 }],
    });
    rig.sync.subscribe("SELECT * FROM tasks WHERE n > 50");
    await turns();
    expect(rig.explain("a").reason).toBe(
      "none of the 2 subscriptions of the peer to the collection matches the document as it is",
    );
    const [other] = finish(rig.server.explain({ collection: "cars", id: "a", peerKey: PEER_KEY }));
    expect(other).toMatchObject({ verdict: "no_such_document", subscriptions: [] });
    await rig.execute("INSERT INTO cars VALUES ({'_id': 'a'})");
    const [car] = finish(rig.server.explain({ collection: "cars", id: "a", peerKey: PEER_KEY }));
    expect(car).toMatchObject({
      verdict: "not_subscribed",
      reason: "the peer has no subscription to the collection cars",
    });
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.close();
  });

  test("[S17] not_subscribed: a document that left is held until the peer was notified", async () => {
    const rig = await connected("SELECT * FROM tasks WHERE n < 5");
    await rig.put({ _id: "a", n: 1 });
    expect(rig.onPeer("a")).toEqual({ n: 1 });
    // Before the round that tells of it.
    await rig.store.transact((transaction) =>
      transaction.apply([
        {
          kind: "update",
          collection: "tasks",
          id: "a",
          edits: [{ kind: "set", path: ["n"], value: 9 }],
        },
      ]),
    );
    const early = rig.explain("a");
    expect(early.verdict).toBe("not_subscribed");
    expect(early.reason).toContain(
      "; the peer has not received that yet and may hold the earlier state",
    );
    await turns();
    expect(rig.explain("a").reason).not.toContain("not told");
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.close();
  });

  test("[S10] not_permitted: whatever is subscribed to", async () => {
    const authority = authorityOf({ tasks: ["n < 5"] });
    const rig = await connected(ALL, { authority });
    await rig.put({ _id: "a", n: 9 });
    expect(rig.explain("a")).toMatchObject({
      verdict: "not_permitted",
      reason: "the peer may not read the document as it is",
      subscriptions: [{ isMatching: true, isPermitted: false }],
    });
    rig.subscription.cancel();
    await turns();
    expect(rig.explain("a")).toMatchObject({ verdict: "not_permitted", subscriptions: [] });
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.close();
  });

  test("[S27] refused: the peer's own write, until the document changes", async () => {
    const authority = authorityOf({ tasks: ["true"] }, { tasks: ["n < 5"] });
    const rig = await connected(ALL, { authority });
    await rig.write("INSERT INTO tasks VALUES ({'_id': 'a', 'n': 9})");
    const row = rig.explain("a");
    expect(row.verdict).toBe("refused");
    expect(row.reason).toMatch(
      /^the peer wrote it in its upload 1, which was refused in transaction 1: /,
    );
    expect(row.document).toMatchObject({ exists: false, isDeleted: false });
    expect(row.uploads).toMatchObject([{ number: 1, txn: 1, outcome: "refused" }]);
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.put({ _id: "a", n: 1 });
    await rig.tick();
    expect(rig.explain("a")).toMatchObject({ verdict: "on_peer", uploads: [{ number: 1 }] });
    await rig.write("UPDATE tasks SET n = 7 WHERE _id = 'a'");
    expect(rig.explain("a").verdict).toBe("refused");
    expect(rig.onPeer("a")).toEqual({ n: 1 });
    await rig.close();
  });

  test("[S40] a refused write of another credential with the same key does not count for a peer", async () => {
    const { server, join } = await openSyncServer();
    join("a");
    const operation = { kind: "delete", collection: "tasks", id: "x" } as const;
    const steps = [{ time: 1, operations: [operation] }];
    const upload = {
      site: "00000000000000bb",
      number: 1,
      digest: new Uint8Array(),
      steps,
    } as const;
    const record = { digest: upload.digest, txnId: 7, outcome: "refused", reason: "no" } as const;
    const request = { collection: "tasks", id: "x", peerKey: "a" };
    const reported = (): unknown[] =>
      finish(server.explain(request)).map(({ verdict, uploads }) => [
        verdict,
        (uploads as Value[]).length,
      ]);
    await server.remember({ peerKey: "a", credential: "stranger" }, upload, record);
    expect(reported()).toEqual([["no_such_document", 0]]);
    const own = { peerKey: "a", credential: "full" };
    await server.remember(own, { ...upload, number: 2 }, record);
    join("a", "stranger");
    expect(reported()).toEqual([
      ["refused", 1],
      ["refused", 1],
    ]);
  });

  test("[S27] stale: the peer's own write came too late", async () => {
    const rig = await openExplained();
    await rig.write("INSERT INTO tasks VALUES ({'_id': 'a', 'n': 2})");
    await rig.put({ _id: "a", n: 1 });
    await rig.execute("DELETE FROM tasks WHERE _id = 'a'");
    for (const platform of [rig.platform, rig.peerPlatform]) platform.nowMs += DAY_MS;
    const time = timeOfMs(rig.platform.nowMs - 1000);
    await rig.store.transact((transaction) => transaction.apply([{ kind: "trim", upTo: 2 }]));
    await rig.store.transact((transaction) => transaction.apply([{ kind: "horizon", time }]));
    rig.sync.start();
    await turns(200);
    const { verdict, reason, uploads } = rig.explain("a");
    expect([verdict, uploads]).toMatchObject(["stale", [{ number: 1, outcome: "stale" }]]);
    expect(reason).toMatch(
      /^the peer wrote it in its upload 1, which came too late and was quarantined/,
    );
    await rig.close();
  });

  test("[S17] no_such_document: never there, or deleted", async () => {
    const rig = await connected();
    expect(rig.explain("a")).toMatchObject({
      verdict: "no_such_document",
      reason: "the server has no such document",
      document: { exists: false, isDeleted: false },
    });
    await rig.put({ _id: "a", n: 1 });
    await rig.execute("DELETE FROM tasks WHERE _id = 'a'");
    await turns();
    expect(rig.explain("a")).toMatchObject({
      verdict: "no_such_document",
      reason: "the document was deleted by transaction 2",
      document: { exists: false, isDeleted: true, changedAt: 2 },
    });
    expect(rig.onPeer("a")).toBe(undefined);
    await rig.close();
  });

  test("[S40] not_connected: with the known facts about the device", async () => {
    const rig = await connected();
    await rig.put({ _id: "a", n: 1 });
    await rig.sync.stop();
    await turns();
    const request = { collection: "tasks", id: "a", peerKey: PEER_KEY };
    expect(finish(rig.server.explain(request))).toMatchObject([
      {
        peer: { peerKeyString: PEER_KEY },
        verdict: "not_connected",
        reason: "no peer with this key is connected, and none is known",
        document: { exists: true, changedAt: 1 },
        txnIds: { documentTxn: 1, serverTxn: 1 },
      },
    ]);
    const known = (key: string) => ({ deviceName: `old ${key}`, lastSeen: 5 });
    expect(finish(rig.server.explain(request, known))).toMatchObject([
      { peer: { peerKeyString: PEER_KEY, deviceName: "old p", lastSeen: 5 } },
    ]);
    await rig.close();
  });
});

describe("the question", () => {
  test("it can be asked as a statement", async () => {
    const rig = await connected();
    await rig.put({ _id: { k: 1 }, n: 1 });
    await rig.tick();
    const [row] = await rig.execute("EXPLAIN SYNC tasks, {'k': 1} FOR :key", { key: PEER_KEY });
    expect(row).toMatchObject({ verdict: "on_peer", document: { id: { k: 1 } } });
    await rig.close();
  });

  test("a condition that fails is reported, and matches nothing", async () => {
    const rig = await connected("SELECT * FROM tasks WHERE upper(n) = 'X'");
    await rig.put({ _id: "a", n: 1 });
    expect(rig.explain("a").verdict).toBe("not_subscribed");
    await rig.close();
  });

  test("other requests run between any two conditions, and the check ends if they take too long", async () => {
    const { join, server, platform, store } = await openSyncServer();
    const client = join("p");
    const count = 20;
    for (let id = 1; id <= count; id++) {
      const query = `SELECT * FROM tasks WHERE n = ${id}`;
      client.say({ t: "subscribe", id, query, args: {} });
      await client.next("complete");
    }
    await store.transact((transaction) => {
      const fields = { n: 7 };
      transaction.apply([{ kind: "insert", collection: "tasks", id: "a", fields }]);
    });
    const request = { collection: "tasks", id: "a", peerKey: "p" };
    const steps = server.explain(request);
    let turnCount = 0;
    while (steps.next().done !== true) turnCount++;
    expect(turnCount).toBe(count);
    // Each look at the clock finds it half a second later.
    let elapsedMs = 0;
    platform.elapsed = () => (elapsedMs += 500);
    expect(() => finish(server.explain(request))).toThrow("longer than 2000 ms");
  });

  test("the verdict is one of SYNC_VERDICTS", async () => {
    const rig = await openExplained();
    expect(SYNC_VERDICTS).toContain(rig.explain("a").verdict);
    await rig.close();
  });
});

const IDS = ["a", "b", "c", "d", "e"];
const QUERIES = [ALL, "SELECT * FROM tasks WHERE n % 2 = 0", "SELECT * FROM tasks WHERE m = 1"];
const RIGHTS = [
  undefined,
  authorityOf({ tasks: ["m != 2"] }),
  authorityOf({ tasks: ["n % 3 != 0"] }),
];

/** Does one thing, whichever. */
async function move(rig: ExplainedPeer, random: Random, n: number): Promise<void> {
  const { wire } = rig;
  switch (random.below(13)) {
    case 0:
      await rig.execute("DELETE FROM tasks WHERE _id = :id", { id: random.pick(IDS) });
      break;
    case 1: {
      const subscription = rig.sync.subscribe(random.pick(QUERIES));
      subscription.whenReady().catch(() => undefined);
      if (random.chance(0.3)) subscription.cancel();
      break;
    }
    case 2:
      wire.cut();
      await rig.reconnect();
      break;
    case 3:
      await rig.changeRights(RIGHTS[random.below(RIGHTS.length)]);
      break;
    case 4:
    case 5:
      await rig.tick();
      break;
    case 6:
      wire.take(random.below(4));
      break;
    case 7:
      await wire.arrive(random.below(4));
      break;
    case 8:
      if (wire.isOpen) wire.shut();
      else await wire.open();
      break;
    case 9:
      await rig.execute("UPDATE tasks SET n = :n WHERE _id = :id", { n, id: random.pick(IDS) });
      break;
    default: {
      const text = "x".repeat(random.pick([1, 500, 1500]));
      await rig.put({ _id: random.pick(IDS), n, m: random.below(3), text });
    }
  }
  if (random.chance(0.5)) await turns(random.below(6));
}

interface Said {
  readonly id: string;
  readonly verdict: string;
  readonly fields: Value | undefined;
}

/** What was said must be so: at once, when what was taken arrives, when what is queued does. */
async function check(rig: ExplainedPeer, counts: Map<string, number>): Promise<void> {
  const { wire } = rig;
  wire.shut();
  const said = IDS.map((id): Said => {
    const { verdict } = rig.explain(id);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    return { id, verdict, fields: rig.onServer(id) };
  });
  const { queued, flying } = wire;
  const held = (verdict: string): void => {
    for (const each of said) {
      if (each.verdict === verdict)
        expect([each, rig.onPeer(each.id)]).toEqual([each, each.fields]);
      if (each.verdict === "queued") expect(queued).toBeGreaterThan(0);
    }
  };
  await turns();
  held("on_peer");
  await wire.arrive(flying);
  held("sent");
  wire.take(queued);
  await wire.arrive(queued);
  held("queued");
}

/** When everything has arrived the peer holds what comes by a subscription, and nothing else. */
async function checkQuiet(rig: ExplainedPeer, counts: Map<string, number>): Promise<void> {
  const { wire } = rig;
  await wire.open();
  await rig.reconnect();
  for (let i = 0; i < 4; i++) {
    await rig.tick();
    await turns(80);
  }
  for (const id of IDS) {
    const { verdict, reason } = rig.explain(id);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    const place = `${id}: ${verdict}, ${reason}`;
    const settled = ["on_peer", "not_subscribed", "not_permitted", "no_such_document"];
    expect(settled, place).toContain(verdict);
    const expected = verdict === "on_peer" ? rig.onServer(id) : undefined;
    expect([place, rig.onPeer(id)]).toEqual([place, expected]);
  }
}

const SEEDS = sized(4, 12);

test("the verdict about a document agrees with what the peer holds, at any moment", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed);
    const limits = { pieceDocuments: 2, queueBytes: 8000, roomBytes: 2000, joinTransactions: 3 };
    const rig = await openExplained({ limits });
    rig.sync.start();
    rig.sync
      .subscribe(random.pick(QUERIES))
      .whenReady()
      .catch(() => undefined);
    await turns();
    for (let n = 1; n <= 60; n++) {
      await move(rig, random, n);
      if (random.chance(0.3)) await check(rig, counts);
      if (random.chance(0.05)) await checkQuiet(rig, counts);
    }
    await checkQuiet(rig, counts);
    await rig.close();
  }
  for (const verdict of ["on_peer", "sent", "queued", "not_yet_sent", "not_permitted"]) {
    expect(counts.get(verdict), verdict).toBeGreaterThan((5 * SEEDS) / 12);
  }
});
