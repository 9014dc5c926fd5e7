import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nodePlatform, openStore, type StoreFolder } from "@bigpeer/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleScript, type Script } from "../../../node/test/support/script.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { attachmentPath, fileIds } from "../../src/attachments/attachment-files.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import {
  appAttachmentsFolder,
  appStoreFolder,
  markDataFolder,
  prepareDataFolder,
  registryFolder,
} from "../../src/config/data-folder.ts";
import { backup, restore } from "../../src/maintenance/backup.ts";
import { verifyDataFolder } from "../../src/maintenance/verify-command.ts";
import type { App } from "../../src/registry/app.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { prepareQuickstart } from "../../src/registry/quickstart.ts";
import { Registry } from "../../src/registry/registry.ts";
import { BigpeerProcess } from "../support/bigpeer-process.ts";

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

interface OpenFolder {
  readonly registry: Registry;
  readonly app: App;
  readonly opened: StoreFolder;
  readonly lines: readonly string[];
}

async function openFolder(dataDir: string): Promise<OpenFolder> {
  const host = testHost();
  prepareDataFolder(dataDir);
  markDataFolder(dataDir);
  const registry = await Registry.open(dataDir, host);
  const [app] = registry.apps.list();
  if (app === undefined) throw new Error("expected an app");
  const opened = await openStore(appStoreFolder(dataDir, app.id), host);
  return { registry, app, opened, lines: host.lines };
}

async function closeFolder({ registry, opened }: OpenFolder): Promise<void> {
  await opened.close();
  await registry.close();
}

/** Writes a pair of documents with one number in one transaction: half of it would be seen. */
async function writePair({ store }: StoreFolder, number: number): Promise<number> {
  const { txnId } = await store.transact((transaction) => {
    const fields = { number, padding: "x".repeat(200) };
    for (const side of ["left", "right"]) {
      transaction.apply([{ kind: "insert", collection: side, id: number, fields }]);
    }
  });
  return txnId;
}

function numbersOf({ store }: StoreFolder, side: string): unknown[] {
  return store.read((snapshot) => [...snapshot.scan(side)].map(({ fields }) => fields["number"]));
}

function attachmentsOf(dataDir: string, { app, opened }: OpenFolder): AttachmentFolder {
  const folder = appAttachmentsFolder(dataDir, app.id);
  return new AttachmentFolder({ folder, store: opened.store, sizeMax: 1_000 });
}

/** Adds a content to the app of a folder. Returns its id. */
async function attach(source: OpenFolder, text: string): Promise<string> {
  const dataDir = join(source.opened.folder, "..", "..", "..");
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  }
  return (await attachmentsOf(dataDir, source).add(chunks(), "ann")).id;
}

async function problemsOf(dataDir: string): Promise<number> {
  return verifyDataFolder(dataDir, () => {});
}

