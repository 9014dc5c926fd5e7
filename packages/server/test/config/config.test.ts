import { resolve } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { type Config, type Environment, readConfig } from "../../src/config/config.ts";
import { checkServable } from "../../src/config/servable.ts";
import { SETTINGS } from "../../src/config/settings.ts";

/** Without the list of what was read, which shown-setting.test.ts tests. */
function read(flags: Record<string, string>, env: Environment = {}): Omit<Config, "settings"> {
  const { settings: _, ...config } = readConfig(new Map(Object.entries(flags)), env);
  return config;
}

function warningsOf(env: Environment): string[] {
  const warnings: string[] = [];
  readConfig(new Map(), env, (sentence) => warnings.push(sentence));
  return warnings;
}

test("without flags and variables the defaults apply", () => {
  expect(read({})).toEqual({
    dataDir: resolve("data"),
    namespace: "default",
    name: "big-peer",
    port: 8080,
    host: "127.0.0.1",
    tls: undefined,
    publicUrl: undefined,
    publicDir: undefined,
    corsOrigins: "loopback",
    trustedProxies: [],
    managementPort: 8081,
    managementHost: "127.0.0.1",
    adminToken: undefined,
    replicationPort: 4040,
    replicationHost: "127.0.0.1",
    replicationSecret: undefined,
    replicationTls: undefined,
    appIdleMs: 600_000,
    appGraceMs: 604_800_000,
    statementTimeoutMs: 30_000,
    transactionWaitMs: 1000,
    webhookTimeoutMs: 10_000,
    remoteTimeoutMs: 10_000,
    deliveryTimeoutMs: 15_000,
    deliveryAttempts: 100,
    attachmentSizeMax: 268_435_456,
    attachmentSpaceMax: 0,
    attachmentGraceMs: 86_400_000,
    syncConnectionsMax: 10_000,
    backup: undefined,
    backupFolder: { keep: 7, folder: resolve("backups") },
    shutdownDelayMs: 0,
    logLevel: "info",
    logFormat: "auto",
    isClockAccepted: false,
  });
});

