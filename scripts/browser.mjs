/**
 * Chromium for tests in a real browser: finds an installed one, or installs that of Debian.
 *
 * Run as a program, it prints the path of the executable, or on standard error the reason why there
 * is none. Uses nothing but Node itself.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findInPath, isExecutable, printFound } from "./program.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Another installation of packages may run at the same time; apt-get then waits. */
const APT_OPTIONS = ["-o", "DPkg::Lock::Timeout=300", "-qq"];
const APT_INSTALL = ["install", "-y", "--no-install-recommends", "chromium"];

/** `{ path }` of an executable, or `{ reason }` why there is none. `CHROMIUM` names another one. */
export async function findChromium(env = process.env) {
  const named = env.CHROMIUM;
  if (named !== undefined && named !== "") {
    return isExecutable(named) ? { path: named } : { reason: `CHROMIUM is no program: ${named}` };
  }
  const [installed] = findInPath(NAMES, env);
  if (installed !== undefined) return { path: installed };
  const fault = await installChromium(env);
  if (fault !== undefined) return { reason: `Chromium is not installed: ${fault}` };
  const [path] = findInPath(NAMES, env);
  return path === undefined ? { reason: "apt-get installed no Chromium" } : { path };
}

/** What keeps it from being installed; undefined when it is. */
async function installChromium(env) {
  if (findInPath(["apt-get"], env).length === 0) return "there is no apt-get to install it with";
  if (process.getuid?.() !== 0) return "only root can install it (apt-get install chromium)";
  const options = { env: { ...env, DEBIAN_FRONTEND: "noninteractive" } };
  for (const words of [["update"], APT_INSTALL]) {
    try {
      await promisify(execFile)("apt-get", [...APT_OPTIONS, ...words], options);
    } catch (error) {
      const lastLine = (error.stderr || error.message).trim().split("\n").at(-1);
      return `apt-get ${words[0]} failed: ${lastLine}`;
    }
  }
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFound(await findChromium());
