/**
 * The file of settings: what it may hold, how its faults are told, and what wins over it.
 */

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type Config, type Environment, readConfig } from "../../src/config/config.ts";
import { SETTINGS } from "../../src/config/settings.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "bigpeer.json");
});

function write(content: unknown, mode = 0o600): void {
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  chmodSync(path, mode);
}

/** Without the list of what was read, which shown-setting.test.ts tests. */
function read(
  content: unknown,
  env: Environment = {},
  flags: Record<string, string> = {},
): Omit<Config, "settings"> {
  write(content);
  const named = new Map([["--config", path], ...Object.entries(flags)]);
  const { settings: _, ...config } = readConfig(named, env);
  return config;
}

function invalid(message: string): PeerError {
  return new PeerError("config.invalid", message);
}

/** What is told when `work` fails; nothing when it does not. */
function messageOf(work: () => unknown): string {
  try {
    work();
    return "";
  } catch (error) {
    return String(error);
  }
}

const { settings: _, ...DEFAULTS } = readConfig(new Map(), {});

test("an empty object changes nothing", () => {
  expect(read({})).toEqual(DEFAULTS);
});

test("every setting except the file itself can be in the file", () => {
  const content = {
    "data-dir": "/srv/one",
    namespace: "shops",
    name: "north-1",
    port: 9001,
    host: "0.0.0.0",
    "tls-cert": "/etc/cert.pem",
    "tls-key": "/etc/key.pem",
    "public-url": "https://data.example.com/",
    public: "/srv/app",
    "cors-origins": ["https://a.example", "http://b.example:8080"],
    "trusted-proxies": ["10.0.0.0/8"],
    "management-port": 0,
    "management-host": "::1",
    "admin-token": "0123456789abcdef",
    "replication-port": 4041,
    "replication-host": "0.0.0.0",
    "replication-secret": "fedcba9876543210",
    "replication-tls-cert": "/etc/link.pem",
    "replication-tls-key": "/etc/link-key.pem",
    "replication-tls-ca": "/etc/ca.pem",
    cluster: ["nats://a:4222", "nats://b:4222"],
    "cluster-name": "shops",
    "cluster-secret": "0123456789abcdef",
    "cluster-host": "0.0.0.0",
    "cluster-port": 4042,
    "cluster-advertise": "https://node-1.example:4042",
    "cluster-creds": "/etc/nats.creds",
    "cluster-tls-cert": "/etc/node.pem",
    "cluster-tls-key": "/etc/node-key.pem",
    "cluster-tls-ca": "/etc/node-ca.pem",
    "cluster-monitor": ["http://a:8222"],
    "cluster-cut-off": 30,
    "cluster-away": 60,
    "cluster-development": true,
    "app-idle": 5,
    "app-grace": 0,
    "statement-timeout": 500,
    "transaction-wait": 0,
    "webhook-timeout": 2500,
    "remote-timeout": 1500,
    "delivery-timeout": 3000,
    "delivery-attempts": 9,
    "attachment-size-max": 1000,
    "attachment-space-max": 5000,
    "attachment-grace": 60,
    "sync-connections": 7,
    "backup-every": "6h",
    "backup-keep": 28,
    "backup-dir": "/srv/backups",
    "shutdown-delay": 5,
    "log-level": "debug",
    "log-format": "json",
    "accept-clock": true,
  };
  expect(["config", ...Object.keys(content)]).toEqual(SETTINGS.map(({ name }) => name));
  expect(read(content)).toEqual({
    dataDir: "/srv/one",
    namespace: "shops",
    name: "north-1",
    port: 9001,
    host: "0.0.0.0",
    tls: { certFile: "/etc/cert.pem", keyFile: "/etc/key.pem" },
    publicUrl: "https://data.example.com",
    publicDir: "/srv/app",
    corsOrigins: ["https://a.example", "http://b.example:8080"],
    trustedProxies: [{ address: "10.0.0.0", family: "ipv4", prefix: 8 }],
    managementPort: 0,
    managementHost: "::1",
    adminToken: "0123456789abcdef",
    replicationPort: 4041,
    replicationHost: "0.0.0.0",
    replicationSecret: "fedcba9876543210",
    replicationTls: {
      certFile: "/etc/link.pem",
      keyFile: "/etc/link-key.pem",
      caFile: "/etc/ca.pem",
    },
    cluster: {
      servers: ["nats://a:4222", "nats://b:4222"],
      name: "shops",
      secret: "0123456789abcdef",
      host: "0.0.0.0",
      port: 4042,
      advertise: "https://node-1.example:4042",
      credsFile: "/etc/nats.creds",
      tlsFiles: {
        certFile: "/etc/node.pem",
        keyFile: "/etc/node-key.pem",
        caFile: "/etc/node-ca.pem",
      },
      monitors: ["http://a:8222"],
      cutOffMs: 30_000,
      awayMs: 60_000,
      isDevelopment: true,
    },
    appIdleMs: 5000,
    appGraceMs: 0,
    statementTimeoutMs: 500,
    transactionWaitMs: 0,
    webhookTimeoutMs: 2500,
    remoteTimeoutMs: 1500,
    deliveryTimeoutMs: 3000,
    deliveryAttempts: 9,
    attachmentSizeMax: 1000,
    attachmentSpaceMax: 5000,
    attachmentGraceMs: 60_000,
    syncConnectionsMax: 7,
    backup: { everyMs: 21_600_000, keep: 28, folder: "/srv/backups" },
    backupFolder: { keep: 28, folder: "/srv/backups" },
    shutdownDelayMs: 5000,
    logLevel: "debug",
    logFormat: "json",
    isClockAccepted: true,
  });
});

