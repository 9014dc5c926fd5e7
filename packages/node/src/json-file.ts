/**
 * JSON files that are replaced atomically: written under another name, synced, and then renamed.
 */

import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Value } from "@bigpeer/protocol";
import { syncFolder } from "./disk.ts";

/** Suffix of a file while it is written. A crash may leave such a file. */
export const PARTIAL_ENDING = ".partial";

/** Undefined when there is no such file. Throws SyntaxError when it is not JSON. */
export function readJsonFile(path: string): Value | undefined {
  try {
    // Every JSON value is a Value.
    return JSON.parse(readFileSync(path, "utf8")) as Value;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Readable by its owner alone. */
const FILE_MODE = 0o600;

/** Durable when it returns. The partial file is readable by its owner alone, too. */
export function writeJsonFile(path: string, content: object): void {
  const partial = path + PARTIAL_ENDING;
  const file = openSync(partial, "w", FILE_MODE);
  try {
    // A file that a crash left under this name keeps the mode it had.
    fchmodSync(file, FILE_MODE);
    writeSync(file, `${JSON.stringify(content, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, path);
  syncFolder(dirname(path));
}
