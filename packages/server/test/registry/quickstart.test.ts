/**
 * The quick start: what is there after the first start, and what later ones make of it.
 */

import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type TestHost, testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import {
  curlLines,
  prepareQuickstart,
  type Quickstart,
  type QuickstartContent,
} from "../../src/registry/quickstart.ts";
import { Registry } from "../../src/registry/registry.ts";

const URL_ONE = "http://127.0.0.1:8080";
const URL_TWO = "http://127.0.0.1:9090";
const MANAGEMENT_ONE = "http://127.0.0.1:8081";
const MANAGEMENT_TWO = "http://127.0.0.1:9091";

interface Opened {
  readonly dataDir: string;
  readonly path: string;
  readonly registry: Registry;
  readonly host: TestHost;
  readonly prepare: (url?: string, managementUrl?: string) => Promise<Quickstart | undefined>;
}

async function openFolder(): Promise<Opened> {
  const dataDir = temporaryFolder();
  const host = testHost();
  const registry = await Registry.open(dataDir, host);
  onTestFinished(() => registry.close());
  const { log } = host;
  const prepare = (url = URL_ONE, managementUrl?: string): Promise<Quickstart | undefined> =>
    prepareQuickstart({ dataDir, registry, url, managementUrl, log });
  return { dataDir, path: join(dataDir, "quickstart.json"), registry, host, prepare };
}

