/**
 * Erased store: removes the store of a folder, and nothing else that lies there.
 *
 * A mark is written first. If the process ends before all files are gone, the next opening finds the
 * mark and finishes: a store that is half removed would look damaged. The caller holds the lock of
 * the folder, and the store is closed.
 */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { namesIn, syncFolder } from "./disk.ts";
import { writeJsonFile } from "./json-file.ts";

const MARK = "erasing.json";

/** The files of a store: LMDB, the journal, the record of its incarnation, what a crash leaves, attachments. */
const OWN_FILES =
  /^(attachments|data\.mdb|lock\.mdb|journal-\d+\.seg|life\.json(\.partial)?|room\.probe|erasing\.json\.partial)$/;

export function eraseStore(folder: string): void {
  writeJsonFile(join(folder, MARK), {});
  finishErasing(folder);
}

/** Whether the removal of the store was begun and is not complete. */
export function isErasing(folder: string): boolean {
  return existsSync(join(folder, MARK));
}

/** Completes a removal that was begun; without one it does nothing. */
export function finishErasing(folder: string): void {
  if (!isErasing(folder)) return;
  for (const name of namesIn(folder) ?? []) {
    if (OWN_FILES.test(name)) rmSync(join(folder, name), { force: true, recursive: true });
  }
  syncFolder(folder);
  rmSync(join(folder, MARK), { force: true });
  syncFolder(folder);
}
