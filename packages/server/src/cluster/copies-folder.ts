/**
 * Copies folder: where copies of stores lie below the data folder while they are made, sent or
 * received. What a crash leaves there is removed at the next start.
 */

import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "@bigpeer/node";

const FOLDER = "copies";

/** Call it at the start, before copies are made. */
export function clearCopies(dataDir: string): void {
  rmSync(join(dataDir, FOLDER), { recursive: true, force: true });
}

/** Makes a folder of its own for one copy. */
export function newCopyFolder(dataDir: string): string {
  const folder = join(dataDir, FOLDER, randomBytes(8).toString("hex"));
  makeFolder(folder);
  return folder;
}

/** Never rejects: what stays is removed at the next start. */
export async function removeCopy(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {});
}
