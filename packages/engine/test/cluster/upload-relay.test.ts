/**
 * The relay of uploads: what a session sends is applied in its order, wherever the app is evaluated.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import {
  type RelayedAnswer,
  type RelayedUpload,
  relayedAnswers,
  UploadRelay,
} from "../../src/cluster/upload-relay.ts";
import type { Channel } from "../../src/platform.ts";
import type { Store } from "../../src/store/store.ts";
import type { UploadAnswer } from "../../src/store/upload.ts";

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

function defer<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, "promise"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...(settle as Omit<Deferred<T>, "promise">) };
}

interface Batch extends Deferred<readonly RelayedAnswer[]> {
  readonly numbers: readonly number[];
}

const CHANNEL = { send: () => undefined, close: () => undefined, queuedBytes: 0 } as Channel;

function uploadOf(number: number, size = 100, channel = CHANNEL): RelayedUpload {
  const upload = { site: "a", number, digest: new Uint8Array(32), steps: [] };
  return { upload, check: () => undefined as never, credential: "ann", channel, size };
}

function takenAt(txnId: number): UploadAnswer {
  const record = { digest: new Uint8Array(32), txnId, outcome: "applied", reason: "" } as const;
  return { kind: "taken", record, isReplay: false, documents: [] };
}

function elsewhere(): PeerError {
  return new PeerError("cluster.elsewhere", "another node evaluates");
}

/** A node with a store whose answers the test gives, and the batches that it sends to another. */
class RelayNode {
  isFollowing = true;
  readonly here: Deferred<UploadAnswer>[] = [];
  readonly awaited: number[] = [];
  readonly batches: Batch[] = [];
  readonly relay: UploadRelay<RelayedUpload>;

  constructor() {
    const isFollowing = (): boolean => this.isFollowing;
    const store = {
      get isFollowing() {
        return isFollowing();
      },
    };
    this.relay = new UploadRelay({
      store: store as unknown as Store,
      take: () => {
        const answer = defer<UploadAnswer>();
        this.here.push(answer);
        return answer.promise;
      },
      relay: (uploads) => {
        const numbers = uploads.map(({ upload }) => upload.number);
        const batch = { numbers, ...defer<readonly RelayedAnswer[]>() };
        this.batches.push(batch);
        return batch.promise;
      },
      reached: async (txnId) => void this.awaited.push(txnId),
    });
  }

  upload(...numbers: readonly number[]): Promise<UploadAnswer>[] {
    return numbers.map((number) => this.relay.upload(uploadOf(number)));
  }

  get sent(): (readonly number[])[] {
    return this.batches.map(({ numbers }) => numbers);
  }
}

test("[S25] what arrives while a batch is on its way to the evaluating node is the next batch", async () => {
  const node = new RelayNode();
  const [first] = node.upload(1);
  const [second, third] = node.upload(2, 3);
  expect(node.sent).toEqual([[1]]);
  node.batches[0]?.resolve([takenAt(7)]);
  expect(await first).toEqual(takenAt(7));
  expect(node.sent).toEqual([[1], [2, 3]]);
  node.batches[1]?.resolve([takenAt(8), { kind: "unknown_site", known: 2 }]);
  expect(await second).toEqual(takenAt(8));
  expect(await third).toEqual({ kind: "unknown_site", known: 2 });
  expect(node.awaited).toEqual([7, 8]);
});

test("sessions do not wait for each other", () => {
  const node = new RelayNode();
  void node.relay.upload(uploadOf(1));
  void node.relay.upload(uploadOf(5, 100, { ...CHANNEL }));
  expect(node.sent).toEqual([[1], [5]]);
});

test("what a deposed node has refused goes before what its session sent later", async () => {
  const node = new RelayNode();
  node.isFollowing = false;
  const [first, second] = node.upload(1, 2);
  node.isFollowing = true;
  const [third] = node.upload(3);
  expect(node.sent).toEqual([]);
  node.here[1]?.reject(elsewhere());
  node.here[0]?.reject(elsewhere());
  await expect.poll(() => node.sent).toEqual([[1, 2, 3]]);
  node.batches[0]?.resolve([takenAt(1), takenAt(2), takenAt(3)]);
  expect(await Promise.all([first, second, third])).toEqual([1, 2, 3].map(takenAt));
});

test("an evaluating node applies uploads itself, and reports what its store throws", async () => {
  const node = new RelayNode();
  node.isFollowing = false;
  const [first, second] = node.upload(1, 2);
  node.here[0]?.resolve(takenAt(4));
  node.here[1]?.reject(new PeerError("store.full", "the disk is full"));
  expect(await first).toEqual(takenAt(4));
  await expect(second).rejects.toThrow("the disk is full");
  expect(node.sent).toEqual([]);
});

test("if no node evaluates, all uploads of the session that wait are rejected", async () => {
  const node = new RelayNode();
  const answers = node.upload(1, 2, 3);
  node.batches[0]?.reject(new PeerError("store.busy", "no node evaluates"));
  for (const answer of answers) await expect(answer).rejects.toThrow("no node evaluates");
  expect(node.sent).toEqual([[1]]);
});

test("a batch has at most 4 MiB, or a single upload", async () => {
  const node = new RelayNode();
  const sizes = [1, 3_000_000, 1_000_000, 1_000_000, 9_000_000, 1];
  const answers = sizes.map((size, i) => node.relay.upload(uploadOf(i + 1, size)));
  for (let i = 0; i < 5; i++) {
    await expect.poll(() => node.batches.length).toBe(i + 1);
    node.batches[i]?.resolve((node.sent[i] ?? []).map(takenAt));
  }
  await Promise.all(answers);
  expect(node.sent).toEqual([[1], [2, 3], [4], [5], [6]]);
});

test("the evaluating node answers each upload, and none if it has been deposed", async () => {
  const full = Promise.reject(new PeerError("store.full", "the disk is full"));
  expect(await relayedAnswers([Promise.resolve(takenAt(1)), full])).toEqual([
    takenAt(1),
    { kind: "failed", code: "store.full", message: "the disk is full" },
  ]);
  const deposed = [Promise.resolve(takenAt(1)), Promise.reject(elsewhere())];
  await expect(relayedAnswers(deposed)).rejects.toThrow("another node evaluates");
});

test("an upload that the evaluating node could not apply fails with its error", async () => {
  const node = new RelayNode();
  const [answer] = node.upload(1);
  node.batches[0]?.resolve([{ kind: "failed", code: "clock.ahead", message: "its clock" }]);
  await expect(answer).rejects.toMatchObject({ code: "clock.ahead" });
});
