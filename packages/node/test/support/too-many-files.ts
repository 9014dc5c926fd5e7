/**
 * A call of the file system that fails as it does when the process has too many open files, or the
 * disk is full.
 */

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { constants } from "node:os";
import { onTestFinished, vi } from "vitest";

/** The next call of this function fails; those after it do not. */
export function failNextCall(
  name: "openSync" | "createReadStream" | "mkdirSync",
  code: "EMFILE" | "ENOSPC" = "EMFILE",
): void {
  const failing = vi.spyOn(fs, name).mockImplementationOnce(() => {
    throw Object.assign(new Error(`${code}: planted`), { code, errno: -constants.errno[code] });
  });
  // Imports of single names of the module follow.
  syncBuiltinESMExports();
  onTestFinished(() => {
    failing.mockRestore();
    syncBuiltinESMExports();
  });
}
