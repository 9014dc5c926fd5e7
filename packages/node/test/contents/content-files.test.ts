/**
 * Contents in files keep the contract of a ContentPlace, and nothing of others.
 */

import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contentPlaceContract } from "../../../engine/test/contract/content-place-contract.ts";
import { testHash } from "../../../engine/test/support/content-server.ts";
import { ContentFiles } from "../../src/contents/content-files.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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
