/**
 * Presence: who is connected, and what peers are told of each other.
 */

import { encodeMessage, type PresenceMessage } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { openSyncServer, type SyncBench } from "../../support/open-sync-server.ts";
import { PresenceView } from "../../support/presence-view.ts";
import type { SyncClient } from "../../support/sync-client.ts";
import { helloOf } from "../../support/sync-client.ts";
import { START_MS, seededRandom } from "../../support/test-platform.ts";

function watching(client: SyncClient): SyncClient {
  client.say({ t: "watch", isOn: true });
  return client;
}

function reported(client: SyncClient): PresenceMessage[] {
  return client.rest().filter((message) => message.t === "presence");
}

function keysOf({ server }: SyncBench): string[] {
  return server.peers().map(({ description }) => description.key);
}

describe("connected peers", () => {
  test("[S40] the newest connection of a key and credential is listed", async () => {
    const bench = await openSyncServer();
    const first = bench.join("a");
    bench.join("b");
    bench.join("a", "other");
    expect(bench.server.peers().map(({ session }) => session)).toEqual([1, 2, 3]);
    bench.join("a");
    expect(bench.server.peers().map(({ session }) => session)).toEqual([2, 3, 4]);
    // The former one may still say something: that is about nobody in the list.
    first.say({ t: "metadata", metadata: { old: true } });
    first.connection.closed();
    expect(bench.server.peers().map(({ session }) => session)).toEqual([2, 3, 4]);
    expect(bench.server.peers().map(({ description }) => description.metadata)).toEqual([
      {},
      {},
      {},
    ]);
  });

  test("[S40] when the newest connection of a peer ends, an older open one is listed in its place", async () => {
    const bench = await openSyncServer();
    const { server, join, tick } = bench;
    const kinds: string[] = [];
    const view = new PresenceView();
    const live = join("a");
    live.say({ t: "metadata", metadata: { isLive: true } });
    join("b");
    const watcher = watching(join("w"));
    server.onPeers(({ report, kind }) => kinds.push(`${kind} ${report.session}`));
    const [late, later] = [join("a"), join("a")];
    live.say({ t: "metadata", metadata: { isLive: "still" } });
    tick();
    view.hear(watcher.rest());
    expect(server.peers().map(({ session }) => session)).toEqual([2, 3, 5]);
    late.connection.closed();
    later.connection.closed();
    expect(server.peers().map(({ session }) => session)).toEqual([1, 2, 3]);
    expect(server.peers()[0]?.description.metadata).toEqual({ isLive: "still" });
    expect(kinds).toEqual(["left 1", "joined 4", "left 4", "joined 5", "left 5", "joined 1"]);
    tick();
    view.hear(watcher.rest());
    expect(view.keys).toEqual(["b", "a"]);
    live.connection.closed();
    expect(server.peers().map(({ session }) => session)).toEqual([2, 3]);
  });

  test("[S41] changes of private data do not notify watchers", async () => {
    const { join, tick, admissions } = await openSyncServer();
    admissions.set("renewed", { authority: undefined, credential: "k", userId: "ada" });
    admissions.set("again", { authority: undefined, credential: "k", userId: "bob" });
    const watcher = watching(join("w"));
    const a = join("a", "renewed");
    tick();
    expect(reported(watcher)).toHaveLength(1);
    a.say({ t: "token", token: "again" });
    tick();
    expect(reported(watcher)).toEqual([]);
    a.say({ t: "metadata", metadata: { n: 1 } });
    tick();
    expect(reported(watcher)).toHaveLength(1);
  });

  test("[S40] the host is notified of peers that joined, changed, left or were replaced", async () => {
    const bench = await openSyncServer();
    const { server, join, tick, faults } = bench;
    const heard: string[] = [];
    const fault = new Error("a fault of the listener");
    server.onPeers(() => {
      throw fault;
    });
    const end = server.onPeers(({ report, kind }) => {
      const { session, description } = report;
      heard.push(`${kind} ${session} ${description.key} ${JSON.stringify(description.metadata)}`);
    });
    const a = join("a");
    a.say({ t: "metadata", metadata: { n: 1 } }, { t: "metadata", metadata: { n: 2 } });
    tick();
    tick();
    const again = join("a");
    a.connection.closed();
    again.connection.closed();
    expect(heard).toEqual([
      "joined 1 a {}",
      'changed 1 a {"n":2}',
      'left 1 a {"n":2}',
      "joined 2 a {}",
      "left 2 a {}",
    ]);
    expect(faults.every((error) => error === fault)).toBe(true);
    end();
    join("b");
    expect(heard).toHaveLength(5);
    expect(keysOf(bench)).toEqual(["b"]);
  });

  test("[S40] a peer that renews its token with another credential stays the same session", async () => {
    const bench = await openSyncServer();
    const { server, join, tick, admissions } = bench;
    admissions.set("renewed", { authority: undefined, credential: "new", userId: "ada" });
    const kinds: string[] = [];
    server.onPeers(({ report, kind }) => kinds.push(`${kind} ${report.userId}`));
    const a = join("a");
    a.say({ t: "token", token: "renewed" });
    tick();
    expect(server.peers().map(({ session, credential }) => [session, credential])).toEqual([
      [1, "new"],
    ]);
    expect(kinds).toEqual(["joined undefined", "changed ada"]);
    // And its former name is free for another.
    join("a");
    expect(server.peers().map(({ session }) => session)).toEqual([1, 2]);
    join("a", "renewed");
    expect(server.peers().map(({ session }) => session)).toEqual([2, 3]);
  });

  test("[S5] a dead peer is in no list after a minute", async () => {
    const bench = await openSyncServer();
    const view = new PresenceView();
    const live = watching(bench.join("a"));
    bench.join("dead");
    for (let second = 0; second <= 61; second++) {
      live.say({ t: "ping", now: 1 });
      bench.tick();
      view.hear(live.rest());
      expect(view.keys).toEqual(second < 59 ? ["dead"] : []);
    }
    expect(keysOf(bench)).toEqual(["a"]);
  });
});

