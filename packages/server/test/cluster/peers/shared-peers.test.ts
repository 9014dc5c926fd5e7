/**
 * Peers that nodes of a cluster share: what each node lists of the others, over a bus that loses
 * and reorders messages, and which node records devices.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { PresenceView } from "../../../../engine/test/support/presence-view.ts";
import type { SyncClient } from "../../../../engine/test/support/sync-client.ts";
import { seededRandom } from "../../../../engine/test/support/test-platform.ts";
import { isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { APP, type PeerNodeBench, PeerNodes } from "../support/peer-nodes.ts";

async function startThree(nodes: PeerNodes): Promise<PeerNodeBench[]> {
  const all = [await nodes.start("n1"), await nodes.start("n2"), await nodes.start("n3")];
  await nodes.pass();
  return all;
}

describe("nodes list the peers of all nodes", () => {
  test("a peer that connects, changes and leaves is known at once", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    const a = one?.join("a", "full", { floor: 1 });
    two?.join("b");
    await nodes.settle();
    expect(one?.keys()).toEqual(["a", "b"]);
    expect(two?.keys()).toEqual(["a", "b"]);
    a?.say({ t: "metadata", metadata: { floor: 2 } });
    await nodes.pass(2);
    expect(two?.sync.server.peers()[0]?.description.metadata).toEqual({ floor: 2 });
    a?.connection.closed();
    await nodes.settle();
    expect(two?.keys()).toEqual(["b"]);
  });

  test("a node that opens the app later reads the peers that were there", async () => {
    const nodes = new PeerNodes();
    const one = await nodes.start("n1");
    const two = await nodes.start("n2");
    const metadata = { text: "x".repeat(10_000) };
    for (let i = 0; i < 100; i++) one.join(`a${i}`, "full", metadata);
    two.join("b");
    await nodes.settle();
    nodes.bus.lost = 1;
    const three = await nodes.start("n3");
    expect(three.keys()).toHaveLength(101);
    expect(nodes.bus.largest).toBeLessThan(300 * 1024);
  });

  test("subscriptions, progress and traffic of a peer are brought up to date", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    const a = one?.join("a");
    await nodes.settle();
    a?.say({ t: "subscribe", id: 1, query: "SELECT * FROM cars", args: {} });
    await nodes.pass(12);
    const [report] = two?.sync.server.peers() ?? [];
    expect(report?.subscriptions).toMatchObject([{ query: "SELECT * FROM cars" }]);
    expect(report?.traffic.framesIn).toBe(one?.sync.server.peers()[0]?.traffic.framesIn);
    expect(report?.traffic.heardMs).toBeGreaterThanOrEqual(11_000);
  });

  test("a last message that is lost is made up for, though no other follows", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    const a = one?.join("a");
    await nodes.settle();
    nodes.bus.lost = 1;
    a?.connection.closed();
    await nodes.settle();
    nodes.bus.lost = 0;
    expect(two?.keys()).toEqual(["a"]);
    await nodes.pass(6);
    expect(two?.keys()).toEqual([]);
  });

  test.each([1, 2, 3])("lost and reordered messages are made up for: seed %i", async (seed) => {
    const nodes = new PeerNodes(seed);
    const random = seededRandom(seed);
    const all = await startThree(nodes);
    const clients: SyncClient[] = [];
    nodes.bus.lost = 0.3;
    nodes.bus.late = 0.3;
    const stepCount = sized(200, 1_000);
    for (let i = 0; i < stepCount; i++) {
      const kind = random.below(4);
      if (kind < 2) {
        const joined = all[random.below(3)]?.join(`k${random.below(20)}`);
        if (joined !== undefined) clients.push(joined);
      } else if (kind === 2) {
        for (const client of clients.splice(random.below(clients.length + 1), 1)) {
          client.connection.closed();
        }
      } else await nodes.pass(random.below(2));
      if (random.below(5) === 0) await nodes.settle();
    }
    nodes.bus.lost = 0;
    await nodes.pass(12);
    const lists = all.map(({ sync }) => sync.server.peers().map(({ session }) => session));
    expect(lists[1]).toEqual(lists[0]);
    expect(lists[2]).toEqual(lists[0]);
    expect(new Set(lists[0]).size).toBe(lists[0]?.length);
    for (const { sync } of all) expect(sync.faults).toEqual([]);
  });
});

describe("nodes that come and go", () => {
  test("[W12] a node that died loses its peers, and one that is only unreachable does not", async () => {
    const nodes = new PeerNodes();
    const [one, two, three] = await startThree(nodes);
    one?.join("a");
    two?.join("b");
    await nodes.settle();
    nodes.unreachable.add("n1");
    nodes.bus.lost = 1;
    await nodes.pass(40);
    expect(three?.keys()).toEqual(["a", "b"]);
    nodes.dead.add("n1");
    await nodes.pass();
    expect(three?.keys()).toEqual(["b"]);
    expect(two?.keys()).toEqual(["b"]);
  });

  test("peers of a node that was started again are those of its new life", async () => {
    const nodes = new PeerNodes();
    const [, two] = await startThree(nodes);
    const one = await nodes.start("n1");
    one.join("c");
    await nodes.pass(2);
    expect(two?.keys()).toEqual(["c"]);
  });

  test("an app that is closed on a node has no peers there", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    one?.join("a");
    await nodes.settle();
    expect(two?.keys()).toEqual(["a"]);
    one?.peers.closing(APP);
    expect(two?.keys()).toEqual([]);
  });
});

describe("presence", () => {
  test("[W12] a watcher sees peers of other nodes, and of two connections the newest", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    const watcher = one?.watch("w");
    const first = two?.join("a");
    await nodes.pass(2);
    const view = new PresenceView();
    expect(view.hear(watcher?.rest() ?? []).keys).toEqual(["a"]);
    expect(view.total).toBe(1);
    await nodes.pass();
    const [before] = view.peers.keys();
    // The same peer connects to another node: its former connection is not closed yet.
    one?.join("a");
    await nodes.pass(2);
    view.hear(watcher?.rest() ?? []);
    expect(view.keys).toEqual(["a"]);
    expect(view.peers.keys().next().value).not.toBe(before);
    first?.connection.closed();
    await nodes.pass(2);
    expect(view.hear(watcher?.rest() ?? []).keys).toEqual(["a"]);
  });
});

describe("device records", () => {
  test("[W12] only a node that evaluates records, and only when it knows the peers of all nodes", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    two?.join("b");
    await nodes.settle();
    if (one === undefined) throw new Error("expected a node");
    const term = (): number | undefined => one.peers.recordingTerm(one.app);
    expect(term()).toBeUndefined();
    nodes.isComplete = false;
    one.role.isFollowing = false;
    expect(term()).toBeUndefined();
    nodes.isComplete = true;
    expect(term()).toBe(1);
    // A node that cannot be heard for a while does not end it.
    nodes.isComplete = false;
    expect(term()).toBe(1);
    nodes.isComplete = true;
    one.peers.roleChanged(APP);
    expect(term()).toBe(2);
    one.role.isFollowing = true;
    expect(term()).toBeUndefined();
  });

  test("[W12] the evaluating node has the app open while other nodes have peers of it", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    if (one === undefined) throw new Error("expected a node");
    one.role.isFollowing = false;
    nodes.evaluator = "n1";
    const b = two?.join("b");
    await nodes.pass(2);
    expect(Array.from(nodes.holders)).toEqual(["n1"]);
    b?.connection.closed();
    await nodes.pass(2);
    expect(nodes.holders.size).toBe(0);
    // The app is closed there for some reason: a node with peers has it opened.
    one.peers.closing(APP);
    two?.join("c");
    await nodes.pass(6);
    expect(nodes.openers).toContain("n1");
  });

  test.runIf(isFullSize)(
    "[W12] a node that cannot read the peers of another one does not begin to record",
    async () => {
      const nodes = new PeerNodes();
      const two = await nodes.start("n2");
      two.join("b");
      nodes.unreachable.add("n2");
      nodes.bus.lost = 1;
      const one = await nodes.start("n1");
      one.role.isFollowing = false;
      await nodes.pass(3);
      expect(one.peers.recordingTerm(one.app)).toBeUndefined();
      nodes.unreachable.clear();
      await nodes.pass(1);
      expect(one.peers.recordingTerm(one.app)).toBe(1);
      expect(one.keys()).toEqual(["b"]);
    },
  );
});

describe("statements and explanations for peers of other nodes", () => {
  const run = {
    statement: "SELECT 1",
    args: {},
    ms: 1_000,
    rows: 10,
    bytes: 10_000,
    allBytes: 10_000,
  };

  function answer(client: SyncClient | undefined, id: number, items: ValueObject[]): void {
    const end = { elapsedMs: 3, warnings: [], totalWarnings: 0 };
    client?.say({ t: "answer", id, items, end });
  }

  async function startRun(allBytes = run.allBytes) {
    const nodes = new PeerNodes();
    const [one, two, three] = await startThree(nodes);
    const clients = [one?.join("a"), two?.join("b"), three?.join("c")];
    await nodes.settle();
    if (three === undefined) throw new Error("expected a node");
    const { server } = three.sync;
    const sessions = server.peers().map(({ session }) => session);
    const running = three.peers.run(APP, server, sessions, { ...run, allBytes });
    await nodes.settle();
    return { nodes, clients, running, sessions };
  }

  test("[R11] answers of all nodes come in the order of the sessions", async () => {
    const { clients, running, sessions } = await startRun();
    for (const [i, client] of clients.entries()) {
      answer(client, (await client?.next("run"))?.id ?? 0, [{ i }]);
    }
    const answers = await running.done;
    expect(answers.map(({ session }) => session)).toEqual(sessions);
    expect(answers.map(({ items }) => items)).toEqual([[{ i: 0 }], [{ i: 1 }], [{ i: 2 }]]);
  });

  test("[R11] a caller that leaves cancels the statement on all nodes", async () => {
    const { nodes, clients, running } = await startRun();
    const [a, b] = clients;
    answer(a, (await a?.next("run"))?.id ?? 0, []);
    await b?.next("run");
    await nodes.settle();
    running.cancel();
    await b?.next("cancel");
    const codes = (await running.done).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, "query.timeout", "query.timeout"]);
  });

  test("[R11] the largest answers of all nodes together are dropped beyond the limit", async () => {
    const { clients, running } = await startRun(1_000);
    const sizes = [300, 800, 300];
    for (const [i, client] of clients.entries()) {
      const text = "x".repeat(sizes[i] ?? 0);
      answer(client, (await client?.next("run"))?.id ?? 0, [{ text }]);
    }
    const codes = (await running.done).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, "query.too_large", undefined]);
  });

  test("[R11] a node that is lost loses the answers of its peers alone", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    const a = one?.join("a");
    two?.join("b");
    await nodes.settle();
    nodes.unreachable.add("n2");
    const server = one?.sync.server;
    if (one === undefined || server === undefined) throw new Error("expected a node");
    const sessions = server.peers().map(({ session }) => session);
    const running = one.peers.run(APP, server, sessions, run);
    answer(a, (await a?.next("run"))?.id ?? 0, []);
    const codes = (await running.done).map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, "remote.lost"]);
  });

  test("[W12] the node of a peer explains what it has", async () => {
    const nodes = new PeerNodes();
    const [one, two] = await startThree(nodes);
    two?.join("b");
    await nodes.settle();
    const request = { collection: "cars", id: "c1", peerKey: "b" };
    const rows = await one?.peers.explain(APP, request);
    expect(rows).toMatchObject([{ peer: { peerKeyString: "b" }, verdict: "no_such_document" }]);
    expect(one?.peers.explain(APP, { ...request, peerKey: "x" })).toBeUndefined();
  });
});
