/**
 * Socket lock: the folder lock on systems other than Windows, by a Unix socket that the kernel closes
 * with its process.
 *
 * The lock is the folder `lock/` with one Unix socket in it, on which its holder listens. When the
 * holder dies, however it dies, the kernel closes the socket and refuses connections to it; process
 * numbers are never trusted. Three facts make it safe against any number of concurrent starters:
 *
 *   acquire   A starter listens on a socket in a folder of its own, `lock.<name>/`, and renames
 *             that to `lock`. Rename is atomic and succeeds only where `lock` is absent or empty.
 *             So a socket in `lock/` was listening before it got there: refused means dead.
 *   dead      A process that finds a dead socket removes it by its name, which no other process
 *             ever uses. A lock taken meanwhile has a socket of another name and is not harmed.
 *   alive     The holder answers each connection with one line: process, start, address.
 *
 * The socket lies in the folder because two containers on one volume share it. Its path may have
 * about 100 bytes; a longer one is reached through a short-lived symbolic link in the folder for
 * temporary files. The lock does not guard against another machine on a network file system, where
 * LMDB cannot work either. docs/decisions/0004-folder-lock.md gives the reasons.
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { namesIn } from "../disk.ts";
import {
  askHolder,
  type FolderLock,
  type Holder,
  HolderServer,
  inUse,
  parseHolder,
  TRIES_MAX,
} from "./lock-holder.ts";

const LOCK_FOLDER = "lock";

/** The sockets of this process. Their names are random, so no other process has one of them. */
const ownNames = new Set<string>();

/** A path in a socket address has 104 bytes on macOS and 108 on Linux, with the final zero. */
const SOCKET_PATH_MAX = 100;

/** Acquires the lock of `folder`. Throws PeerError `store.in_use`, which names the holder. */
export async function acquireSocketLock(folder: string): Promise<FolderLock> {
  const lock = new SocketLock(resolve(folder));
  try {
    await lock.listen();
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (lock.place()) return lock;
      const holder = await findHolder(lock.path);
      if (holder !== undefined) throw inUse(folder, holder);
    }
    throw inUse(folder, {});
  } catch (error) {
    await lock.release();
    throw error;
  }
}

class SocketLock implements FolderLock {
  readonly path: string;
  readonly #name = `${process.pid}-${randomBytes(4).toString("hex")}`;
  readonly #prepared: string;
  readonly #holder = new HolderServer();
  #isPlaced = false;
  #releasing: Promise<void> | undefined;

  constructor(folder: string) {
    this.path = join(folder, LOCK_FOLDER);
    this.#prepared = join(folder, `${LOCK_FOLDER}.${this.#name}`);
  }

  async listen(): Promise<void> {
    try {
      mkdirSync(this.#prepared, { mode: 0o700 });
      await withShortPath(this.#prepared, this.#socketName, (path) => this.#holder.listen(path));
    } catch (cause) {
      const message = `failed to make a Unix socket in ${this.#prepared}`;
      throw new PeerError("store.write_failed", message, { cause });
    }
  }

  /** Tries to take the lock; true on success. */
  place(): boolean {
    try {
      renameSync(this.#prepared, this.path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTEMPTY" || code === "EEXIST") return false;
      throw error;
    }
    this.#isPlaced = true;
    ownNames.add(this.#socketName);
    return true;
  }

  announce(url: string): void {
    this.#holder.announce(url);
  }

  release(): Promise<void> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async #release(): Promise<void> {
    const folder = this.#isPlaced ? this.path : this.#prepared;
    ownNames.delete(this.#socketName);
    rmSync(join(folder, this.#socketName), { force: true });
    try {
      rmdirSync(folder);
    } catch {
      // The next holder has already renamed its folder to the empty one, or it was never made.
    }
    await this.#holder.close();
  }

  get #socketName(): string {
    return `${this.#name}.sock`;
  }
}

/** The living holder; dead sockets are removed on the way. Undefined when the lock may be free. */
async function findHolder(lockPath: string): Promise<Holder | undefined> {
  for (const name of namesIn(lockPath) ?? []) {
    const answer = await withShortPath(lockPath, name, askHolder);
    if (answer.kind === "alive") {
      const isOwn = ownNames.has(name);
      return { ...holderOfName(name), ...parseHolder(answer.text), isOwn };
    }
    rmSync(join(lockPath, name), { force: true });
  }
  return undefined;
}

function holderOfName(name: string): Holder {
  const pid = /^(\d+)-/.exec(name)?.[1];
  return pid === undefined ? {} : { pid: Number(pid) };
}

/** Calls `use` with a path to `name` in `folder` that fits a socket address. */
async function withShortPath<T>(
  folder: string,
  name: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= SOCKET_PATH_MAX) return use(path);
  const short = mkdtempSync(join(tmpdir(), "bp-"));
  try {
    symlinkSync(folder, join(short, "d"));
    const shortPath = join(short, "d", name);
    // Node would truncate a longer one and use another file.
    if (Buffer.byteLength(shortPath) > SOCKET_PATH_MAX) {
      throw new PeerError(
        "store.write_failed",
        `expected a shorter path than ${tmpdir()} in TMPDIR`,
      );
    }
    return await use(shortPath);
  } finally {
    rmSync(short, { recursive: true, force: true });
  }
}
