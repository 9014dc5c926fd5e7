/**
 * Installs npm packages of other products on first use, in a folder of the user's cache. They are
 * not dependencies of this project and are in no lock file.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "bigpeer-bench");

/** Variables that `npm run` sets and that would change what npm installs, or where. */
const MISLEADING =
  /^npm_(package_|lifecycle_|config_(local_prefix|prefix|workspaces?|global|omit|only|dry_run)$)/i;

/**
 * Installs packages, each as name@version, into one folder. The first names it. Answers the
 * package.json beside which they are found.
 */
export async function install(...packages) {
  const [first] = packages;
  const folder = join(CACHE, first.replace("/", "-").replace(/@(?=[^@]*$)/, "-"));
  const manifest = join(folder, "package.json");
  const stamp = join(folder, "installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === process.versions.modules) {
    return manifest;
  }
  console.log(`installing ${packages.join(", ")} into ${folder}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, JSON.stringify({ private: true }));
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder];
  const npm = spawn("npm", ["install", ...options, ...packages], {
    cwd: folder,
    env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !MISLEADING.test(key))),
    stdio: ["ignore", 2, 2],
  });
  const [code] = await once(npm, "exit");
  if (code !== 0) throw new Error(`npm install ${packages.join(" ")} failed (${code})`);
  writeFileSync(stamp, process.versions.modules);
  return manifest;
}
