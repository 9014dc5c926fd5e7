/**
 * Configuration: finds and checks the values of settings (settings.ts).
 *
 * A value comes from a flag, else from an environment variable, else from the file of `--config`,
 * else from the default. All values are checked, also those of the file that a flag or variable
 * overrides. Errors name the flag, variable or key that gave the value.
 */

import { resolve } from "node:path";
import { assert, nearest, PeerError } from "@bigpeer/protocol";
import { type AddressRange, readAddressRange } from "../address/client-address.ts";
import { STATEMENT_TIMEOUT_MS_MAX } from "../limits/limits.ts";
import type { LogLevel } from "../observability/log.ts";
import { isName } from "../validation/name.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { readDuration } from "./duration.ts";
import type { Setting, SettingName } from "./setting.ts";
import { SETTINGS } from "./settings.ts";
import { type ShownSetting, shownSetting } from "./shown-setting.ts";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** CA bundle that verifies certificates of others; without it they need none. */
  readonly caFile?: string;
}

/** Web origins that may call: all, those of this machine, or these. */
export type CorsOrigins = "*" | "loopback" | readonly string[];

export type LogFormat = "auto" | "json" | "text";

/** How a node of a cluster reaches NATS and the other nodes. */
export interface ClusterConfig {
  /** Addresses of NATS servers. */
  readonly servers: readonly string[];
  /** Distinguishes clusters on the same NATS. */
  readonly name: string;
  /** Secret that all nodes share. */
  readonly secret: string;
  /** Where the listener for other nodes is. */
  readonly host: string;
  readonly port: number;
  /** The URL that other nodes use; by default that of the listener. */
  readonly advertise: string | undefined;
  /** File with NATS credentials. */
  readonly credsFile: string | undefined;
  /** Files for TLS to NATS and among the nodes, with a CA. */
  readonly tlsFiles: TlsFiles | undefined;
  /** Addresses of the monitoring ports of the NATS servers. */
  readonly monitors: readonly string[];
  /** Whether checks of the NATS servers that fail are warnings only. */
  readonly isDevelopment: boolean;
  /** How long a node that is cut off from the log serves reads. */
  readonly cutOffMs: number;
  /** How long the log keeps what a node that is away lacks. */
  readonly awayMs: number;
  /** For tests; UPKEEP_TIMES of cluster/upkeep.ts otherwise. */
  readonly upkeep?: Partial<UpkeepTimes>;
}

/** Times and bounds of the background work of a node. */
export interface UpkeepTimes {
  /** How often logs are trimmed. */
  readonly trimMs: number;
  /** How often closed apps are brought up to date. */
  readonly catchUpMs: number;
  /** Sequences that stay in a log although all nodes have them. */
  readonly keptEntries: number;
  /** How long the log is held after a copy was sent, until its receiver has opened it. */
  readonly copyHoldMs: number;
}

/** Backups by schedule. */
export interface BackupConfig {
  /** Absolute path. */
  readonly folder: string;
  readonly everyMs: number;
  /** Number of backups that stay. */
  readonly keep: number;
}

export interface Config {
  /** Absolute path. */
  readonly dataDir: string;
  /** Namespace and name of this Big Peer in paths of the management API. */
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly host: string;
  /** Files for HTTPS; undefined for HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Without a trailing slash; undefined to derive it from each request. */
  readonly publicUrl: string | undefined;
  /** Folder with the static files of an app. */
  readonly publicDir: string | undefined;
  readonly corsOrigins: CorsOrigins;
  /** Proxies whose `X-Forwarded-For` gives the address of a client. */
  readonly trustedProxies: readonly AddressRange[];
  /** Undefined without a management API. */
  readonly managementPort: number | undefined;
  readonly managementHost: string;
  /** Undefined when the management API needs no token. */
  readonly adminToken: string | undefined;
  /** Undefined when no other Big Peer may connect. */
  readonly replicationPort: number | undefined;
  readonly replicationHost: string;
  /** For apps that have none of their own. */
  readonly replicationSecret: string | undefined;
  /** Files for encrypted links. */
  readonly replicationTls: TlsFiles | undefined;
  /** Undefined when the server is alone. */
  readonly cluster: ClusterConfig | undefined;
  readonly appIdleMs: number;
  readonly appGraceMs: number;
  readonly statementTimeoutMs: number;
  readonly transactionWaitMs: number;
  readonly webhookTimeoutMs: number;
  /** Time limit of a remote statement on each peer. */
  readonly remoteTimeoutMs: number;
  /** Time limit of one delivery to a webhook or sink. */
  readonly deliveryTimeoutMs: number;
  /** Attempts at a delivery before it becomes a dead letter. */
  readonly deliveryAttempts: number;
  readonly attachmentSizeMax: number;
  /** Of all attachments of one app; 0 for no bound. */
  readonly attachmentSpaceMax: number;
  readonly attachmentGraceMs: number;
  readonly syncConnectionsMax: number;
  /** Undefined without backups by schedule. */
  readonly backup: BackupConfig | undefined;
  /** Where backups are made, also on request. */
  readonly backupFolder: Omit<BackupConfig, "everyMs">;
  readonly shutdownDelayMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly isClockAccepted: boolean;
  /** All settings as they were read, without secrets. */
  readonly settings: readonly ShownSetting[];
}