test("a variable wins over the default, and a flag over the variable", () => {
  const env = {
    BIGPEER_DATA_DIR: "/srv/one",
    BIGPEER_NAMESPACE: "shops",
    BIGPEER_NAME: "north-1",
    BIGPEER_PORT: "9001",
    BIGPEER_HOST: "0.0.0.0",
    BIGPEER_TLS_CERT: "/etc/cert.pem",
    BIGPEER_TLS_KEY: "/etc/key.pem",
    BIGPEER_PUBLIC_URL: "https://data.example.com/",
    BIGPEER_PUBLIC: "/srv/app",
    BIGPEER_CORS_ORIGINS: "https://a.example, http://b.example:8080",
    BIGPEER_TRUSTED_PROXIES: "10.0.0.0/8",
    BIGPEER_MANAGEMENT_PORT: "off",
    BIGPEER_MANAGEMENT_HOST: "0.0.0.0",
    BIGPEER_ADMIN_TOKEN: "0123456789abcdef",
    BIGPEER_REPLICATION_PORT: "off",
    BIGPEER_REPLICATION_HOST: "0.0.0.0",
    BIGPEER_REPLICATION_SECRET: "fedcba9876543210",
    BIGPEER_REPLICATION_TLS_CERT: "/etc/link.pem",
    BIGPEER_REPLICATION_TLS_KEY: "/etc/link-key.pem",
    BIGPEER_REPLICATION_TLS_CA: "/etc/ca.pem",
    BIGPEER_APP_IDLE_S: "5",
    BIGPEER_APP_GRACE_S: "0",
    BIGPEER_STATEMENT_TIMEOUT_MS: "500",
    BIGPEER_TRANSACTION_WAIT_MS: "0",
    BIGPEER_WEBHOOK_TIMEOUT_MS: "2500",
    BIGPEER_REMOTE_TIMEOUT_MS: "1500",
    BIGPEER_ATTACHMENT_SIZE_MAX: "1000",
    BIGPEER_ATTACHMENT_SPACE_MAX: "5000",
    BIGPEER_ATTACHMENT_GRACE_S: "60",
    BIGPEER_SYNC_CONNECTIONS: "7",
    BIGPEER_SHUTDOWN_DELAY_S: "5",
    BIGPEER_LOG_LEVEL: "debug",
    BIGPEER_LOG_FORMAT: "json",
    BIGPEER_ACCEPT_CLOCK: "1",
  };
  const ofVariables = {
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
    managementPort: undefined,
    managementHost: "0.0.0.0",
    adminToken: "0123456789abcdef",
    replicationPort: undefined,
    replicationHost: "0.0.0.0",
    replicationSecret: "fedcba9876543210",
    replicationTls: {
      certFile: "/etc/link.pem",
      keyFile: "/etc/link-key.pem",
      caFile: "/etc/ca.pem",
    },
    appIdleMs: 5000,
    appGraceMs: 0,
    statementTimeoutMs: 500,
    transactionWaitMs: 0,
    webhookTimeoutMs: 2500,
    remoteTimeoutMs: 1500,
    deliveryTimeoutMs: 15_000,
    deliveryAttempts: 100,
    attachmentSizeMax: 1000,
    attachmentSpaceMax: 5000,
    attachmentGraceMs: 60_000,
    syncConnectionsMax: 7,
    backupFolder: { keep: 7, folder: resolve("backups") },
    shutdownDelayMs: 5000,
    logLevel: "debug",
    logFormat: "json",
    isClockAccepted: true,
  };
  expect(read({}, env)).toEqual(ofVariables);
  const flags = {
    "--data-dir": "/srv/two",
    "--port": "0",
    "--host": "::1",
    "--statement-timeout": "60000",
    "--cors-origins": "none",
    "--management-port": "0",
    "--accept-clock": "0",
  };
  expect(read(flags, env)).toEqual({
    ...ofVariables,
    dataDir: "/srv/two",
    port: 0,
    host: "::1",
    statementTimeoutMs: 60_000,
    corsOrigins: [],
    managementPort: 0,
    isClockAccepted: false,
  });
});

test.each([
  ["--cors-origins", "example.com", 'origins like https://app.example.com, found "example.com"'],
  ["--cors-origins", "https://a.example/x", "origins like https://app.example.com"],
  [
    "--trusted-proxies",
    "10.0.0.0/8, proxy",
    'addresses like 10.0.0.5 and ranges like 10.0.0.0/8 or fd00::/8, found "proxy"',
  ],
  ["--trusted-proxies", "10.0.0.0/33", "addresses like 10.0.0.5"],
  ["--cors-origins", "*, https://a.example", 'origins like https://app.example.com, found "*"'],
  ["--public-url", "data.example.com", "an address that begins with http:// or https://"],
  ["--public-url", "ftp://example.com", "an address that begins with http:// or https://"],
  ["--tls-cert", "/etc/cert.pem", "a file, because --tls-cert has one, found none"],
  ["--tls-key", "/etc/key.pem", "a file, because --tls-key has one, found none"],
  [
    "--replication-tls-cert",
    "/c.pem",
    "a file, because --replication-tls-cert has one, found none",
  ],
  ["--replication-tls-key", "/k.pem", "a file, because --replication-tls-key has one, found none"],
  ["--replication-tls-ca", "/ca.pem", "a file, because --replication-tls-ca has one"],
  ["--replication-port", "none", 'a port from 0 to 65535 or "off", found "none"'],
  ["--replication-host", "", 'an address, found ""'],
  ["--transaction-wait", "30001", "milliseconds from 0 to 30000"],
  ["--attachment-size-max", "0", "bytes from 1 to 1099511627776"],
  ["--attachment-space-max", "1 GB", "bytes from 0 to 1125899906842624"],
  ["--attachment-grace", "-1", "seconds from 0 to 31622400"],
  ["--sync-connections", "many", "connections from 0 to 1000000"],
  ["--backup-every", "59s", 'a time from 1m to 366d, such as 6h or 1d, or "off"'],
  ["--backup-every", "1 day", 'a time from 1m to 366d, such as 6h or 1d, or "off"'],
  ["--backup-keep", "0", "backups from 1 to 10000"],
  ["--shutdown-delay", "3601", "seconds from 0 to 3600"],
  ["--management-port", "none", 'a port from 0 to 65535 or "off", found "none"'],
  ["--management-host", "", 'an address, found ""'],
  ["--app-idle", "0", "seconds from 1 to 31622400"],
  ["--app-grace", "1d", "seconds from 0 to 31622400"],
  ["--webhook-timeout", "0", "milliseconds from 1 to 60000"],
  ["--remote-timeout", "60001", "milliseconds from 1 to 60000"],
  ["--log-level", "loud", "one of debug, info, warn, error"],
  ["--log-format", "xml", "one of auto, json, text"],
])("%s %s is refused: expected %s", (flag, value, expected) => {
  expect(() => read({ [flag]: value })).toThrow(`expected ${expected}`);
});

