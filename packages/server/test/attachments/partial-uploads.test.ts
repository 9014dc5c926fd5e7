/**
 * Uploads that continue by offset: in order, of one caller each, over restarts, and bounded in what
 * they leave behind.
 */

import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { ContentSpace } from "../../src/attachments/content-space.ts";
import {
  PartialUploads,
  type PartialUploadsOptions,
} from "../../src/attachments/partial-uploads.ts";
import { idOf, proofOf } from "../support/attachment-client.ts";

const CONTENT = Buffer.from("0123456789");
const ATTACHMENT = { id: idOf(CONTENT), len: CONTENT.length };

/** What was kept, by the caller. */
type Kept = Record<string, string>;

function openUploads(
  parent = temporaryFolder(),
  changes: Partial<PartialUploadsOptions & { spaceMax: number }> = {},
) {
  const folder = join(parent, "uploads");
  const space = new ContentSpace(parent, changes.spaceMax ?? 0);
  const kept: Kept = {};
  const proofs: string[] = [];
  const uploads = new PartialUploads({
    folder,
    space,
    keep: async (path, _, by) => {
      kept[by] = readFileSync(path, "utf8");
    },
    onKept: ({ proof }) => void proofs.push(proof),
    ...changes,
  });
  const append = (from: number, to: number, by = "ann") =>
    uploads.append(ATTACHMENT, { offset: from, chunks: chunksOf(CONTENT.subarray(from, to)) }, by);
  const files = (): string[] => (existsSync(folder) ? readdirSync(folder) : []);
  return { parent, folder, uploads, kept, proofs, append, files, space };
}

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** A source that yields some bytes and then waits. `written` resolves when these are written. */
function halfOpen(bytes: Uint8Array) {
  let isWritten = (): void => {};
  const written = new Promise<void>((resolve) => {
    isWritten = resolve;
  });
  async function* yielding(): AsyncGenerator<Uint8Array> {
    yield bytes;
    isWritten();
    await new Promise(() => {});
  }
  return { chunks: yielding(), written };
}

test("[H56] parts are appended in order, and a part at another offset changes nothing", async () => {
  const { uploads, append, kept, proofs, files } = openUploads();
  expect(await uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 0 });
  expect(files()).toEqual([]);
  expect(await append(0, 4)).toEqual({ kind: "more", offset: 4 });
  expect(await append(0, 4)).toEqual({ kind: "conflict", offset: 4 });
  expect(await append(6, 10)).toEqual({ kind: "conflict", offset: 4 });
  expect(await uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 4 });
  expect(await append(4, 10)).toEqual({ kind: "kept", offset: 10 });
  expect(kept).toEqual({ ann: "0123456789" });
  expect(proofs).toEqual([proofOf(CONTENT)]);
  expect([uploads.count, files()]).toEqual([0, []]);
});

test("[H58] an upload continues after a restart, from what is in its file", async () => {
  const { parent, append } = openUploads();
  await append(0, 4);
  const again = openUploads(parent);
  expect(again.uploads.count).toBe(1);
  expect(await again.uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 4 });
  expect(await again.append(4, 10)).toEqual({ kind: "kept", offset: 10 });
  expect(again.kept).toEqual({ ann: "0123456789" });
  expect(again.proofs).toEqual([proofOf(CONTENT)]);
});

test("[H58] an upload that was complete before a restart is completed when it continues", async () => {
  const failing = openUploads(undefined, {
    keep: () => Promise.reject(new PeerError("store.busy", "not now")),
  });
  await expect(failing.append(0, 10)).rejects.toMatchObject({ code: "store.busy" });
  expect(failing.files()).toHaveLength(1);
  const again = openUploads(failing.parent);
  expect(await again.uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "kept", offset: 10 });
  expect(again.kept).toEqual({ ann: "0123456789" });
});

test("[H58] bytes that a power failure damaged are found by the digest, and it begins again", async () => {
  const { parent, folder, append, files } = openUploads();
  await append(0, 4);
  writeFileSync(join(folder, files()[0] ?? ""), "\0\0\0\0");
  const again = openUploads(parent);
  expect(await again.append(4, 10)).toEqual({ kind: "refused", offset: 0 });
  expect(again.files()).toEqual([]);
  await again.append(0, 9);
  writeFileSync(join(folder, files()[0] ?? ""), "0123456780");
  const third = openUploads(parent);
  expect(await third.uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 0 });
  expect([third.uploads.count, third.files()]).toEqual([0, []]);
});

test("[H58] a part that is longer than the content is dropped when the upload begins", async () => {
  const { uploads, append, files } = openUploads();
  await append(0, 8);
  const shorter = { ...ATTACHMENT, len: 5 };
  expect(await uploads.begin(shorter, "ann")).toEqual({ kind: "more", offset: 0 });
  expect(files()).toEqual([]);
});