export type Environment = { readonly [name: string]: string | undefined };

/**
 * Throws PeerError `config.invalid`, which names the flag, variable or key and what was expected.
 * `warn` is called with a sentence for each valid but questionable value.
 */
export function readConfig(
  flags: ReadonlyMap<string, string>,
  env: Environment,
  warn: (sentence: string) => void = () => {},
): Config {
  const file = findFile(flags, env);
  for (const sentence of findUnknownVariables(env)) warn(sentence);
  if (file?.warning !== undefined) warn(file.warning);
  if (file !== undefined) checkFile(file);
  const given = (name: SettingName): Given => findGiven(name, flags, env, file);
  return {
    dataDir: CHECKS["data-dir"](given("data-dir")),
    namespace: CHECKS.namespace(given("namespace")),
    name: CHECKS.name(given("name")),
    port: CHECKS.port(given("port")),
    host: CHECKS.host(given("host")),
    tls: checkTls(given("tls-cert"), given("tls-key"), "tls"),
    publicUrl: CHECKS["public-url"](given("public-url")),
    publicDir: CHECKS.public(given("public")),
    corsOrigins: CHECKS["cors-origins"](given("cors-origins")),
    trustedProxies: CHECKS["trusted-proxies"](given("trusted-proxies")),
    managementPort: nextPort(given("management-port"), given("port"), 1),
    managementHost: CHECKS["management-host"](given("management-host")),
    adminToken: CHECKS["admin-token"](given("admin-token")),
    replicationPort: nextPort(given("replication-port"), given("port"), 2),
    replicationHost: CHECKS["replication-host"](given("replication-host")),
    replicationSecret: CHECKS["replication-secret"](given("replication-secret")),
    replicationTls: checkLinkTls(
      given("replication-tls-cert"),
      given("replication-tls-key"),
      given("replication-tls-ca"),
    ),
    cluster: readCluster(given),
    appIdleMs: CHECKS["app-idle"](given("app-idle")) * 1000,
    appGraceMs: CHECKS["app-grace"](given("app-grace")) * 1000,
    statementTimeoutMs: CHECKS["statement-timeout"](given("statement-timeout")),
    transactionWaitMs: CHECKS["transaction-wait"](given("transaction-wait")),
    webhookTimeoutMs: CHECKS["webhook-timeout"](given("webhook-timeout")),
    remoteTimeoutMs: CHECKS["remote-timeout"](given("remote-timeout")),
    deliveryTimeoutMs: CHECKS["delivery-timeout"](given("delivery-timeout")),
    deliveryAttempts: CHECKS["delivery-attempts"](given("delivery-attempts")),
    attachmentSizeMax: CHECKS["attachment-size-max"](given("attachment-size-max")),
    attachmentSpaceMax: CHECKS["attachment-space-max"](given("attachment-space-max")),
    attachmentGraceMs: CHECKS["attachment-grace"](given("attachment-grace")) * 1000,
    syncConnectionsMax: CHECKS["sync-connections"](given("sync-connections")),
    backup: readBackup(given),
    backupFolder: readBackupFolder(given),
    shutdownDelayMs: CHECKS["shutdown-delay"](given("shutdown-delay")) * 1000,
    logLevel: CHECKS["log-level"](given("log-level")),
    logFormat: CHECKS["log-format"](given("log-format")),
    isClockAccepted: CHECKS["accept-clock"](given("accept-clock")),
    settings: SETTINGS.map((setting) => shownSetting(setting, given(setting.name))),
  };
}

