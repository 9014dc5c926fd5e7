/**
 * The file `.env` of the current folder: variables of Big Peer that are not in the environment.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const LINE = /^\s*(?:export\s+)?(BIGPEER_[A-Z_]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^#\s]*))/;

export function readEnvironmentFile(folder: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of readLines(join(folder, ".env"))) {
    const [, name, double, single, bare] = LINE.exec(line) ?? [];
    const value = double ?? single ?? bare ?? "";
    if (name !== undefined && value !== "") values.set(name, value);
  }
  return values;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    // Most folders have none, and one that cannot be read is not ours.
    return [];
  }
}
