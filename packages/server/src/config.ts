/**
 * Configuration: the table of settings, and how their values are found.
 *
 * A setting is given by a flag, else by a variable of the environment, else by its default. All of
 * them are checked once, here; what is wrong is told with the name under which it was given.
 */

import { resolve } from "node:path";
import { assert, nearest, PeerError } from "@bigpeer/protocol";
import { STATEMENT_TIMEOUT_MS_MAX } from "./limits.ts";

export type SettingName = "data-dir" | "port" | "host" | "statement-timeout" | "accept-clock";

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
    name: "statement-timeout",
    flag: "--statement-timeout",
    env: "BIGPEER_STATEMENT_TIMEOUT_MS",
    argument: "MS",
    default: "30000",
    meaning: "milliseconds that a statement may take before it is stopped with 408; up to 60000",
  },
  {
    name: "accept-clock",
    flag: "--accept-clock",
    env: "BIGPEER_ACCEPT_CLOCK",
    default: "0",
    meaning: "confirms a wall clock that is far after the last write; give it once",
  },
];

export interface Config {
  /** Absolute. */
  readonly dataDir: string;
  readonly port: number;
  readonly host: string;
  readonly statementTimeoutMs: number;
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
    statementTimeoutMs: checkStatementTimeout(given("statement-timeout")),
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

function checkStatementTimeout({ text, source }: Given): number {
  const timeoutMs = Number(text);
  if (!/^\d{1,5}$/.test(text) || timeoutMs < 1 || timeoutMs > STATEMENT_TIMEOUT_MS_MAX) {
    throw invalid(source, `milliseconds from 1 to ${STATEMENT_TIMEOUT_MS_MAX}`, text);
  }
  return timeoutMs;
}

function checkSwitch({ text, source }: Given): boolean {
  if (text === "1" || text === "true") return true;
  if (text === "0" || text === "false") return false;
  throw invalid(source, "1 or 0", text);
}

function invalid(source: string, expected: string, found: string): PeerError {
  return new PeerError("config.invalid", `${source}: expected ${expected}, found "${found}"`);
}
