/**
 * The attachments of a browser before their code is there. Real browsers show the rest
 * (attachments.long.test.ts).
 */

import { PeerStore } from "@bigpeer/engine/peer";
import { MemoryKeyValue } from "@bigpeer/engine/store";
import { expect, onTestFinished, test, vi } from "vitest";
import type { AttachmentCall, AttachmentTransfers } from "../../src/host/attachment-transfers.ts";
import type { PeerHost } from "../../src/host/peer-host.ts";
import { nodeHost } from "../../src/node/node-host.ts";
import { LateAttachments } from "../../src/web/late-attachments.ts";
import { LazyCode, type OpenWebAttachments } from "../../src/web/lazy-code.ts";

const WANTED = { id: "a".repeat(43), len: 1 };

/** Attachments whose code comes when the test says so. */
async function newRig() {
  const peerStore = await PeerStore.open(new MemoryKeyValue(), nodeHost.platform, { appId: "a" });
  onTestFinished(() => peerStore.store.close());
  const loads: { readonly come: () => void; readonly fail: () => void }[] = [];
  const calls: AttachmentCall[] = [];
  const ended = vi.fn<() => void>();
  const prefetched = vi.fn<(query: string) => void>();
  const opened: AttachmentTransfers = {
    fields: {},
    forPage: () => ({ call: async (call) => void calls.push(call), close: () => {} }),
    setActive: async () => {},
    connected: () => {},
    maintain: async () => {},
    prefetch: (query) => {
      prefetched(query);
      return ended;
    },
    close: async () => {},
  };
  const code = new LazyCode<OpenWebAttachments>({
    name: "attachments",
    isNeeded: () => true,
    load: () =>
      new Promise((resolve, reject) => {
        const fail = (): void => reject(new Error("Failed to fetch"));
        loads.push({ come: () => resolve(async () => opened), fail });
      }),
  });
  const onError = vi.fn<(error: unknown) => void>();
  const options = { appId: "a", baseUrl: "http://127.0.0.1:1" };
  const token = { get: async () => "t", forget: () => {} };
  const parts = { options, place: {}, peerStore, token, onError };
  const late = new LateAttachments(parts, {} as PeerHost, code);
  return { late, loads, calls, prefetched, ended, onError };
}

test("a page that is gone before the code is there fetches nothing", async () => {
  const { late, loads, calls } = await newRig();
  const page = { piece: async () => undefined, progress: () => {} };
  const [gone, open] = [late.forPage(page), late.forPage(page)];
  const fetching = [gone, open].map((each, fetch) =>
    each.call({ kind: "fetch", fetch, wanted: WANTED }),
  );
  gone.close();
  loads[0]?.come();
  await Promise.all(fetching);
  expect(calls.map((each) => "fetch" in each && each.fetch)).toEqual([1]);
});

test("a subscription with prefetch whose code cannot be loaded has it loaded at the next connection", async () => {
  const { late, loads, prefetched, ended, onError } = await newRig();
  const end = late.prefetch("SELECT * FROM a", {}, { prefetch: true });
  late.prefetch("SELECT * FROM b", {}, { prefetch: true })?.();
  loads[0]?.fail();
  await vi.waitFor(() => expect(onError).toHaveBeenCalled());
  late.connected("user");
  await vi.waitFor(() => expect(loads).toHaveLength(2));
  loads[1]?.come();
  await vi.waitFor(() => expect(prefetched.mock.calls).toEqual([["SELECT * FROM a"]]));
  late.connected("user");
  await late.maintain();
  expect([prefetched.mock.calls.length, ended.mock.calls.length]).toEqual([1, 0]);
  end?.();
  expect(ended).toHaveBeenCalledTimes(1);
});