function readContent(path: string): QuickstartContent {
  return JSON.parse(readFileSync(path, "utf8")) as QuickstartContent;
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

test("[H16] the first start creates a key with all permissions and a file that only its owner can read", async () => {
  const { path, registry, prepare } = await openFolder();
  const quickstart = await prepare();
  const [app] = registry.apps.list();
  const content = readContent(path);
  expect(content).toEqual({
    appName: "default",
    appId: app?.id,
    apiKey: expect.stringMatching(/^bp_/),
    dataUrl: URL_ONE,
    developmentToken: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(modeOf(path)).toBe(0o600);
  expect(quickstart).toEqual({ path, shown: content });
  expect(registry.keys.find(content.apiKey)).toEqual({
    id: content.apiKey.slice(3, 11),
    name: expect.any(String) as string,
    appId: app?.id,
    permissions: { read: { everything: true }, write: { everything: true }, remoteQuery: true },
    until: Number.POSITIVE_INFINITY,
  });
});

test("[H16] a later start shows no key, creates none, and leaves the file unchanged", async () => {
  const { path, registry, prepare } = await openFolder();
  await prepare();
  const before = readFileSync(path, "utf8");
  expect(await prepare()).toEqual({ path, shown: undefined });
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(registry.keys.list(registry.apps.named("default").id)).toHaveLength(1);
});

test("[H16] a start at another address corrects it in the file and nothing else", async () => {
  const { path, prepare } = await openFolder();
  await prepare();
  const before = readContent(path);
  chmodSync(path, 0o644);
  await prepare(URL_TWO);
  expect(readContent(path)).toEqual({ ...before, dataUrl: URL_TWO });
  expect(modeOf(path)).toBe(0o600);
});

test("[H16] the address of the management API is in the file while there is one", async () => {
  const { path, prepare } = await openFolder();
  const quickstart = await prepare(URL_ONE, MANAGEMENT_ONE);
  const before = readContent(path);
  expect(before.managementUrl).toBe(MANAGEMENT_ONE);
  expect(quickstart?.shown).toEqual(before);
  await prepare(URL_ONE, MANAGEMENT_TWO);
  expect(readContent(path)).toEqual({ ...before, managementUrl: MANAGEMENT_TWO });
  await prepare(URL_ONE);
  const { managementUrl: _, ...rest } = before;
  expect(readContent(path)).toEqual(rest);
});

test("the token in the file is that of the app's provider for development", async () => {
  const { path, registry, prepare } = await openFolder();
  await prepare();
  const { authProviders } = registry.apps.named("default");
  expect(authProviders["development"]).toMatchObject({
    type: "anonymous",
    sharedToken: readContent(path).developmentToken,
    isLoopbackOnly: true,
  });
});

test("an app without that provider has no token in the file", async () => {
  const { path, registry, prepare } = await openFolder();
  await registry.apps.setProviders("default", () => ({}), SERVER);
  await prepare();
  expect(readContent(path)).not.toHaveProperty("developmentToken");
});

test("[H16] a deleted file stays deleted, and its key still works", async () => {
  const { path, registry, prepare } = await openFolder();
  await prepare();
  const { apiKey } = readContent(path);
  rmSync(path);
  expect(await prepare(URL_TWO)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
  expect(registry.keys.find(apiKey)).toBeDefined();
});

test("[H16] a file whose key is no longer valid is not mentioned, and a warning is logged", async () => {
  const { path, registry, host, prepare } = await openFolder();
  await prepare();
  const said = `info the key in ${path} is not valid any more: the key or its app was deleted`;
  const { id } = registry.apps.named("default");
  const text = await registry.keys.rotate(id, "quickstart", {}, SERVER);
  expect(await prepare(URL_TWO)).toBeUndefined();
  expect(host.lines).toEqual([said]);
  // Its addresses are still of use.
  expect(readContent(path).dataUrl).toBe(URL_TWO);
  writeFileSync(path, JSON.stringify({ ...readContent(path), apiKey: text }));
  expect(await prepare()).toEqual({ path, shown: undefined });
  expect(registry.keys.get(id, "quickstart").lastUsedAt).toBeUndefined();
  await registry.apps.remove("default", SERVER);
  expect(await prepare()).toBeUndefined();
  expect(host.lines).toEqual([said, said]);
});

test("a crash before the key was added leaves a file that the next start replaces", async () => {
  const { path, registry, prepare } = await openFolder();
  writeFileSync(path, '{"apiKey":"bp_00000000_never-added"}', { mode: 0o644 });
  writeFileSync(`${path}.partial`, "{", { mode: 0o644 });
  const quickstart = await prepare();
  expect(quickstart?.shown).toEqual(readContent(path));
  expect(modeOf(path)).toBe(0o600);
  expect(registry.keys.find(readContent(path).apiKey)).toBeDefined();
});

test.each(["{", "[]"])("a file damaged with %s only causes a warning", async (text) => {
  const { path, host, prepare } = await openFolder();
  await prepare();
  writeFileSync(path, text);
  expect(await prepare(URL_TWO)).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(host.lines).toEqual([
    expect.stringMatching(/warn .*quickstart\.json could not be brought up to date: [^\n]{1,60}$/),
  ]);
});

test("a file that others can read is closed to them at the next start", async () => {
  const { path, prepare } = await openFolder();
  await prepare();
  chmodSync(path, 0o644);
  await prepare();
  expect(modeOf(path)).toBe(0o600);
});

test("the key is for the app named default, or else for the first one", async () => {
  const { registry, prepare } = await openFolder();
  await registry.apps.create({ name: "another" }, SERVER);
  const apps = registry.apps.list();
  const quickstart = await prepare();
  expect(quickstart?.shown?.appId).toBe(apps.find(({ name }) => name === "default")?.id);
});

test("the lines to paste are quoted for a shell", () => {
  const content = {
    appName: "default",
    appId: "a",
    apiKey: "bp_k",
    dataUrl: "http://[::1]:80/it's",
  };
  const path = "/it's/quickstart.json";
  const [insert, select] = curlLines(content, path, true);
  expect(insert).toBe(
    String.raw`curl -sS 'http://[::1]:80/it'\''s/api/v4/store/execute' ` +
      "-H 'Authorization: Bearer bp_k' -H 'Content-Type: application/json' " +
      `-d '{"statement":"INSERT INTO tasks DOCUMENTS (:task)",` +
      `"args":{"task":{"title":"Water the plants","isDone":false}}}'`,
  );
  // Elsewhere than on a terminal they are kept: the key stays in its file.
  for (const line of curlLines(content, path, false)) {
    expect(line).not.toContain("bp_k");
    expect(line).toContain(String.raw`/\1/p' '/it'\''s/quickstart.json')" -H`);
  }
  expect(select).toMatch(/ -d '\{"statement":"SELECT \* FROM tasks"\}'$/);
});
