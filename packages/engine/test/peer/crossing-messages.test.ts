/**
 * Messages that cross: what either side says before it has heard what the other has just decided. A
 * real server and a real peer, on a wire that the test lets go frame by frame.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { authorityOf } from "../support/caller.ts";
import { type ExplainedPeer, openExplained } from "../support/explained-peer.ts";
import { turns } from "../support/open-streams.ts";

const ALL = "SELECT * FROM tasks";
const SAME = "SELECT  *  FROM tasks";
const READS = authorityOf({ tasks: ["true"] }, { tasks: ["true"] });
const READS_MORE = authorityOf({ tasks: ["true"], boats: ["true"] }, { tasks: ["true"] });
const READS_SOME = authorityOf({ tasks: ["n == 2"] }, { tasks: ["true"] });

/** The server says all that it has to say; nothing of it arrives. */
async function sendAll({ wire }: ExplainedPeer): Promise<void> {
  for (let i = 0; i < 6; i++) {
    await turns();
    wire.take(100);
  }
}

test.each([{ isHeard: true }, { isHeard: false }])(
  "[S74] [S35] a write keeps showing if its subscription ends after a rights change, heard of: $isHeard",
  async ({ isHeard }) => {
    const peer = await openExplained({ authority: READS });
    peer.sync.start();
    const tasks = peer.sync.subscribe(ALL);
    await tasks.whenReady();
    if (!isHeard) peer.wire.shut();
    await peer.changeRights(READS_MORE);
    await turns();
    peer.wire.shut();
    await peer.write("INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
    await sendAll(peer);
    expect(peer.onServer("x")).toEqual({ n: 1 });
    tasks.cancel();
    await peer.wire.open();
    await turns();
    expect(peer.peerStore.pendingCount).toBe(0);
    expect(peer.onPeer("x")).toEqual({ n: 1 });
    await peer.close();
  },
);

test("[S70] a comparison is answered even if its subscription has ended: the next one waits for it", async () => {
  const peer = await openExplained({ limits: { resumeTransactions: 0 } });
  await peer.put({ _id: "x", n: 1 });
  peer.sync.start();
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  first.cancel();
  await turns();
  await peer.put({ _id: "y", n: 1 });
  // Again, from its cursor: it is compared, and the list of versions is on its way.
  peer.wire.shut();
  const second = peer.sync.subscribe(ALL);
  await sendAll(peer);
  await peer.wire.arrive(1);
  const same = peer.sync.subscribe(SAME);
  second.cancel();
  await peer.wire.open();
  await turns(200);
  expect([peer.onPeer("x"), peer.onPeer("y")]).toEqual([{ n: 1 }, { n: 1 }]);
  expect(same.status).toBe("ready");
  await peer.close();
});

test("[S70] the answer to a comparison of an ended subscription does not count for the next one", async () => {
  const peer = await openExplained({});
  await peer.put({ _id: "x", n: 1 });
  peer.sync.start();
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  await peer.write("EVICT FROM tasks WHERE _id = 'x'");
  first.cancel();
  await turns();
  const { finishNext, undo } = slowComparisons(peer);
  const second = peer.sync.subscribe(ALL);
  await turns();
  await peer.put({ _id: "z", n: 1 });
  second.cancel();
  const third = peer.sync.subscribe(ALL);
  await turns();
  finishNext();
  await turns(80);
  // What the next answer brings is on its way when the connection is cut.
  peer.wire.shut();
  finishNext();
  await turns();
  expect([third.status, peer.onPeer("z")]).toEqual(["waiting", undefined]);
  peer.wire.cut();
  undo();
  await peer.wire.open();
  await peer.reconnect();
  await turns(100);
  expect([third.status, peer.onPeer("x"), peer.onPeer("z")]).toEqual(["ready", { n: 1 }, { n: 1 }]);
  await peer.close();
});

/** The store of the peer ends each comparison when the test says so. */
function slowComparisons({ peerStore }: ExplainedPeer): {
  finishNext: () => void;
  undo: () => void;
} {
  const compare = peerStore.compare.bind(peerStore);
  const waiting: (() => void)[] = [];
  peerStore.compare = async (...given: Parameters<typeof compare>) => {
    await new Promise<void>((go) => waiting.push(go));
    return compare(...given);
  };
  return {
    finishNext: () => {
      const next = waiting.shift();
      if (next === undefined) throw new Error("expected a comparison");
      next();
    },
    undo: () => {
      peerStore.compare = compare;
    },
  };
}

test("[S21] a subscription that starts while the store still releases it is compared: denied, then permitted", async () => {
  const peer = await openExplained({ authority: READS });
  await peer.put({ _id: "x", n: 1 });
  peer.sync.start();
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  peer.wire.shut();
  await peer.changeRights(authorityOf({ boats: ["true"] }));
  peer.wire.take(100);
  await peer.changeRights(READS);
  // That the rights have changed, and that it is not permitted.
  const arrived = peer.wire.arrive(2);
  first.cancel();
  const second = peer.sync.subscribe(ALL);
  await arrived;
  await peer.wire.open();
  await turns(200);
  expect([second.status, peer.onPeer("x")]).toEqual(["ready", { n: 1 }]);
  await peer.close();
});

test("[S21] the same holds if a comparison releases documents that are hidden and shown again", async () => {
  const peer = await openExplained({ authority: READS });
  await peer.put({ _id: "x", n: 1 });
  await peer.put({ _id: "y", n: 2 });
  peer.sync.start();
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  peer.wire.shut();
  await peer.changeRights(READS_SOME);
  await sendAll(peer);
  const { flying } = peer.wire;
  await peer.changeRights(READS);
  const arrived = peer.wire.arrive(flying);
  first.cancel();
  const second = peer.sync.subscribe(ALL);
  await arrived;
  await peer.wire.open();
  await turns(100);
  await peer.put({ _id: "w", n: 2 });
  const all = [{ n: 1 }, { n: 2 }, { n: 2 }];
  const found = (): unknown[] => [second.status, ...["x", "y", "w"].map(peer.onPeer)];
  expect(found()).toEqual(["ready", ...all]);
  peer.wire.cut();
  await peer.reconnect();
  await turns(100);
  expect(found()).toEqual(["ready", ...all]);
  await peer.close();
});

test("[S21] a stream that ended under other rights leaves no documents that may not be read", async () => {
  const peer = await openExplained({ authority: READS_SOME });
  await peer.put({ _id: "x", n: 1 });
  await peer.put({ _id: "y", n: 2 });
  peer.sync.start();
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  peer.wire.shut();
  await peer.write("UPDATE tasks SET m = 1 WHERE _id = 'y'");
  await turns();
  await peer.changeRights(READS);
  await sendAll(peer);
  first.cancel();
  const second = peer.sync.subscribe(ALL);
  await peer.changeRights(READS_SOME);
  await peer.wire.open();
  await turns(200);
  const found = [second.status, peer.onPeer("x"), peer.onPeer("y")];
  expect(found).toEqual(["ready", undefined, { n: 2, m: 1 }]);
  await peer.close();
});

test("[S18] a wanted document that did not come is compared on the next connection, even after `complete`", async () => {
  const { pause, hold, letGo } = gatedPause();
  const peer = await openExplained({
    pause,
    limits: { roundBytes: 20_000, frameBytes: 10_000 },
  });
  const text = "t".repeat(4000);
  for (const n of [0, 1]) await peer.put({ _id: "a", text, n, k: 1 });
  peer.sync.start();
  const all = peer.sync.subscribe(ALL);
  await all.whenReady();
  await turns();
  hold();
  // The round waits, and a fill reads what it has not told yet.
  await peer.execute("UPDATE tasks SET n = 2 WHERE _id = 'a'");
  await turns();
  const some = peer.sync.subscribe("SELECT * FROM tasks WHERE k == 1");
  await turns();
  letGo(1);
  await turns();
  expect(peer.onPeer("a")).toMatchObject({ n: 2 });
  some.cancel();
  await turns();
  await peer.execute("UPDATE tasks SET n = 3 WHERE _id = 'a'");
  peer.wire.shut();
  letGo();
  await turns();
  // Too large for one round: the stream falls behind, and is complete again.
  const large = Array.from({ length: 12 }, (_, i) => ({ _id: `b${i}`, text }));
  const places = large.map((_, i) => `(:d${i})`).join(", ");
  const args = Object.fromEntries(large.map((document, i) => [`d${i}`, document]));
  await peer.execute(`INSERT INTO tasks DOCUMENTS ${places}`, args);
  await sendAll(peer);
  await peer.wire.arrive(10_000);
  peer.wire.cut();
  await peer.wire.open();
  await peer.reconnect();
  await turns(200);
  expect([all.status, peer.onPeer("a")]).toMatchObject(["ready", { n: 3 }]);
  await peer.close();
});

/** Everything that pauses waits until it is let go of, from `hold` on. */
function gatedPause(): {
  pause: () => Promise<void>;
  hold: () => void;
  letGo: (index?: number) => void;
} {
  const held: (() => void)[] = [];
  let isHeld = false;
  return {
    pause: () =>
      new Promise((go) => {
        if (isHeld) held.push(go);
        else setImmediate(go);
      }),
    hold: () => {
      isHeld = true;
    },
    letGo: (index) => {
      if (index !== undefined) return held.splice(index, 1)[0]?.();
      isHeld = false;
      for (const go of held.splice(0)) go();
    },
  };
}

test("[S71] a subscription whose filter did not change with the rights keeps its documents when it ends", async () => {
  for (const isQuiet of [true, false]) {
    const peer = await openExplained({ authority: READS });
    await peer.put({ _id: "x", n: 1 });
    peer.sync.start();
    const tasks = peer.sync.subscribe(ALL);
    await tasks.whenReady();
    await peer.changeRights(READS_MORE);
    await turns();
    if (!isQuiet) await peer.put({ _id: "x", n: 2 });
    await peer.tick();
    tasks.cancel();
    await turns();
    expect(peer.onPeer("x")).toEqual({ n: isQuiet ? 1 : 2 });
    await peer.close();
  }
});

test("[S28] an outcome without space for a document does not undo what a fill brought", async () => {
  const peer = await openExplained({});
  peer.sync.start();
  await turns();
  const text = "t".repeat(1_000_000);
  const ids = Array.from({ length: 14 }, (_, i) => `d${String(i).padStart(2, "0")}`);
  for (const id of ids) await peer.put({ _id: id, text, n: 1 });
  const first = peer.sync.subscribe(ALL);
  await first.whenReady();
  await turns();
  peer.wire.shut();
  const operations = ids.toReversed().map(
    (id): Operation => ({
      kind: "update",
      collection: "tasks",
      id,
      edits: [{ kind: "set", path: ["n"], value: 2 }],
    }),
  );
  await peer.peerStore.store.transact((transaction) => transaction.apply(operations));
  await turns();
  expect(peer.onServer("d00")).toMatchObject({ n: 2 });
  // The outcome is lost; another subscription brings the same from the beginning.
  peer.wire.cut();
  first.cancel();
  const second = peer.sync.subscribe("SELECT * FROM tasks WHERE n > 0");
  peer.clock.pass(60_000);
  await turns();
  for (let i = 0; i < 60; i++) {
    peer.wire.take(1);
    await peer.wire.arrive(1);
  }
  await peer.wire.open();
  await turns(300);
  expect([second.status, peer.peerStore.pendingCount]).toEqual(["ready", 0]);
  expect(ids.filter((id) => peer.onPeer(id) === undefined)).toEqual([]);
  await peer.close();
});

/** At full size, more documents than one message may ask for. */
const COUNT = sized(20_000, 110_000);

test.runIf(isFullSize)(
  "[S13] a peer may lack any number of the documents in a comparison",
  async () => {
    const peer = await openExplained({ authority: READS_SOME });
    await peer.put({ _id: 0, n: 2 });
    for (let first = 1; first < COUNT; first += 10_000) {
      const operations = Array.from(
        { length: 10_000 },
        (_, i): Operation => ({
          kind: "insert",
          collection: "tasks",
          id: first + i,
          fields: { n: 1 },
        }),
      );
      await peer.store.transact((transaction) => transaction.apply(operations));
    }
    peer.sync.start();
    const tasks = peer.sync.subscribe(ALL);
    await tasks.whenReady();
    peer.wire.shut();
    await peer.changeRights(READS);
    // All that it has to say of versions waits in the queue of the server.
    for (let before = -1; before < peer.wire.queued; await turns(200)) before = peer.wire.queued;
    await peer.wire.open();
    const count = (): number =>
      peer.peerStore.store.read((snapshot) => [...snapshot.scanIds("tasks")].length);
    for (let i = 0; i < 100 && tasks.status === "ready" && count() <= COUNT; i++) await turns(50);
    expect([tasks.status, count()]).toEqual(["ready", COUNT + 1]);
    await peer.close();
  },
);
