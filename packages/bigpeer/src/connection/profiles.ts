/**
 * Profiles: servers and their keys by name, as `bigpeer login` saves them. The file is readable by
 * its owner only.
 */

import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { UsageError } from "../program/failure.ts";
import type { ProgramHost } from "../program/host.ts";

export interface Profile {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly managementUrl?: string | undefined;
  readonly adminToken?: string | undefined;
}

export interface ProfileFile {
  readonly current?: string | undefined;
  readonly profiles: { readonly [name: string]: Profile };
}

const FILE_MODE = 0o600;
const FIELDS = ["url", "key", "managementUrl", "adminToken"] as const;

export function profilesPath({ env }: Pick<ProgramHost, "env">): string {
  // An empty variable is as good as none.
  const configured = env["XDG_CONFIG_HOME"] || env["APPDATA"];
  const folder = configured || join(env["HOME"] || homedir(), ".config");
  return join(folder, "bigpeer", "profiles.json");
}

/** Throws UsageError for a file that is not one of ours. */
export function readProfiles(path: string): ProfileFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { profiles: {} };
    throw new UsageError(`${path}: failed to read it: ${(error as Error).message}`);
  }
  return checkFile(path, parse(path, text));
}

/** In one step, so that a crash leaves the old file or the new one. */
export function writeProfiles(path: string, content: ProfileFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: FILE_MODE });
  chmodSync(draft, FILE_MODE);
  renameSync(draft, path);
}

/** A sentence if others can read the file. */
export function openToOthers(path: string): string | undefined {
  // Windows has other rights than these.
  if (process.platform === "win32") return undefined;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return undefined;
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return `${path} has keys in it and is open to others (mode ${shown}); chmod 600 it`;
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`${path}: not JSON: ${(error as Error).message}`);
  }
}

function checkFile(path: string, content: unknown): ProfileFile {
  const { current, profiles } = objectAt(path, content, "the file");
  const checked = Object.entries(objectAt(path, profiles, "profiles")).map(([name, profile]) => {
    const fields = objectAt(path, profile, `profiles.${name}`);
    for (const field of FIELDS) {
      if (fields[field] === undefined || typeof fields[field] === "string") continue;
      throw new UsageError(`${path}: expected a text at profiles.${name}.${field}`);
    }
    return [name, fields] as const;
  });
  return {
    current: typeof current === "string" ? current : undefined,
    profiles: Object.fromEntries(checked),
  };
}

function objectAt(path: string, value: unknown, at: string): { [name: string]: unknown } {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as { [name: string]: unknown };
  }
  throw new UsageError(`${path}: expected an object at ${at}`);
}