describe("watching", () => {
  test("[S41] [S42] a watcher gets the whole list, without itself and without private data", async () => {
    const { join, tick, admissions, server } = await openSyncServer();
    admissions.set("jwt", {
      authority: undefined,
      credential: "jwt",
      userId: "ada",
      identity: { team: "red" },
      address: "10.0.0.1",
    });
    const a = join("a", "jwt", { room: 7 });
    a.say({ t: "subscribe", id: 1, query: "SELECT * FROM cars", args: {} });
    const b = watching(join("b"));
    expect(reported(b)).toEqual([]);
    tick();
    expect(reported(b)).toEqual([
      {
        t: "presence",
        isWhole: true,
        total: 1,
        peers: [
          {
            session: 1,
            key: "a",
            deviceName: "a's phone",
            os: "test",
            sdk: "1.0",
            metadata: { room: 7 },
            since: START_MS,
          },
        ],
        gone: [],
      },
    ]);
    expect(server.stats().watchers).toBe(1);
    tick();
    expect(reported(b)).toEqual([]);
  });

  test("[S41] a watcher that is alone gets an empty list", async () => {
    const { join, tick } = await openSyncServer();
    const a = watching(join("a"));
    tick();
    expect(reported(a)).toEqual([{ t: "presence", isWhole: true, total: 0, peers: [], gone: [] }]);
  });

  test("[S41] then it receives which peers came, changed or left, gathered until the next tick", async () => {
    const { join, tick } = await openSyncServer();
    const watcher = watching(join("w"));
    const a = join("a");
    tick();
    reported(watcher);
    const b = join("b");
    join("short").connection.closed();
    a.say({ t: "metadata", metadata: { n: 1 } }, { t: "metadata", metadata: { n: 2 } });
    expect(reported(watcher)).toEqual([]);
    tick();
    const [first, ...more] = reported(watcher);
    expect(more).toEqual([]);
    expect(first?.isWhole).toBeUndefined();
    expect(first?.peers.map(({ key, metadata }) => [key, metadata])).toEqual([
      ["a", { n: 2 }],
      ["b", {}],
    ]);
    expect([first?.total, first?.gone]).toEqual([2, []]);
    a.connection.closed();
    b.connection.closed();
    tick();
    expect(reported(watcher)).toEqual([{ t: "presence", total: 0, peers: [], gone: [2, 3] }]);
  });

  test("[S41] a watcher that changed is not notified of itself, the others are", async () => {
    const { join, tick } = await openSyncServer();
    const a = watching(join("a"));
    const b = watching(join("b"));
    tick();
    a.rest();
    b.rest();
    a.say({ t: "metadata", metadata: { n: 1 } });
    join("c");
    tick();
    expect(reported(a)[0]?.peers.map(({ key }) => key)).toEqual(["c"]);
    expect(reported(b)[0]?.peers.map(({ key }) => key)).toEqual(["a", "c"]);
  });

  test("[S41] a peer that stopped watching receives nothing, and gets the list when it watches again", async () => {
    const { server, join, tick } = await openSyncServer();
    const a = watching(watching(join("a")));
    tick();
    expect(reported(a)).toHaveLength(1);
    a.say({ t: "watch", isOn: false });
    join("b");
    tick();
    expect(reported(a)).toEqual([]);
    expect(server.stats().watchers).toBe(0);
    watching(a);
    tick();
    const view = new PresenceView().hear(a.rest());
    expect([view.keys, view.total, view.messages]).toEqual([["b"], 1, 1]);
  });

  test("[S40] [S41] a replaced connection is not notified of the one that replaced it", async () => {
    const { join, tick } = await openSyncServer();
    const former = watching(join("a"));
    join("b");
    tick();
    const view = new PresenceView().hear(former.rest());
    const taker = watching(join("a"));
    tick();
    view.hear(former.rest());
    expect([view.keys, view.total]).toEqual([["b"], 1]);
    const other = new PresenceView().hear(taker.rest());
    expect([other.keys, other.total]).toEqual([["b"], 1]);
    taker.connection.closed();
    tick();
    expect([view.hear(former.rest()).keys, view.total]).toEqual([["b"], 1]);
  });

  test("[S82] the list has the earliest peers, and the next one moves up when one leaves", async () => {
    const { join, tick } = await openSyncServer({ limits: { listedPeers: 3 } });
    const watcher = watching(join("w"));
    const [a] = ["a", "b", "c", "d"].map((key) => join(key));
    tick();
    const view = new PresenceView().hear(watcher.rest());
    expect([view.keys, view.total]).toEqual([["a", "b"], 4]);
    join("e");
    tick();
    view.hear(watcher.rest());
    expect([view.keys, view.total, view.messages]).toEqual([["a", "b"], 5, 2]);
    a?.connection.closed();
    tick();
    view.hear(watcher.rest());
    expect([view.keys, view.total]).toEqual([["b", "c"], 4]);
  });

  test("[S41] a long list is sent in pieces, together with changes in the meantime", async () => {
    const limits = { frameBytes: 1000, roomBytes: 1500 };
    const { join, tick } = await openSyncServer({ limits });
    const filler = "x".repeat(300);
    const others = Array.from({ length: 20 }, (_, i) => join(`p${i}`, "full", { filler }));
    const watcher = watching(join("w"));
    const view = new PresenceView();
    // Each piece is taken by the network before the next one goes.
    watcher.isQueueing = true;
    tick();
    const first = view.hear(watcher.rest()).keys.length;
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(10);
    others[0]?.say({ t: "metadata", metadata: { isFirst: true } });
    others[19]?.connection.closed();
    others[18]?.say({ t: "metadata", metadata: { filler, isLast: true } });
    tick();
    for (let turn = 0; turn < 10; turn++) {
      watcher.queuedBytes = 0;
      watcher.connection.drained();
      view.hear(watcher.rest());
    }
    tick();
    view.hear(watcher.rest());
    expect(view.lists).toBe(1);
    expect(view.keys.sort()).toEqual(Array.from({ length: 19 }, (_, i) => `p${i}`).sort());
    expect(view.peers.get(1)?.metadata).toEqual({ isFirst: true });
    expect(view.peers.get(19)?.metadata).toEqual({ filler, isLast: true });
  });

  test("[S82] nothing is queued for a watcher that does not read; it gets the whole list when it reads", async () => {
    const { join, tick } = await openSyncServer();
    const watcher = watching(join("w"));
    tick();
    const view = new PresenceView().hear(watcher.rest());
    watcher.queuedBytes = 3 * 1024 * 1024;
    for (let i = 0; i < 5; i++) {
      join(`p${i}`);
      watcher.say({ t: "ping", now: 1 });
      tick();
    }
    expect(reported(watcher)).toEqual([]);
    watcher.queuedBytes = 0;
    watcher.connection.drained();
    view.hear(watcher.rest());
    expect([view.keys, view.lists, view.messages]).toEqual([["p0", "p1", "p2", "p3", "p4"], 2, 2]);
    join("p5");
    tick();
    view.hear(watcher.rest());
    expect([view.keys.length, view.lists]).toEqual([6, 2]);
  });

  test("[S82] lists of many watchers are sent over several ticks", async () => {
    const { join, tick } = await openSyncServer({ limits: { listBytes: 12_000 } });
    const watchers = Array.from({ length: 10 }, (_, i) => watching(join(`w${i}`)));
    const listed = (): number =>
      watchers.filter(({ heard }) => heard.some(({ t }) => t === "presence")).length;
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      tick();
      counts.push(listed());
    }
    expect(counts).toEqual([3, 6, 9, 10]);
  });
});

