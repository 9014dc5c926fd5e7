import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attachmentOf } from "@bigpeer/engine/store";
import { createStore, type StoreFolder } from "@bigpeer/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import { idOf, proofOf } from "../support/attachment-client.ts";

interface Opened {
  readonly folder: string;
  readonly stored: StoreFolder;
  readonly attachments: AttachmentFolder;
}

async function openFolder(parent = temporaryFolder()): Promise<Opened> {
  const folder = join(parent, "attachments");
  const stored = await createStore(join(parent, "store"), testHost());
  onTestFinished(() => stored.close());
  const attachments = new AttachmentFolder({ folder, store: stored.store, sizeMax: 1_000 });
  return { folder, stored, attachments };
}

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** Everything that has a time is up to it. */
function allTime({ stored }: Opened): number {
  return stored.store.read((view) => view.head.time);
}

function recordOf({ stored }: Opened, id: string): unknown {
  return stored.store.read((view) => attachmentOf(view, id));
}

test("[H36] a content is a file under its id, and a record", async () => {
  const opened = await openFolder();
  const added = await opened.attachments.add(chunksOf("hel", "lo"), "ann");
  const id = idOf(Buffer.from("hello"));
  expect(added).toEqual({ id, len: 5 });
  expect(opened.attachments.path(id)).toBe(join(opened.folder, id.slice(0, 2), id));
  expect(readFileSync(opened.attachments.path(id), "utf8")).toBe("hello");
  expect(recordOf(opened, id)).toEqual({ len: 5, by: ["ann"], isOrphan: true });
  expect(readdirSync(join(opened.folder, "partial"))).toEqual([]);
});

test("nothing is created in the folder before an upload", async () => {
  const { folder } = await openFolder();
  expect(existsSync(folder)).toBe(false);
});

test("uploads that a crash interrupted are removed when the folder is opened", async () => {
  const parent = temporaryFolder();
  const partial = join(parent, "attachments", "partial");
  mkdirSync(partial, { recursive: true });
  writeFileSync(join(partial, "0123"), "half of somethi");
  await openFolder(parent);
  expect(existsSync(partial)).toBe(false);
});

test("an upload that fails or is too large leaves nothing behind", async () => {
  const opened = await openFolder();
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("begun");
    throw new Error("the client left");
  }
  await expect(opened.attachments.add(failing(), "ann")).rejects.toThrow("the client left");
  const large = opened.attachments.add(chunksOf("x".repeat(600), "x".repeat(600)), "ann");
  await expect(large).rejects.toMatchObject({ code: "attachment.too_large" });
  expect(readdirSync(opened.folder)).toEqual(["partial"]);
  expect(readdirSync(join(opened.folder, "partial"))).toEqual([]);
  expect(opened.stored.store.read((view) => view.head.attachments ?? 0)).toBe(0);
});

test("closing the folder ends uploads that stall, and finishes those that have arrived", async () => {
  const opened = await openFolder();
  const { attachments, folder } = opened;
  let isLeft = false;
  let isStalled = false;
  async function* trickle(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from("begun");
      isStalled = true;
      await new Promise((resolve) => setTimeout(resolve, 3_600_000).unref());
    } finally {
      isLeft = true;
    }
  }
  const trickling = attachments.add(trickle(), "ann");
  const partials = (): string[] => readdirSync(join(folder, "partial"));
  await vi.waitFor(() => expect(isStalled).toBe(true));
  expect(partials()).toHaveLength(1);
  const [ended] = await Promise.allSettled([trickling, attachments.close()]);
  expect(ended).toMatchObject({ status: "rejected", reason: { code: "store.closed" } });
  expect(partials()).toEqual([]);
  expect(isLeft).toBe(false);
  const late = attachments.add(chunksOf("late"), "ann");
  await expect(late).rejects.toMatchObject({ code: "store.closed" });
  await attachments.close();
});

