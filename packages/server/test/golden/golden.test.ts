import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  attachmentOf,
  attachmentReferences,
  FORMAT_VERSION,
  orphanedAttachments,
  type Problem,
  storedAttachments,
  type TransactionRecord,
  takeUpload,
  verify,
} from "@bigpeer/engine/store";
import { openStore, readStore, type StoreFolder } from "@bigpeer/node";
import type { Value } from "@bigpeer/protocol";
import { beforeAll, expect, test } from "vitest";
import { testPlatform } from "../../../engine/test/support/test-platform.ts";
import { recordIncarnation } from "../../../node/src/incarnation.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { appStoreFolder, registryFolder } from "../../src/config/data-folder.ts";
import { verifyDataFolder } from "../../src/maintenance/verify-command.ts";
import { type AppName, readAppNames } from "../../src/registry/app.ts";
import { Registry } from "../../src/registry/registry.ts";
import { GOLDEN_DOCUMENTS, GOLDEN_MS, GOLDEN_ORPHAN, makeGolden, OTHER_SITE } from "./make.ts";

/** Every format that there was. */
const FORMATS = Array.from({ length: FORMAT_VERSION }, (_, i) => i + 1);

function goldenFolder(format: number): string {
  return fileURLToPath(new URL(`./format-${format}`, import.meta.url));
}

beforeAll(async () => {
  if (process.env["MAKE_GOLDEN"] === "1") await makeGolden(goldenFolder(FORMAT_VERSION));
});

/** A copy of the golden folder, since opening a store writes to it. */
async function goldenCopy(
  format: number,
): Promise<{ dataDir: string; app: AppName; appFolder: string }> {
  const dataDir = join(temporaryFolder(), "data");
  cpSync(goldenFolder(format), dataDir, { recursive: true });
  const [app] = await readStore(registryFolder(dataDir), readAppNames);
  if (app === undefined) throw new Error("expected an app");
  return { dataDir, app, appFolder: appStoreFolder(dataDir, app.id) };
}

/** Says that the copy is the original, so that its history can be read. */
async function adopt(folder: string): Promise<void> {
  const standing = await readStore(folder, (view) => {
    const { historyId } = view.reader.get("s") as { historyId: string };
    return { historyId, txnId: view.head.txnId };
  });
  recordIncarnation(folder, standing);
}

interface OpenCopy {
  readonly opened: StoreFolder;
  readonly lines: readonly string[];
  readonly close: () => Promise<void>;
}

async function openCopy(dataDir: string): Promise<OpenCopy> {
  const platform = testPlatform(2);
  platform.nowMs = GOLDEN_MS + 1000;
  const host = { ...testHost(), platform };
  const registry = await Registry.open(dataDir, host);
  const [app] = registry.apps.list();
  if (app === undefined) throw new Error("expected an app");
  const opened = await openStore(appStoreFolder(dataDir, app.id), host);
  const close = async (): Promise<void> => {
    await opened.close();
    await registry.close();
  };
  return { opened, lines: host.lines, close };
}

function documentsOf({ store }: StoreFolder): Record<string, unknown> {
  return store.read((snapshot) =>
    Object.fromEntries(
      snapshot.collections().map((collection) => [collection, [...snapshot.scan(collection)]]),
    ),
  );
}

/** What verify finds, but for the files of attachments: the golden folder has only their records. */
async function storeProblems(dataDir: string): Promise<string[]> {
  const lines: string[] = [];
  await verifyDataFolder(dataDir, (line) => lines.push(line));
  return lines.filter((line) => /: problem(?! at attachment)/.test(line));
}

test.each(FORMATS)(
  "the golden folder of format %d is as it was written: it has no lock files",
  (format) => {
    const folder = goldenFolder(format);
    expect(JSON.parse(readFileSync(join(folder, "format.json"), "utf8"))).toEqual({ format });
    expect(existsSync(join(folder, "registry", "lock.mdb"))).toBe(false);
  },
);

test.each(sized(FORMATS.slice(-1), FORMATS))(
  "a folder of format %d verifies clean and has every type of record",
  async (format) => {
    const { dataDir, app, appFolder } = await goldenCopy(format);
    expect(app.name).toBe("default");
    expect(await storeProblems(dataDir)).toEqual([]);
    const kinds = await readStore(appFolder, ({ reader }) => {
      const all = [...reader.keys({ from: "\x00", to: "\xff" })];
      return [...new Set(all.map((key) => key.charAt(0)))].join("");
    });
    expect(kinds).toBe("abcdghikmnorstuvwx");
  },
);

test.each(FORMATS)(
  "a server opens a folder of format %d, as a copy, and finds its documents",
  async (format) => {
    const { dataDir, appFolder } = await goldenCopy(format);
    const { opened, lines, close } = await openCopy(dataDir);
    expect(lines).toHaveLength(2);
    expect(documentsOf(opened)).toEqual(GOLDEN_DOCUMENTS);
    expect(opened.store.read((snapshot) => snapshot.catalog("index", "by-colour"))).toEqual([
      "colour",
    ]);
    await close();
    const problems = await readStore(
      appFolder,
      ({ reader }): readonly Problem[] => verify(reader).problems,
    );
    expect(problems).toEqual([]);
  },
);

