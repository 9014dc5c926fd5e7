/**
 * A log that stops answering while requests are under way: their callers are answered in time, and
 * the requests are done once or not at all when it answers again.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { Replica } from "../../src/cluster/replica.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import type { IdempotencyKey } from "../../src/store/remembered-answer.ts";
import { lastUploadOf, takeUpload } from "../../src/store/taken-upload.ts";
import { MemoryReplicaStorage } from "../support/memory-replica-storage.ts";
import { SimulatedLog, StoppableLog } from "../support/simulated-log.ts";
import { SiteUploads } from "../support/site-uploads.ts";
import { seededRandom, testPlatform } from "../support/test-platform.ts";

const KEY: IdempotencyKey = { name: "a".repeat(64), digest: new Uint8Array(32).fill(1) };
const INCREMENT = "UPDATE COLLECTION c (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'a'";

/** A node over a log that the test stops, with a clock that the test moves. */
async function openNode(shared: SimulatedLog, node: string) {
  const clock = { ms: 0 };
  const platform = { ...testPlatform(node.charCodeAt(0)), elapsed: () => clock.ms };
  const log = new StoppableLog(shared);
  const storage = await MemoryReplicaStorage.on({ content: new Map(), position: undefined });
  const wait = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const replica = await Replica.open({ log, storage, platform, node, mayBegin: true, wait });
  const runner = new StatementRunner({ store: replica.store, platform, appId: "test" });
  return {
    log,
    replica,
    uploads: new SiteUploads(platform),
    execute: (statement: string, repeat?: IdempotencyKey) =>
      runner.execute({ statement, ...(repeat && { repeat }) }),
    /** The counter of the document `a`. */
    counted: async () => {
      const { items } = await runner.execute({ statement: "SELECT n FROM c" });
      return items;
    },
    pass: (ms: number) => {
      clock.ms += ms;
      replica.tick();
    },
  };
}

async function openNodes() {
  const shared = new SimulatedLog(seededRandom(1), { lost: 0, forgotten: 0 });
  const [a, b] = [await openNode(shared, "a"), await openNode(shared, "b")];
  await a.replica.evaluate();
  await a.execute("INSERT INTO COLLECTION c (n COUNTER) DOCUMENTS ({ '_id': 'a', 'n': 0 })");
  return { shared, a, b };
}

async function codeOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return "done";
  } catch (error) {
    return error instanceof PeerError ? error.code : String(error);
  }
}

/** Lets everything run that does not wait for time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

test("a write under way when the log stops answering is answered in time, and is done once afterwards", async () => {
  const { shared, a, b } = await openNodes();
  shared.isDown = true;
  const first = codeOf(a.execute(INCREMENT, KEY));
  await settle();
  // It waits behind the first one.
  const second = codeOf(a.execute(INCREMENT));
  const answers: string[] = [];
  for (const each of [first, second]) void each.then((code) => answers.push(code));
  a.pass(9_000);
  await settle();
  expect(answers).toEqual([]);
  expect(await codeOf(a.execute(INCREMENT))).toBe("store.busy");
  a.pass(1_500);
  await settle();
  expect(answers).toEqual(["cluster.unanswered", "cluster.unanswered"]);
  expect(await codeOf(a.execute(INCREMENT, KEY))).toBe("store.busy");

  shared.isDown = false;
  await settle();
  expect(await a.execute(INCREMENT, KEY)).toMatchObject({ isReplay: true });
  expect(await a.counted()).toEqual([{ n: 2 }]);
  await b.replica.store.whenReached(a.replica.store.txnId).promise;
  expect(await b.counted()).toEqual([{ n: 2 }]);
});

test("a write under way that another node overtakes is not done, and its retry there is", async () => {
  const { a, b } = await openNodes();
  const wake = a.log.stop();
  const asked = codeOf(a.execute(INCREMENT, KEY));
  await settle();
  a.pass(11_000);
  expect(await asked).toBe("cluster.unanswered");
  expect(await b.replica.evaluate()).toBe(true);
  expect(await b.execute(INCREMENT, KEY)).not.toHaveProperty("isReplay");
  wake();
  await a.replica.store.whenReached(b.replica.store.txnId).promise;
  expect(await a.counted()).toEqual([{ n: 1 }]);
  expect(await codeOf(a.execute(INCREMENT, KEY))).toBe("cluster.elsewhere");
});

test("an upload under way is answered in time, and is recognised when the peer sends it again", async () => {
  const { shared, a } = await openNodes();
  const edits = [{ kind: "increment" as const, path: ["n"], by: 1 }];
  const upload = a.uploads.next({ kind: "update", collection: "c", id: "a", edits });
  shared.isDown = true;
  const asked = codeOf(takeUpload(a.replica.store, upload));
  await settle();
  a.pass(11_000);
  expect(await asked).toBe("cluster.unanswered");
  shared.isDown = false;
  await settle();
  expect(lastUploadOf(a.replica.store, upload.site)).toBe(1);
  expect(await takeUpload(a.replica.store, upload)).toMatchObject({
    kind: "taken",
    isReplay: true,
  });
  expect(await a.counted()).toEqual([{ n: 1 }]);
});

test("a node does not confirm that it evaluates, nor say that nothing matched, without the log", async () => {
  const { shared, a } = await openNodes();
  shared.isDown = true;
  const asked = [
    codeOf(a.replica.confirm()),
    codeOf(a.execute("DELETE FROM c WHERE _id = 'absent'")),
  ];
  await settle();
  a.pass(11_000);
  expect(await Promise.all(asked)).toEqual(["cluster.unanswered", "cluster.unanswered"]);
  // Reads of what the node has go on.
  expect(await a.counted()).toEqual([{ n: 0 }]);
  shared.isDown = false;
  await settle();
  expect(await a.replica.confirm()).toMatchObject({ writer: expect.stringMatching(/^a\./) });
});
