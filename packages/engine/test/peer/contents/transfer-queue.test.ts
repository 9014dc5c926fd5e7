/**
 * Transfers run a few at a time; one that failed waits, and takes no time of the processor meanwhile.
 */

import { expect, test } from "vitest";
import type { Cancel } from "../../../src/peer/contents/cancel.ts";
import { type Transfer, TransferQueue } from "../../../src/peer/contents/transfer-queue.ts";
import { testPlatform } from "../../support/test-platform.ts";

test("a failed transfer that is due but finds no place sets no timer: the next one that ends looks again", async () => {
  const ends: (() => void)[] = [];
  const wakes: (() => void)[] = [];
  const platform = { ...testPlatform(), elapsed: () => 0 };
  const begun: string[] = [];
  const transferOf = (id: string): Transfer => ({
    id,
    run: async () => {
      begun.push(id);
      if (id === "failing") return { isDone: false, hadProgress: false };
      await new Promise<void>((resolve) => ends.push(resolve));
      return { isDone: true };
    },
  });
  const wanted: Transfer[] = [transferOf("failing")];
  const queue = new TransferQueue({
    platform,
    wakeIn: (_, wake) => {
      wakes.push(wake);
      return () => {};
    },
    wanted: () => wanted,
    atOnceMax: 1,
    onError: () => {},
  });
  queue.start();
  await expect.poll(() => wakes.length).toBe(1);
  wanted.unshift(transferOf("first"));
  queue.hurry();
  await expect.poll(() => begun).toEqual(["failing", "first"]);
  const before = wakes.length;
  queue.look();
  queue.look();
  expect(wakes.length).toBe(before);
  wanted.shift();
  ends[0]?.();
  await expect.poll(() => begun).toEqual(["failing", "first", "failing"]);
});

test("a transfer that was cancelled has not failed: it begins at once when it is wanted again", async () => {
  const platform = { ...testPlatform(), elapsed: () => 0 };
  const begun: Cancel[] = [];
  const transfer: Transfer = {
    id: "one",
    run: async (cancel) => {
      begun.push(cancel);
      await new Promise<void>((resolve) => cancel.onCancel(resolve));
      return { isDone: false, hadProgress: false };
    },
  };
  const wanted: Transfer[] = [];
  const queue = new TransferQueue({
    platform,
    wakeIn: () => () => {},
    wanted: () => wanted,
    atOnceMax: 1,
    onError: () => {},
  });
  queue.start();
  for (let i = 1; i <= 3; i++) {
    wanted.push(transfer);
    queue.look();
    await expect.poll(() => begun.length).toBe(i);
    wanted.pop();
    queue.cancel("one");
    await expect.poll(() => queue.runningCount).toBe(0);
  }
});

test("a stop waits for what ran at that time, also if the queue is started again meanwhile", async () => {
  const begun: Cancel[] = [];
  const transfer: Transfer = {
    id: "one",
    run: async (cancel) => {
      begun.push(cancel);
      await new Promise<void>((resolve) => cancel.onCancel(resolve));
      return { isDone: false, hadProgress: false };
    },
  };
  const queue = new TransferQueue({
    platform: { ...testPlatform(), elapsed: () => 0 },
    wakeIn: () => () => {},
    wanted: () => [transfer],
    atOnceMax: 1,
    onError: () => {},
  });
  queue.start();
  await expect.poll(() => begun.length).toBe(1);
  const stopped = queue.stop();
  queue.start();
  await stopped;
  await expect.poll(() => begun.length).toBe(2);
  expect(begun.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
});