test.each(FORMATS)(
  "the attachments of a folder of format %d are known, with the orphans",
  async (format) => {
    const { appFolder } = await goldenCopy(format);
    await readStore(appFolder, (view) => {
      const [used, orphan] = [...storedAttachments(view)].toReversed();
      expect(orphan).toEqual({ id: GOLDEN_ORPHAN, len: 1 });
      expect(attachmentOf(view, GOLDEN_ORPHAN)).toEqual({ len: 1, by: ["bob"], isOrphan: true });
      const references = [...attachmentReferences(view, used?.id ?? "")];
      expect(references).toEqual([{ collection: "types", id: [1, "two"] }]);
      expect(orphanedAttachments(view, view.head.time, 10).map(({ id }) => id)).toEqual([
        GOLDEN_ORPHAN,
      ]);
    });
  },
);

test.each(FORMATS)(
  "the history of a folder of format %d can be read from the start of its log",
  async (format) => {
    const { dataDir, appFolder } = await goldenCopy(format);
    await adopt(appFolder);
    await adopt(registryFolder(dataDir));
    const { opened, lines, close } = await openCopy(dataDir);
    expect(lines).toEqual([]);
    const { store } = opened;
    const outcomes = store.read((snapshot) => {
      const { floor, txnId } = snapshot.head;
      expect(floor).toBeGreaterThan(0);
      const since = snapshot.changesSince({ historyId: store.identity.historyId, txnId: floor });
      if (since.kind !== "changes") throw new Error(`expected changes, found ${since.kind}`);
      const logged = [...since.transactions];
      expect(logged.at(-1)?.txnId).toBe(txnId);
      return logged.length;
    });
    expect(outcomes).toBeGreaterThan(20);
    await close();
  },
);

test.each(FORMATS)(
  "[K97] the log of format %d names writers only from format 4 on",
  async (format) => {
    const { appFolder } = await goldenCopy(format);
    const writers = await readStore(appFolder, ({ reader }) => {
      const range = { from: "t", to: "u" };
      const records = [...reader.entries(range)].map(({ value }) => value as TransactionRecord);
      return records.map(({ by }) => by);
    });
    const known = writers.filter((by) => by !== undefined);
    if (format < 4) expect(known).toEqual([]);
    else {
      expect(known).toContainEqual({ credential: "k1" });
      expect(known).toContainEqual({ provider: "corp", user: "ann", peer: "pk:1" });
    }
  },
);

test.runIf(isFullSize).each(FORMATS)(
  "a store of format %d can be written, and its uploads still count",
  async (format) => {
    const { dataDir, appFolder } = await goldenCopy(format);
    await adopt(appFolder);
    await adopt(registryFolder(dataDir));
    const { opened, close } = await openCopy(dataDir);
    const { store } = opened;
    const repeat = await takeUpload(store, {
      site: OTHER_SITE,
      number: 1,
      digest: new Uint8Array(32),
      steps: [],
    });
    expect(repeat).toEqual({ kind: "forked" });
    await store.transact((transaction) => {
      const edits = [{ kind: "increment", path: ["sum"], by: 1 }] as const;
      transaction.apply([{ kind: "update", collection: "types", id: 42, edits }]);
      transaction.apply([{ kind: "insert", collection: "lives", id: "dead", fields: { n: 2 } }]);
    });
    expect(fieldsOf(opened, "types", 42)).toMatchObject({ sum: 12n ** 15n + 1n });
    expect(fieldsOf(opened, "lives", "dead")).toEqual({ n: 2 });
    await close();
    expect(await storeProblems(dataDir)).toEqual([]);
  },
);

function fieldsOf({ store }: StoreFolder, collection: string, id: Value): Value | undefined {
  return store.read((snapshot) => snapshot.get(collection, id)?.fields);
}

test.runIf(isFullSize)(
  "[K71] maintenance adds checksums to the records of format 1, while other requests write",
  async () => {
    const { dataDir } = await goldenCopy(1);
    const notes = async (): Promise<string[]> => {
      const lines: string[] = [];
      await verifyDataFolder(dataDir, (line) => lines.push(line));
      return lines.filter((line) => line.includes("records without a checksum"));
    };
    expect(await notes()).toHaveLength(2);
    const { opened, close } = await openCopy(dataDir);
    const written = Array.from({ length: 5 }, (_, i) =>
      opened.store.transact((transaction) => {
        transaction.apply([{ kind: "insert", collection: "new", id: i, fields: { n: i } }]);
      }),
    );
    await opened.protect();
    await Promise.all(written);
    await close();
    // That of the registry is left.
    expect(await notes()).toHaveLength(1);
    expect(await storeProblems(dataDir)).toEqual([]);
    const again = await openCopy(dataDir);
    expect(documentsOf(again.opened)).toMatchObject(GOLDEN_DOCUMENTS);
    expect(fieldsOf(again.opened, "new", 4)).toEqual({ n: 4 });
    await again.close();
  },
);