function readBackup(given: (name: SettingName) => Given): BackupConfig | undefined {
  const everyMs = CHECKS["backup-every"](given("backup-every"));
  return everyMs === undefined ? undefined : { everyMs, ...readBackupFolder(given) };
}

function readBackupFolder(given: (name: SettingName) => Given): Config["backupFolder"] {
  const keep = CHECKS["backup-keep"](given("backup-keep"));
  return { keep, folder: CHECKS["backup-dir"](given("backup-dir")) };
}

function readCluster(given: (name: SettingName) => Given): ClusterConfig | undefined {
  const servers = CHECKS.cluster(given("cluster"));
  const secret = CHECKS["cluster-secret"](given("cluster-secret"));
  const files = checkClusterTls(given);
  CHECKS["cluster-port"](given("cluster-port"));
  const credsFile = CHECKS["cluster-creds"](given("cluster-creds"));
  const config = {
    servers,
    name: CHECKS["cluster-name"](given("cluster-name")),
    host: CHECKS["cluster-host"](given("cluster-host")),
    advertise: CHECKS["cluster-advertise"](given("cluster-advertise")),
    credsFile: credsFile === "" ? undefined : resolve(credsFile),
    tlsFiles: files,
    monitors: CHECKS["cluster-monitor"](given("cluster-monitor")),
    cutOffMs: CHECKS["cluster-cut-off"](given("cluster-cut-off")) * 1000,
    awayMs: CHECKS["cluster-away"](given("cluster-away")) * 1000,
    isDevelopment: CHECKS["cluster-development"](given("cluster-development")),
  };
  if (servers.length === 0) return undefined;
  const port = nextPort(given("cluster-port"), given("port"), 3);
  assert(port !== undefined, "a port");
  if (secret !== undefined) return { ...config, port, secret };
  throw new PeerError(
    "config.invalid",
    "a node of a cluster needs the secret of the cluster: set BIGPEER_CLUSTER_SECRET, or cluster-secret in the file of --config, to the same text on all nodes",
  );
}

function checkClusterTls(given: (name: SettingName) => Given): TlsFiles | undefined {
  const [cert, key] = [given("cluster-tls-cert"), given("cluster-tls-key")];
  const files = checkTls(cert, key, "cluster-tls");
  const ca = given("cluster-tls-ca");
  if (ca.text === "") {
    if (files === undefined) return undefined;
    throw invalid(ca, "a file, because --cluster-tls-cert has one");
  }
  if (files !== undefined) return { ...files, caFile: resolve(ca.text) };
  throw invalid(cert, "a file, because --cluster-tls-ca has one");
}

/** Variables of commands that call a server. */
const CLIENT_VARIABLES = [
  "BIGPEER_URL",
  "BIGPEER_KEY",
  "BIGPEER_APP_ID",
  "BIGPEER_MANAGEMENT_URL",
  "BIGPEER_PROFILE",
];

/** Warnings about variables that have our prefix but are unknown. */
function findUnknownVariables(env: Environment): string[] {
  const known = [...SETTINGS.map((setting) => setting.env), ...CLIENT_VARIABLES];
  const names = Object.keys(env).filter((name) => /^bigpeer_/i.test(name));
  return names
    .filter((name) => !known.includes(name))
    .map((name) => `the variable ${name} is not known and has no effect${suggest(name, known)}`);
}