test("an empty variable counts as not set", () => {
  expect(read({}, { BIGPEER_PORT: "", BIGPEER_DATA_DIR: "" })).toEqual(read({}));
});

test.each(["", "x", "-1", "65536", "8080.5", "1e3", " 80", "0x50"])(
  'the port "%s" is refused with the name of its flag and the expected value',
  (port) => {
    const message = `--port: expected a port from 0 to 65535, found "${port}"`;
    expect(() => read({ "--port": port })).toThrow(new PeerError("config.invalid", message));
  },
);

test.each(["", "0", "60001", "1.5", "5s", "-1"])(
  'the statement timeout "%s" is refused with the expected value',
  (text) => {
    const message = `--statement-timeout: expected milliseconds from 1 to 60000, found "${text}"`;
    const flags = { "--statement-timeout": text };
    expect(() => read(flags)).toThrow(new PeerError("config.invalid", message));
  },
);

test("a bad value of a variable is reported with the name of the variable", () => {
  expect(() => read({}, { BIGPEER_PORT: "http" })).toThrow(
    'BIGPEER_PORT: expected a port from 0 to 65535, found "http"',
  );
  expect(() => read({}, { BIGPEER_ACCEPT_CLOCK: "yes" })).toThrow(
    'BIGPEER_ACCEPT_CLOCK: expected 1 or 0, found "yes"',
  );
});

test("an empty folder or address is refused", () => {
  expect(() => read({ "--data-dir": "" })).toThrow('--data-dir: expected a folder, found ""');
  expect(() => read({ "--host": " " })).toThrow('--host: expected an address, found " "');
});

test("an unknown variable similar to a known one causes a warning with the suggested name", () => {
  expect(warningsOf({ BIGPEER_PROT: "1", BIGPEER_PORT: "1", HOME: "/" })).toEqual([
    "the variable BIGPEER_PROT is not known and has no effect; did you mean BIGPEER_PORT?",
  ]);
  expect(warningsOf({ bigpeer_datadir: "x" })).toEqual([
    "the variable bigpeer_datadir is not known and has no effect; did you mean BIGPEER_DATA_DIR?",
  ]);
});

test("an unknown variable similar to none causes a warning without a suggestion", () => {
  expect(warningsOf({ BIGPEER_SOMETHING_ELSE_ENTIRELY: "1" })).toEqual([
    "the variable BIGPEER_SOMETHING_ELSE_ENTIRELY is not known and has no effect",
  ]);
});

