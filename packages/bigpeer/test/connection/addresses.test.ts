/**
 * Which server a command calls, and with which credential.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type Addresses, findAddresses } from "../../src/connection/addresses.ts";
import type { Profile } from "../../src/connection/profiles.ts";
import type { ProgramHost } from "../../src/program/host.ts";
import { Options } from "../../src/program/options.ts";
import { startHttpServer } from "../support/http-server.ts";
import { runBigpeer, startTestServer } from "../support/run-bigpeer.ts";

const LOCAL = {
  dataUrl: "http://127.0.0.1:8080",
  apiKey: "k-local",
  managementUrl: "http://127.0.0.1:8081",
};
const PROD: Profile = { url: "https://prod.example", key: "k-prod" };
const MANAGED: Profile = {
  url: "https://managed.example",
  key: "k-managed",
  managementUrl: "https://manage.example",
  adminToken: "t-managed",
};

interface Setting {
  readonly options?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly dotEnv?: string;
  readonly current?: string;
}

/** In the folder of a local server, with two profiles. */
function folderOf({ dotEnv = "", current }: Setting = {}): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "data", "quickstart.json"), JSON.stringify(LOCAL));
  writeFileSync(join(folder, ".env"), dotEnv);
  mkdirSync(join(folder, ".config", "bigpeer"), { recursive: true });
  const file = { current, profiles: { prod: PROD, managed: MANAGED } };
  writeFileSync(join(folder, ".config", "bigpeer", "profiles.json"), JSON.stringify(file), {
    mode: 0o600,
  });
  return folder;
}

type Found = Partial<Record<keyof Addresses, string | undefined>>;

function found(setting: Setting): Found {
  const { options = {}, env = {} } = setting;
  const folder = folderOf(setting);
  const silent = { isTerminal: false, write: () => {} };
  const host: ProgramHost = {
    env: { HOME: folder, ...env },
    folder,
    input: Readable.from([]),
    output: silent,
    errors: silent,
    signal: new AbortController().signal,
    ask: async () => "",
  };
  const { url, key, managementUrl, adminToken } = findAddresses(
    new Options(new Map(Object.entries(options))),
    host,
  );
  const [u, k, m, t] = [url, key, managementUrl, adminToken].map((each) => each?.value);
  return { url: u, key: k, managementUrl: m, adminToken: t };
}

const ENV = { BIGPEER_URL: "https://env.example", BIGPEER_KEY: "k-env" };

describe("the management API is that of the chosen server", () => {
  test.each<[string, Setting, Found]>([
    ["none but quickstart.json", {}, { url: LOCAL.dataUrl, managementUrl: LOCAL.managementUrl }],
    [
      "a profile without a management API",
      { options: { profile: "prod" } },
      { url: PROD.url, key: "k-prod", managementUrl: undefined },
    ],
    ["the current profile", { current: "prod" }, { url: PROD.url, managementUrl: undefined }],
    [
      "a variable",
      { env: ENV, current: "managed" },
      { url: ENV.BIGPEER_URL, key: "k-env", managementUrl: undefined, adminToken: undefined },
    ],
    [
      "the address of the local server",
      { options: { url: `${LOCAL.dataUrl}/` } },
      { key: "k-local", managementUrl: LOCAL.managementUrl },
    ],
    [
      "a profile with a management API",
      { current: "managed" },
      { key: "k-managed", managementUrl: MANAGED.managementUrl, adminToken: "t-managed" },
    ],
    [
      "a management API that is named",
      { current: "managed", options: { "management-url": "https://other.example" } },
      { managementUrl: "https://other.example", adminToken: undefined },
    ],
  ])("%s", (_, setting, expected) => {
    expect(found(setting)).toMatchObject(expected);
  });
});