/** `; did you mean …?` when one of `known` is similar, otherwise empty. */
export function suggest(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

interface Given {
  readonly text: string;
  /** Flag, variable or key that gave the text. */
  readonly source: string;
  /** Whether the text is the default. */
  readonly isDefault?: true;
  /** Whether it came from the file, where a value under a wrong name may be a secret. */
  readonly isHidden?: true;
}

function findFile(flags: ReadonlyMap<string, string>, env: Environment): ConfigFile | undefined {
  const given = findNamed(settingOf("config"), flags, env);
  if (given === undefined) return undefined;
  return readConfigFile(checkText(given, "a file"), given.source);
}

function findGiven(
  name: SettingName,
  flags: ReadonlyMap<string, string>,
  env: Environment,
  file: ConfigFile | undefined,
): Given {
  const setting = settingOf(name);
  const named = findNamed(setting, flags, env);
  if (named !== undefined) return named;
  const text = file?.texts.get(name);
  if (file !== undefined && text !== undefined) return givenInFile(file, name, text);
  return { text: setting.default, source: setting.flag ?? setting.env, isDefault: true };
}

function givenInFile({ path }: ConfigFile, name: SettingName, text: string): Given {
  return { text, source: `${path}: ${name}`, isHidden: true };
}

/** Checks all of the file: a value that is overridden today may be used tomorrow. */
function checkFile(file: ConfigFile): void {
  for (const [name, text] of file.texts) CHECKS[name](givenInFile(file, name, text));
}

/** Value by flag or variable. */
function findNamed(
  { flag, env: variable }: Setting,
  flags: ReadonlyMap<string, string>,
  env: Environment,
): Given | undefined {
  const ofFlag = flag === undefined ? undefined : flags.get(flag);
  if (flag !== undefined && ofFlag !== undefined) return { text: ofFlag, source: flag };
  const text = env[variable];
  // Compose files and shells set a variable to nothing to unset it.
  return text === undefined || text === "" ? undefined : { text, source: variable };
}

function settingOf(name: SettingName): Setting {
  const setting = SETTINGS.find((candidate) => candidate.name === name);
  assert(setting !== undefined, "a setting of the table");
  return setting;
}

function checkText(given: Given, expected: string): string {
  if (given.text.trim() === "") throw invalid(given, expected);
  return given.text;
}

function checkPort(given: Given): number {
  if (!isPort(given.text)) throw invalid(given, "a port from 0 to 65535");
  return Number(given.text);
}

function checkPortOrOff(given: Given): number | undefined {
  if (given.text === "off") return undefined;
  if (!isPort(given.text)) throw invalid(given, 'a port from 0 to 65535 or "off"');
  return Number(given.text);
}

/**
 * Port beside that of the data API. If only that one is set, the others follow it, so that a second
 * server on a machine needs one setting: the next ports, or free ones for port 0.
 */
function nextPort(own: Given, data: Given, distance: number): number | undefined {
  if (own.isDefault !== true || data.isDefault === true) return checkPortOrOff(own);
  const port = checkPort(data);
  if (port === DEFAULT_PORT) return checkPortOrOff(own);
  if (port === 0) return 0;
  if (isPort(String(port + distance))) return port + distance;
  throw invalid(data, `a port up to ${PORT_MAX - distance}, or ${own.source} beside it`);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX;
}

const PORT_MAX = 65_535;
const DEFAULT_PORT = Number(settingOf("port").default);

/** It is part of paths of the management API, like names of apps. */
function checkLabel(given: Given): string {
  if (isName(given.text)) return given.text;
  throw invalid(given, "1 to 63 of a-z, 0-9 and - (not first or last)");
}

/** It is sent in a header: no spaces and only ASCII. */
const TOKEN = /^[!-~]{16,1024}$/;

/** Errors do not show the token. */
function checkToken({ text, source, isDefault }: Given): string | undefined {
  if (isDefault === true) return undefined;
  if (TOKEN.test(text)) return text;
  const expected = "16 to 1024 ASCII characters without spaces";
  throw new PeerError("config.invalid", `${source}: expected ${expected}; the value is not shown`);
}

interface NumberRange {
  readonly unit: string;
  readonly min: number;
  readonly max: number;
}

const STATEMENT_TIMEOUT: NumberRange = {
  unit: "milliseconds",
  min: 1,
  max: STATEMENT_TIMEOUT_MS_MAX,
};
const TRANSACTION_WAIT: NumberRange = { unit: "milliseconds", min: 0, max: 30_000 };
const WEBHOOK_TIMEOUT: NumberRange = { unit: "milliseconds", min: 1, max: 60_000 };
const REMOTE_TIMEOUT: NumberRange = { unit: "milliseconds", min: 1, max: 60_000 };
const DELIVERY_TIMEOUT: NumberRange = { unit: "milliseconds", min: 1, max: 60_000 };
const DELIVERY_ATTEMPTS: NumberRange = { unit: "attempts", min: 1, max: 10_000 };
const APP_IDLE: NumberRange = { unit: "seconds", min: 1, max: 366 * 86_400 };
const APP_GRACE: NumberRange = { unit: "seconds", min: 0, max: 366 * 86_400 };
const ATTACHMENT_SIZE: NumberRange = { unit: "bytes", min: 1, max: 1024 ** 4 };
const ATTACHMENT_SPACE: NumberRange = { unit: "bytes", min: 0, max: 1024 ** 5 };
const ATTACHMENT_GRACE: NumberRange = { unit: "seconds", min: 0, max: 366 * 86_400 };
const SHUTDOWN_DELAY: NumberRange = { unit: "seconds", min: 0, max: 3_600 };
const BACKUP_KEEP: NumberRange = { unit: "backups", min: 1, max: 10_000 };
const BACKUP_EVERY_MS = { min: 60_000, max: 366 * 86_400_000 };
const CUT_OFF: NumberRange = { unit: "seconds", min: 1, max: 86_400 };
const AWAY: NumberRange = { unit: "seconds", min: 1, max: 366 * 86_400 };
const SYNC_CONNECTIONS: NumberRange = { unit: "connections", min: 0, max: 1_000_000 };

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
const LOG_FORMATS = ["auto", "json", "text"] as const;

/** Check and conversion of each setting. */
const CHECKS = {
  config: (given: Given) => checkText(given, "a file"),
  "data-dir": (given: Given) => resolve(checkText(given, "a folder")),
  namespace: checkLabel,
  name: checkLabel,
  port: checkPort,
  host: (given: Given) => checkText(given, "an address"),
  "tls-cert": ({ text }: Given) => text,
  "tls-key": ({ text }: Given) => text,
  "public-url": checkPublicUrl,
  public: ({ text }: Given) => (text === "" ? undefined : resolve(text)),
  "cors-origins": checkOrigins,
  "trusted-proxies": checkProxies,
  "management-port": checkPortOrOff,
  "management-host": (given: Given) => checkText(given, "an address"),
  "admin-token": checkToken,
  "replication-port": checkPortOrOff,
  "replication-host": (given: Given) => checkText(given, "an address"),
  "replication-secret": checkToken,
  "replication-tls-cert": ({ text }: Given) => text,
  "replication-tls-key": ({ text }: Given) => text,
  "replication-tls-ca": ({ text }: Given) => text,
  cluster: (given: Given) => checkList(given, /^(nats|tls|ws|wss):\/\/\S+$/, "nats://host:4222"),
  "cluster-name": checkLabel,
  "cluster-secret": checkToken,
  "cluster-host": (given: Given) => checkText(given, "an address"),
  "cluster-port": checkPort,
  "cluster-advertise": checkPublicUrl,
  "cluster-creds": ({ text }: Given) => text,
  "cluster-tls-cert": ({ text }: Given) => text,
  "cluster-tls-key": ({ text }: Given) => text,
  "cluster-tls-ca": ({ text }: Given) => text,
  "cluster-monitor": (given: Given) => checkList(given, /^https?:\/\/\S+$/, "http://host:8222"),
  "cluster-cut-off": (given: Given) => checkNumber(given, CUT_OFF),
  "cluster-away": (given: Given) => checkNumber(given, AWAY),
  "cluster-development": checkSwitch,
  "app-idle": (given: Given) => checkNumber(given, APP_IDLE),
  "app-grace": (given: Given) => checkNumber(given, APP_GRACE),
  "statement-timeout": (given: Given) => checkNumber(given, STATEMENT_TIMEOUT),
  "transaction-wait": (given: Given) => checkNumber(given, TRANSACTION_WAIT),
  "webhook-timeout": (given: Given) => checkNumber(given, WEBHOOK_TIMEOUT),
  "remote-timeout": (given: Given) => checkNumber(given, REMOTE_TIMEOUT),
  "delivery-timeout": (given: Given) => checkNumber(given, DELIVERY_TIMEOUT),
  "delivery-attempts": (given: Given) => checkNumber(given, DELIVERY_ATTEMPTS),
  "attachment-size-max": (given: Given) => checkNumber(given, ATTACHMENT_SIZE),
  "attachment-space-max": (given: Given) => checkNumber(given, ATTACHMENT_SPACE),
  "attachment-grace": (given: Given) => checkNumber(given, ATTACHMENT_GRACE),
  "sync-connections": (given: Given) => checkNumber(given, SYNC_CONNECTIONS),
  "backup-every": checkBackupEvery,
  "backup-keep": (given: Given) => checkNumber(given, BACKUP_KEEP),
  "backup-dir": (given: Given) => resolve(checkText(given, "a folder")),
  "shutdown-delay": (given: Given) => checkNumber(given, SHUTDOWN_DELAY),
  "log-level": (given: Given) => checkChoice(given, LOG_LEVELS),
  "log-format": (given: Given) => checkChoice(given, LOG_FORMATS),
  "accept-clock": checkSwitch,
} satisfies { readonly [name in SettingName]: (given: Given) => unknown };

function checkNumber(given: Given, { unit, min, max }: NumberRange): number {
  const number = Number(given.text);
  if (!/^\d{1,15}$/.test(given.text) || number < min || number > max) {
    throw invalid(given, `${unit} from ${min} to ${max}`);
  }
  return number;
}

function checkBackupEvery(given: Given): number | undefined {
  if (given.text === "off") return undefined;
  const ms = readDuration(given.text);
  const { min, max } = BACKUP_EVERY_MS;
  if (ms !== undefined && ms >= min && ms <= max) return ms;
  throw invalid(given, 'a time from 1m to 366d, such as 6h or 1d, or "off"');
}

function checkChoice<T extends string>(given: Given, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === given.text.toLowerCase());
  if (found === undefined) throw invalid(given, `one of ${choices.join(", ")}`);
  return found;
}