test("no two settings share a name, a flag or a variable, and all are named by the same rule", () => {
  const names = SETTINGS.flatMap(({ name, flag, env }) => [name, flag ?? name + env, env]);
  expect(new Set(names).size).toBe(3 * SETTINGS.length);
  for (const { name, flag, env } of SETTINGS) {
    expect([`--${name}`, undefined]).toContain(flag);
    expect(env).toMatch(new RegExp(`^BIGPEER_${name.replaceAll("-", "_").toUpperCase()}(_M?S)?$`));
  }
});

test.each(["", "-a", "a-", "Shops", "a.b", "a/b", "a".repeat(64), "ä"])(
  'the name "%s" is refused: it is a label of RFC 1123',
  (text) => {
    const expected = "1 to 63 of a-z, 0-9 and - (not first or last)";
    for (const flag of ["--name", "--namespace"]) {
      expect(() => read({ [flag]: text })).toThrow(
        `${flag}: expected ${expected}, found "${text}"`,
      );
    }
  },
);

test("a label may be one character, all digits, or 63 long", () => {
  for (const text of ["a", "7", "a--b", "a".repeat(63)]) {
    expect(read({ "--name": text, "--namespace": text })).toEqual({
      ...read({}),
      name: text,
      namespace: text,
    });
  }
});

test.each([
  "hush",
  "fifteen-letters",
  "with a space in it",
  "über-0123456789abc",
  "x".repeat(1025),
])("an admin token that is too short or malformed is refused and not shown", (token) => {
  const expected = "16 to 1024 ASCII characters without spaces; the value is not shown";
  const error = new PeerError("config.invalid", `BIGPEER_ADMIN_TOKEN: expected ${expected}`);
  expect(() => read({}, { BIGPEER_ADMIN_TOKEN: token })).toThrow(error);
});

test("the admin token and the replication secret are not accepted from a flag", () => {
  expect(read({ "--admin-token": "0123456789abcdef" }).adminToken).toBe(undefined);
  const flags = { "--replication-secret": "0123456789abcdef" };
  expect(read(flags).replicationSecret).toBe(undefined);
});

test("a replication secret has the minimum length of an admin token, and is not shown either", () => {
  const expected = "16 to 1024 ASCII characters without spaces; the value is not shown";
  const error = new PeerError("config.invalid", `BIGPEER_REPLICATION_SECRET: expected ${expected}`);
  expect(() => read({}, { BIGPEER_REPLICATION_SECRET: "hush" })).toThrow(error);
});

test("backups by schedule have a time, a number and a folder outside of the data folder", () => {
  for (const [text, everyMs] of [
    ["90", 90_000],
    ["30m", 1_800_000],
    ["6h", 21_600_000],
    ["1d", 86_400_000],
  ] as const) {
    const { backup } = read({ "--backup-every": text });
    expect(backup).toEqual({ everyMs, keep: 7, folder: resolve("backups") });
  }
  expect(read({ "--backup-every": "off" }).backup).toBe(undefined);
  const inside = read({ "--backup-every": "1h", "--backup-keep": "2", "--backup-dir": "data/old" });
  expect(inside.backup?.keep).toBe(2);
  const message = `--backup-dir: expected a folder outside of the data folder, found ${resolve("data/old")}`;
  expect(() => checkServable(inside)).toThrow(new PeerError("config.invalid", message));
  checkServable(read({ "--backup-every": "1h", "--backup-dir": "data-old" }));
});

test("the replication port must differ from the others, unless it is not opened", () => {
  const secret = { BIGPEER_REPLICATION_SECRET: "0123456789abcdef" };
  const same = { "--replication-port": "8081" };
  const message = "the management API and links have the same port, 8081; choose another one with ";
  expect(() => checkServable(read(same, secret))).toThrow(
    new PeerError("config.invalid", `${message}--management-port or --replication-port`),
  );
  expect(() => checkServable(read({ "--replication-port": "8080" }, secret))).toThrow(
    "the data API and links have the same port, 8080",
  );
  const elsewhere = { ...same, "--replication-host": "10.0.0.1" };
  for (const config of [read(same), read(elsewhere, secret)]) checkServable(config);
});

