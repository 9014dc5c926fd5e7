/**
 * Pipelining: takes the pipelined requests of a connection one at a time (H51). The next request,
 * with all bytes behind it, is held until the answer before it was passed to the operating system.
 *
 * Node emits all requests of a chunk at once, which may be thousands. Its parser stops after a
 * request only when that asks for an upgrade, because other bytes follow then. So a request that
 * comes too early is marked as an upgrade. Node does not document the field for that
 * (`parser.onIncoming`). Where it is missing, a connection with more than one request in progress
 * is closed.
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PIPELINED_SIZE_MAX } from "../limits/limits.ts";
import type { MemoryBudget } from "../limits/shares.ts";

/** Node's HTTP parser, as far as it is used here. */
interface Reader {
  onIncoming?: (request: IncomingMessage & { upgrade?: boolean }, isKeptAlive: boolean) => number;
}

/** Return value that makes Node's parser treat the request as an upgrade. */
const IS_UPGRADE = 2;

/** A connection that holds this many bytes is paused; it is what Node reads at once. */
const HELD_SIZE: number = 64 * 1024;

/** Node removes its listeners at an upgrade; the answer in progress still needs these. */
const KEPT_EVENTS = ["close", "drain", "error", "timeout"] as const;

type Listener = (...args: unknown[]) => void;

/**
 * From now on, each request on `socket` for which `mustWait` returns true is an upgrade. Call it
 * whenever Node starts to parse HTTP on the socket.
 */
export function takeOneAtATime(socket: Socket, mustWait: () => boolean): void {
  const { parser } = socket as Socket & { parser?: Reader | null };
  const take = parser?.onIncoming;
  if (take === undefined || parser === undefined || parser === null) return;
  parser.onIncoming = (request, isKeptAlive) => {
    if (!mustWait()) return take(request, isKeptAlive);
    request.upgrade = true;
    return IS_UPGRADE;
  };
}

/** Bytes received after the request in progress on a connection. */
export class HeldRequests {
  readonly #socket: Socket;
  readonly #room: MemoryBudget;
  /** Listeners before the upgrade. */
  readonly #before: [event: string, listeners: readonly Listener[]][];
  readonly #kept: [event: string, listener: Listener][] = [];
  readonly #chunks: Buffer[] = [];
  #size = 0;

  /** Create it before Node handles the upgrade. `room` pays for the bytes. */
  constructor(socket: Socket, room: MemoryBudget) {
    this.#socket = socket;
    this.#room = room;
    this.#before = KEPT_EVENTS.map((event) => [event, socket.listeners(event) as Listener[]]);
  }

  /** Returns false when the budget has no bytes left. */
  begin(request: IncomingMessage, rest: Buffer): boolean {
    const socket = this.#socket;
    // Node's own, which it adds again when it resumes parsing.
    socket.removeAllListeners("pause").removeAllListeners("resume");
    for (const [event, before] of this.#before) this.#keepListeners(event, before);
    socket.on("data", this.#receive).on("end", this.#leave);
    return this.#chargeBuffered() && this.#add(headOf(request)) && this.#add(rest);
  }

  /** Each time Node resumes, it reads more, whatever is buffered: that is charged, too. */
  #chargeBuffered(): boolean {
    const size = this.#socket.readableLength;
    if (size > PIPELINED_SIZE_MAX || !this.#room.take(size)) return false;
    this.#size += size;
    return true;
  }

  /** Returns the bytes to the connection, as if they had just arrived. */
  giveBack(): void {
    const socket = this.#socket;
    socket.pause();
    socket.off("data", this.#receive).off("end", this.#leave);
    for (const [event, listener] of this.#kept) socket.off(event, listener);
    for (const chunk of this.#chunks.toReversed()) socket.unshift(chunk);
    this.release();
  }

  /** Returns the memory of bytes that will not be read. */
  release(): void {
    this.#room.give(this.#size);
    this.#size = 0;
  }

  #keepListeners(event: string, before: readonly Listener[]): void {
    const now = new Set<unknown>(this.#socket.listeners(event));
    for (const listener of before) {
      if (now.has(listener)) continue;
      this.#socket.on(event, listener);
      this.#kept.push([event, listener]);
    }
  }

  /** Pauses the connection when it holds much. */
  #add(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    // They may be a slice of a larger buffer, all of which stays in memory.
    const size = bytes.buffer.byteLength;
    if (!this.#room.take(size)) return false;
    this.#size += size;
    this.#chunks.push(bytes);
    if (this.#size > HELD_SIZE) this.#socket.pause();
    else this.#socket.resume();
    return true;
  }

  readonly #receive = (chunk: Buffer): void => {
    if (!this.#add(chunk)) this.#socket.destroy();
  };

  /** As Node does: a client that ends its side does not wait for answers. */
  readonly #leave = (): void => {
    this.#socket.end();
  };
}

/** The head of a request as it was sent, without the header `leftOut`. */
export function headOf(request: IncomingMessage, leftOut?: string): Buffer {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.toLowerCase() !== leftOut) lines.push(`${name}: ${rawHeaders[i + 1] ?? ""}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
