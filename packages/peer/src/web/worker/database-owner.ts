/**
 * Database owner: at most one worker has the database of a peer open, also if pages run different
 * builds of an app. The owner holds a Web Lock.
 *
 * A worker of a newer version asks the owner to finish and to release the lock. A worker of an older
 * or the same version learns where the owner is, and its pages attach to that one.
 */

import { PeerError } from "@bigpeer/protocol";
import { PAGE_PROTOCOL } from "../messages.ts";
import { listen, type WebChannel, web } from "../web-globals.ts";

/** How long an owner may take to answer, which it cannot do while it opens a large database. */
const ANSWER_MS_MAX = 14_000;
/** How long it may take to finish. Both together are less than a page waits for its peer. */
const FINISH_MS_MAX = 14_000;

/** A worker, or a page that runs the engine itself. */
export interface Contender {
  /** The script of the worker; undefined for a page, to which no other page can attach. */
  readonly url: string | undefined;
  readonly version: string;
  readonly protocol: number;
}

type OwnerMessage =
  /** A new owner says so. */
  | { readonly kind: "owns" }
  | { readonly kind: "who"; readonly asker: string }
  | { readonly kind: "owner"; readonly asker: string; readonly owner: Contender }
  | { readonly kind: "stepDown"; readonly next: Contender };

export type Ownership =
  | { readonly kind: "owned"; readonly owner: DatabaseOwner }
  | { readonly kind: "moved"; readonly url: string; readonly protocol: number };

export interface OwnOptions {
  /** The name of the database. */
  readonly database: string;
  readonly self: Omit<Contender, "protocol">;
  /** A newer version wants the database. Resolves when this one has closed it. */
  readonly onStepDown: (next: Contender) => Promise<void>;
}

/** Throws PeerError `store.in_use` if the owner neither answers nor ends. */
export async function ownDatabase(options: OwnOptions): Promise<Ownership> {
  const self = { ...options.self, protocol: PAGE_PROTOCOL };
  const channel = new web.BroadcastChannel(options.database);
  const lock = new WaitingLock(options.database);
  try {
    // An owner that ends just now does not answer, and releases the lock.
    const owner = await firstOf(lock, ANSWER_MS_MAX, askOwner(channel));
    if (owner !== undefined) {
      if (!isNewer(self.version, owner.version)) {
        if (owner.url === undefined) throw inUse("another tab runs it");
        return { kind: "moved", url: owner.url, protocol: owner.protocol };
      }
      post(channel, { kind: "stepDown", next: self });
      await firstOf(lock, FINISH_MS_MAX);
    }
    if (!lock.isHeld) {
      throw inUse(
        owner === undefined ? "another tab does not answer" : "an older version does not end",
      );
    }
    return { kind: "owned", owner: new DatabaseOwner(options, self, lock.take()) };
  } finally {
    lock.cancel();
    channel.close();
  }
}

export class DatabaseOwner {
  readonly #channel: WebChannel;
  readonly #release: () => void;

  constructor({ database, onStepDown }: OwnOptions, self: Contender, release: () => void) {
    this.#release = release;
    this.#channel = new web.BroadcastChannel(database);
    listen(this.#channel, (data: OwnerMessage) => {
      if (data.kind === "who")
        post(this.#channel, { kind: "owner", asker: data.asker, owner: self });
      else if (data.kind === "stepDown" && isNewer(data.next.version, self.version)) {
        void onStepDown(data.next).finally(() => this.release());
      }
    });
    post(this.#channel, { kind: "owns" });
  }

  /** Call when the database is closed. */
  release(): void {
    this.#channel.close();
    this.#release();
  }
}

/** A request for a Web Lock. */
class WaitingLock {
  /** Resolves when the lock is held. */
  readonly held: Promise<void>;
  isHeld = false;
  readonly #abort = new AbortController();
  #isTaken = false;
  #release: () => void = () => {};

  constructor(name: string) {
    this.held = new Promise((resolve) => {
      const hold = (): Promise<void> =>
        new Promise((release) => {
          this.#release = release;
          this.isHeld = true;
          resolve();
          if (this.#abort.signal.aborted) release();
        });
      const { signal } = this.#abort;
      // Rejects when it is given up.
      web.navigator.locks.request(name, { signal }, hold).catch(() => {});
    });
  }

  /** Returns a function that releases the lock. */
  take(): () => void {
    this.#isTaken = true;
    return this.#release;
  }

  /** Gives it up, unless it was taken. */
  cancel(): void {
    if (this.#isTaken) return;
    this.#abort.abort();
    this.#release();
  }
}

/** What resolves first. Undefined if that is the lock, or if the time is over before. */
async function firstOf<T>(
  { held }: WaitingLock,
  ms: number,
  other: Promise<T> = new Promise(() => {}),
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([held.then(() => undefined), other, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The owner of the database answers, if it is awake. */
function askOwner(channel: WebChannel): Promise<Contender> {
  const asker = crypto.randomUUID();
  return new Promise((resolve) => {
    listen(channel, (data: OwnerMessage) => {
      if (data.kind === "owner" && data.asker === asker) resolve(data.owner);
      // It became the owner after it was asked.
      if (data.kind === "owns") post(channel, { kind: "who", asker });
    });
    post(channel, { kind: "who", asker });
  });
}

function post(channel: WebChannel, message: OwnerMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is not a window.
  channel.postMessage(message);
}

/** Compares versions like 1.10.0 and 1.9.3. */
export function isNewer(a: string, b: string): boolean {
  return rankOf(a) > rankOf(b);
}

/** Three numbers as one. */
function rankOf(version: string): number {
  return version.split(/[.+-]/, 3).reduce((rank, part) => rank * 1e5 + Number(part), 0);
}

function inUse(reason: string): PeerError {
  const hint = "close the other tabs of this app, or reload them";
  return new PeerError("store.in_use", `the documents of this app are in use: ${reason}`, { hint });
}