test("a variable wins over the file, and a flag over both", () => {
  const content = { port: 1, host: "a", name: "of-file" };
  expect(read(content, { BIGPEER_PORT: "2", BIGPEER_HOST: "b" }, { "--port": "3" })).toEqual({
    ...DEFAULTS,
    port: 3,
    managementPort: 4,
    replicationPort: 5,
    host: "b",
    name: "of-file",
  });
});

test("an empty variable does not override the file", () => {
  expect(read({ host: "a" }, { BIGPEER_HOST: "" })).toEqual({ ...DEFAULTS, host: "a" });
});

test("the file can be named by a variable, and a flag wins over it", () => {
  write({ port: 1 });
  expect(readConfig(new Map(), { BIGPEER_CONFIG: path }).port).toBe(1);
  const env = { BIGPEER_CONFIG: join(folder, "absent.json") };
  expect(readConfig(new Map([["--config", path]]), env).port).toBe(1);
});

test("a relative path is relative to the folder of the file", () => {
  const content = { "data-dir": "data", "tls-cert": "../cert.pem", "tls-key": "./key.pem" };
  path = join(folder, "etc", "bigpeer.json");
  mkdirSync(join(folder, "etc"));
  expect(read(content)).toEqual({
    ...DEFAULTS,
    dataDir: join(folder, "etc", "data"),
    tls: { certFile: join(folder, "cert.pem"), keyFile: join(folder, "etc", "key.pem") },
  });
});

test.each([
  ["*", "*"],
  [["*"], "*"],
  ["none", []],
  [[], []],
  ["https://a.example,https://b.example", ["https://a.example", "https://b.example"]],
])("the origins %j are a text or a list", (given, origins) => {
  expect(read({ "cors-origins": given }).corsOrigins).toEqual(origins);
});

test.each([
  ["none", []],
  [[], []],
  ["10.0.0.5", ["10.0.0.5"]],
  [
    ["10.0.0.0/8", "fd00::/8"],
    ["10.0.0.0", "fd00::"],
  ],
])("the trusted proxies %j are a text or a list", (given, addresses) => {
  const { trustedProxies } = read({ "trusted-proxies": given });
  expect(trustedProxies.map(({ address }) => address)).toEqual(addresses);
});

test("the management API can be disabled", () => {
  expect(read({ "management-port": "off" }).managementPort).toBe(undefined);
});

test.each([
  ["prot", "did you mean port?"],
  ["dataDir", "did you mean data-dir?"],
  ["BIGPEER_PORT", "expected one of data-dir, namespace, name, port, "],
  ["config", "expected one of data-dir, "],
])("the key %s is refused with a hint", (key, hint) => {
  const start = `${path}: ${key}: not a setting; ${hint}`;
  expect(() => read({ [key]: 1 })).toThrow(start);
});

test.each([
  ["port", "8080", "a number, found a text"],
  ["port", null, "a number, found null"],
  ["host", 1, "a text, found a number"],
  ["data-dir", ["a"], "a text, found a list"],
  ["accept-clock", 1, "true or false, found a number"],
  ["management-port", "none", 'a number or "off", found a text'],
  ["management-port", false, 'a number or "off", found false'],
  ["cors-origins", ["https://a.example", 1], "a text or a list of texts, found a list"],
  ["cors-origins", {}, "a text or a list of texts, found an object"],
  ["admin-token", 1_234_567_890_123_456, "a text, found a number"],
])("%s: %j is refused with the file, the key and the expected value", (key, value, expected) => {
  expect(() => read({ [key]: value })).toThrow(invalid(`${path}: ${key}: expected ${expected}`));
});

