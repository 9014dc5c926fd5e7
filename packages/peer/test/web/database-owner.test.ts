/**
 * The owner of a database: which worker runs the peer, if the owner answers late or never. Real
 * browsers show the rest (tabs.long.test.ts).
 */

import { BroadcastChannel } from "node:worker_threads";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { PAGE_PROTOCOL } from "../../src/web/messages.ts";
import {
  type Contender,
  isNewer,
  type Ownership,
  ownDatabase,
} from "../../src/web/worker/database-owner.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  // Another worker has the lock, and keeps it.
  vi.stubGlobal("navigator", { locks: { request: () => new Promise(() => {}) } });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

let count = 0;

/** What the channel of the owner receives, and an attempt of version 1.9.0 to become the owner. */
function attempt(): {
  readonly heard: { readonly kind: string; readonly asker: string }[];
  readonly answer: (owner: Contender) => void;
  readonly outcome: Promise<Ownership>;
} {
  const database = `bigpeer:app:${++count}`;
  const channel = new BroadcastChannel(database);
  onTestFinished(() => channel.close());
  const heard: { kind: string; asker: string }[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- its types have no other.
  channel.onmessage = ({ data }: { readonly data: { kind: string; asker: string } }): void => {
    heard.push(data);
  };
  const outcome = ownDatabase({
    database,
    self: { url: "/mine.js", version: "1.9.0" },
    onStepDown: () => Promise.resolve(),
  });
  outcome.catch(() => {});
  const answer = (owner: Contender): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is not a window.
    channel.postMessage({ kind: "owner", asker: heard[0]?.asker, owner });
  };
  return { heard, answer, outcome };
}

const OWNER = { url: "/owner.js", version: "1.9.0", protocol: PAGE_PROTOCOL };

test("an owner that is busy and answers late is found", async () => {
  const { heard, answer, outcome } = attempt();
  await vi.waitFor(() => expect(heard).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(12_000);
  answer(OWNER);
  expect(await outcome).toEqual({ kind: "moved", url: "/owner.js", protocol: PAGE_PROTOCOL });
  expect(heard.map(({ kind }) => kind)).toEqual(["who"]);
});

test("an owner that never answers is not called an older version", async () => {
  const { heard, outcome } = attempt();
  await vi.waitFor(() => expect(heard).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(29_000);
  await expect(outcome).rejects.toMatchObject({
    code: "store.in_use",
    message: expect.stringContaining("another tab does not answer"),
  });
});

test("an older owner is asked to finish, and not waited for without end", async () => {
  const { heard, answer, outcome } = attempt();
  await vi.waitFor(() => expect(heard).toHaveLength(1));
  answer({ ...OWNER, version: "1.8.12" });
  await vi.waitFor(() => expect(heard.map(({ kind }) => kind)).toEqual(["who", "stepDown"]));
  await vi.advanceTimersByTimeAsync(29_000);
  await expect(outcome).rejects.toMatchObject({
    code: "store.in_use",
    message: expect.stringContaining("an older version does not end"),
  });
});

test("versions compare by their three numbers", () => {
  expect(isNewer("1.10.0", "1.9.3")).toBe(true);
  expect(isNewer("1.9.3", "1.10.0")).toBe(false);
  expect(isNewer("2.0.0", "1.99.99")).toBe(true);
  expect(isNewer("1.2.4-beta.1", "1.2.3")).toBe(true);
  expect(isNewer("1.2.3-beta.1", "1.2.3")).toBe(false);
  expect(isNewer("1.2.3", "1.2.3")).toBe(false);
});