/** A connection that keeps only what it was told of others, as bytes. */
class Ears {
  readonly queuedBytes = 0;
  readonly frames: Uint8Array[] = [];
  send(bytes: Uint8Array): void {
    this.frames.push(bytes);
  }
  close(): void {
    this.frames.length = 0;
  }
}

test("[S41] many changes are encoded in slices: a peer that changes meanwhile is sent in its latest state", async () => {
  const { join, tick, platform } = await openSyncServer();
  const many = { list: Array.from({ length: 15_000 }, () => 1) };
  const clients = Array.from({ length: 40 }, (_, i) => join(`p${i}`, "full", many));
  const watcher = watching(join("w"));
  const view = new PresenceView();
  tick();
  // Hundreds of kilobytes are to be encoded: others have their turn first.
  expect(reported(watcher)).toEqual([]);
  clients[0]?.say({ t: "metadata", metadata: { n: 1 } });
  clients[39]?.connection.closed();
  for (let turn = 0; turn < 20; turn++) await platform.pause();
  view.hear(watcher.rest());
  expect(view.keys).toEqual(Array.from({ length: 39 }, (_, i) => `p${i}`));
  expect(view.peers.get(1)?.metadata).toEqual(many);
  tick();
  for (let turn = 0; turn < 20; turn++) await platform.pause();
  view.hear(watcher.rest());
  expect([view.total, view.peers.size, view.lists]).toEqual([39, 39, 1]);
  expect(view.peers.get(1)?.metadata).toEqual({ n: 1 });
});

