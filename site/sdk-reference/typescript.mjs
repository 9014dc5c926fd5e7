/**
 * The compiler that reads the sources of the SDK. It is not the compiler of the project, because
 * the package of TypeScript 7 has no API. So this folder has a lock file of its own, which is
 * installed on use.
 */

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { withLock } from "../../scripts/folder-lock.mjs";
import { installPackages } from "../../scripts/npm-packages.mjs";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Installs the compiler if it is not there. Rejects with a message that says what to do. */
export async function loadTypescript() {
  try {
    await withLock(FOLDER, (lock) =>
      installPackages(FOLDER, lock, "the compiler of the SDK reference"),
    );
  } catch (error) {
    const help = "check that npm can reach its registry, and retry";
    const message = `failed to install the compiler of the SDK reference: ${error.message} ${help}`;
    throw new Error(message, { cause: error });
  }
  return createRequire(import.meta.url)("typescript");
}
