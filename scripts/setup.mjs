/**
 * Makes a clone ready to run. `npm start`, `npm test` and their relatives run this first, so a fresh
 * clone needs no other command, and a clone that is ready loses a fraction of a second.
 *
 *   1. Is this Node new enough?
 *   2. Are the installed dependencies those of package-lock.json? If not: `npm ci`.
 *   3. Are the built packages those of the sources? `tsc -b` decides and builds what is not; the page
 *      `/docs` is copied beside them.
 *
 * What was installed is remembered in a stamp inside node_modules. `npm ci` removes node_modules, and
 * the stamp with it, before it begins: an installation that was interrupted leaves no stamp.
 *
 * Two set-ups in one clone would destroy each other's work, so steps 2 and 3 are done under a lock.
 * The lock is a directory that holds one file, the mark, named for its owner's process; in it stands
 * the process that the owner is running, which can outlive an owner that was killed.
 *
 *   acquire   rename a directory prepared with our mark to the lock's name, which is atomic and
 *             succeeds only if the lock is absent or empty
 *   stale     both processes are dead, or the mark is no longer touched: remove *that* mark. A lock
 *             that someone else took meanwhile bears another mark and is not harmed.
 *
 * Uses nothing but Node itself. Standard output stays empty: it belongs to the program started next.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { copyDocsPage } from "./copy-docs-page.mjs";

const NODE_MINIMUM = [20, 19];
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const LOCK_POLL_MS = 100;
const LOCK_TOUCH_MS = 2_000;
/** An owner that is alive touches its mark every two seconds; this allows for a very busy machine. */
const LOCK_STALE_MS = 60_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const stampPath = join(root, "node_modules", ".bigpeer-setup");
const lockPath = join(root, ".setup-lock");
const ownMark = String(process.pid);

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

await main();

async function main() {
  try {
    checkNodeVersion();
    await withLock(async () => {
      if (readStamp() !== computeFingerprint()) await install();
      await build();
    });
  } catch (error) {
    say(error.message);
    process.exitCode = 1;
  }
}

function checkNodeVersion() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const isEnough =
    major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
  if (isEnough) return;
  throw new Error(`Node ${NODE_MINIMUM.join(".")} or newer is needed; this is ${process.version}.`);
}

/** Native modules are built for one Node and one platform: these belong to what is installed. */
function computeFingerprint() {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  hash.update(`${process.versions.modules} ${process.platform} ${process.arch}`);
  return hash.digest("hex");
}

function readStamp() {
  return existsSync(stampPath) ? readFileSync(stampPath, "utf8") : undefined;
}

async function install() {
  say("installing dependencies (npm ci), once for this package-lock.json");
  const fingerprint = computeFingerprint();
  // The compiler is a development dependency, wanted in production too: the sources are compiled here.
  const options = ["--include=dev", "--include=optional", "--loglevel=error"];
  const exitCode = await run("npm", ["ci", ...options, "--no-audit", "--no-fund"]);
  if (exitCode !== 0) throw new Error(`npm ci failed (exit code ${exitCode}).`);
  writeFileSync(stampPath, fingerprint);
}

async function build() {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const exitCode = await run(process.execPath, [compiler, "-b"]);
  if (exitCode !== 0) throw new Error("the sources do not compile (tsc -b): see above.");
  copyDocsPage();
}

/** Runs a program to its end in the clone's root, everything that it prints going to our stderr. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env: childEnv(), stdio: ["ignore", 2, 2] });
    const stop = (signal) => child.kill(signal);
    for (const signal of STOP_SIGNALS) process.on(signal, stop);
    if (child.pid !== undefined) writeFileSync(join(lockPath, ownMark), String(child.pid));
    child.on("error", (error) => reject(new Error(`cannot run ${command}: ${error.message}.`)));
    child.on("close", (code, signal) => {
      for (const name of STOP_SIGNALS) process.off(name, stop);
      resolve(code ?? signal);
    });
  });
}

/** npm hands its own settings to the scripts it runs; some of them must not reach `npm ci`. */
function childEnv() {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !isMisleading(name)));
}

function isMisleading(name) {
  const [, setting] = /^npm_config_(.+)$/i.exec(name) ?? [];
  return setting !== undefined && MISLEADING_SETTINGS.has(setting.toLowerCase());
}

async function withLock(work) {
  await acquireLock();
  const touching = setInterval(touchMark, LOCK_TOUCH_MS);
  try {
    await work();
  } finally {
    clearInterval(touching);
    releaseLock();
  }
}

async function acquireLock() {
  let hasSaid = false;
  while (!tryLock()) {
    const owner = readLockOwner();
    if (owner === undefined) continue;
    if (isStale(owner)) {
      rmSync(join(lockPath, owner), { force: true });
      continue;
    }
    if (!hasSaid) say(`waiting for the set-up that process ${owner} does in this clone`);
    hasSaid = true;
    await sleep(LOCK_POLL_MS);
  }
}

function tryLock() {
  const prepared = `${lockPath}.${ownMark}`;
  try {
    mkdirSync(prepared, { recursive: true });
    writeFileSync(join(prepared, ownMark), "");
    renameSync(prepared, lockPath);
    return true;
  } catch (error) {
    rmSync(prepared, { recursive: true, force: true });
    if (error.code === "ENOTEMPTY" || error.code === "EEXIST") return false;
    throw new Error(`cannot write to ${root}: ${error.message}.`, { cause: error });
  }
}

function readLockOwner() {
  try {
    return readdirSync(lockPath)[0];
  } catch {
    return undefined;
  }
}

function isStale(owner) {
  const mark = join(lockPath, owner);
  try {
    const isUntouched = Date.now() - statSync(mark).mtimeMs > LOCK_STALE_MS;
    const programs = [owner, readFileSync(mark, "utf8")].filter((pid) => pid !== "");
    return owner === ownMark || isUntouched || !programs.some(isAlive);
  } catch {
    return false; // The mark is gone: released, or removed by another that waits.
  }
}

function isAlive(pid) {
  try {
    process.kill(Number(pid), 0);
    return !isZombie(pid);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Ended, but not yet collected: in a container whose first process collects nothing, for ever. */
function isZombie(pid) {
  const statPath = `/proc/${pid}/stat`;
  return existsSync(statPath) && /\) Z /.test(readFileSync(statPath, "utf8"));
}

function touchMark() {
  const now = new Date();
  try {
    utimesSync(join(lockPath, ownMark), now, now);
  } catch {
    // We slept so long that another set-up took us for dead. Ending midway would help nobody.
  }
}

function releaseLock() {
  rmSync(join(lockPath, ownMark), { force: true });
  try {
    rmdirSync(lockPath);
  } catch {
    // The next owner has renamed its directory to the empty one: there is nothing left to remove.
  }
}

function say(text) {
  process.stderr.write(`bigpeer: ${text}\n`);
}