test("[S41] any churn ends in exact lists", async () => {
  const bench = await openSyncServer({ limits: { listedPeers: 12, frameBytes: 600 } });
  const random = seededRandom(8);
  const clients: SyncClient[] = [];
  const keys = new Map<SyncClient, string>();
  const views = new Map<SyncClient, PresenceView>();
  for (let step = 0; step < 600; step++) {
    const chosen = clients.length === 0 ? undefined : random.pick(clients);
    const choice = random.below(8);
    if (choice < 3 || chosen === undefined) {
      const key = `k${random.below(30)}`;
      const client = bench.join(key);
      clients.push(client);
      keys.set(client, key);
    } else if (choice < 5) {
      chosen.connection.closed();
      clients.splice(clients.indexOf(chosen), 1);
      views.delete(chosen);
    } else if (choice < 6) chosen.say({ t: "metadata", metadata: { step } });
    else if (!views.has(chosen)) {
      views.set(chosen, new PresenceView());
      watching(chosen);
    }
    if (random.chance(0.3)) {
      for (const client of clients) client.say({ t: "ping", now: 1 });
      bench.tick();
    }
    for (const [client, view] of views) view.hear(client.rest());
  }
  bench.tick();
  const reports = bench.server.peers();
  expect(views.size).toBeGreaterThan(3);
  for (const [client, view] of views) {
    view.hear(client.rest());
    const key = keys.get(client);
    const others = reports.slice(0, 12).filter(({ description }) => description.key !== key);
    const expected = others.map(({ session, description }) => [session, description.metadata]);
    const seen = Array.from(view.peers.values(), ({ session, metadata }) => [session, metadata]);
    expect(seen.sort(bySession)).toEqual(expected);
    const isListed = reports.some(({ description }) => description.key === key);
    expect(view.total).toBe(reports.length - (isListed ? 1 : 0));
  }
});

