/**
 * Folders that are there for one test, or for all tests of a file.
 */

import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { removeFolder } from "../../../../scripts/remove-folder.mjs";

/** An empty folder, removed with all that is in it when the test ends. */
export function temporaryFolder(): string {
  return makeFolder(onTestFinished);
}

/** An empty folder, removed with all that is in it after the tests of the file. */
export function folderOfFile(): string {
  return makeFolder(afterAll);
}

function makeFolder(whenOver: (work: () => Promise<void>) => void): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "bigpeer-test-")));
  whenOver(() => removeFolder(folder));
  return folder;
}
