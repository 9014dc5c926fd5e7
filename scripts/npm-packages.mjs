/**
 * Installs the npm packages of a folder when they are not those of its package-lock.json.
 *
 * What was installed is remembered in a stamp inside node_modules. `npm ci` removes node_modules, and
 * the stamp with it, before it begins: an installation that was interrupted leaves no stamp.
 *
 * Uses nothing but Node itself.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "./folder-lock.mjs";
import { npmCommand } from "./npm-command.mjs";

/** Settings of npm, without `npm_config_`, that would make `npm ci` install something else. */
const MISLEADING_SETTINGS = new Set([
  "also",
  "dev",
  "dry_run",
  "global",
  "include",
  "include_workspace_root",
  "install_links",
  "install_strategy",
  "location",
  "omit",
  "only",
  "optional",
  "package_lock",
  "package_lock_only",
  "production",
  "workspace",
  "workspaces",
]);

/** `lock` is the lock of the folder. Throws when npm fails. `what` is said before npm starts. */
export async function installPackages(folder, lock, what) {
  const fingerprint = computeFingerprint(folder);
  const stampPath = join(folder, "node_modules", ".bigpeer-setup");
  if (existsSync(stampPath) && readFileSync(stampPath, "utf8") === fingerprint) return;
  say(`installing ${what} (npm ci), once for this package-lock.json`);
  // The compiler is a development dependency, wanted in production too: the sources are compiled here.
  const options = ["--include=dev", "--include=optional", "--loglevel=error"];
  const [program, words] = npmCommand(["ci", ...options, "--no-audit", "--no-fund"]);
  const exitCode = await lock.run(program, words, npmEnv());
  if (exitCode !== 0) throw new Error(`npm ci failed (exit code ${exitCode}).`);
  writeFileSync(stampPath, fingerprint);
}

/** Native modules are built for one Node and one platform: these belong to what is installed. */
function computeFingerprint(folder) {
  const hash = createHash("sha256").update(readFileSync(join(folder, "package-lock.json")));
  hash.update(`${process.versions.modules} ${process.platform} ${process.arch}`);
  return hash.digest("hex");
}

/** npm hands its own settings to the scripts it runs; some of them must not reach `npm ci`. */
function npmEnv() {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !isMisleading(name)));
}

function isMisleading(name) {
  const [, setting] = /^npm_config_(.+)$/i.exec(name) ?? [];
  return setting !== undefined && MISLEADING_SETTINGS.has(setting.toLowerCase());
}