test("[H54] an empty content needs no part, and with another id it is refused", async () => {
  const { uploads, kept, files } = openUploads();
  const empty = { id: idOf(Buffer.alloc(0)), len: 0 };
  expect(await uploads.begin(empty, "ann")).toEqual({ kind: "kept", offset: 0 });
  expect(kept).toEqual({ ann: "" });
  const wrong = { ...ATTACHMENT, len: 0 };
  expect(await uploads.begin(wrong, "ann")).toEqual({ kind: "refused", offset: 0 });
  expect(files()).toEqual([]);
});

test("[H58] two callers do not share an upload, and one that sends other bytes spoils only its own", async () => {
  const { uploads, append, kept } = openUploads();
  await append(0, 6, "ann");
  const wrong = { offset: 0, chunks: chunksOf(Buffer.from("wrong")) };
  await uploads.append(ATTACHMENT, wrong, "bob");
  expect(uploads.count).toBe(2);
  expect(await append(5, 10, "bob")).toEqual({ kind: "refused", offset: 0 });
  expect(await append(6, 10, "ann")).toEqual({ kind: "kept", offset: 10 });
  expect(kept).toEqual({ ann: "0123456789" });
});

test("[H54] a request ends the one before it, and what that one received counts", async () => {
  const { uploads, append } = openUploads();
  const first = halfOpen(CONTENT.subarray(0, 3));
  const stuck = uploads.append(ATTACHMENT, { offset: 0, chunks: first.chunks }, "ann");
  await first.written;
  await uploads.end(ATTACHMENT.id, "bob");
  expect(await uploads.begin(ATTACHMENT, "bob")).toEqual({ kind: "more", offset: 0 });
  expect(await uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 3 });
  expect(await stuck).toEqual({ kind: "replaced", offset: 3 });
  // Whatever the next request is.
  const second = halfOpen(CONTENT.subarray(3, 5));
  const stuckAgain = uploads.append(ATTACHMENT, { offset: 3, chunks: second.chunks }, "ann");
  await second.written;
  expect(await append(5, 10)).toEqual({ kind: "kept", offset: 10 });
  expect(await stuckAgain).toEqual({ kind: "replaced", offset: 5 });
});

test("[H54] an upload whose last byte has arrived is completed, even if another request ends it", async () => {
  const { uploads, append, kept } = openUploads();
  const all = halfOpen(CONTENT);
  const stuck = uploads.append(ATTACHMENT, { offset: 0, chunks: all.chunks }, "ann");
  await all.written;
  const later = append(0, 10);
  expect(await stuck).toEqual({ kind: "kept", offset: 10 });
  expect(await later).toEqual({ kind: "kept", offset: 10 });
  expect(kept).toEqual({ ann: "0123456789" });
});

test("[H54] an upload that could not be completed is completed by a part at any offset", async () => {
  let isBusy = true;
  const { append, kept } = openUploads(undefined, {
    keep: async (path, _content, by) => {
      if (isBusy) throw new PeerError("store.busy", "not now");
      kept[by] = readFileSync(path, "utf8");
    },
  });
  await expect(append(0, 10)).rejects.toMatchObject({ code: "store.busy" });
  isBusy = false;
  expect(await append(0, 10)).toEqual({ kind: "kept", offset: 10 });
  expect(kept).toEqual({ ann: "0123456789" });
});

test("[H56] a source that fails leaves what it yielded, and nothing leaves no file", async () => {
  const { uploads, append, files } = openUploads();
  const cut = new Error("cut");
  async function* failing(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
    yield* chunks;
    throw cut;
  }
  const none = uploads.append(ATTACHMENT, { offset: 0, chunks: failing() }, "ann");
  await expect(none).rejects.toBe(cut);
  expect([uploads.count, files()]).toEqual([0, []]);
  const some = { offset: 0, chunks: failing(CONTENT.subarray(0, 2), CONTENT.subarray(2, 5)) };
  await expect(uploads.append(ATTACHMENT, some, "ann")).rejects.toBe(cut);
  expect(await append(5, 10)).toEqual({ kind: "kept", offset: 10 });
});

test("[H56] a write that fails leaves the bytes before it, whose digest is read again", async () => {
  const full = Object.assign(new Error("ENOSPC"), { errno: -constants.errno.ENOSPC });
  const { uploads, append } = openUploads();
  await append(0, 4);
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield CONTENT.subarray(4, 6);
    throw full;
  }
  const failed = uploads.append(ATTACHMENT, { offset: 4, chunks: failing() }, "ann");
  await expect(failed).rejects.toMatchObject({ code: "store.full", cause: full });
  expect(await append(6, 10)).toEqual({ kind: "kept", offset: 10 });
});

