/**
 * Lock of a folder, for work that two processes would destroy for each other: `npm ci`, a build.
 *
 * The lock is a directory that holds one file, the mark, named for its owner's process; in it stands
 * the process that the owner is running, which can outlive an owner that was killed.
 *
 *   acquire   rename a directory prepared with our mark to the lock's name, which is atomic and
 *             succeeds only if the lock is absent or empty
 *   stale     both processes are dead, or the mark is no longer touched: remove *that* mark. A lock
 *             that someone else took meanwhile bears another mark and is not harmed.
 *
 * Uses nothing but Node itself, and writes to standard error only.
 */
import { spawn } from "node:child_process";
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

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const LOCK_POLL_MS = 100;
const LOCK_TOUCH_MS = 2_000;
/** An owner that is alive touches its mark every two seconds; this allows for a very busy machine. */
const LOCK_STALE_MS = 60_000;

const ownMark = String(process.pid);

/** Calls `work` while this process holds the lock of the folder. */
export async function withLock(folder, work) {
  const lock = new FolderLock(folder);
  await lock.acquire();
  const touching = setInterval(() => lock.touch(), LOCK_TOUCH_MS);
  try {
    await work(lock);
  } finally {
    clearInterval(touching);
    lock.release();
  }
}

class FolderLock {
  #folder;
  #path;

  constructor(folder) {
    this.#folder = folder;
    this.#path = join(folder, ".setup-lock");
  }

  /** Runs a program to its end in the folder, everything that it prints going to our stderr. */
  run(command, args, env = process.env) {
    return new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: this.#folder, env, stdio: ["ignore", 2, 2] });
      const stop = (signal) => child.kill(signal);
      for (const signal of STOP_SIGNALS) process.on(signal, stop);
      if (child.pid !== undefined) writeFileSync(join(this.#path, ownMark), String(child.pid));
      child.on("error", (error) => reject(new Error(`cannot run ${command}: ${error.message}.`)));
      child.on("close", (code, signal) => {
        for (const name of STOP_SIGNALS) process.off(name, stop);
        resolve(code ?? signal);
      });
    });
  }

  async acquire() {
    let hasSaid = false;
    while (!this.#tryAcquire()) {
      const owner = this.#readOwner();
      if (owner === undefined) {
        this.#removeEmpty();
        continue;
      }
      if (this.#isStale(owner)) {
        rmSync(join(this.#path, owner), { force: true });
        continue;
      }
      if (!hasSaid) say(`waiting for the set-up that process ${owner} does in this clone`);
      hasSaid = true;
      await sleep(LOCK_POLL_MS);
    }
  }

  #tryAcquire() {
    const prepared = `${this.#path}.${ownMark}`;
    try {
      mkdirSync(prepared, { recursive: true });
      writeFileSync(join(prepared, ownMark), "");
      renameSync(prepared, this.#path);
      return true;
    } catch (error) {
      rmSync(prepared, { recursive: true, force: true });
      if (error.code === "ENOTEMPTY" || error.code === "EEXIST") return false;
      // Windows renames to no name that exists, not even to that of an empty directory.
      if (error.code === "EPERM" && existsSync(this.#path)) return false;
      throw new Error(`cannot write to ${this.#folder}: ${error.message}.`, { cause: error });
    }
  }

  #readOwner() {
    try {
      return readdirSync(this.#path)[0];
    } catch {
      return undefined;
    }
  }

  #isStale(owner) {
    const mark = join(this.#path, owner);
    try {
      const isUntouched = Date.now() - statSync(mark).mtimeMs > LOCK_STALE_MS;
      const programs = [owner, readFileSync(mark, "utf8")].filter((pid) => pid !== "");
      return owner === ownMark || isUntouched || !programs.some(isAlive);
    } catch {
      return false; // The mark is gone: released, or removed by another that waits.
    }
  }

  touch() {
    const now = new Date();
    try {
      utimesSync(join(this.#path, ownMark), now, now);
    } catch {
      // Another process took the lock because this one was suspended too long. It finishes its work.
    }
  }

  release() {
    rmSync(join(this.#path, ownMark), { force: true });
    this.#removeEmpty();
  }

  #removeEmpty() {
    try {
      rmdirSync(this.#path);
    } catch {
      // The next owner has renamed its directory to the empty one: there is nothing left to remove.
    }
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

export function say(text) {
  process.stderr.write(`bigpeer: ${text}\n`);
}
