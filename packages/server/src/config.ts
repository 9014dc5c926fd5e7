/**
 * Configuration: the table of settings, and how their values are found.
 *
 * A setting is given by a flag, else by a variable of the environment, else by its default. All of
 * them are checked once, here; what is wrong is told with the name under which it was given.
 */

import { resolve } from "node:path";
import { assert, nearest, PeerError } from "@bigpeer/protocol";
import { STATEMENT_TIMEOUT_MS_MAX } from "./limits.ts";
import type { LogLevel } from "./log.ts";

export type SettingName =
  | "data-dir"
  | "port"
  | "host"
  | "tls-cert"
  | "tls-key"
  | "public-url"
  | "cors-origins"
  | "statement-timeout"
  | "transaction-wait"
  | "attachment-size-max"
  | "attachment-grace"
  | "log-level"
  | "log-format"
  | "accept-clock";

export interface Setting {
  readonly name: SettingName;
  readonly flag: string;
  readonly env: string;
  /** What stands for the value in usage; a setting without one is a switch. */
  readonly argument?: string;
  readonly default: string;
  readonly meaning: string;
}

export const SETTINGS: readonly Setting[] = [
  {
    name: "data-dir",
    flag: "--data-dir",
    env: "BIGPEER_DATA_DIR",
    argument: "DIR",
    default: "./data",
    meaning: "the folder that holds everything; made when it is absent",
  },
  {
    name: "port",
    flag: "--port",
    env: "BIGPEER_PORT",
    argument: "N",
    default: "8080",
    meaning: "the port of the HTTP API; 0 picks a free one",
  },
  {
    name: "host",
    flag: "--host",
    env: "BIGPEER_HOST",
    argument: "ADDRESS",
    default: "127.0.0.1",
    meaning: "the address to listen on; 0.0.0.0 for all",
  },
  {
    name: "tls-cert",
    flag: "--tls-cert",
    env: "BIGPEER_TLS_CERT",
    argument: "FILE",
    default: "",
    meaning: "the certificate (PEM, with its chain) for HTTPS; together with --tls-key",
  },
  {
    name: "tls-key",
    flag: "--tls-key",
    env: "BIGPEER_TLS_KEY",
    argument: "FILE",
    default: "",
    meaning: "the private key (PEM) of the certificate",
  },
  {
    name: "public-url",
    flag: "--public-url",
    env: "BIGPEER_PUBLIC_URL",
    argument: "URL",
    default: "",
    meaning: "what clients put before /api/v4, for links in answers; else taken from each request",
  },
  {
    name: "cors-origins",
    flag: "--cors-origins",
    env: "BIGPEER_CORS_ORIGINS",
    argument: "LIST",
    default: "loopback",
    meaning: "web pages that may call: origins with commas between, loopback, * for all, or none",
  },
  {
    name: "statement-timeout",
    flag: "--statement-timeout",
    env: "BIGPEER_STATEMENT_TIMEOUT_MS",
    argument: "MS",
    default: "30000",
    meaning: "milliseconds that a statement may take before it is stopped with 408; up to 60000",
  },
  {
    name: "transaction-wait",
    flag: "--transaction-wait",
    env: "BIGPEER_TRANSACTION_WAIT_MS",
    argument: "MS",
    default: "1000",
    meaning:
      "milliseconds that a request waits for the transaction in X-SERVICE-TXN-ID; up to 30000",
  },
  {
    name: "attachment-size-max",
    flag: "--attachment-size-max",
    env: "BIGPEER_ATTACHMENT_SIZE_MAX",
    argument: "BYTES",
    default: "268435456",
    meaning: "the largest attachment that may be uploaded",
  },
  {
    name: "attachment-grace",
    flag: "--attachment-grace",
    env: "BIGPEER_ATTACHMENT_GRACE_S",
    argument: "S",
    default: "86400",
    meaning: "seconds that an attachment is kept while no document refers to it",
  },
  {
    name: "log-level",
    flag: "--log-level",
    env: "BIGPEER_LOG_LEVEL",
    argument: "LEVEL",
    default: "info",
    meaning: "debug (every request), info, warn or error",
  },
  {
    name: "log-format",
    flag: "--log-format",
    env: "BIGPEER_LOG_FORMAT",
    argument: "FORMAT",
    default: "auto",
    meaning: "json, text, or auto: text on a terminal and json elsewhere",
  },
  {
    name: "accept-clock",
    flag: "--accept-clock",
    env: "BIGPEER_ACCEPT_CLOCK",
    default: "0",
    meaning: "confirms a wall clock that is far after the last write; give it once",
  },
];

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
  readonly port: number;
  readonly host: string;
  /** Files for HTTPS; undefined for HTTP. */
  readonly tls: TlsFiles | undefined;
  /** Without a slash at its end; undefined when each request tells it. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: CorsOrigins;
  readonly statementTimeoutMs: number;
  readonly transactionWaitMs: number;
  readonly attachmentSizeMax: number;
  readonly attachmentGraceMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly isClockAccepted: boolean;
}

export type Environment = { readonly [name: string]: string | undefined };

/** Throws PeerError `config.invalid`, which names the flag or variable and what was expected. */
export function readConfig(flags: ReadonlyMap<string, string>, env: Environment): Config {
  const given = (name: SettingName): Given => findGiven(name, flags, env);
  return {
    dataDir: resolve(checkText(given("data-dir"), "a folder")),
    port: checkPort(given("port")),
    host: checkText(given("host"), "an address"),
    tls: checkTls(given("tls-cert"), given("tls-key")),
    publicUrl: checkPublicUrl(given("public-url")),
    corsOrigins: checkOrigins(given("cors-origins")),
    statementTimeoutMs: checkNumber(given("statement-timeout"), STATEMENT_TIMEOUT),
    transactionWaitMs: checkNumber(given("transaction-wait"), TRANSACTION_WAIT),
    attachmentSizeMax: checkNumber(given("attachment-size-max"), ATTACHMENT_SIZE),
    attachmentGraceMs: checkNumber(given("attachment-grace"), ATTACHMENT_GRACE) * 1000,
    logLevel: checkChoice(given("log-level"), LOG_LEVELS),
    logFormat: checkChoice(given("log-format"), LOG_FORMATS),
    isClockAccepted: checkSwitch(given("accept-clock")),
  };
}

/** A sentence for each variable that looks like ours and is none. */
export function findUnknownVariables(env: Environment): string[] {
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
  /** The flag or variable that it came from. */
  readonly source: string;
}

function findGiven(name: SettingName, flags: ReadonlyMap<string, string>, env: Environment): Given {
  const setting = SETTINGS.find((candidate) => candidate.name === name);
  assert(setting !== undefined, "a setting of the table");
  const flag = flags.get(setting.flag);
  if (flag !== undefined) return { text: flag, source: setting.flag };
  const variable = env[setting.env];
  // Set to nothing is how compose files and shells spell "not set".
  if (variable !== undefined && variable !== "") return { text: variable, source: setting.env };
  return { text: setting.default, source: setting.flag };
}

function checkText({ text, source }: Given, expected: string): string {
  if (text.trim() === "") throw invalid(source, expected, text);
  return text;
}

function checkPort({ text, source }: Given): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw invalid(source, "a port from 0 to 65535", text);
  }
  return port;
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
