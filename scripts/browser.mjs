/**
 * Chromium and Firefox for tests in a real browser: finds an installed one, or installs that of
 * Debian.
 *
 * Run as a program, it prints the path of the executable, or on standard error the reason why there
 * is none: `browser.mjs` for Chromium, `browser.mjs firefox` for Firefox. Uses nothing but Node
 * itself.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findInPath, isExecutable, printFound } from "./program.mjs";

/** `names` of the executable, by preference; `from` is the package of Debian. */
const BROWSERS = {
  chromium: {
    title: "Chromium",
    names: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
    from: "chromium",
  },
  firefox: { title: "Firefox", names: ["firefox-esr", "firefox"], from: "firefox-esr" },
};

/** Another installation of packages may run at the same time; apt-get then waits. */
const APT_OPTIONS = ["-o", "DPkg::Lock::Timeout=300", "-qq"];
const APT_INSTALL = ["install", "-y", "--no-install-recommends"];

/** `{ path }` of an executable, or `{ reason }` why there is none. `CHROMIUM` names another one. */
export function findChromium(env = process.env) {
  return findBrowser("chromium", env);
}

/** The same for a browser of that name; its name in capital letters is the variable. */
export async function findBrowser(name, env = process.env) {
  const browser = BROWSERS[name];
  if (browser === undefined)
    return { reason: `expected one of ${Object.keys(BROWSERS).join(", ")}` };
  const variable = name.toUpperCase();
  const named = env[variable];
  if (named !== undefined && named !== "") {
    return isExecutable(named)
      ? { path: named }
      : { reason: `${variable} is no program: ${named}` };
  }
  const [installed] = findInPath(browser.names, env);
  if (installed !== undefined) return { path: installed };
  const fault = await installPackage(browser.from, env);
  if (fault !== undefined) return { reason: `${browser.title} is not installed: ${fault}` };
  const [path] = findInPath(browser.names, env);
  return path === undefined ? { reason: `apt-get installed no ${browser.title}` } : { path };
}

/** What keeps it from being installed; undefined when it is. */
async function installPackage(name, env) {
  if (findInPath(["apt-get"], env).length === 0) return "there is no apt-get to install it with";
  if (process.getuid?.() !== 0) return `only root can install it (apt-get install ${name})`;
  const options = { env: { ...env, DEBIAN_FRONTEND: "noninteractive" } };
  for (const words of [["update"], [...APT_INSTALL, name]]) {
    try {
      await promisify(execFile)("apt-get", [...APT_OPTIONS, ...words], options);
    } catch (error) {
      const lastLine = (error.stderr || error.message).trim().split("\n").at(-1);
      return `apt-get ${words[0]} failed: ${lastLine}`;
    }
  }
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printFound(await findBrowser(process.argv[2] ?? "chromium"));
}
