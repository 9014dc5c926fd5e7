/**
 * Vite and esbuild for tests that build an app as a user does. They have a lock file of their own in
 * scripts/bundlers, and are installed on use.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";

const FOLDER = fileURLToPath(new URL("bundlers", import.meta.url));

/** `{ vite, esbuild }`, the paths of their programs, or `{ reason }` why there are none. */
export async function findBundlers() {
  try {
    await withLock(FOLDER, (lock) => installPackages(FOLDER, lock, "the bundlers"));
  } catch (error) {
    return { reason: `the bundlers cannot be installed: ${error.message}` };
  }
  const modules = join(FOLDER, "node_modules");
  return {
    vite: join(modules, "vite", "bin", "vite.js"),
    esbuild: join(modules, "esbuild", "bin", "esbuild"),
  };
}
