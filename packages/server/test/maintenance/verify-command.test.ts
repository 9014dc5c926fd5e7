import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStorage, openStore } from "@bigpeer/node";
import { expect, onTestFinished, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { attachmentPath } from "../../src/attachments/attachment-files.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import {
  appAttachmentsFolder,
  appStoreFolder,
  markDataFolder,
} from "../../src/config/data-folder.ts";
import { backup } from "../../src/maintenance/backup.ts";
import { verifyDataFolder } from "../../src/maintenance/verify-command.ts";
import type { App } from "../../src/registry/app.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { Registry } from "../../src/registry/registry.ts";

/** A data folder with one app, which has one document. */
async function dataFolder(): Promise<{ dataDir: string; app: App }> {
  const dataDir = temporaryFolder();
  markDataFolder(dataDir);
  const registry = await Registry.open(dataDir, testHost());
  const [app] = registry.apps.list();
  if (app === undefined) throw new Error("expected an app");
  const opened = await openStore(appStoreFolder(dataDir, app.id), testHost());
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields: { doors: 3 } }]);
  });
  await opened.close();
  await registry.close();
  return { dataDir, app };
}

async function dataFolderWithAttachments(
  texts: readonly string[],
): Promise<{ dataDir: string; app: App; ids: string[] }> {
  const { dataDir, app } = await dataFolder();
  const opened = await openStore(appStoreFolder(dataDir, app.id), testHost());
  const folder = appAttachmentsFolder(dataDir, app.id);
  const attachments = new AttachmentFolder({ folder, store: opened.store, sizeMax: 1_000 });
  const ids: string[] = [];
  for (const text of texts) {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
    }
    ids.push((await attachments.add(chunks(), "ann")).id);
  }
  await opened.close();
  return { dataDir, app, ids };
}

async function run(dataDir: string): Promise<{ count: number; lines: string[] }> {
  const lines: string[] = [];
  const count = await verifyDataFolder(dataDir, (line) => lines.push(line));
  return { count, lines };
}

test.runIf(isFullSize)(
  "an intact folder has no problems, and each store is listed with its contents",
  async () => {
    const { dataDir, app } = await dataFolder();
    expect(await run(dataDir)).toEqual({
      count: 0,
      lines: [
        expect.stringMatching(/^registry: keys \d+, documents 3, transactions 2$/),
        expect.stringMatching(
          new RegExp(`^app ${app.id} \\(default\\): keys \\d+, documents 1, transactions 1$`),
        ),
        "no problems found",
      ],
    });
  },
);

test.runIf(isFullSize)(
  "an app whose record cannot be read is a problem of the registry, and is itself checked",
  async () => {
    const { dataDir, app } = await dataFolder();
    const registry = await Registry.open(dataDir, testHost());
    const { store } = registry.storeFolder;
    await store.transact((transaction) => {
      const edits = [{ kind: "set" as const, path: ["authProviders"], value: "none" }];
      transaction.apply([{ kind: "update", collection: "apps", id: app.id, edits }]);
    });
    await registry.close();
    const { count, lines } = await run(dataDir);
    expect(count).toBe(1);
    expect(lines.slice(1)).toEqual([
      expect.stringContaining(
        `registry: problem at the app "${app.id}": expected auth providers in the registry`,
      ),
      expect.stringMatching(
        `^app ${app.id} \\(default\\): keys \\d+, documents 1, transactions 1$`,
      ),
      "problems found: 1",
    ]);
  },
);

test("each problem of a store is one line with its key", async () => {
  const { dataDir, app } = await dataFolder();
  const storage = await openStorage(appStoreFolder(dataDir, app.id));
  await storage.commit(new Map([["z-what", 1]]));
  await storage.close();
  const { count, lines } = await run(dataDir);
  expect(count).toBe(1);
  expect(lines.slice(2)).toEqual([
    `app ${app.id} (default): problem at z:2d77686174: expected a key of the storage format`,
    "problems found: 1",
  ]);
});

