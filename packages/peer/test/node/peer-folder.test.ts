/**
 * The folder of a peer: one process at a time, nobody else's files, and copies begin a new life.
 */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { copyFolder } from "../../../node/test/support/copied-folder.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { openMemory } from "../../src/host/memory-place.ts";
import type { PeerPlace, PlaceOptions } from "../../src/host/peer-host.ts";
import { openFolder } from "../../src/node/peer-folder.ts";

interface OpenedPlace extends PeerPlace {
  readonly store: Store;
  readonly warnings: readonly string[];
}

async function open(folder: string | undefined): Promise<OpenedPlace> {
  const warnings: string[] = [];
  const stores: Store[] = [];
  const options: PlaceOptions = {
    platform: nodePlatform,
    open: async (storage) => {
      stores.push(await Store.open(storage, nodePlatform));
      return stores.at(-1) as Store;
    },
    onWarning: (message) => warnings.push(message),
  };
  const place = await (folder === undefined
    ? openMemory(new MemoryKeyValue(), options)
    : openFolder(folder, options));
  return {
    close: () => place.close(),
    erase: () => place.erase(),
    store: stores.at(-1) as Store,
    warnings,
  };
}

test("a folder is created for its owner only, and holds the same store the next time", async () => {
  const folder = join(temporaryFolder(), "deep", "peer");
  const first = await open(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const { historyId } = first.store.identity;
  await first.close();
  expect(readdirSync(folder).toSorted()).toEqual(["data.mdb", "life.json", "lock.mdb"]);
  const second = await open(folder);
  expect(second.store.identity.historyId).toBe(historyId);
  expect(second.warnings).toEqual([]);
  await second.close();
});

test("a folder that is in use is refused, and free again after close", async () => {
  const folder = temporaryFolder();
  const first = await open(folder);
  await expect(open(folder)).rejects.toThrow(
    /^the folder .* is already open in this process \(since .*\); use what is open, or close it before$/,
  );
  await first.close();
  const second = await open(folder);
  await second.close();
});

test("a folder with other content is not touched", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "registry"));
  writeFileSync(join(folder, "format.json"), "{}");
  await expect(open(folder)).rejects.toThrow("expected an empty folder or one of a peer");
  expect(readdirSync(folder).toSorted()).toEqual(["format.json", "registry"]);
});

test("the remains of a process that was killed while it created the folder are no obstacle", async () => {
  const folder = temporaryFolder();
  for (const name of ["lock.mdb", "room.probe"]) writeFileSync(join(folder, name), "");
  const opened = await open(folder);
  expect(opened.warnings).toEqual([]);
  await opened.close();
});

test("a copied folder starts a new incarnation and logs it", async () => {
  const folder = temporaryFolder();
  const first = await open(join(folder, "a"));
  await first.close();
  copyFolder(join(folder, "a"), join(folder, "b"));
  const copy = await open(join(folder, "b"));
  expect(copy.store.identity.site).not.toBe(first.store.identity.site);
  expect(copy.warnings).toHaveLength(1);
  expect(copy.warnings[0]).toContain("this folder is a copy");
  await copy.close();
});

test("a peer in memory leaves no files", async () => {
  const first = await open(undefined);
  await first.close();
  const second = await open(undefined);
  expect(second.store.identity.historyId).not.toBe(first.store.identity.historyId);
  await second.close();
});

test.each([
  ["a file", (folder: string) => join(folder, "file"), "found a file in its place"],
  ["below a file", (folder: string) => join(folder, "file", "deep"), "found a file in its way"],
  ["where none can be made", () => "/proc/nowhere/peer", "found no way to make it"],
  ["of too long a name", (folder: string) => join(folder, "x".repeat(300)), "found no way to make"],
])(
  "a folder that is %s is refused with its path and what was expected",
  async (_, place, found) => {
    const base = temporaryFolder();
    writeFileSync(join(base, "file"), "");
    const folder = place(base);
    const opening = open(folder);
    await expect(opening).rejects.toBeInstanceOf(PeerError);
    await expect(opening).rejects.toEqual(expect.objectContaining({ code: "config.invalid" }));
    await expect(opening).rejects.toThrow(
      `expected a folder for the documents at ${folder}, ${found}`,
    );
  },
);

test("a file of the store that is something else is reported with its path", async () => {
  const folder = temporaryFolder();
  await (await open(folder)).close();
  rmSync(join(folder, "life.json"));
  mkdirSync(join(folder, "life.json"));
  const opening = open(folder);
  await expect(opening).rejects.toBeInstanceOf(PeerError);
  await expect(opening).rejects.toThrow(/^failed to use the folder .+: EISDIR/);
});