describe("the profile of --profile comes before variables, and behind --url", () => {
  const dotEnv = "BIGPEER_URL=https://file.example\nBIGPEER_MANAGEMENT_URL=https://m.example\n";
  const options = { profile: "prod" };

  test.each<[string, Setting, Found]>([
    ["variables", { options, env: ENV }, { url: PROD.url, key: "k-prod" }],
    [".env", { options, dotEnv }, { url: PROD.url, key: "k-prod", managementUrl: undefined }],
    [
      "--url",
      { options: { ...options, url: "https://flag.example" }, env: ENV },
      { url: "https://flag.example", key: undefined },
    ],
    [
      "a management API without a server is for any profile",
      { options, env: { BIGPEER_MANAGEMENT_URL: "https://m.example", BIGPEER_ADMIN_TOKEN: "t" } },
      { url: PROD.url, managementUrl: "https://m.example", adminToken: "t" },
    ],
    [
      "the admin token of a variable is for the management API of the profile",
      { options: { profile: "managed" }, env: { BIGPEER_ADMIN_TOKEN: "t" } },
      { managementUrl: MANAGED.managementUrl },
    ],
    [
      "the current profile is behind variables",
      { current: "prod", env: ENV },
      { url: ENV.BIGPEER_URL, key: "k-env" },
    ],
  ])("%s", (_, setting, expected) => {
    expect(found(setting)).toMatchObject(expected);
  });
});

test("an empty XDG_CONFIG_HOME is as good as none", () => {
  expect(found({ current: "prod", env: { XDG_CONFIG_HOME: "" } })).toMatchObject({ url: PROD.url });
});

test("a command for a profile without a management API does not manage the local server", async () => {
  const requests: string[] = [];
  const local = await startHttpServer((request, response) => {
    requests.push(request.url ?? "");
    response.writeHead(204).end();
  });
  const folder = folderOf();
  writeFileSync(
    join(folder, "data", "quickstart.json"),
    JSON.stringify({ dataUrl: local.url, managementUrl: local.url, apiKey: "k" }),
  );
  const words = ["app", "delete", "shop", "--yes", "--profile", "prod"];
  const { code, stderr } = await runBigpeer(words, { folder });
  expect(code).toBe(3);
  expect(stderr).toContain("no management API of this server is known");
  expect(requests).toEqual([]);
});

test("doctor finds no fault in the folder of another server", async () => {
  const server = await startTestServer();
  const env = { BIGPEER_URL: server.url, BIGPEER_KEY: server.key };
  const elsewhere = await runBigpeer(["doctor"], { env, folder: folderOf() });
  expect(elsewhere).toMatchObject({ code: 0, stderr: "" });
  expect(elsewhere.stdout).not.toContain(LOCAL.managementUrl);
  // A management API of this server that does not let the command in is no fault unless it is named.
  const folder = folderOf();
  const quickstart = { ...LOCAL, dataUrl: server.url, managementUrl: server.managementUrl };
  writeFileSync(join(folder, "data", "quickstart.json"), JSON.stringify(quickstart));
  const refused = await runBigpeer(["doctor"], { env, folder });
  expect(refused).toMatchObject({ code: 0 });
  expect(refused.stdout).toContain('"check":"management","verdict":"note"');
  const named = { ...env, BIGPEER_MANAGEMENT_URL: server.managementUrl };
  expect(await runBigpeer(["doctor"], { env: named, folder })).toMatchObject({ code: 1 });
});

test("login finds the address in BIGPEER_URL, and a new key leaves the management API", async () => {
  const server = await startTestServer();
  const folder = temporaryFolder();
  const { env } = server;
  const words = ["login", "--management-url", server.managementUrl, "--save-admin-token"];
  expect(await runBigpeer(words, { folder, env })).toMatchObject({ code: 0 });
  const { BIGPEER_URL = "", BIGPEER_KEY = "" } = env;
  const again = { folder, env: { BIGPEER_URL, BIGPEER_KEY } };
  expect(await runBigpeer(["login"], again)).toMatchObject({ code: 0 });
  const listed = await runBigpeer(["login", "--list"], { folder });
  const { managementUrl } = server;
  expect(JSON.parse(listed.stdout)).toMatchObject([{ managementUrl, hasAdminToken: true }]);
  expect(await runBigpeer(["app", "list"], { folder })).toMatchObject({ code: 0 });
});