test.each([
  ["port", 65_536, "a port from 0 to 65535, found another value"],
  ["app-idle", 1.5, "seconds from 1 to 31622400, found another value"],
  ["app-idle", -1, "seconds from 1 to 31622400, found another value"],
  ["name", "A", "1 to 63 of a-z, 0-9 and - (not first or last), found another value"],
  ["data-dir", "", "a folder, found another value"],
  ["admin-token", "hush", "16 to 1024 ASCII characters without spaces; the value is not shown"],
  ["admin-token", "", "16 to 1024 ASCII characters without spaces; the value is not shown"],
])("%s: %j is refused as for a flag, with the file and the key", (key, value, expected) => {
  expect(() => read({ [key]: value })).toThrow(invalid(`${path}: ${key}: expected ${expected}`));
});

test("no error about the file contains a value of it, under any key: it may be the token", () => {
  const token = "S3cret-0123456789abcdef";
  const keys = [...SETTINGS.map(({ name }) => name), "admin-tokn", "token", "__proto__"];
  for (const key of keys) {
    for (const value of [token, [token], { [token]: token }, `${token} `, 1_234_567_890_123_456]) {
      const shown = messageOf(() => read(`{"${key}": ${JSON.stringify(value)}}`));
      expect(shown, key).not.toContain("S3cret");
      expect(shown, key).not.toContain("s3cret");
      expect(shown, key).not.toContain("1234567890123456");
    }
  }
});

test("the whole file is checked, also values that a flag or a variable overrides", () => {
  const expected = invalid(`${path}: port: expected a port from 0 to 65535, found another value`);
  expect(() => read({ port: 70_000 }, {}, { "--port": "1" })).toThrow(expected);
  expect(() => read({ port: 70_000 }, { BIGPEER_PORT: "1" })).toThrow(expected);
  expect(() => read({ "admin-token": "hush" }, { BIGPEER_ADMIN_TOKEN: "0".repeat(16) })).toThrow(
    `${path}: admin-token: expected `,
  );
  // The two of TLS belong together wherever they come from.
  const tls = { certFile: "/etc/cert.pem", keyFile: "/etc/key.pem" };
  const flags = { "--tls-key": "/etc/key.pem" };
  expect(read({ "tls-cert": "/etc/cert.pem" }, {}, flags)).toEqual({ ...DEFAULTS, tls });
});

test.each([
  ['{"port": 1, "port": 2}', "port"],
  ['{"port": 1, "name": "a", "p\\u006frt": 1}', "port"],
  ['{"admin-token": "0123456789abcdef", "admin-token" : "0123456789abcdef"}', "admin-token"],
])("a key that occurs twice in the file is refused: %s", (text, key) => {
  expect(() => read(text)).toThrow(invalid(`${path}: ${key}: expected it once`));
});

test("text inside a value that looks like a second key is not a key", () => {
  const content = { name: "a", "data-dir": '/srv/"name": {', host: "name" };
  expect(read(content)).toEqual({
    ...DEFAULTS,
    name: "a",
    dataDir: '/srv/"name": {',
    host: "name",
  });
});

test("a file that is not JSON is refused with line and column", () => {
  const message = 'not JSON: expected a key in double quotes, found "}" at line 3, column 1';
  expect(() => read('{\n  "port": 1,\n}')).toThrow(invalid(`${path}: ${message}`));
});

test("a file that is not an object is refused", () => {
  expect(() => read([])).toThrow(invalid(`${path}: expected an object, found a list`));
});

test("a file that cannot be read is refused, naming the setting that refers to it", () => {
  const absent = join(folder, "absent.json");
  const reason = `ENOENT: no such file or directory, open '${absent}'`;
  expect(() => readConfig(new Map(), { BIGPEER_CONFIG: absent })).toThrow(
    invalid(`BIGPEER_CONFIG: expected a file that can be read, found ${reason}`),
  );
  expect(() => readConfig(new Map([["--config", folder]]), {})).toThrow(
    /^--config: expected a file that can be read, found EISDIR/,
  );
  expect(() => readConfig(new Map([["--config", ""]]), {})).toThrow(
    invalid('--config: expected a file, found ""'),
  );
});

function warningsOf(content: unknown, mode: number): string[] {
  write(content, mode);
  const warnings: string[] = [];
  readConfig(new Map([["--config", path]]), {}, (sentence) => warnings.push(sentence));
  return warnings;
}

test("a file with the admin token that others can read causes a warning", () => {
  const content = { "admin-token": "0123456789abcdef" };
  const rest = "has the admin token in it and is open to others";
  expect(warningsOf(content, 0o644)).toEqual([`${path} ${rest} (mode 0644); chmod 600 it`]);
  expect(warningsOf(content, 0o620)).toEqual([`${path} ${rest} (mode 0620); chmod 600 it`]);
  expect(warningsOf(content, 0o600)).toEqual([]);
  expect(warningsOf({ port: 1 }, 0o644)).toEqual([]);
  const secret = { "replication-secret": "0123456789abcdef" };
  expect(warningsOf(secret, 0o644)).toEqual([
    `${path} has the replication secret in it and is open to others (mode 0644); chmod 600 it`,
  ]);
});