test.runIf(isFullSize)(
  "[K31] a backup of a server under writes restores to a complete store",
  async () => {
    const parent = temporaryFolder();
    const data = join(parent, "data");
    const copy = join(parent, "copy");
    const restored = join(parent, "restored");
    const source = await openFolder(data);
    let acknowledged = 0;
    for (; acknowledged < 200; acknowledged++) await writePair(source.opened, acknowledged);
    const before = acknowledged;
    const words = ["backup", "--data-dir", data, "--to", copy];
    const running = new BigpeerProcess(script, words);
    let lastTxnId = 0;
    for (; !running.hasEnded; acknowledged++)
      lastTxnId = await writePair(source.opened, acknowledged);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^copied to ${copy}: registry, apps 1, \\d+\\.\\d MB\n$`));
    // Or the writes would not have been beside it.
    expect(acknowledged).toBeGreaterThan(before);
    expect(await problemsOf(copy)).toBe(0);

    await restore(copy, restored, nodePlatform);
    expect(await problemsOf(restored)).toBe(0);
    const target = await openFolder(restored);
    expect(target.lines).toEqual([]);
    expect(target.app).toEqual(source.app);
    const left = numbersOf(target.opened, "left");
    expect(left).toEqual(numbersOf(target.opened, "right"));
    expect(left).toEqual(Array.from({ length: left.length }, (_, i) => i));
    expect(left.length).toBeGreaterThanOrEqual(before);
    expect(left.length).toBeLessThanOrEqual(acknowledged);

    for (const [a, b] of [
      [source.opened, target.opened],
      [source.registry.storeFolder, target.registry.storeFolder],
    ] as const) {
      expect(b.store.identity.historyId).not.toBe(a.store.identity.historyId);
      expect(b.store.identity.site).not.toBe(a.store.identity.site);
    }
    const restoredTxnId = target.opened.store.read((snapshot) => snapshot.txnId);
    expect(restoredTxnId).toBeGreaterThan(lastTxnId);
    expect(await writePair(target.opened, 1_000_000)).toBeGreaterThan(restoredTxnId);
    await closeFolder(target);
    await closeFolder(source);
  },
);

test("[K26] a server can also start on a backup itself: it counts as a copy", async () => {
  const parent = temporaryFolder();
  const source = await openFolder(join(parent, "data"));
  await writePair(source.opened, 7);
  await backup(join(parent, "data"), join(parent, "copy"));
  await closeFolder(source);
  const target = await openFolder(join(parent, "copy"));
  expect(target.lines.map((line) => line.slice(0, 27))).toEqual([
    "warn this folder is a copy:",
    "warn this folder is a copy:",
  ]);
  expect(target.opened.store.identity.historyId).not.toBe(source.opened.store.identity.historyId);
  expect(numbersOf(target.opened, "left")).toEqual([7]);
  await closeFolder(target);
});

test("a backup has every app, and no folder that belongs to no app", async () => {
  const parent = temporaryFolder();
  const source = await openFolder(join(parent, "data"));
  const { apps } = source.registry;
  await apps.create({ name: "second" }, SERVER);
  await apps.create({ name: "deleted" }, SERVER);
  await apps.remove("deleted", SERVER);
  mkdirSync(join(parent, "data", "apps", "left-over"));
  const report = await backup(join(parent, "data"), join(parent, "copy"));
  expect(report.apps).toEqual(apps.names());
  expect(readdirSync(join(parent, "copy", "apps")).toSorted()).toEqual(
    report.apps.map(({ id }) => id).toSorted(),
  );
  await closeFolder(source);
});

test.runIf(isFullSize)(
  "a backup has the attachment contents that its stores name, and so has a restore",
  async () => {
    const parent = temporaryFolder();
    const data = join(parent, "data");
    const source = await openFolder(data);
    const folder = appAttachmentsFolder(data, source.app.id);
    const ids: string[] = [];
    for (const text of ["one", "two", ""]) ids.push(await attach(source, text));
    // A file that no record names is not copied.
    writeFileSync(attachmentPath(folder, `${ids[0]?.slice(0, 2)}${"x".repeat(41)}`), "stray");
    const { sizeBytes } = await backup(data, join(parent, "copy"));
    await closeFolder(source);
    await restore(join(parent, "copy"), join(parent, "restored"), nodePlatform);
    for (const name of ["copy", "restored"]) {
      const copied = appAttachmentsFolder(join(parent, name), source.app.id);
      expect([...fileIds(copied)].flat().toSorted()).toEqual(ids.toSorted());
      expect(readFileSync(attachmentPath(copied, ids[1] ?? ""), "utf8")).toBe("two");
      expect(await problemsOf(join(parent, name))).toBe(0);
    }
    const stores = [registryFolder, (dir: string): string => appStoreFolder(dir, source.app.id)];
    const sizes = stores.map((at) => statSync(join(at(join(parent, "copy")), "data.mdb")).size);
    expect(sizeBytes).toBe(sizes.reduce((a, b) => a + b) + "onetwo".length);
  },
);

test.runIf(isFullSize)(
  "a backup of a server that deletes attachments has a file for each record",
  async () => {
    const parent = temporaryFolder();
    const data = join(parent, "data");
    const copy = join(parent, "copy");
    const source = await openFolder(data);
    const { store } = source.opened;
    const attachments = attachmentsOf(data, source);
    for (let i = 0; i < 100; i++) await attach(source, `content ${i}`);
    const running = new BigpeerProcess(script, ["backup", "--data-dir", data, "--to", copy]);
    // The store of the copy knows them all by then, and their files are on their way.
    const isStoreCopied = (): boolean =>
      readdirSync(parent).some(
        (name) =>
          existsSync(join(appStoreFolder(join(parent, name), source.app.id), "data.mdb")) &&
          name !== "data",
      );
    while (!isStoreCopied()) await new Promise((resolve) => setImmediate(resolve));
    await attachments.removeOrphans(
      store.read((view) => view.head.time),
      100,
    );
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(await problemsOf(copy)).toBe(0);
    await closeFolder(source);
  },
);

test.runIf(isFullSize)(
  "a backup of a server that removes the data of a deleted app has the other apps",
  async () => {
    const parent = temporaryFolder();
    const data = join(parent, "data");
    const copy = join(parent, "copy");
    const source = await openFolder(data);
    const { apps } = source.registry;
    for (let i = 0; i < 100; i++) await attach(source, `content ${i}`);
    // The apps are copied in the order of their names: these two after the one with attachments.
    const kept = await apps.create({ name: "kept" }, SERVER);
    const gone = await apps.create({ name: "zone" }, SERVER);
    const running = new BigpeerProcess(script, ["backup", "--data-dir", data, "--to", copy]);
    const isBegun = (): boolean =>
      readdirSync(parent).some(
        (name) => name !== "data" && existsSync(join(parent, name, "registry", "data.mdb")),
      );
    while (!isBegun()) await new Promise((resolve) => setImmediate(resolve));
    await apps.remove("zone", SERVER);
    rmSync(join(data, "apps", gone.id), { recursive: true });
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("registry, apps 2, ");
    expect(readdirSync(join(copy, "apps")).toSorted()).toEqual([source.app.id, kept.id].toSorted());
    expect(await problemsOf(copy)).toBe(0);
    await closeFolder(source);
  },
);

test("a missing content fails the backup, which leaves nothing behind", async () => {
  const parent = temporaryFolder();
  const data = join(parent, "data");
  const source = await openFolder(data);
  const path = attachmentPath(
    appAttachmentsFolder(data, source.app.id),
    await attach(source, "lost"),
  );
  rmSync(path);
  await expect(backup(data, join(parent, "copy"))).rejects.toMatchObject({
    code: "store.corrupt",
    message: `expected the content of an attachment at ${path}`,
  });
  expect(readdirSync(parent)).toEqual(["data"]);
  await closeFolder(source);
});

test("[H16] a backup has no key in clear text, and a restored server accepts the same keys", async () => {
  const parent = temporaryFolder();
  const data = join(parent, "data");
  const source = await openFolder(data);
  const { log } = testHost();
  const { registry } = source;
  const made = await prepareQuickstart({ dataDir: data, registry, url: "http://here", log });
  await backup(data, join(parent, "copy"));
  await restore(join(parent, "copy"), join(parent, "restored"), nodePlatform);
  for (const name of ["copy", "restored"]) {
    expect(readdirSync(join(parent, name)).toSorted()).toEqual(["apps", "format.json", "registry"]);
  }
  const target = await openFolder(join(parent, "restored"));
  expect(target.registry.keys.find(made?.shown?.apiKey ?? "")?.appId).toBe(source.app.id);
  await closeFolder(target);
  await closeFolder(source);
});

test("copies are written only to a new or an empty folder", async () => {
  const parent = temporaryFolder();
  const source = await openFolder(join(parent, "data"));
  await closeFolder(source);
  mkdirSync(join(parent, "empty"));
  await backup(join(parent, "data"), join(parent, "empty"));
  const used = join(parent, "used");
  mkdirSync(used);
  writeFileSync(join(used, "thesis.txt"), "");
  const refusal = {
    code: "store.not_empty",
    message: `expected no folder or an empty one at ${used}, found thesis.txt`,
  };
  await expect(backup(join(parent, "data"), used)).rejects.toMatchObject(refusal);
  await expect(restore(join(parent, "data"), used, nodePlatform)).rejects.toMatchObject(refusal);
  expect(readdirSync(used)).toEqual(["thesis.txt"]);
  expect(readdirSync(parent).toSorted()).toEqual(["data", "empty", "used"]);
});

test("a folder that is not a data folder is not copied", async () => {
  const parent = temporaryFolder();
  mkdirSync(join(parent, "other"));
  for (const from of ["other", "absent"]) {
    const copies = [
      (): unknown => backup(join(parent, from), join(parent, "copy")),
      (): unknown => restore(join(parent, from), join(parent, "copy"), nodePlatform),
    ];
    for (const copy of copies) {
      await expect(async () => copy()).rejects.toMatchObject({ code: "store.foreign" });
    }
  }
  expect(readdirSync(parent)).toEqual(["other"]);
});

test("a copy that fails midway leaves nothing behind", async () => {
  const parent = temporaryFolder();
  const source = await openFolder(join(parent, "data"));
  await closeFolder(source);
  rmSync(appStoreFolder(join(parent, "data"), source.app.id), { recursive: true });
  await expect(backup(join(parent, "data"), join(parent, "copy"))).rejects.toMatchObject({
    code: "store.foreign",
  });
  expect(readdirSync(parent)).toEqual(["data"]);
});

test
  .runIf(isFullSize)
  .each([".", "registry/data.mdb", "apps", "registry/life.json", "format.json.partial"])(
  "a restore that is killed when %s is there leaves nothing that looks complete",
  async (reached) => {
    const parent = temporaryFolder();
    const source = await openFolder(join(parent, "data"));
    for (let i = 0; i < 20; i++) await writePair(source.opened, i);
    await closeFolder(source);
    const target = join(parent, "restored");
    const words = ["restore", "--from", join(parent, "data"), "--data-dir", target];
    const running = new BigpeerProcess(script, words);
    const isReached = (): boolean =>
      existsSync(target) ||
      readdirSync(parent).some(
        (name) => /partial-/.test(name) && existsSync(join(parent, name, reached)),
      );
    while (!isReached()) await new Promise((resolve) => setImmediate(resolve));
    running.kill("SIGKILL");
    await running.ended;
    // Whole or absent; which of the two depends on who was faster.
    if (existsSync(target)) expect(await problemsOf(target)).toBe(0);
    else
      expect(readdirSync(parent)).toEqual(["data", expect.stringMatching(/^restored\.partial-/)]);
    expect(await problemsOf(join(parent, "data"))).toBe(0);
  },
);
