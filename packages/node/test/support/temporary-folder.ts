/**
 * Folders that are there for one test, or for all tests of a file.
 */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

/** An empty folder, removed with all that is in it when the test ends. */
export function temporaryFolder(): string {
  return makeFolder(onTestFinished);
}

/** An empty folder, removed with all that is in it after the tests of the file. */
export function folderOfFile(): string {
  return makeFolder(afterAll);
}

function makeFolder(whenOver: (work: () => void) => void): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "bigpeer-test-")));
  // Processes that have been told to end, such as those of a browser, may still write to it.
  whenOver(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}
