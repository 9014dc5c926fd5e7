/**
 * A cluster of real processes whose nodes are replaced by the next version one after the other, while
 * clients and peers write: two versions work together, and the next one writes its new format of log
 * entries only when no old node is left.
 */

import { NEWEST_ENTRY_FORMAT } from "@bigpeer/engine/cluster";
import { decodeCbor, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { ClusterNode } from "../../../../prove/cluster/cluster-processes.mjs";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { openPeer, type Peer } from "../../../peer/src/index.ts";
import { REGISTRY_STORE } from "../../src/stores/stores.ts";
import { TestCluster } from "./support/cluster-process.ts";
import { connectTo, openLogs } from "./support/nats-cluster.ts";
import {
  makeNextVersion,
  NEXT_ENTRY_FORMAT,
  NEXT_VERSION,
  THIS_PROGRAM,
} from "./support/next-version.ts";
import { expectDoneOnce, expectMore, RetryingLoad } from "./support/retrying-load.ts";
import { eventually } from "./support/running-cluster.ts";

/** Between two nodes that are replaced. */
const REQUESTS = 60;

const PEER_WRITE_MS = 250;

/** The formats of all entries of a log from the first one on, also of those that are trimmed later. */
class FormatWatch {
  readonly #formats = new Map<number, number>();

  static async start(cluster: TestCluster, store: string): Promise<FormatWatch> {
    const connection = await connectTo(cluster.processes.nats);
    const logs = await openLogs(connection, { cluster: "bigpeer", streams: 16 });
    const watch = new FormatWatch();
    const tail = logs.log(store).follow(0);
    const reading = (async () => {
      for await (const { sequence, bytes } of tail) watch.#note(sequence, bytes);
    })();
    onTestFinished(async () => {
      tail.close();
      await reading;
    });
    return watch;
  }

  #note(sequence: number, bytes: Uint8Array): void {
    const { format } = decodeCbor(bytes) as { readonly format: number };
    this.#formats.set(sequence, format);
  }

  /** The last entry so far. */
  get end(): number {
    return Math.max(...this.#formats.keys());
  }

  /** Those of the entries up to this one. */
  until(sequence: number): Set<number> {
    const entries = [...this.#formats].filter(([each]) => each <= sequence);
    return new Set(entries.map(([, format]) => format));
  }

  /** That of the last entry so far. */
  get last(): number | undefined {
    return this.#formats.get(this.end);
  }
}

/** A peer in memory that adds to a counter of its own all the time. */
class WritingPeer {
  readonly name: string;
  readonly #peer: Peer;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<unknown>;
  count = 0;

  private constructor(name: string, peer: Peer) {
    this.name = name;
    this.#peer = peer;
    const counter = { _id: name, n: 0 };
    const statement = "INSERT INTO COLLECTION totals (n COUNTER) DOCUMENTS (:counter)";
    this.#writing = peer.store.execute(statement, { counter });
    this.#timer = setInterval(() => this.#write(), PEER_WRITE_MS);
    onTestFinished(async () => {
      clearInterval(this.#timer);
      await peer.close();
    });
  }

  static async connect(cluster: TestCluster, node: ClusterNode): Promise<WritingPeer> {
    const { appId, apiKey: token } = cluster.quickstart;
    const deviceName = `peer-${node.name}`;
    const peer = await openPeer({ appId, url: node.clientUrl, token, memory: true, deviceName });
    peer.sync.start();
    return new WritingPeer(deviceName, peer);
  }

  #write(): void {
    this.count++;
    const statement = "UPDATE COLLECTION totals (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = :id";
    const write = (): Promise<unknown> => this.#peer.store.execute(statement, { id: this.name });
    this.#writing = this.#writing.then(write);
  }

  /** Writes nothing more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
  }
}

/** Every write of a peer is done once on every node. */
async function expectSentOnce(cluster: TestCluster, { name, count }: WritingPeer): Promise<void> {
  expect(count).toBeGreaterThan(10);
  for (const node of cluster.nodes) {
    await eventually(async () => {
      const query = "SELECT n FROM totals WHERE _id = :name";
      const { items } = await cluster.execute(node, query, { name });
      expect(items, node.name).toEqual([{ n: count }]);
    });
  }
}

const MANAGEMENT = "/namespace/default/bigPeer/big-peer";

/** What a node says of each node. */
async function versionsAt({ managementUrl }: ClusterNode): Promise<Value[]> {
  const answer = await fetch(`${managementUrl}${MANAGEMENT}/cluster`);
  const { nodes } = (await answer.json()) as {
    nodes: { version: string; entryFormat: number; isAlive: boolean }[];
  };
  return nodes.map(({ version, entryFormat, isAlive }) => ({ version, entryFormat, isAlive }));
}

/** An entry in the log of the registry. */
async function createApp({ managementUrl }: ClusterNode, name: string): Promise<void> {
  const answer = await fetch(`${managementUrl}${MANAGEMENT}/app`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name }),
  });
  expect(answer.status, await answer.text()).toBe(200);
}

