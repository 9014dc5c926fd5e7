/**
 * A call of the file system that fails as it does when the process has too many open files.
 */

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { constants } from "node:os";
import { onTestFinished, vi } from "vitest";

/** The next call of this function fails; those after it do not. */
export function failNextCall(name: "openSync" | "createReadStream"): void {
  const failing = vi.spyOn(fs, name).mockImplementationOnce(() => {
    const error = new Error("EMFILE: too many open files");
    throw Object.assign(error, { code: "EMFILE", errno: -constants.errno.EMFILE });
  });
  // Imports of single names of the module follow.
  syncBuiltinESMExports();
  onTestFinished(() => {
    failing.mockRestore();
    syncBuiltinESMExports();
  });
}