/** `name` is the common prefix of both settings. */
function checkTls(cert: Given, key: Given, name: string): TlsFiles | undefined {
  if (cert.text === "" && key.text === "") return undefined;
  const certFile = resolve(checkText(cert, `a file, because --${name}-key has one`));
  return { certFile, keyFile: resolve(checkText(key, `a file, because --${name}-cert has one`)) };
}

function checkLinkTls(cert: Given, key: Given, ca: Given): TlsFiles | undefined {
  const files = checkTls(cert, key, "replication-tls");
  if (ca.text === "") return files;
  if (files !== undefined) return { ...files, caFile: resolve(ca.text) };
  throw invalid(cert, "a file, because --replication-tls-ca has one");
}

function checkPublicUrl(given: Given): string | undefined {
  const { text } = given;
  if (text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === undefined || !isWeb || url.search !== "" || url.hash !== "") {
    throw invalid(given, "an address that begins with http:// or https://");
  }
  return url.href.replace(/\/$/, "");
}

function checkOrigins(given: Given): CorsOrigins {
  const words = given.text.split(",").map((word) => word.trim().toLowerCase());
  const [only = "", second] = words;
  if (second === undefined) {
    if (only === "*" || only === "loopback") return only;
    if (only === "none") return [];
  }
  for (const word of words) {
    const isOrigin = URL.canParse(word) && new URL(word).origin === word;
    if (!isOrigin) throw invalid(given, "origins like https://app.example.com", word);
  }
  return words;
}

