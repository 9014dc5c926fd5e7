/**
 * Contents that come piece by piece: in order, whole, right, and bounded in what they leave behind.
 */

import { readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { ContentSpace } from "../../src/attachments/content-space.ts";
import { IncomingContents } from "../../src/attachments/incoming-contents.ts";
import { idOf } from "../support/attachment-client.ts";

const CONTENT = Buffer.from("0123456789");
const ID = idOf(CONTENT);

function openIncoming(sizeMax = 1_000) {
  const parent = temporaryFolder();
  const folder = join(parent, "incoming");
  const kept = join(parent, "kept");
  const incoming = new IncomingContents(folder, sizeMax, new ContentSpace(parent, 0));
  const keep = async (path: string): Promise<void> => renameSync(path, kept);
  const take = (offset: number, end: number, size = CONTENT.length) =>
    incoming.take(ID, { offset, bytes: CONTENT.subarray(offset, end), size }, keep);
  return { folder, kept, incoming, take, keep };
}

test("[S55] pieces are appended in order, and a piece out of order changes nothing", async () => {
  const { folder, kept, incoming, take } = openIncoming();
  expect(incoming.sizeOf(ID)).toBe(0);
  expect(await take(0, 4)).toBe("more");
  expect(await take(0, 4)).toBe("refused");
  expect(await take(6, 10)).toBe("refused");
  expect(incoming.sizeOf(ID)).toBe(4);
  // Another one on the same folder, as after a restart.
  expect(new IncomingContents(folder, 1_000, new ContentSpace(folder, 0)).sizeOf(ID)).toBe(4);
  expect(await take(4, 10)).toBe("kept");
  expect(readFileSync(kept)).toEqual(CONTENT);
  expect(incoming.sizeOf(ID)).toBe(0);
});

test("[S55] a content that was complete before a power failure is kept when the fetch continues", async () => {
  const { folder, kept, take, incoming } = openIncoming();
  await take(0, 4);
  writeFileSync(join(folder, ID), CONTENT);
  expect(incoming.sizeOf(ID)).toBe(10);
  expect(await take(10, 10)).toBe("kept");
  expect(readFileSync(kept)).toEqual(CONTENT);
});

test("[S55] a content that is too large, longer than announced, or has another digest is refused and removed", async () => {
  const { folder, incoming, take, keep } = openIncoming(10);
  expect(await take(0, 4, 11)).toBe("refused");
  expect(await take(0, 4)).toBe("more");
  expect(await take(4, 10, 8)).toBe("refused");
  const wrong = { offset: 0, bytes: Buffer.from("something"), size: 9 };
  expect(await incoming.take(ID, wrong, keep)).toBe("refused");
  expect(await incoming.take("../outside", wrong, keep)).toBe("refused");
  expect(incoming.sizeOf("../outside")).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});

test("[S55] if keeping fails, nothing of the content is left, and it can be fetched again", async () => {
  const { folder, incoming, take } = openIncoming();
  const piece = { offset: 0, bytes: CONTENT, size: 10 };
  const failing = incoming.take(ID, piece, () => Promise.reject(new Error("closed")));
  await expect(failing).rejects.toThrow("closed");
  expect(readdirSync(folder)).toEqual([]);
  const full = Object.assign(new Error("no space"), { errno: -constants.errno.ENOSPC });
  const filled = incoming.take(ID, piece, () => Promise.reject(full));
  await expect(filled).rejects.toThrow(
    new PeerError(
      "store.full",
      `disk full: the attachment was not stored in ${folder}; free space and retry`,
    ),
  );
  expect(await take(0, 10)).toBe("kept");
});

test("abandoned parts are removed: the oldest for new ones, and all after a while", async () => {
  const { folder, incoming, keep } = openIncoming();
  const ids = Array.from({ length: 70 }, (_, i) => idOf(Buffer.from(`${i}`)));
  for (const [i, id] of ids.entries()) {
    const piece = { offset: 0, bytes: Buffer.from("x"), size: 2 };
    expect(await incoming.take(id, piece, keep)).toBe("more");
    utimesSync(join(folder, id), i, i);
  }
  expect(readdirSync(folder).toSorted()).toEqual(ids.slice(6).toSorted());
  writeFileSync(join(folder, "something else"), "");
  await incoming.removeOld(60_000);
  expect(readdirSync(folder).toSorted()).toEqual([...ids.slice(60), "something else"].toSorted());
});
