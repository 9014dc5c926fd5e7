/**
 * Checks tarballs of packages with publint and are-the-types-wrong: `package-check.mjs FILE…`. Prints
 * a line for each package, or its problems.
 *
 * The tools have a lock file of their own in scripts/package-check, and are installed on use.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { say, withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";

const tools = fileURLToPath(new URL("package-check", import.meta.url));

try {
  await withLock(tools, (lock) => installPackages(tools, lock, "the tools that check packages"));
  const words = [join(tools, "check.mjs"), ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, words, { stdio: "inherit" }).status ?? 1;
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