test("[H59] what does not fit is refused before it is sent, and parts count", async () => {
  const { uploads, append, space, files } = openUploads(undefined, { spaceMax: 15 });
  await append(0, 6, "ann");
  const full = { code: "store.full" };
  await expect(uploads.begin(ATTACHMENT, "bob")).rejects.toMatchObject(full);
  await expect(append(0, 3, "bob")).rejects.toMatchObject(full);
  expect(await uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 6 });
  expect(await append(6, 10, "ann")).toEqual({ kind: "kept", offset: 10 });
  expect([space.used, files()]).toEqual([0, []]);
  // Both fit when they begin, and not when both have arrived.
  await uploads.begin(ATTACHMENT, "ann");
  await append(0, 9, "ann");
  const more = { id: idOf(Buffer.from("abcdef")), len: 6 };
  await uploads.begin(more, "bob");
  await append(9, 9, "ann");
  const slow = (async function* () {
    yield Buffer.from("abc");
    space.take(1);
    yield Buffer.from("def");
  })();
  const sent = uploads.append(more, { offset: 0, chunks: slow }, "bob");
  await expect(sent).rejects.toMatchObject(full);
  expect(await uploads.begin({ ...more, len: 5 }, "bob")).toEqual({ kind: "more", offset: 3 });
});

test("[H58] uploads without progress are removed after the grace period", async () => {
  const { folder, uploads, append, files, parent } = openUploads();
  await append(0, 4, "ann");
  const old = new Date(Date.now() - 100_000);
  utimesSync(join(folder, files()[0] ?? ""), old, old);
  await append(0, 4, "bob");
  await uploads.removeOld(Date.now() - 50_000);
  expect(uploads.count).toBe(1);
  expect(await uploads.begin(ATTACHMENT, "ann")).toEqual({ kind: "more", offset: 0 });
  expect(await uploads.begin(ATTACHMENT, "bob")).toEqual({ kind: "more", offset: 4 });
  // Progress begins a new period, also of one that is under way.
  utimesSync(join(folder, files()[0] ?? ""), old, old);
  await append(4, 5, "bob");
  await uploads.removeOld(Date.now() - 50_000);
  expect(openUploads(parent).uploads.count).toBe(1);
});

test("[H58] beyond their number, the one of the caller without progress for the longest time is removed", async () => {
  const { uploads, append, files, parent } = openUploads(undefined, { max: 3, perCallerMax: 2 });
  const begin = (text: string, by: string) => {
    const content = { id: idOf(Buffer.from(text)), len: text.length };
    const chunks = chunksOf(Buffer.from(text.slice(0, 2)));
    return uploads.append(content, { offset: 0, chunks }, by);
  };
  const offsetOf = async (text: string, by: string): Promise<number> =>
    (await uploads.begin({ id: idOf(Buffer.from(text)), len: text.length }, by)).offset;
  await append(0, 4, "bob");
  await begin("first", "ann");
  await begin("second", "ann");
  await begin("third", "ann");
  expect([await offsetOf("first", "ann"), await offsetOf("second", "ann")]).toEqual([0, 2]);
  expect(await offsetOf("third", "ann")).toBe(2);
  // That of bob is older, and was not touched. Now it makes way.
  expect(uploads.count).toBe(3);
  await begin("fourth", "eve");
  expect((await uploads.begin(ATTACHMENT, "bob")).offset).toBe(0);
  expect([uploads.count, files().length]).toEqual([3, 3]);
  // After a restart the order is that of the files.
  const again = openUploads(parent, { max: 3 });
  expect(again.uploads.count).toBe(3);
});

test("[H58] closing ends the requests under way, and keeps what they received", async () => {
  const { uploads, parent } = openUploads();
  const { chunks, written } = halfOpen(CONTENT.subarray(0, 3));
  const stuck = uploads.append(ATTACHMENT, { offset: 0, chunks }, "ann");
  const closed = new PeerError("store.closed", "closed");
  const ended = stuck.catch((error: unknown) => error);
  await written;
  await uploads.close(closed);
  expect(await ended).toBe(closed);
  await expect(uploads.begin(ATTACHMENT, "ann")).rejects.toBe(closed);
  expect((await openUploads(parent).uploads.begin(ATTACHMENT, "ann")).offset).toBe(3);
});

test("an upload that is removed leaves nothing, and one that is not there neither", async () => {
  const { uploads, append, files } = openUploads();
  await append(0, 4);
  await uploads.remove(ATTACHMENT.id, "bob");
  expect(uploads.count).toBe(1);
  await uploads.remove(ATTACHMENT.id, "ann");
  expect([uploads.count, files()]).toEqual([0, []]);
});

test("an upload that was moved, where there are no hard links, is not known after a failure", async () => {
  const { uploads, append, files } = openUploads(undefined, {
    keep: async (path) => {
      renameSync(path, `${path}.moved`);
      throw new PeerError("store.closed", "closed");
    },
  });
  await expect(append(0, 10)).rejects.toMatchObject({ code: "store.closed" });
  expect([uploads.count, files().length]).toEqual([0, 1]);
  expect((await uploads.begin(ATTACHMENT, "ann")).offset).toBe(0);
});
