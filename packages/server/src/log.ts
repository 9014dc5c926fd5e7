/**
 * Log: one line for each event, on standard error. Standard output is for what a command was asked
 * to print.
 *
 * Lines are JSON for machines, or text for whoever looks at a terminal. The text is made from the
 * JSON, so that there is one place where secrets are taken out. Each line is handed on at once: a
 * crash must not lose the lines that tell why.
 */

import { PeerError } from "@bigpeer/protocol";
import { pino } from "pino";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What an event has beside its sentence, for machines. None is named `time`, `level` or `msg`. */
export interface LogFields {
  readonly [name: string]: unknown;
}

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

export interface LogOptions {
  /** Events below it are left out. */
  readonly level: LogLevel;
  readonly format: "json" | "text";
  /** Takes a line with its end. */
  readonly write: (line: string) => void;
}

/** Fields that are never shown, nor inside a field that is an object. */
const SECRET_FIELDS = ["authorization", "apiKey", "token", "secret", "password", "cookie"];

/** An API key, also one that was cut, whatever stands before it; its id may be told. */
const API_KEY = /(bp_[0-9a-f]{8}_)[\w-]+/g;

/** A JSON Web Token, also one without its signature. */
const WEB_TOKEN = /eyJ[\w-]+\.[\w-]+(\.[\w-]*)?/g;

export function createLog({ level, format, write }: LogOptions): Log {
  const options = {
    level,
    // The host and the process are known to whoever collects the lines.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (name: string) => ({ level: name }) },
    redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: "[hidden]" },
  };
  const take = (line: string): void => {
    const safe = line.replaceAll(API_KEY, "$1…").replaceAll(WEB_TOKEN, "eyJ…");
    write(format === "json" ? safe : textOf(safe));
  };
  const logger = pino(options, { write: take });
  return (each, message, fields) => logger[each](fields, message);
}

/** `time level message`, then the fields. */
function textOf(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const parts = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
  const text = `${String(time)} ${String(level)} ${String(msg)}${parts.join("")}`;
  return `${oneLine(text)}\n`;
}

/** Plain words stand as they are; whatever could be mistaken for more than one value does not. */
function shown(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s"=[\]{}]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** One event stays one line, whatever it carries, and says nothing to the terminal itself. */
function oneLine(text: string): string {
  return text
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, " ")
    .replaceAll(
      /\p{Cc}/gu,
      (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`,
    );
}

/**
 * An error in words: what the world did is a sentence with its cause, what we did wrong is a stack.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOfTheWorld = error instanceof PeerError || "syscall" in error;
  if (!isOfTheWorld) return error.stack ?? error.message;
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
