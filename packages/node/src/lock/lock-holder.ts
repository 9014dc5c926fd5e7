/**
 * Lock holder: the two ends of the question who holds a lock. The holder listens on a local address
 * and answers each connection with one line of JSON: process, start, address. Another process asks
 * there, and learns whether the holder is alive.
 *
 * The address is a Unix socket or a named pipe. The operating system closes both with their process.
 */

import { connect, createServer, type Server, type Socket } from "node:net";
import { PeerError } from "@bigpeer/protocol";

/** A lock that this process holds. */
export interface FolderLock {
  /** Sets the address that the holder reports to other processes. */
  announce(url: string): void;
  /** Releases the lock. Close everything that it guards before. A second call does nothing. */
  release(): Promise<void>;
}

/** The holder of a lock, as far as it is known. */
export interface Holder {
  /** Whether it is this very process. */
  readonly isOwn?: boolean;
  readonly pid?: number;
  readonly startedAt?: string;
  readonly url?: string;
}

/** `text` is the line of the holder; empty if it did not answer in time. */
export type Answer = { readonly kind: "alive"; readonly text: string } | { readonly kind: "dead" };

/** Each try ends because another process acted; this many in a row do not happen. */
export const TRIES_MAX = 100;

/** A busy or stopped holder does not answer in this time, and still holds the lock. */
const ANSWER_MS_MAX = 2_000;
const ANSWER_SIZE_MAX = 4_096;

/** Listens on an address and describes this process to each connection. */
export class HolderServer {
  readonly #startedAt = new Date().toISOString();
  readonly #server: Server;
  readonly #asking = new Set<Socket>();
  #url: string | undefined;

  constructor() {
    this.#server = createServer((socket) => {
      this.#asking.add(socket);
      // The asking process may be gone before it is answered.
      socket.on("error", () => socket.destroy()).on("close", () => this.#asking.delete(socket));
      socket.end(`${JSON.stringify(this.#holder())}\n`);
    });
    // A connection that cannot be accepted gets no answer; the lock holds all the same.
    this.#server.on("error", () => {});
    this.#server.unref();
  }

  /** Rejects with the error of the system. It can be called again then. */
  listen(address: string): Promise<void> {
    return new Promise((done, fail) => {
      this.#server.once("error", fail);
      this.#server.listen(address, () => {
        this.#server.off("error", fail);
        done();
      });
    });
  }

  /** Sets the address that the holder reports to other processes. */
  announce(url: string): void {
    this.#url = url;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    // A process that hangs would keep its connection open.
    for (const socket of this.#asking) socket.destroy();
    await closed;
  }

  #holder(): Holder {
    const known = { pid: process.pid, startedAt: this.#startedAt };
    return this.#url === undefined ? known : { ...known, url: this.#url };
  }
}

/** Asks at an address who holds the lock. */
export function askHolder(address: string): Promise<Answer> {
  return new Promise((done) => {
    let text = "";
    const socket = connect(address);
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
}

/** Every other error (not permitted, queue full) means that a process listens. */
function isDead(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNREFUSED" || error.code === "ENOENT" || error.code === "ENOTSOCK";
}

/** Nothing is known of a holder whose answer is no JSON. */
export function parseHolder(text: string): Holder {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return {};
  }
}

/** The error of a process that finds the lock taken. */
export function inUse(folder: string, { pid, startedAt, url, isOwn }: Holder): PeerError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  const known = [url, startedAt === undefined ? undefined : `since ${startedAt}`];
  const more = known.filter((part) => part !== undefined).join(", ");
  const how = isOwn === true ? "already open in this process" : `in use by ${who}`;
  const message = `the folder ${folder} is ${how}${more === "" ? "" : ` (${more})`}`;
  const hint = isOwn === true ? "use what is open, or close it before" : undefined;
  return new PeerError("store.in_use", message, { hint });
}
