/**
 * Contents in files keep the contract of a ContentPlace, and nothing of others.
 */

import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContentHash } from "@bigpeer/engine/peer";
import { expect, test } from "vitest";
import { contentPlaceContract } from "../../../engine/test/contract/content-place-contract.ts";
import { idOf, testHash } from "../../../engine/test/support/content-server.ts";
import { ContentFiles } from "../../src/contents/content-files.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { failNextCall } from "../support/too-many-files.ts";

contentPlaceContract("ContentFiles", async () => {
  const folder = join(temporaryFolder(), "attachments");
  return {
    place: await ContentFiles.open(folder, testHash),
    restart: () => ContentFiles.open(folder, testHash),
    isDurable: true,
  };
});

test("only the owner can read the files, and what a crash left is removed", async () => {
  const folder = join(temporaryFolder(), "attachments");
  mkdirSync(join(folder, "partial"), { recursive: true });
  writeFileSync(join(folder, "partial", "half"), "ha");
  const place = await ContentFiles.open(folder, testHash);
  expect(existsSync(join(folder, "partial"))).toBe(false);
  const { id } = await place.create(once("secret"));
  const path = join(folder, id.slice(0, 2), id);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, "partial"))).toEqual([]);
});

test("a process that goes on with a download does not read what came before until it is complete", async () => {
  const folder = join(temporaryFolder(), "attachments");
  const id = idOf(Buffer.from("abcdef"));
  let hashedBytes = 0;
  const counted = (): ContentHash => {
    const hash = testHash();
    return {
      update: (bytes) => {
        hashedBytes += bytes.length;
        hash.update(bytes);
      },
      digests: () => hash.digests(),
    };
  };
  for (const part of ["ab", "cd", "ef"]) {
    hashedBytes = 0;
    const place = await ContentFiles.open(folder, counted);
    const partial = await place.resume(id);
    await partial.append(Buffer.from(part));
    if (part === "ef") expect(await partial.finish()).toBe(true);
    await partial.close();
    // The first process hashes its bytes as they come; the last one reads the whole file, once.
    expect(hashedBytes).toBe({ ab: 2, cd: 0, ef: 6 }[part]);
  }
});

test("a process with too many open files can read later: it is no damage", async () => {
  const place = await ContentFiles.open(join(temporaryFolder(), "attachments"), testHash);
  const { id } = await place.create(once("a photo"));
  failNextCall("createReadStream");
  await expect(textOf(place.read(id, 7, 0))).rejects.toMatchObject({
    code: "store.busy",
    message: expect.stringContaining("too many open files: failed to open an attachment"),
  });
  expect(await textOf(place.read(id, 7, 0))).toBe("a photo");
});

test("a download that meets too many open files, or a full disk, can go on later", async () => {
  const folder = join(temporaryFolder(), "attachments");
  const id = idOf(Buffer.from("abcdef"));
  const place = await ContentFiles.open(folder, testHash);
  failNextCall("mkdirSync");
  await expect(place.resume(id)).rejects.toMatchObject({ code: "store.busy" });
  const first = await place.resume(id);
  await first.append(Buffer.from("abcdef"));
  await first.close();
  // Another process reads what the first one wrote.
  const next = await ContentFiles.open(folder, testHash);
  const partial = await next.resume(id);
  failNextCall("createReadStream", "ENOSPC");
  await expect(partial.finish()).rejects.toMatchObject({ code: "store.full" });
  expect(await partial.finish()).toBe(true);
  expect(await textOf(next.read(id, 6, 0))).toBe("abcdef");
});

test("an id that is not one reaches no file", async () => {
  const place = await ContentFiles.open(temporaryFolder(), testHash);
  for (const id of ["../../etc/passwd", "", "x".repeat(44)]) {
    await expect(place.has(id)).rejects.toMatchObject({ code: "attachment.invalid" });
    await expect(place.resume(id)).rejects.toMatchObject({ code: "attachment.invalid" });
    await expect(place.remove(id)).rejects.toMatchObject({ code: "attachment.invalid" });
  }
});

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += new TextDecoder().decode(piece);
  return text;
}
