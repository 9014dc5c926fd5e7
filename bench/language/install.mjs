/**
 * The packages of the others, fetched with npm when they are first wanted into a folder of the user's
 * cache, outside of this project: no dependency of it, in no lock file.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "bigpeer-bench");

/** What `npm run` tells its scripts and would make npm install elsewhere, or something else. */
const MISLEADING =
  /^npm_(package_|lifecycle_|config_(local_prefix|prefix|workspaces?|global|omit|only|dry_run)$)/i;

/** The version whose behaviour the tests of the language know. */
export function installDitto() {
  return install("@dittolive/ditto", "5.1.0");
}

/** Built from source where there is no binary for the platform, which takes some minutes. */
export function installSqlite() {
  return install("better-sqlite3", "12.11.1");
}

/** The package.json beside which it is found. */
async function install(name, version) {
  const folder = join(CACHE, `${name.replace("/", "-")}-${version}`);
  const manifest = join(folder, "package.json");
  const stamp = join(folder, "installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === process.versions.modules) {
    return manifest;
  }
  console.log(`installing ${name} ${version} into ${folder}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, JSON.stringify({ private: true }));
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder];
  const npm = spawn("npm", ["install", ...options, `${name}@${version}`], {
    cwd: folder,
    env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !MISLEADING.test(key))),
    stdio: ["ignore", 2, 2],
  });
  const [code] = await once(npm, "exit");
  if (code !== 0) throw new Error(`npm install ${name}@${version} failed (${code})`);
  writeFileSync(stamp, process.versions.modules);
  return manifest;
}
