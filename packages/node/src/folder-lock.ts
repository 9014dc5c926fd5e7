/**
 * Folder lock: ensures that at most one process uses a folder, by a Unix socket that the kernel
 * closes with its process.
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
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { namesIn } from "./disk.ts";

const LOCK_FOLDER = "lock";

/** The sockets of this process. Their names are random, so no other process has one of them. */
const ownNames = new Set<string>();

/** The holder of a lock, as far as it is known. */
export interface Holder {
  /** Whether it is this very process. */
  readonly isOwn?: boolean;
  readonly pid?: number;
  readonly startedAt?: string;
  readonly url?: string;
}

/** A path in a socket address has 104 bytes on macOS and 108 on Linux, with the final zero. */
const SOCKET_PATH_MAX = 100;

/** A busy or stopped holder does not answer in this time, and still holds the lock. */
const ANSWER_MS_MAX = 2_000;
const ANSWER_SIZE_MAX = 4_096;

/** Each round ends because another process acted; this many in a row do not happen. */
const ROUNDS_MAX = 100;

/** Acquires the lock of `folder`. Throws PeerError `store.in_use`, which names the holder. */
export async function acquireFolderLock(folder: string): Promise<FolderLock> {
  const lock = new FolderLock(resolve(folder));
  try {
    await lock.listen();
    for (let round = 0; round < ROUNDS_MAX; round++) {
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

export class FolderLock {
  readonly path: string;
  readonly #name = `${process.pid}-${randomBytes(4).toString("hex")}`;
  readonly #prepared: string;
  readonly #startedAt = new Date().toISOString();
  readonly #server: Server;
  #url: string | undefined;
  #isPlaced = false;
  #releasing: Promise<void> | undefined;

  constructor(folder: string) {
    this.path = join(folder, LOCK_FOLDER);
    this.#prepared = join(folder, `${LOCK_FOLDER}.${this.#name}`);
    this.#server = createServer((socket) => {
      // The asking process may be gone before it is answered.
      socket.on("error", () => socket.destroy());
      socket.end(`${JSON.stringify(this.#holder())}\n`);
    });
    // A connection that cannot be accepted gets no answer; the lock holds all the same.
    this.#server.on("error", () => {});
    this.#server.unref();
  }

  async listen(): Promise<void> {
    try {
      mkdirSync(this.#prepared, { mode: 0o700 });
      await withShortPath(this.#prepared, this.#socketName, (path) => this.#bind(path));
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

  /** Sets the address that the holder reports to other processes. */
  announce(url: string): void {
    this.#url = url;
  }

  /** Releases the lock. Close everything that it guards before. */
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
    if (!this.#server.listening) return;
    await new Promise<void>((done) => this.#server.close(() => done()));
  }

  get #socketName(): string {
    return `${this.#name}.sock`;
  }

  #holder(): Holder {
    const known = { pid: process.pid, startedAt: this.#startedAt };
    return this.#url === undefined ? known : { ...known, url: this.#url };
  }

  #bind(path: string): Promise<void> {
    return new Promise((done, fail) => {
      this.#server.once("error", fail);
      this.#server.listen(path, () => {
        this.#server.off("error", fail);
        done();
      });
    });
  }
}

/** The living holder; dead sockets are removed on the way. Undefined when the lock may be free. */
async function findHolder(lockPath: string): Promise<Holder | undefined> {
  for (const name of namesIn(lockPath) ?? []) {
    const answer = await ask(lockPath, name);
    if (answer.kind === "alive") {
      const isOwn = ownNames.has(name);
      return { ...holderOfName(name), ...parseHolder(answer.text), isOwn };
    }
    rmSync(join(lockPath, name), { force: true });
  }
  return undefined;
}

type Answer = { readonly kind: "alive"; readonly text: string } | { readonly kind: "dead" };

function ask(lockPath: string, name: string): Promise<Answer> {
  return withShortPath(lockPath, name, (path) => {
    return new Promise((done) => {
      let text = "";
      const socket = connect(path);
      const finish = (answer: Answer): void => {
        clearTimeout(timer);
        socket.destroy();
        done(answer);
      };
      const timer = setTimeout(() => finish({ kind: "alive", text }), ANSWER_MS_MAX);
      socket.setEncoding("utf8");
      socket.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > ANSWER_SIZE_MAX) finish({ kind: "alive", text: "" });
      });
      socket.on("end", () => finish({ kind: "alive", text }));
      socket.on("error", (error) =>
        finish(isDead(error) ? { kind: "dead" } : { kind: "alive", text }),
      );
    });
  });
}

/** Every other error (not permitted, queue full) means that a process listens. */
function isDead(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNREFUSED" || error.code === "ENOENT" || error.code === "ENOTSOCK";
}

function holderOfName(name: string): Holder {
  const pid = /^(\d+)-/.exec(name)?.[1];
  return pid === undefined ? {} : { pid: Number(pid) };
}

function parseHolder(text: string): Holder {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return {};
  }
}

function inUse(folder: string, { pid, startedAt, url, isOwn }: Holder): PeerError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  const known = [url, startedAt === undefined ? undefined : `since ${startedAt}`];
  const more = known.filter((part) => part !== undefined).join(", ");
  const how = isOwn === true ? "already open in this process" : `in use by ${who}`;
  const message = `the folder ${folder} is ${how}${more === "" ? "" : ` (${more})`}`;
  const hint = isOwn === true ? "use what is open, or close it before" : undefined;
  return new PeerError("store.in_use", message, { hint });
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
