/**
 * Settings file: parses a JSON object whose keys are names of settings.
 *
 *   { "data-dir": "data", "port": 9000, "cors-origins": ["https://app.example.com"] }
 *
 * This module checks the keys and the JSON type of each value; config.ts checks the values,
 * together with those of flags and variables. Errors about the file repeat no value, because it may
 * be a secret, even under a wrong key. A relative path is relative to the folder of the file, so
 * the file means the same wherever the server is started.
 */

import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  isArray,
  isObject,
  nearest,
  PeerError,
  parseJson,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import type { Setting, SettingName } from "./setting.ts";
import { SETTINGS } from "./settings.ts";

export interface ConfigFile {
  /** Absolute path. */
  readonly path: string;
  /** Values in the form of flags. */
  readonly texts: ReadonlyMap<SettingName, string>;
  /** Warning for the log; undefined when there is none. */
  readonly warning: string | undefined;
}

/** `source` is the flag or variable that names the file. Throws PeerError `config.invalid`. */
export function readConfigFile(given: string, source: string): ConfigFile {
  const path = resolve(given);
  const text = readText(path, source);
  const content = parseContent(path, text);
  if (!isObject(content)) throw invalid(path, `expected an object, found ${describe(content)}`);
  const repeated = repeatedKey(text);
  if (repeated !== undefined) throw invalid(path, `${repeated}: expected it once`);
  const texts = new Map<SettingName, string>();
  for (const [key, value] of Object.entries(content)) {
    const setting = findSetting(path, key);
    texts.set(setting.name, textOf(path, setting, value));
  }
  return { path, texts, warning: findReaders(path, texts) };
}

function readText(path: string, source: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalid(source, `expected a file that can be read, found ${reason}`);
  }
}

function parseContent(path: string, text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    throw invalid(path, `not JSON: ${error.message}`);
  }
}

/** A key that the JSON object in `text` has more than once; a parser would use only one of them. */
function repeatedKey(text: string): string | undefined {
  const keys = new Set<string>();
  let depth = 0;
  for (const [token, quoted] of text.matchAll(
    /("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[[\]{}]/g,
  )) {
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
    if (quoted === undefined || depth !== 1) continue;
    const key = JSON.parse(quoted) as string;
    if (keys.has(key)) return key;
    keys.add(key);
  }
  return undefined;
}

function findSetting(path: string, key: string): Setting {
  // A file that names another file would be a second place to look.
  const settings = SETTINGS.filter(({ name }) => name !== "config");
  const found = settings.find(({ name }) => name === key);
  if (found !== undefined) return found;
  const names = settings.map(({ name }) => name);
  const near = nearest(key, names);
  const hint = near === undefined ? `expected one of ${names.join(", ")}` : `did you mean ${near}?`;
  throw invalid(path, `${key}: not a setting; ${hint}`);
}

function textOf(path: string, setting: Setting, value: Value): string {
  const text = convert(setting, value, dirname(path));
  if (text !== undefined) return text;
  const expected = EXPECTED[setting.type];
  throw invalid(path, `${setting.name}: expected ${expected}, found ${describe(value)}`);
}

const EXPECTED: { readonly [type in Setting["type"]]: string } = {
  text: "a text",
  path: "a text",
  number: "a number",
  "number or off": 'a number or "off"',
  switch: "true or false",
  list: "a text or a list of texts",
};

/** Undefined when a value has the wrong type. */
function convert({ type }: Setting, value: Value, folder: string): string | undefined {
  switch (type) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "path":
      if (typeof value !== "string") return undefined;
      return value === "" ? value : resolve(folder, value);
    case "number":
      return isNumber(value) ? String(value) : undefined;
    case "number or off":
      return isNumber(value) || value === "off" ? String(value) : undefined;
    case "switch":
      return typeof value === "boolean" ? String(value) : undefined;
    case "list":
      return typeof value === "string" ? value : listText(value);
    default:
      return unreachable(type);
  }
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function listText(value: Value): string | undefined {
  if (!isArray(value) || !value.every((item) => typeof item === "string")) return undefined;
  return value.length === 0 ? "none" : value.join(",");
}

function describe(value: Value): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return "a text";
  if (isNumber(value)) return "a number";
  return isArray(value) ? "a list" : "an object";
}

/** Name of the secret in a file, for the warning; undefined without one. */
function secretIn(texts: ConfigFile["texts"]): string | undefined {
  if (texts.has("admin-token")) return "the admin token";
  return texts.has("replication-secret") ? "the replication secret" : undefined;
}

/** Warning when a file with a secret is accessible to others than its owner. */
function findReaders(path: string, texts: ConfigFile["texts"]): string | undefined {
  const secret = secretIn(texts);
  if (secret === undefined) return undefined;
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return undefined;
  const shown = mode.toString(8).padStart(4, "0");
  return `${path} has ${secret} in it and is open to others (mode ${shown}); chmod 600 it`;
}

function invalid(source: string, message: string): PeerError {
  return new PeerError("config.invalid", `${source}: ${message}`);
}