test("an upload whose last piece has arrived is kept, even if the folder is being closed", async () => {
  const opened = await openFolder();
  const { attachments } = opened;
  let onLast = (): void => {};
  const last = new Promise<void>((resolve) => {
    onLast = resolve;
  });
  async function* hello(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("hello");
    onLast();
  }
  const added = attachments.add(hello(), "ann");
  await last;
  await new Promise((resolve) => setImmediate(resolve));
  await attachments.close();
  expect(recordOf(opened, (await added).id)).toBeDefined();
});

test("a content that the store refuses leaves no file", async () => {
  const opened = await openFolder();
  // The store refuses such a name of the uploader.
  const name = "x".repeat(10_000);
  const add = (): Promise<unknown> => opened.attachments.add(chunksOf("hello"), name);
  await expect(add()).rejects.toMatchObject({ code: "operation.invalid" });
  expect(existsSync(opened.attachments.path(idOf(Buffer.from("hello"))))).toBe(false);
  // Of a content that was here before, the file stays.
  const { id } = await opened.attachments.add(chunksOf("hello"), "ann");
  await expect(add()).rejects.toMatchObject({ code: "operation.invalid" });
  expect(existsSync(opened.attachments.path(id))).toBe(true);
});

test("[H40] orphans are deleted with their records, up to a time and a number", async () => {
  const opened = await openFolder();
  const { attachments, stored } = opened;
  const used = await attachments.add(chunksOf("used"), "ann");
  await stored.store.transact((transaction) => {
    const types = { photo: "attachment" as const };
    const fields = { photo: { ...used, metadata: {} } };
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields, types }]);
  });
  const first = await attachments.add(chunksOf("first"), "ann");
  const upTo = allTime(opened);
  const second = await attachments.add(chunksOf("second"), "ann");
  expect(await attachments.removeOrphans(upTo - 1, 10)).toBe(0);
  expect(await attachments.removeOrphans(upTo, 10)).toBe(1);
  expect(recordOf(opened, first.id)).toBe(undefined);
  const isThere = (): boolean[] =>
    [used, first, second].map(({ id }) => existsSync(attachments.path(id)));
  expect(isThere()).toEqual([true, false, true]);
  await attachments.add(chunksOf("third"), "ann");
  expect(await attachments.removeOrphans(allTime(opened), 1)).toBe(1);
  expect(await attachments.removeOrphans(allTime(opened), 1)).toBe(1);
  expect(await attachments.removeOrphans(allTime(opened), 1)).toBe(0);
  expect(isThere()).toEqual([true, false, false]);
});

test("[H40] a content uploaded while it is deleted ends with both file and record, or with neither", async () => {
  const opened = await openFolder();
  const { attachments } = opened;
  const id = idOf(Buffer.from("hello"));
  const add = (): Promise<unknown> => attachments.add(chunksOf("hello"), "ann");
  for (let round = 0; round < 30; round++) {
    await Promise.all([
      add(),
      attachments.removeOrphans(allTime(opened), 10),
      add(),
      attachments.removeOrphans(allTime(opened), 10),
    ]);
    expect(existsSync(attachments.path(id))).toBe(recordOf(opened, id) !== undefined);
  }
});

test("[H40] files without a record are removed when they are old, others never", async () => {
  const opened = await openFolder();
  const { attachments, folder } = opened;
  const { id: known } = await attachments.add(chunksOf("known"), "ann");
  const stray = idOf(Buffer.from("stray"));
  mkdirSync(join(folder, stray.slice(0, 2)), { recursive: true });
  writeFileSync(attachments.path(stray), "stray");
  writeFileSync(join(folder, stray.slice(0, 2), "notes.txt"), "of the owner");
  const remove = async (beforeMs: number): Promise<string[]> => {
    const removed: string[] = [];
    for await (const id of attachments.removeStrays(beforeMs))
      if (id !== undefined) removed.push(id);
    return removed;
  };
  expect(await remove(0)).toEqual([]);
  expect(await remove(Number.MAX_SAFE_INTEGER)).toEqual([stray]);
  expect(readdirSync(join(folder, stray.slice(0, 2)))).toEqual(["notes.txt"]);
  expect(existsSync(attachments.path(known))).toBe(true);
});