test("[S41] changes for a thousand watchers are encoded once, and nothing is held for those who left", async () => {
  const { server, tick, platform } = await openSyncServer();
  const connect = (key: string): { ears: Ears; end: () => void } => {
    const ears = new Ears();
    const connection = server.connect(ears);
    const peer = { key, deviceName: "", os: "", sdk: "", metadata: {} };
    connection.receive(encodeMessage(helloOf("full", { peer })));
    connection.receive(encodeMessage({ t: "watch", isOn: true }));
    return { ears, end: () => connection.closed() };
  };
  const watchers = Array.from({ length: 1000 }, (_, i) => connect(`w${i}`));
  for (let i = 0; i < 40; i++) tick(10);
  for (const { ears } of watchers) ears.frames.length = 0;
  for (let i = 0; i < 17; i++) connect(`churn${i}`).end();
  const stays = connect("stays");
  tick(10);
  // The first of them at once, the others in turns.
  for (let turn = 0; turn < 12; turn++) await platform.pause();
  const frames = new Set(watchers.flatMap(({ ears }) => ears.frames));
  expect(watchers.every(({ ears }) => ears.frames.length === 1)).toBe(true);
  expect(frames.size).toBe(1);
  stays.end();
  for (const { end } of watchers) end();
  const { sessions, connections, watchers: left } = server.stats();
  expect([sessions, connections, left]).toEqual([0, 0, 0]);
  expect(server.peers()).toEqual([]);
});

function bySession(a: readonly unknown[], b: readonly unknown[]): number {
  return Number(a[0]) - Number(b[0]);
}

/** Lets everything that takes turns take them. */
async function settle({ platform }: SyncBench): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await platform.pause();
}

test("[S82] changes for many watchers are sent over several ticks, and later ones are combined", async () => {
  const changeBytes = 100_000;
  const bench = await openSyncServer({ limits: { changeBytes } });
  const watchers = Array.from({ length: 150 }, (_, i) => watching(bench.join(`w${i}`)));
  bench.tick(10);
  await settle(bench);
  const views = watchers.map((watcher) => new PresenceView().hear(watcher.rest()));
  const noisy = bench.join("noisy");
  bench.tick(10);
  await settle(bench);
  for (let round = 1; round <= sized(10, 40); round++) {
    noisy.say({ t: "metadata", metadata: { round, filler: "x".repeat(15_000) } });
    for (const watcher of watchers) watcher.isQueueing = true;
    bench.tick(10);
    await settle(bench);
    let sent = 0;
    for (const [i, watcher] of watchers.entries()) {
      sent += watcher.queuedBytes;
      watcher.queuedBytes = 0;
      watcher.isQueueing = false;
      views[i]?.hear(watcher.rest());
    }
    // What is told at once goes before anybody looks.
    expect(sent).toBeLessThan(changeBytes + 100 * 16_000);
  }
  for (let tick = 0; tick < 40; tick++) {
    bench.tick(10);
    await settle(bench);
  }
  for (const [i, view] of views.entries()) {
    view.hear(watchers[i]?.rest() ?? []);
    expect([view.total, view.peers.get(151)?.metadata["round"], view.lists]).toEqual([
      150,
      sized(10, 40),
      1,
    ]);
  }
});

test("[S82] the queue for watchers that do not read is bounded for all of them together", async () => {
  const limits = {
    unreadBytes: 400_000,
    changeBytes: 100_000,
    listBytes: 100_000,
    frameBytes: 20_000,
  };
  const bench = await openSyncServer({ limits });
  const watchers = Array.from({ length: 40 }, (_, i) => watching(bench.join(`w${i}`)));
  for (let tick = 0; tick < 5; tick++) bench.tick(10);
  await settle(bench);
  const views = watchers.map((watcher) => new PresenceView().hear(watcher.rest()));
  const noisy = Array.from({ length: 5 }, (_, i) => bench.join(`n${i}`));
  for (const watcher of watchers) watcher.isQueueing = true;
  for (let round = 1; round <= 100; round++) {
    const metadata = { round, filler: "x".repeat(5_000) };
    for (const peer of noisy) peer.say({ t: "metadata", metadata });
    bench.tick(10);
    await settle(bench);
  }
  const unread = watchers.map(({ queuedBytes }) => queuedBytes).reduce((a, b) => a + b, 0);
  const { unreadBytes, changeBytes, listBytes, frameBytes } = limits;
  const once = changeBytes + listBytes + 100 * 30_000;
  expect(unread).toBeLessThan(2 * unreadBytes + once + watchers.length * frameBytes);
  for (let tick = 0; tick < 100; tick++) {
    for (const [i, watcher] of watchers.entries()) {
      watcher.queuedBytes = 0;
      views[i]?.hear(watcher.rest());
      watcher.connection.drained();
    }
    bench.tick(10);
    await settle(bench);
  }
  for (const [i, view] of views.entries()) {
    view.hear(watchers[i]?.rest() ?? []);
    const rounds = noisy.map((_, n) => view.peers.get(41 + n)?.metadata["round"]);
    expect([view.total, rounds]).toEqual([44, [100, 100, 100, 100, 100]]);
  }
});