test.runIf(isFullSize)("[H36] each attachment record without its file is one line", async () => {
  const { dataDir, app, ids } = await dataFolderWithAttachments(["same", "lost", "cut", "other"]);
  const folder = appAttachmentsFolder(dataDir, app.id);
  const label = `app ${app.id} (default)`;
  const total = `${label}: attachments 4, bytes ${"samelostcutother".length}`;
  const sound = await run(dataDir);
  expect([sound.count, sound.lines.slice(2)]).toEqual([0, [total, "no problems found"]]);
  const [same = "", lost = "", cut = "", other = ""] = ids;
  rmSync(attachmentPath(folder, lost));
  truncateSync(attachmentPath(folder, cut), 1);
  writeFileSync(attachmentPath(folder, other), "OTHER");
  mkdirSync(join(folder, "zz"), { recursive: true });
  writeFileSync(attachmentPath(folder, "z".repeat(43)), "");
  const { count, lines } = await run(dataDir);
  expect(count).toBe(3);
  expect(lines.slice(2, 3)).toEqual([total]);
  expect(lines.slice(3, 6).toSorted()).toEqual(
    [
      `${label}: problem at attachment ${lost}: expected its file, found none`,
      `${label}: problem at attachment ${cut}: expected a file of 3 bytes, found 1`,
      `${label}: problem at attachment ${other}: expected the content of this id, found another`,
    ].toSorted(),
  );
  expect(lines.slice(6)).toEqual([
    `${label}: note: files without a record in ${folder}: 1`,
    "problems found: 3",
  ]);
  expect(lines.join()).not.toContain(same);
});

test.runIf(isFullSize)(
  "attachments that cannot be read are a problem in addition to those of the store",
  async () => {
    const { dataDir, app } = await dataFolder();
    const storage = await openStorage(appStoreFolder(dataDir, app.id));
    await storage.commit(new Map([["z-what", 1]]));
    await storage.close();
    const folder = appAttachmentsFolder(dataDir, app.id);
    symlinkSync(folder, folder);
    const { count, lines } = await run(dataDir);
    expect(count).toBe(2);
    expect(lines.slice(2)).toEqual([
      `app ${app.id} (default): problem at z:2d77686174: expected a key of the storage format`,
      expect.stringMatching(/: problem: ELOOP: /),
      "problems found: 2",
    ]);
  },
);

test.runIf(isFullSize)(
  "a store that cannot be opened is a problem, and the others are still checked",
  async () => {
    const { dataDir, app } = await dataFolder();
    truncateSync(join(appStoreFolder(dataDir, app.id), "data.mdb"), 100);
    const { count, lines } = await run(dataDir);
    expect(count).toBe(1);
    expect(lines[0]).toMatch(/^registry: keys/);
    expect(lines[1]).toMatch(new RegExp(`^app ${app.id} \\(default\\): problem: expected `));
  },
);

test.runIf(isFullSize)("without a registry the apps are found by their folders", async () => {
  const { dataDir, app } = await dataFolder();
  rmSync(join(dataDir, "registry"), { recursive: true });
  const { count, lines } = await run(dataDir);
  expect(count).toBe(1);
  expect(lines[0]).toMatch(/^registry: problem: /);
  expect(lines[1]).toMatch(new RegExp(`^app ${app.id} \\(name not known\\): keys`));
});

test.runIf(isFullSize)(
  "a folder that belongs to no app is noted and is not a problem",
  async () => {
    const { dataDir } = await dataFolder();
    mkdirSync(join(dataDir, "apps", "left-over"));
    const { count, lines } = await run(dataDir);
    expect(count).toBe(0);
    expect(lines).toContain("note: the folder apps/left-over belongs to no app and is not used");
  },
);

test.runIf(isFullSize)(
  "the folder of a deleted app is noted with its name and is not a problem",
  async () => {
    const { dataDir, app } = await dataFolder();
    const registry = await Registry.open(dataDir, testHost());
    await registry.apps.remove(app.name, SERVER);
    await registry.close();
    const { count, lines } = await run(dataDir);
    expect(count).toBe(0);
    expect(lines.slice(1)).toEqual([
      `note: the folder apps/${app.id} is of the deleted app default and is not used`,
      "no problems found",
    ]);
  },
);

test("a folder that is not a data folder is refused", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "thesis.txt"), "");
  await expect(run(folder)).rejects.toMatchObject({ code: "store.foreign" });
});

