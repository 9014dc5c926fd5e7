import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { storedAttachments } from "@bigpeer/engine/store";
import { createStore } from "@bigpeer/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type TestPlatform, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { type TestHost, testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { sized } from "../../../protocol/test/support/test-size.ts";
import {
  type CollectedApp,
  type CollectorOptions,
  collectAttachments,
} from "../../src/attachments/attachment-collector.ts";
import { attachmentPath } from "../../src/attachments/attachment-files.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import type { Config } from "../../src/config/config.ts";
import { appAttachmentsFolder } from "../../src/config/data-folder.ts";
import { startServer } from "../../src/server.ts";
import { download, idOf, uploaded } from "../support/attachment-client.ts";
import { DataApi } from "../support/data-api.ts";
import { testConfig } from "../support/test-config.ts";

const PHOTO = Buffer.from("a photo");
const OTHER = Buffer.from("another");
const HOUR_MS = 3_600_000;

/** Starts a server on a folder, and closes it when the test ends. */
async function serve(config: Config, host: TestHost = testHost()): Promise<DataApi> {
  const server = await startServer(config, host);
  onTestFinished(() => server.close());
  return new DataApi(server, config);
}

function hasFile({ config, quickstart }: DataApi, content: Uint8Array): boolean {
  const folder = appAttachmentsFolder(config.dataDir, quickstart.appId);
  return existsSync(attachmentPath(folder, idOf(content)));
}

async function refer(api: DataApi, content: Uint8Array): Promise<void> {
  const value = { photo: { id: idOf(content), len: content.length } };
  const command = { method: "upsert", collection: "cars", id: "blue", value };
  const commands = [{ ...command, valueTypeOverrides: { photo: "attachment" } }];
  expect((await api.call("write", { commands })).status).toBe(200);
}

describe("[H40] a server", () => {
  test("deletes unreferenced contents after the grace period, and referenced ones never", async () => {
    const config = testConfig({ dataDir: temporaryFolder(), attachmentGraceMs: 0 });
    const first = await serve(config);
    await uploaded(first, PHOTO);
    await uploaded(first, OTHER);
    await refer(first, PHOTO);
    await first.server.close();

    const host = testHost();
    const second = await serve(config, host);
    await second.execute("SELECT * FROM cars");
    await vi.waitFor(() => expect(hasFile(second, OTHER)).toBe(false));
    expect((await download(second, idOf(OTHER))).status).toBe(404);
    expect((await download(second, idOf(PHOTO))).bytes).toHaveLength(PHOTO.length);
    await vi.waitFor(() => expect(host.lines).toHaveLength(1));
    expect(host.lines).toEqual(["info deleted unreferenced attachments"]);
    await second.execute("DELETE FROM cars");
    await second.server.close();

    const third = await serve(config);
    await third.execute("SELECT * FROM cars");
    await vi.waitFor(() => expect(hasFile(third, PHOTO)).toBe(false));
    expect((await download(third, idOf(PHOTO))).status).toBe(404);
  });

  test("keeps contents uploaded within the grace period, through restarts", async () => {
    const config = testConfig({ dataDir: temporaryFolder() });
    const first = await serve(config);
    await uploaded(first, PHOTO);
    await first.server.close();
    const second = await serve(config);
    await second.server.close();
    const third = await serve(config);
    expect((await download(third, idOf(PHOTO))).bytes).toHaveLength(PHOTO.length);
  });
});

describe("[H40] the collector", () => {
  interface Opened {
    readonly platform: TestPlatform;
    readonly host: TestHost;
    readonly app: CollectedApp;
    /** Adds a content. Returns the path of its file. */
    readonly add: (content: Uint8Array) => Promise<string>;
    readonly collect: (changes?: Partial<CollectorOptions>) => Promise<void>;
  }

  async function open(): Promise<Opened> {
    const parent = temporaryFolder();
    const platform = testPlatform();
    const host = { ...testHost(), platform };
    const stored = await createStore(join(parent, "store"), host);
    onTestFinished(() => stored.close());
    const { store } = stored;
    const folder = join(parent, "attachments");
    const attachments = new AttachmentFolder({ folder, store, sizeMax: 1_000 });
    const add = async (content: Uint8Array): Promise<string> => {
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield content;
      }
      return attachments.path((await attachments.add(chunks(), "ann")).id);
    };
    const app = { id: "app", store, attachments };
    const { log } = host;
    const now = (): number => platform.nowMs;
    const collect = (changes: Partial<CollectorOptions> = {}): Promise<void> =>
      collectAttachments(app, { attachmentGraceMs: HOUR_MS, now, log, ...changes }, () => false);
    return { platform, host, app, add, collect };
  }

  test("counts the grace period from the last write: a clock that jumps deletes nothing", async () => {
    const { platform, app, add, collect } = await open();
    const path = await add(PHOTO);
    const stray = app.attachments.path(idOf(OTHER));
    mkdirSync(dirname(stray), { recursive: true });
    writeFileSync(stray, OTHER);
    platform.nowMs = statSync(stray).mtimeMs + 2 * HOUR_MS;
    await collect();
    // A file without a record has no other time than that of the disk.
    expect(existsSync(stray)).toBe(false);
    expect(readFileSync(path)).toEqual(PHOTO);
  });

  /** At full size, more than one batch. */
  const COUNT = sized(20, 300);

  test("deletes eventually, in batches, once the store has seen the time pass", async () => {
    const { platform, host, app, add, collect } = await open();
    const paths: string[] = [];
    for (let i = 0; i < COUNT; i++) paths.push(await add(Buffer.from(`content ${i}`)));
    platform.nowMs += 2 * HOUR_MS;
    const late = await add(OTHER);
    await collect();
    expect(host.lines).toEqual(["info deleted unreferenced attachments"]);
    expect(paths.filter((path) => existsSync(path))).toEqual([]);
    expect(existsSync(late)).toBe(true);
    expect(app.store.read((view) => [...storedAttachments(view)])).toEqual([
      { id: idOf(OTHER), len: OTHER.length },
    ]);
  });

  test("reports failures, and retries the next time", async () => {
    const { host, add, collect } = await open();
    const path = await add(PHOTO);
    const now = (): number => {
      throw new Error("the clock does not answer");
    };
    await collect({ attachmentGraceMs: 0, now });
    expect(existsSync(path)).toBe(true);
    expect(host.lines).toEqual([
      expect.stringContaining(
        "error failed to collect unused attachments of the app app: Error: the clock",
      ),
    ]);
    await collect({ attachmentGraceMs: 0 });
    expect(existsSync(path)).toBe(false);
  });
});
