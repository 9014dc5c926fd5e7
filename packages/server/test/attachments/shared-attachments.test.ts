/**
 * The attachments of an app on a node of a cluster.
 */

import { existsSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { attachmentOf } from "@bigpeer/engine/store";
import { createStore } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { Attachment } from "../../src/attachments/attachment-files.ts";
import { AttachmentFolder, type AttachmentNodes } from "../../src/attachments/attachment-folder.ts";
import { idOf } from "../support/attachment-client.ts";

const content = Buffer.from("hello");
const attachment: Attachment = { id: idOf(content), len: content.length };

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A node, and what it has done with the others. */
async function openNode(changes: Partial<AttachmentNodes> = {}) {
  const parent = temporaryFolder();
  const stored = await createStore(join(parent, "store"), testHost());
  const { store } = stored;
  onTestFinished(() => stored.close());
  const calls: string[] = [];
  const nodes: AttachmentNodes = {
    push: async (_, path) => void calls.push(`push ${readFileSync(path, "utf8")}`),
    attach: async ({ id, len }, by) => {
      calls.push(`attach ${by}`);
      await store.transact((transaction) => {
        transaction.apply([{ kind: "attach", id, len, by }]);
      });
    },
    fetch: async (_, take) => {
      calls.push("fetch");
      await take(chunksOf(content));
      return true;
    },
    ...changes,
  };
  const folder = join(parent, "attachments");
  const attachments = new AttachmentFolder({ folder, store, sizeMax: 1_000, nodes });
  return { store, attachments, calls, path: attachments.path(attachment.id) };
}

test("an upload is on another node before its record is logged", async () => {
  const { attachments, calls } = await openNode();
  expect(await attachments.add(chunksOf(content), "ann")).toEqual(attachment);
  expect(calls).toEqual(["push hello", "attach ann"]);
  expect(attachments.has(attachment.id)).toBe(true);
});

test("an upload without another node fails and has no record; its file is removed later", async () => {
  const busy = new PeerError("store.busy", "no other node");
  const { attachments, path } = await openNode({ push: () => Promise.reject(busy) });
  await expect(attachments.add(chunksOf(content), "ann")).rejects.toBe(busy);
  expect(attachments.has(attachment.id)).toBe(false);
  expect(existsSync(path)).toBe(true);
  for await (const _ of attachments.removeStrays(Date.now() + 1_000));
  expect(existsSync(path)).toBe(false);
});

test("a content that is not here is fetched once, however many want it", async () => {
  const { attachments, calls, path } = await openNode();
  await attachments.add(chunksOf(content), "ann");
  rmSync(path);
  calls.length = 0;
  const all = await Promise.all([1, 2, 3].map(() => attachments.ensure(attachment)));
  expect(all).toEqual([true, true, true]);
  expect(calls).toEqual(["fetch"]);
  expect(readFileSync(path, "utf8")).toBe("hello");
  expect(await attachments.read(attachment.id, 0, 100)).toMatchObject({ size: 5 });
});

test("all contents that are not here are fetched in the background", async () => {
  const { attachments, path } = await openNode();
  await attachments.add(chunksOf(content), "ann");
  rmSync(path);
  expect(await attachments.complete(() => false)).toBe(0);
  expect(existsSync(path)).toBe(true);
});

test("a content that no other node has is counted", async () => {
  const { attachments, path } = await openNode({ fetch: async () => false });
  await attachments.add(chunksOf(content), "ann");
  rmSync(path);
  expect(await attachments.complete(() => false)).toBe(1);
  expect(await attachments.read(attachment.id, 0, 100)).toBeUndefined();
});

test("a copy of another node must match its id, and needs no record", async () => {
  const { attachments, path } = await openNode();
  const other = { id: idOf(Buffer.from("other")), len: 5 };
  await expect(attachments.takeCopy(other, chunksOf(content))).rejects.toMatchObject({
    code: "attachment.invalid",
  });
  expect(existsSync(attachments.path(other.id))).toBe(false);
  await attachments.takeCopy(attachment, chunksOf(content));
  expect(existsSync(path)).toBe(true);
  expect(attachments.has(attachment.id)).toBe(false);
});

test("a content that another node asks for stays for another grace period", async () => {
  const { attachments, path } = await openNode();
  expect(await attachments.holds(attachment)).toBe(false);
  await attachments.takeCopy(attachment, chunksOf(content));
  utimesSync(path, 1, 1);
  expect(await attachments.holds({ ...attachment, len: 6 })).toBe(false);
  expect(await attachments.holds(attachment)).toBe(true);
  expect(statSync(path).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
});

test("a deleted record leaves the file to the collector: it may be on its way again", async () => {
  const { attachments, store, path } = await openNode();
  await attachments.add(chunksOf(content), "ann");
  const time = store.read((view) => view.head.time);
  expect(await attachments.removeOrphans(time, 10)).toBe(1);
  expect(attachments.has(attachment.id)).toBe(false);
  expect(existsSync(path)).toBe(true);
});

test("[H56] an upload by offset stays complete while no other node takes it, and is stored later", async () => {
  let isAlone = true;
  const busy = new PeerError("store.busy", "no other node of the cluster could store a copy");
  const { attachments, store } = await openNode({
    push: async () => {
      if (isAlone) throw busy;
    },
  });
  const sent = { offset: 0, chunks: chunksOf(content) };
  await expect(attachments.partial.append(attachment, sent, "ann")).rejects.toBe(busy);
  await expect(attachments.partial.begin(attachment, "ann")).rejects.toBe(busy);
  expect(attachments.partial.count).toBe(1);
  isAlone = false;
  const kept = { kind: "kept", offset: content.length };
  expect(await attachments.partial.begin(attachment, "ann")).toEqual(kept);
  expect(attachments.partial.count).toBe(0);
  expect(store.read((view) => attachmentOf(view, attachment.id)?.by)).toEqual(["ann"]);
});

test("[H55] a content that another node has is fetched, and its caller recorded", async () => {
  const { attachments, store, calls } = await openNode();
  await store.transact((transaction) => {
    transaction.apply([{ kind: "attach", ...attachment, by: "bob" }]);
  });
  expect(await attachments.adopt(attachment, "ann")).toBe(true);
  expect(calls).toEqual(["fetch", "push hello", "attach ann"]);
  expect(store.read((view) => attachmentOf(view, attachment.id)?.by)).toEqual(["bob", "ann"]);
});

test("[H55] a content that no node has must be sent", async () => {
  const { attachments, store } = await openNode({ fetch: async () => false });
  await store.transact((transaction) => {
    transaction.apply([{ kind: "attach", ...attachment, by: "bob" }]);
  });
  expect(await attachments.adopt(attachment, "ann")).toBe(false);
});
