/**
 * Pipe lock: the folder lock on Windows, by a named pipe that the system removes with its process.
 *
 * Only one process can create the first instance of a pipe, so listening is the lock: it is atomic,
 * and no dead lock is ever left. The name of the pipe is a hash of the real path of the folder, so
 * that all ways to write the path lead to one pipe. Names of pipes are not in the folder: processes
 * in two containers on one volume do not see each other's.
 *
 * docs/decisions/0004-folder-lock.md gives the reasons.
 */

import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { PeerError } from "@bigpeer/protocol";
import {
  askHolder,
  type FolderLock,
  HolderServer,
  inUse,
  parseHolder,
  TRIES_MAX,
} from "./lock-holder.ts";

/** The pipes of this process. */
const ownAddresses = new Set<string>();

/** The pipe of a folder. `realPath` has no symbolic links, and the case of the file system. */
export function pipeName(realPath: string): string {
  const hash = createHash("sha256").update(realPath).digest("hex");
  return `\\\\.\\pipe\\bigpeer-${hash.slice(0, 32)}`;
}

/**
 * Acquires the lock of `folder`. Throws PeerError `store.in_use`, which names the holder.
 * `addressOf` is another one in tests, on systems without pipes.
 */
export async function acquirePipeLock(
  folder: string,
  addressOf: (realPath: string) => string = pipeName,
): Promise<FolderLock> {
  const address = addressOf(realPathOf(folder));
  const holder = new HolderServer();
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await tryListen(holder, address)) {
      ownAddresses.add(address);
      return new PipeLock(address, holder);
    }
    const answer = await askHolder(address);
    if (answer.kind === "dead") continue;
    throw inUse(folder, { ...parseHolder(answer.text), isOwn: ownAddresses.has(address) });
  }
  throw inUse(folder, {});
}

class PipeLock implements FolderLock {
  readonly #address: string;
  readonly #holder: HolderServer;
  #releasing: Promise<void> | undefined;

  constructor(address: string, holder: HolderServer) {
    this.#address = address;
    this.#holder = holder;
  }

  announce(url: string): void {
    this.#holder.announce(url);
  }

  release(): Promise<void> {
    this.#releasing ??= this.#release();
    return this.#releasing;
  }

  async #release(): Promise<void> {
    // Before the pipe is closed: from then on another part of this process may take it.
    ownAddresses.delete(this.#address);
    await this.#holder.close();
  }
}

/** The native call gives the path the case that the file system has. */
function realPathOf(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch (cause) {
    throw new PeerError("store.write_failed", `failed to lock the folder ${folder}`, { cause });
  }
}

/** False if another process listens there. */
async function tryListen(holder: HolderServer, address: string): Promise<boolean> {
  try {
    await holder.listen(address);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw new PeerError("store.write_failed", `failed to listen on ${address}`, { cause });
  }
}