function checkProxies(given: Given): AddressRange[] {
  if (given.text === "" || given.text === "none") return [];
  return given.text
    .split(",")
    .map((word) => word.trim())
    .map((word) => {
      const range = readAddressRange(word);
      if (range !== undefined) return range;
      throw invalid(given, "addresses like 10.0.0.5 and ranges like 10.0.0.0/8 or fd00::/8", word);
    });
}

/** Words that are separated by commas; none if the text is empty. */
function checkList(given: Given, pattern: RegExp, example: string): string[] {
  if (given.text === "") return [];
  const words = given.text.split(",").map((word) => word.trim());
  for (const word of words) {
    // It may hold a password.
    if (!pattern.test(word))
      throw invalid({ ...given, isHidden: true }, `addresses like ${example}`);
  }
  return words;
}

function checkSwitch(given: Given): boolean {
  const { text } = given;
  if (text === "1" || text === "true") return true;
  if (text === "0" || text === "false") return false;
  throw invalid(given, "1 or 0");
}

function invalid(given: Given, expected: string, found = given.text): PeerError {
  const { source, isHidden, isDefault } = given;
  const isNone = isDefault === true && found === "";
  const shown = isHidden === true ? "another value" : isNone ? "none" : `"${found}"`;
  return new PeerError("config.invalid", `${source}: expected ${expected}, found ${shown}`);
}