test.each([
  "0.0.0.0",
  "::",
  "192.168.1.7",
  "data.example.com",
  "localhost.example.com",
  "1270.0.0.1",
])(
  "a server does not manage on %s without an admin token, and the error says what to do",
  (host) => {
    const flags = { "--management-host": host };
    expect(() => checkServable(read(flags))).toThrow(
      new PeerError(
        "config.invalid",
        `anyone who reaches ${host} could use the management API: set ` +
          "BIGPEER_ADMIN_TOKEN, or admin-token in the file of --config; or keep it on this machine " +
          "with --management-host 127.0.0.1, or turn it off with --management-port off",
      ),
    );
    checkServable(read(flags, { BIGPEER_ADMIN_TOKEN: "0123456789abcdef" }));
    checkServable(read({ ...flags, "--management-port": "off" }));
  },
);

test.each(["127.0.0.1", "127.8.0.1", "::1", "localhost", "LOCALHOST"])(
  "a server manages on %s without an admin token",
  (host) => {
    expect(() => checkServable(read({ "--management-host": host }))).not.toThrow();
  },
);

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["localhost", "LOCALHOST"],
  ["0.0.0.0", "127.0.0.1"],
  ["127.0.0.1", "0.0.0.0"],
  ["::", "127.0.0.1"],
  ["::1", "::"],
])("a server does not serve data on %s and manage on %s with one port", (host, managementHost) => {
  const hosts = { "--host": host, "--management-host": managementHost };
  const env = { BIGPEER_ADMIN_TOKEN: "0123456789abcdef" };
  const same = { ...hosts, "--port": "17777", "--management-port": "17777" };
  expect(() => checkServable(read(same, env))).toThrow(
    new PeerError(
      "config.invalid",
      "the data API and the management API have the same port, 17777; " +
        "choose another one with --port or --management-port",
    ),
  );
  checkServable(read({ ...same, "--port": "17778" }, env));
  checkServable(read({ ...same, "--port": "0", "--management-port": "0" }, env));
});

test("two addresses that do not overlap may share a port", () => {
  const env = { BIGPEER_ADMIN_TOKEN: "0123456789abcdef" };
  for (const host of ["10.0.0.1", "::1"]) {
    checkServable(read({ "--management-host": host, "--management-port": "8080" }, env));
  }
  const flags = { "--host": "0.0.0.0", "--management-host": "::1", "--management-port": "8080" };
  expect(() => checkServable(read(flags))).not.toThrow();
});

test("other ports follow --port unless they are given: the next ones, or free ones", () => {
  const ports = (flags: Record<string, string>, env: Record<string, string> = {}): unknown[] => {
    const { port, managementPort, replicationPort } = read(flags, env);
    return [port, managementPort, replicationPort];
  };
  expect(ports({})).toEqual([8080, 8081, 4040]);
  expect(ports({ "--port": "8080" })).toEqual([8080, 8081, 4040]);
  expect(ports({ "--port": "9000" })).toEqual([9000, 9001, 9002]);
  expect(ports({}, { BIGPEER_PORT: "9000" })).toEqual([9000, 9001, 9002]);
  expect(ports({ "--port": "0" })).toEqual([0, 0, 0]);
  expect(ports({ "--port": "9000", "--management-port": "7" })).toEqual([9000, 7, 9002]);
  expect(ports({ "--port": "9000" }, { BIGPEER_REPLICATION_PORT: "7" })).toEqual([9000, 9001, 7]);
  expect(ports({ "--port": "9000", "--management-port": "off" })).toEqual([9000, undefined, 9002]);
  expect(() => read({ "--port": "65535" })).toThrow(
    '--port: expected a port up to 65534, or --management-port beside it, found "65535"',
  );
  const given = { "--management-port": "1", "--replication-port": "off" };
  expect(ports({ "--port": "65535", ...given })).toEqual([65535, 1, undefined]);
});