/** Puts `other` in the place of `text` in the data file of a store. */
function replaceInStore(folder: string, text: string, other: string): void {
  const path = join(folder, "data.mdb");
  const bytes = readFileSync(path);
  let at = bytes.indexOf(text, 0, "latin1");
  expect(at).toBeGreaterThan(0);
  for (; at >= 0; at = bytes.indexOf(text, at + 1, "latin1")) bytes.write(other, at, "latin1");
  writeFileSync(path, bytes);
}

async function withText(text: string): Promise<{ dataDir: string; folder: string; label: string }> {
  const { dataDir, app } = await dataFolder();
  const folder = appStoreFolder(dataDir, app.id);
  const opened = await openStore(folder, testHost());
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "red", fields: { text } }]);
  });
  await opened.close();
  return { dataDir, folder, label: `app ${app.id} (default)` };
}

test.runIf(isFullSize)(
  "[K74] a document whose text was changed on disk is a problem, also in a backup",
  async () => {
    const { dataDir, folder, label } = await withText("many words");
    replaceInStore(folder, "many words", "many sword");
    const copy = join(temporaryFolder(), "backup");
    await backup(dataDir, copy);
    for (const place of [dataDir, copy]) {
      const { count, lines } = await run(place);
      expect(count).toBeGreaterThan(0);
      const problem = new RegExp(
        `: problem at d:.*: expected the record that was written, found other`,
      );
      expect(lines.filter((line) => problem.test(line))).toHaveLength(1);
      expect(lines.some((line) => line.startsWith(`${label}: keys `))).toBe(true);
    }
  },
);

test.runIf(isFullSize)(
  "[K74] a file that crashes its reader is a problem with the place, and the others are checked",
  async () => {
    const { dataDir, folder, label } = await withText("words");
    const path = join(folder, "data.mdb");
    // The data of every record leads far behind the end of the file: to copy it is SIGBUS.
    const bytes = readFileSync(path);
    for (let page = 2 * 4096; page < bytes.length; page += 4096) {
      const count = bytes.readUInt16LE(page + 18) === 2 ? bytes.readUInt16LE(page + 20) / 2 : 0;
      // A page of the tree of trees has two.
      if (count <= 2) continue;
      for (let i = 0; i < count; i++) {
        bytes.writeUInt32LE(0x70000000, page + 24 + bytes.readUInt16LE(page + 24 + 2 * i));
      }
    }
    writeFileSync(path, bytes);
    const { count, lines } = await run(dataDir);
    expect(count).toBeGreaterThan(0);
    expect(lines[0]).toMatch(/^registry: keys \d+, documents 3, transactions 2$/);
    expect(lines.at(-1)).toBe(`problems found: ${count}`);
    expect(lines.filter((line) => line.startsWith(`${label}: problem`))).toEqual(
      expect.arrayContaining([
        expect.stringContaining("problem at page "),
        expect.stringMatching(
          /: problem: failed to read the data file: .* ended with SIG[A-Z]+ behind /,
        ),
      ]),
    );
  },
);

test.runIf(isFullSize)(
  "[K74] a process that hangs in a file is ended, which is a problem with the place",
  async () => {
    const { dataDir } = await dataFolder();
    const file = join(temporaryFolder(), "hanging.mjs");
    const said = ["started", "reached"].map((kind) => ({ kind, place: "d:cars:blue" }));
    writeFileSync(
      file,
      `for (const message of ${JSON.stringify(said)}) process.send(message);
    process.on("message", () => {});`,
    );
    const lines: string[] = [];
    const options = { file, silentMsMax: 500 };
    expect(await verifyDataFolder(dataDir, (line) => lines.push(line), options)).toBe(2);
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^registry: problem: failed to read the data file: .* hung for 500 ms behind (d:cars:blue|its beginning); /,
      ),
    );
    expect(lines.at(-1)).toBe("problems found: 2");
  },
);

test("a process that cannot be started is a problem, and does not end the server", async () => {
  const { dataDir } = await dataFolder();
  const { execPath } = process;
  onTestFinished(() => {
    process.execPath = execPath;
  });
  process.execPath = join(temporaryFolder(), "node");
  const { count, lines } = await run(dataDir);
  expect(count).toBe(2);
  expect(lines[0]).toMatch(
    /^registry: problem: failed to start the process that reads: spawn .* ENOENT$/,
  );
  expect(lines.at(-1)).toBe("problems found: 2");
});
