import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type TestPlatform, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { type CollectedApp, startCollector } from "../../src/attachments/attachment-collector.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import type { Config } from "../../src/config.ts";
import { startServer } from "../../src/server.ts";
import { createStore } from "../../src/store-folder.ts";
import { download, idOf, uploaded } from "../support/attachment-client.ts";
import { DataApi } from "../support/data-api.ts";
import { type TestHost, testHost } from "../support/store-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
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

function hasFile({ server }: DataApi, content: Uint8Array): boolean {
  return existsSync(server.apps[0]?.attachments.path(idOf(content)) ?? "");
}

async function refer(api: DataApi, content: Uint8Array): Promise<void> {
  const value = { photo: { id: idOf(content), len: content.length } };
  const command = { method: "upsert", collection: "cars", id: "blue", value };
  const commands = [{ ...command, valueTypeOverrides: { photo: "attachment" } }];
  expect((await api.call("write", { commands })).status).toBe(200);
}

describe("[H40] a server", () => {
  test("deletes what nobody refers to after its grace, and what somebody refers to never", async () => {
    const config = testConfig({ dataDir: temporaryFolder(), attachmentGraceMs: 0 });
    const first = await serve(config);
    await uploaded(first, PHOTO);
    await uploaded(first, OTHER);
    await refer(first, PHOTO);
    await first.server.close();

    const host = testHost();
    const second = await serve(config, host);
    await vi.waitFor(() => expect(hasFile(second, OTHER)).toBe(false));
    expect((await download(second, idOf(OTHER))).status).toBe(404);
    expect((await download(second, idOf(PHOTO))).bytes).toHaveLength(PHOTO.length);
    await vi.waitFor(() => expect(host.lines).toHaveLength(1));
    expect(host.lines).toEqual(["info attachments that nobody refers to were deleted"]);
    await second.execute("DELETE FROM cars");
    await second.server.close();

    const third = await serve(config);
    await vi.waitFor(() => expect(hasFile(third, PHOTO)).toBe(false));
    expect((await download(third, idOf(PHOTO))).status).toBe(404);
  });

  test("keeps what was uploaded within the grace, through its restarts", async () => {
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
    return { platform, host, app: { id: "app", store, attachments }, add };
  }

  test("counts the grace by the last write: a clock that leaps deletes nothing", async () => {
    const { platform, host, app, add } = await open();
    const path = await add(PHOTO);
    const options = { graceMs: HOUR_MS, now: () => platform.nowMs, log: host.log, everyMs: 10 };
    const collector = startCollector([app], options);
    onTestFinished(() => collector.stop());
    // A file without a record shows that passes were made.
    const stray = app.attachments.path(idOf(OTHER));
    mkdirSync(dirname(stray), { recursive: true });
    writeFileSync(stray, OTHER);
    platform.nowMs = statSync(stray).mtimeMs + 2 * HOUR_MS;
    await vi.waitFor(() => expect(existsSync(stray)).toBe(false));
    expect(readFileSync(path)).toEqual(PHOTO);
  });

  test("deletes in the end, in batches, once the store has seen the time pass", async () => {
    const { platform, host, app, add } = await open();
    const paths: string[] = [];
    for (let i = 0; i < 300; i++) paths.push(await add(Buffer.from(`content ${i}`)));
    platform.nowMs += 2 * HOUR_MS;
    const late = await add(OTHER);
    const options = { graceMs: HOUR_MS, now: () => platform.nowMs, log: host.log, everyMs: 10 };
    const collector = startCollector([app], options);
    await vi.waitFor(() => expect(host.lines).toHaveLength(1));
    await collector.stop();
    expect(paths.filter((path) => existsSync(path))).toEqual([]);
    expect(existsSync(late)).toBe(true);
    expect(app.store.read((view) => [...view.attachments()])).toEqual([
      { id: idOf(OTHER), len: OTHER.length },
    ]);
  });

  test("tells what fails, goes on with the other apps, and tries again", async () => {
    const { platform, host, app, add } = await open();
    const path = await add(PHOTO);
    let isBroken = true;
    const broken = {
      ...app,
      id: "broken",
      get store(): CollectedApp["store"] {
        if (isBroken) throw new Error("the disk does not answer");
        return app.store;
      },
    };
    const options = { graceMs: 0, now: () => platform.nowMs, log: host.log, everyMs: 10 };
    const collector = startCollector([broken, app], options);
    await vi.waitFor(() => expect(existsSync(path)).toBe(false));
    expect(host.lines[0]).toContain("error attachments of app broken were not collected");
    const other = await add(OTHER);
    isBroken = false;
    await vi.waitFor(() => expect(existsSync(other)).toBe(false));
    await collector.stop();
  });
});