test("[H59] a content from another Big Peer that does not fit is refused, and its part is removed", async () => {
  const parent = temporaryFolder();
  const { stored, folder } = await openFolder(parent);
  const limits = { sizeMax: 1_000, spaceMax: 8 };
  const attachments = new AttachmentFolder({ folder, store: stored.store, ...limits });
  const content = Buffer.from("0123456789");
  const id = idOf(content);
  const receive = (offset: number, end: number): Promise<unknown> =>
    attachments.receive(
      id,
      { offset, bytes: content.subarray(offset, end), size: content.length },
      "link:north",
    );
  expect(await receive(0, 6)).toBe("more");
  expect(attachments.space.used).toBe(6);
  await expect(receive(6, 10)).rejects.toMatchObject({ code: "store.full" });
  expect([attachments.space.used, attachments.receivedSize(id)]).toEqual([0, 0]);
  expect(attachments.has(id)).toBe(false);
});

test("[H59] a copy of another node of the cluster is stored in any case, and counts", async () => {
  const { stored, folder } = await openFolder();
  const limits = { sizeMax: 1_000, spaceMax: 8 };
  const attachments = new AttachmentFolder({ folder, store: stored.store, ...limits });
  const content = { id: idOf(Buffer.from("0123456789")), len: 10 };
  await attachments.takeCopy(content, chunksOf("0123456789"));
  expect(await attachments.holds(content)).toBe(true);
  await expect(attachments.add(chunksOf("1"), "ann")).rejects.toMatchObject({ code: "store.full" });
});

test("[H55] a content is adopted only if its record and its whole file are there", async () => {
  const opened = await openFolder();
  const { attachments } = opened;
  const { id, len } = await attachments.add(chunksOf("hello"), "ann");
  expect(await attachments.adopt({ id, len }, "bob")).toBe(true);
  expect(recordOf(opened, id)).toMatchObject({ by: ["ann", "bob"] });
  expect(await attachments.adopt({ id: idOf(Buffer.from("no")), len: 2 }, "bob")).toBe(false);
  writeFileSync(attachments.path(id), "hell");
  expect(await attachments.adopt({ id, len }, "eve")).toBe(false);
  expect(await attachments.isProof(proofOf(Buffer.from("hello")), { id, len })).toBe(false);
  expect(recordOf(opened, id)).toMatchObject({ by: ["ann", "bob"] });
});

test("[H56] a complete upload is in its place, and stays where it is if its record cannot be written", async () => {
  const parent = temporaryFolder();
  const { stored, folder, attachments } = await openFolder(parent);
  const content = { id: idOf(Buffer.from("hello")), len: 5 };
  const transact = vi.spyOn(stored.store, "transact");
  transact.mockRejectedValueOnce(new Error("broken"));
  const sent = { offset: 0, chunks: chunksOf("hel", "lo") };
  await expect(attachments.partial.append(content, sent, "ann")).rejects.toThrow("broken");
  expect(existsSync(attachments.path(content.id))).toBe(false);
  expect(readdirSync(join(folder, "uploads"))).toHaveLength(1);
  // As after a crash.
  const again = new AttachmentFolder({ folder, store: stored.store, sizeMax: 1_000 });
  expect(await again.partial.begin(content, "ann")).toEqual({ kind: "kept", offset: 5 });
  expect(readFileSync(again.path(content.id), "utf8")).toBe("hello");
  expect(readdirSync(join(folder, "uploads"))).toEqual([]);
  expect(readdirSync(join(folder, "partial"))).toEqual([]);
  // The same content again replaces its file.
  const more = { offset: 0, chunks: chunksOf("hello") };
  expect(await again.partial.append(content, more, "bob")).toEqual({ kind: "kept", offset: 5 });
  expect(readFileSync(again.path(content.id), "utf8")).toBe("hello");
});
