/**
 * Configuration: how the values of settings (settings.ts) are found and checked.
 *
 * A setting is given by a flag, else by a variable of the environment, else in the file that
 * `--config` names, else by its default. All of them are checked once, here; what is wrong is told
 * with the name under which it was given.
 */

import { resolve } from "node:path";
import { assert, nearest, PeerError } from "@bigpeer/protocol";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { STATEMENT_TIMEOUT_MS_MAX } from "./limits.ts";
import type { LogLevel } from "./log.ts";
import { isName } from "./registry/name.ts";
import { SETTINGS, type Setting, type SettingName } from "./settings.ts";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Which web pages may call: all, those of this machine, or these. */
export type CorsOrigins = "*" | "loopback" | readonly string[];

export type LogFormat = "auto" | "json" | "text";

export interface Config {
  /** Absolute. */
  readonly dataDir: string;
  /** Of this Big Peer, in paths of the management API. */
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly host: string;
  /** Files for HTTPS; undefined for HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Without a slash at its end; undefined when each request tells it. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: CorsOrigins;
  /** Undefined when there is no management API. */
  readonly managementPort: number | undefined;
  readonly managementHost: string;
  /** Undefined when the management API asks for none. */
  readonly adminToken: string | undefined;
  readonly appIdleMs: number;
  readonly appGraceMs: number;
  readonly statementTimeoutMs: number;
  readonly transactionWaitMs: number;
  readonly webhookTimeoutMs: number;
  readonly attachmentSizeMax: number;
  readonly attachmentGraceMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly isClockAccepted: boolean;
}

export type Environment = { readonly [name: string]: string | undefined };

/**
 * Throws PeerError `config.invalid`, which names the flag, variable or key and what was expected.
 * `warn` is called with a sentence for each thing that is not wrong and should be looked at.
 */
export function readConfig(
  flags: ReadonlyMap<string, string>,
  env: Environment,
  warn: (sentence: string) => void = () => {},
): Config {
  const file = findFile(flags, env);
  for (const sentence of findUnknownVariables(env)) warn(sentence);
  if (file?.warning !== undefined) warn(file.warning);
  const given = (name: SettingName): Given => findGiven(name, flags, env, file);
  return {
    dataDir: resolve(checkText(given("data-dir"), "a folder")),
    namespace: checkLabel(given("namespace")),
    name: checkLabel(given("name")),
    port: checkPort(given("port")),
    host: checkText(given("host"), "an address"),
    tls: checkTls(given("tls-cert"), given("tls-key")),
    publicUrl: checkPublicUrl(given("public-url")),
    corsOrigins: checkOrigins(given("cors-origins")),
    managementPort: checkPortOrOff(given("management-port")),
    managementHost: checkText(given("management-host"), "an address"),
    adminToken: checkToken(given("admin-token")),
    appIdleMs: checkNumber(given("app-idle"), APP_IDLE) * 1000,
    appGraceMs: checkNumber(given("app-grace"), APP_GRACE) * 1000,
    statementTimeoutMs: checkNumber(given("statement-timeout"), STATEMENT_TIMEOUT),
    transactionWaitMs: checkNumber(given("transaction-wait"), TRANSACTION_WAIT),
    webhookTimeoutMs: checkNumber(given("webhook-timeout"), WEBHOOK_TIMEOUT),
    attachmentSizeMax: checkNumber(given("attachment-size-max"), ATTACHMENT_SIZE),
    attachmentGraceMs: checkNumber(given("attachment-grace"), ATTACHMENT_GRACE) * 1000,
    logLevel: checkChoice(given("log-level"), LOG_LEVELS),
    logFormat: checkChoice(given("log-format"), LOG_FORMATS),
    isClockAccepted: checkSwitch(given("accept-clock")),
  };
}

/**
 * What a server needs beyond values that are right one by one; other commands work without it, so
 * that a backup does not need the admin token. Throws PeerError `config.invalid`.
 */
export function checkServable({ managementPort, managementHost, adminToken }: Config): void {
  const isOpen = managementPort !== undefined && adminToken === undefined;
  if (!isOpen || isLoopbackHost(managementHost)) return;
  throw new PeerError(
    "config.invalid",
    `the management API would be open to everybody who reaches ${managementHost}: set ` +
      "BIGPEER_ADMIN_TOKEN, or admin-token in the file of --config; or leave it on this machine " +
      "with --management-host 127.0.0.1, or away with --management-port off",
  );
}

/** Whether only this machine reaches a listener on it. A name is not looked up, but for one. */
function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}

