/**
 * Log: writes one line for each event to standard error. Standard output is for the output of
 * commands.
 *
 * Lines are JSON for machines, or text for a terminal. The text is made from the JSON, so secrets
 * are removed in one place. Each line is written at once, so a crash does not lose it.
 */

import { PeerError } from "@bigpeer/protocol";
import { pino } from "pino";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Fields of an event beside its message. None is named `time`, `level` or `msg`. */
export interface LogFields {
  readonly [name: string]: unknown;
}

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

export interface LogOptions {
  /** Lowest level that is logged. */
  readonly level: LogLevel;
  readonly format: "json" | "text";
  /** Receives a line with its line break. */
  readonly write: (line: string) => void;
}

/** Fields that are never shown, at the top level or one level below. */
const SECRET_FIELDS = ["authorization", "apiKey", "token", "secret", "password", "cookie"];

/** An API key, even a truncated one; its id may be shown. */
const API_KEY = /(bp_[0-9a-f]{8}_)[\w-]+/g;

/** The token of the console, in its link. */
const CONSOLE_TOKEN = /bpc_[\w-]+/g;

/** A JSON Web Token, even without its signature. */
const WEB_TOKEN = /eyJ[\w-]+\.[\w-]+(\.[\w-]*)?/g;

/** Log whose level can be changed while it is in use. */
export interface AdjustableLog {
  readonly log: Log;
  readonly setLevel: (level: LogLevel) => void;
}

export function createLog(options: LogOptions): Log {
  return createAdjustableLog(options).log;
}

export function createAdjustableLog({ level, format, write }: LogOptions): AdjustableLog {
  const options = {
    level,
    // The log collector knows the host and the process.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (name: string) => ({ level: name }) },
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: "[hidden]" },
  };
  const take = (line: string): void => {
    const safe = withoutSecrets(line);
    write(format === "json" ? safe : textOf(safe));
  };
  const logger = pino(options, { write: take });
  return {
    log: (each, message, fields) => logger[each](fields, message),
    setLevel: (to) => {
      logger.level = to;
    },
  };
}

/** A text without API keys, tokens of the console and JSON Web Tokens. */
export function withoutSecrets(text: string): string {
  return text
    .replaceAll(API_KEY, "$1…")
    .replaceAll(CONSOLE_TOKEN, "bpc_…")
    .replaceAll(WEB_TOKEN, "eyJ…");
}

/** `time level message`, then the fields. */
function textOf(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const parts = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
  const text = `${String(time)} ${String(level)} ${String(msg)}${parts.join("")}`;
  return `${oneLine(text)}\n`;
}

/** Shows a plain word as it is; quotes text that could be read as more than one value. */
function shown(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s"=[\]{}]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** Keeps an event on one line and escapes control characters, which a terminal would interpret. */
function oneLine(text: string): string {
  return text
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, " ")
    .replaceAll(
      /\p{Cc}/gu,
      (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`,
    );
}

/** Describes an error: one of the system or the input by message and cause, a bug by its stack. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOfTheWorld = error instanceof PeerError || "syscall" in error;
  if (!isOfTheWorld) return error.stack ?? error.message;
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
