/**
 * Pipelining: of the requests that a client sends one behind the other, without waiting for answers,
 * one is taken at a time. The next one is held back, with all that came behind it, and read again when
 * the answer of the one before was handed to the system.
 *
 * Node hands out all requests of a chunk at once, which may be thousands. Its reader stops behind a
 * request only when that asks for another protocol: then what follows is not HTTP. So a request that
 * comes too early is said to be such. Node does not document the field for that (`parser.onIncoming`);
 * where it is missing, a connection with more than one request under way is cut.
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PIPELINED_SIZE_MAX } from "../limits.ts";
import type { Room } from "../shares.ts";

/** Node's reader of HTTP, as far as it is used here. */
interface Reader {
  onIncoming?: (request: IncomingMessage & { upgrade?: boolean }, isKeptAlive: boolean) => number;
}

/** What Node's reader is told of a request with which HTTP ends. */
const IS_UPGRADE = 2;

/** Of a connection with as many bytes no more are received: what Node reads at once. */
const HELD_SIZE: number = 64 * 1024;

/** Node takes its listeners away when HTTP ends; the answer under way still needs these. */
const KEPT_EVENTS = ["close", "drain", "error", "timeout"] as const;

type Listener = (...args: unknown[]) => void;

/**
 * From now on each request of `socket` for which `mustWait` says so is an upgrade. To be called
 * whenever Node begins to read HTTP there.
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

/** What came behind the request that is under way on a connection. */
export class HeldRequests {
  readonly #socket: Socket;
  readonly #room: Room;
  /** What listened when HTTP had not ended. */
  readonly #before: [event: string, listeners: readonly Listener[]][];
  readonly #kept: [event: string, listener: Listener][] = [];
  readonly #chunks: Buffer[] = [];
  #size = 0;

  /** To be made before Node is told that HTTP ends. `room` is for the bytes. */
  constructor(socket: Socket, room: Room) {
    this.#socket = socket;
    this.#room = room;
    this.#before = KEPT_EVENTS.map((event) => [event, socket.listeners(event) as Listener[]]);
  }

  /** False when there is no room for what came. */
  begin(request: IncomingMessage, rest: Buffer): boolean {
    const socket = this.#socket;
    // Those of Node, which has new ones when it reads again.
    socket.removeAllListeners("pause").removeAllListeners("resume");
    for (const [event, before] of this.#before) this.#keepListeners(event, before);
    socket.on("data", this.#receive).on("end", this.#leave);
    return this.#chargeBuffered() && this.#add(headOf(request)) && this.#add(rest);
  }

  /** Each time that Node reads again it receives more, whatever is there: that is charged, too. */
  #chargeBuffered(): boolean {
    const size = this.#socket.readableLength;
    if (size > PIPELINED_SIZE_MAX || !this.#room.take(size)) return false;
    this.#size += size;
    return true;
  }

  /** The connection has them again, as if they had just come. */
  giveBack(): void {
    const socket = this.#socket;
    socket.pause();
    socket.off("data", this.#receive).off("end", this.#leave);
    for (const [event, listener] of this.#kept) socket.off(event, listener);
    for (const chunk of this.#chunks.toReversed()) socket.unshift(chunk);
    this.release();
  }

  /** Nobody will read them. */
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

  /** Receives no more when there is much. */
  #add(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    // They may be a part of more, all of which is kept.
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

  /** As Node does: whoever says that nothing more comes does not wait for answers. */
  readonly #leave = (): void => {
    this.#socket.end();
  };
}

/** The head of a request as it was sent, but for a header that is left out. */
export function headOf(request: IncomingMessage, leftOut?: string): Buffer {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.toLowerCase() !== leftOut) lines.push(`${name}: ${rawHeaders[i + 1] ?? ""}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