/** A sentence for each variable that looks like ours and is none. */
function findUnknownVariables(env: Environment): string[] {
  const known = SETTINGS.map((setting) => setting.env);
  const names = Object.keys(env).filter((name) => /^bigpeer_/i.test(name));
  return names
    .filter((name) => !known.includes(name))
    .map((name) => `the variable ${name} is not known and has no effect${suggest(name, known)}`);
}

/** `; did you mean …?` when one of `known` is near, else nothing. */
export function suggest(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

interface Given {
  readonly text: string;
  /** The flag, variable or key that it came from. */
  readonly source: string;
  /** Nobody said anything: the text is the default. */
  readonly isDefault?: true;
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
  if (file !== undefined && text !== undefined) return { text, source: `${file.path}: ${name}` };
  return { text: setting.default, source: setting.flag ?? setting.env, isDefault: true };
}

/** By flag or variable. */
function findNamed(
  { flag, env: variable }: Setting,
  flags: ReadonlyMap<string, string>,
  env: Environment,
): Given | undefined {
  const ofFlag = flag === undefined ? undefined : flags.get(flag);
  if (flag !== undefined && ofFlag !== undefined) return { text: ofFlag, source: flag };
  const text = env[variable];
  // Set to nothing is how compose files and shells spell "not set".
  return text === undefined || text === "" ? undefined : { text, source: variable };
}

function settingOf(name: SettingName): Setting {
  const setting = SETTINGS.find((candidate) => candidate.name === name);
  assert(setting !== undefined, "a setting of the table");
  return setting;
}

function checkText({ text, source }: Given, expected: string): string {
  if (text.trim() === "") throw invalid(source, expected, text);
  return text;
}

function checkPort({ text, source }: Given): number {
  if (!isPort(text)) throw invalid(source, "a port from 0 to 65535", text);
  return Number(text);
}

function checkPortOrOff({ text, source }: Given): number | undefined {
  if (text === "off") return undefined;
  if (!isPort(text)) throw invalid(source, 'a port from 0 to 65535 or "off"', text);
  return Number(text);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

/** It stands in paths of the management API, as the names of apps do. */
function checkLabel({ text, source }: Given): string {
  if (isName(text)) return text;
  const expected = "1 to 63 of a-z, 0-9 and - (not first or last)";
  throw invalid(source, expected, text);
}

/** It comes back in a header, so it has no spaces and nothing beyond ASCII. */
const TOKEN = /^[!-~]{16,1024}$/;

/** What is wrong is told without the token. */
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
const APP_IDLE: NumberRange = { unit: "seconds", min: 1, max: 366 * 86_400 };
const APP_GRACE: NumberRange = { unit: "seconds", min: 0, max: 366 * 86_400 };
const ATTACHMENT_SIZE: NumberRange = { unit: "bytes", min: 1, max: 1024 ** 4 };
const ATTACHMENT_GRACE: NumberRange = { unit: "seconds", min: 0, max: 366 * 86_400 };

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
const LOG_FORMATS = ["auto", "json", "text"] as const;

function checkNumber({ text, source }: Given, { unit, min, max }: NumberRange): number {
  const number = Number(text);
  if (!/^\d{1,15}$/.test(text) || number < min || number > max) {
    throw invalid(source, `${unit} from ${min} to ${max}`, text);
  }
  return number;
}

function checkChoice<T extends string>({ text, source }: Given, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found === undefined) throw invalid(source, `one of ${choices.join(", ")}`, text);
  return found;
}

function checkTls(cert: Given, key: Given): TlsFiles | undefined {
  if (cert.text === "" && key.text === "") return undefined;
  const certFile = resolve(checkText(cert, "a file, because --tls-key has one"));
  return { certFile, keyFile: resolve(checkText(key, "a file, because --tls-cert has one")) };
}

function checkPublicUrl({ text, source }: Given): string | undefined {
  if (text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === undefined || !isWeb || url.search !== "" || url.hash !== "") {
    throw invalid(source, "an address that begins with http:// or https://", text);
  }
  return url.href.replace(/\/$/, "");
}

function checkOrigins({ text, source }: Given): CorsOrigins {
  const words = text.split(",").map((word) => word.trim().toLowerCase());
  const [only = "", second] = words;
  if (second === undefined) {
    if (only === "*" || only === "loopback") return only;
    if (only === "none") return [];
  }
  for (const word of words) {
    const isOrigin = URL.canParse(word) && new URL(word).origin === word;
    if (!isOrigin) throw invalid(source, "origins like https://app.example.com", word);
  }
  return words;
}

function checkSwitch({ text, source }: Given): boolean {
  if (text === "1" || text === "true") return true;
  if (text === "0" || text === "false") return false;
  throw invalid(source, "1 or 0", text);
}

function invalid(source: string, expected: string, found: string): PeerError {
  return new PeerError("config.invalid", `${source}: expected ${expected}, found "${found}"`);
}
