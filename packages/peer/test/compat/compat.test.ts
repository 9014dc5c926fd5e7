/**
 * The entry `@bigpeer/peer/compat` on Node: the calls of the reference SDK, and what only Node has.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile, temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { QuickstartContent } from "../../../server/src/registry/quickstart.ts";
import { startServer } from "../../../server/src/server.ts";
import { testConfig } from "../../../server/test/support/test-config.ts";
import * as sdk from "../../src/compat/index.ts";
import { compatCases } from "../support/compat-cases.ts";

const dataDir = folderOfFile();
const running = await startServer(testConfig({ dataDir }), testHost());
afterAll(() => running.close());
const quickstart = readFileSync(join(dataDir, "quickstart.json"), "utf8");
const { appId, developmentToken: token = "" } = JSON.parse(quickstart) as QuickstartContent;

compatCases({ sdk, isBrowser: false, url: running.url, appId, token, directory: temporaryFolder });

async function openLocal(): Promise<sdk.Ditto> {
  return sdk.Ditto.open(new sdk.DittoConfig(appId, { mode: "smallPeersOnly" }, temporaryFolder()));
}

test("an attachment comes from a file, and is copied to one", async () => {
  const ditto = await openLocal();
  const [from, to] = [join(temporaryFolder(), "a"), join(temporaryFolder(), "b")];
  const made = await ditto.store.newAttachment(new TextEncoder().encode("hello"));
  await made.copyToPath(from);
  const read = await ditto.store.newAttachment(from);
  await read.copyToPath(to);
  expect(readFileSync(to, "utf8")).toBe("hello");
  const absent = ditto.store.newAttachment(join(from, "absent"));
  await expect(absent).rejects.toMatchObject({ name: "DittoError" });
  await expect(ditto.store.newAttachment(`${from}.absent`)).rejects.toMatchObject({
    code: "store/attachment-file-not-found",
  });
  await expect(made.copyToPath(join(to, "c"))).rejects.toMatchObject({
    code: "io/operation-failed",
  });
  await ditto.close();
});

test("the log is exported to a new file", async () => {
  const path = join(temporaryFolder(), "log.jsonl.gz");
  sdk.Logger.verbose("for the export");
  const size = await sdk.Logger.exportToFile(path);
  const bytes = readFileSync(path);
  expect(bytes.length).toBe(size);
  expect(gunzipSync(bytes).toString()).toContain('"level":"Verbose","message":"for the export"');
  await expect(sdk.Logger.exportToFile(path)).rejects.toMatchObject({ code: "io/already-exists" });
});

test("syntax errors of observers and subscriptions are thrown at once", async () => {
  const ditto = await openLocal();
  const observe = (): unknown => ditto.store.registerObserver("SELECT * FORM t", () => {});
  expect(observe).toThrow(expect.objectContaining({ code: "query/invalid" }));
  const subscribe = (): unknown => ditto.sync.registerSubscription("SELECT n FROM t");
  expect(subscribe).toThrow(expect.objectContaining({ code: "query/unsupported" }));
  await ditto.close();
});