test("a cluster is upgraded node by node under load: nothing is lost or done twice, and the format of the log changes with the last node", async () => {
  const next = makeNextVersion(temporaryFolder());
  const cluster = await TestCluster.start();
  const app = await FormatWatch.start(cluster, cluster.appId);
  const registry = await FormatWatch.start(cluster, REGISTRY_STORE);
  const peers = await Promise.all(cluster.nodes.map((node) => WritingPeer.connect(cluster, node)));
  const load = new RetryingLoad(cluster);
  await expectMore(load, REQUESTS);

  const nodes = [cluster.evaluator, ...cluster.followers];
  const [first, second, last] = nodes as [ClusterNode, ClusterNode, ClusterNode];
  let mixedEnds: [app: number, registry: number] = [0, 0];
  for (const node of [first, second, last]) {
    expect(await node.stop()).toBe(0);
    mixedEnds = [app.end, registry.end];
    node.replaceProgram(next);
    await node.startUntilReady();
    await createApp(node, `of-${node.name}`);
    await expectMore(load, REQUESTS);
  }

  // Old nodes were there until then, or could have come back.
  expect(Math.max(...app.until(mixedEnds[0]))).toBe(NEWEST_ENTRY_FORMAT);
  expect(Math.max(...registry.until(mixedEnds[1]))).toBe(NEWEST_ENTRY_FORMAT);
  await eventually(() => expect(app.last).toBe(NEXT_ENTRY_FORMAT));
  await createApp(first, "later");
  await eventually(() => expect(registry.last).toBe(NEXT_ENTRY_FORMAT));
  const upgraded = { version: NEXT_VERSION, entryFormat: NEXT_ENTRY_FORMAT, isAlive: true };
  expect(await versionsAt(first)).toEqual([upgraded, upgraded, upgraded]);

  await load.stop();
  await Promise.all(peers.map((peer) => peer.stop()));
  await expectDoneOnce(cluster, load);
  expect(load.done.some(({ isSecondAttempt }) => isSecondAttempt)).toBe(true);
  for (const peer of peers) await expectSentOnce(cluster, peer);

  // A node that goes back says why it cannot, and loses nothing by the attempt.
  expect(await last.stop()).toBe(0);
  await createApp(first, "meanwhile");
  last.replaceProgram(THIS_PROGRAM);
  await last.start();
  await expect(last.ready()).rejects.toThrow("ended with 1");
  await eventually(() => {
    const formats = `format ${NEXT_ENTRY_FORMAT}, this node reads up to ${NEWEST_ENTRY_FORMAT}`;
    expect(last.log()).toContain(`has entries of ${formats}: upgrade this node`);
  });
  last.replaceProgram(next);
  await last.startUntilReady();
  await expectDoneOnce(cluster, load);
});
