/**
 * HTTP request as endpoints see it: method, target, headers, client address and a body that is read
 * on demand. A caller that may not send a body is refused before it is read (H3).
 */

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Readable, Transform } from "node:stream";
import { IndexedSet, type Placed } from "@bigpeer/engine";
import { BODY_MS_MAX, BODY_SIZE_MAX } from "../limits/limits.ts";
import type { MemoryBudget } from "../limits/shares.ts";
import { Refusal, unavailable } from "./refusal.ts";

export interface HttpRequest {
  /** Random id, for the log and for questions about a failure. */
  readonly id: string;
  readonly method: string;
  /** As on the wire, with the query string. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Address of the client: the other end of the connection, or as a trusted proxy reports it. */
  readonly remoteAddress: string;
  /** Whether the connection itself is encrypted. */
  readonly isEncrypted: boolean;
  /** Violation of HTTP in the head of the request; undefined when there is none. */
  readonly fault: string | undefined;
  /** Upper bound of the size of the body, in bytes. */
  readonly bodySizeMax: number;
  /** Set if another node of the cluster passed the request on, with the id that it gave it. */
  readonly passId?: string;
  /**
   * Call it when the credential is accepted, with the owner to which its usage is charged. Throws a
   * Refusal, 503, when the owner has too many connections. Returns false when the last call on the
   * same connection named the same owner within the last hour.
   */
  identify(owner: string): boolean;
  /** Calls `listener` when the client disconnects before the answer; returns its removal. */
  onHangUp(listener: () => void): () => void;
  /** Reserves memory for an answer until it is sent; false when none is left. */
  reserveAnswer(size: number): boolean;
  /**
   * Reads the whole body. Call it once. Rejects with a Refusal when the body is too large, too
   * late, or `room` has no bytes left; then nothing stays charged to `room`. Otherwise the caller
   * gives the size of the body back. `timeMsMax` sets a shorter time than the default.
   */
  readBody(room?: MemoryBudget, timeMsMax?: number): Promise<Uint8Array>;
  /**
   * Streams the body without a bound, instead of `readBody`. Call it once. The stream fails with a
   * Refusal when the client disconnects; after destroying it the caller can still answer.
   */
  openBody(): Readable;
}

/** Refusal, 400, of a body whose client disconnected before its end. */
export class CutOff extends Refusal {
  constructor() {
    super(400, "the connection ended inside the body");
  }
}

/** Upper bound of the size of a body: as announced, or the maximum for a chunked one. */
export function bodySizeMaxOf({ headers }: Pick<IncomingMessage, "headers">): number {
  const announced = headers["content-length"];
  if (announced !== undefined) return Number(announced);
  return headers["transfer-encoding"] === undefined ? 0 : BODY_SIZE_MAX;
}

/** Whether more of the body may follow than is worth waiting for. */
export function isLongUnread(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  return isChunked || bodySizeMaxOf(request) > BODY_SIZE_MAX;
}

export interface BodyOptions {
  /** Called before the body is read: the client may wait for 100 Continue. */
  readonly begin?: () => void;
  /** Called with the size of each chunk. */
  readonly onBytes?: (count: number) => void;
  /** Budget that pays for the bytes; see HttpRequest. */
  readonly room?: MemoryBudget | undefined;
  /** Start of the time limit, on the clock of `performance`; default now. */
  readonly startMs?: number;
  readonly timeMsMax?: number | undefined;
}

/** Reads the whole body within limits of size and time. The connection stays usable either way. */
export function readBody(
  request: IncomingMessage,
  { begin, onBytes, room, startMs = performance.now(), timeMsMax = BODY_MS_MAX }: BodyOptions = {},
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (bodySizeMaxOf(request) > BODY_SIZE_MAX) return reject(tooLarge());
    begin?.();
    const chunks: Uint8Array[] = [];
    let looseCount = 0;
    let size = 0;
    const refuse = (why: () => Refusal): void => {
      if (!deadlines.remove(deadline)) return;
      // The error listener stays: an error without a listener would end the process.
      request.off("data", take).off("end", end).off("close", leave).pause();
      // The listener that stays would retain them while the rest of the body is skipped.
      chunks.length = 0;
      room?.give(size);
      reject(why());
    };
    const take = (chunk: Uint8Array): void => {
      onBytes?.(chunk.length);
      if (room?.take(chunk.length) === false) return refuse(noRoom);
      chunks.push(chunk);
      size += chunk.length;
      if (size > BODY_SIZE_MAX) return refuse(tooLarge);
      if (++looseCount < LOOSE_MAX) return;
      chunks.push(Buffer.concat(chunks.splice(-looseCount)));
      looseCount = 0;
    };
    const end = (): void => {
      if (deadlines.remove(deadline)) arrivals.add(size, () => resolve(join(chunks, size)));
    };
    const leave = (): void => refuse(cutOff);
    const tooLate = (): void => refuse(() => tooSlow(timeMsMax));
    const deadline = deadlines.add(startMs + timeMsMax, tooLate);
    // They stay after the body has arrived: removing them costs more than reading it.
    request.on("data", take).on("end", end).on("error", leave).on("close", leave);
  });
}

/**
 * Number of chunks that are kept before they are joined. Each costs some hundred bytes of overhead,
 * and a client may send a body byte by byte.
 */
const LOOSE_MAX = 1_024;

/**
 * Streams the body through a stream of its own: destroying the request would destroy the
 * connection, and with it the answer that says why.
 */
export function openBody(request: IncomingMessage, options: BodyOptions = {}): Readable {
  options.begin?.();
  const body = new Transform({
    transform: (chunk: Uint8Array, _, done) => {
      options.onBytes?.(chunk.length);
      done(null, chunk);
    },
  });
  // An unhandled error would end the process.
  body.on("error", () => {});
  const leave = (): void => {
    if (!request.readableEnded) body.destroy(cutOff());
  };
  request.on("error", leave).on("close", leave);
  return request.pipe(body);
}

/**
 * Queue of bodies that arrived in one turn of the event loop, processed together at its end.
 *
 * With many clients several arrive in each turn. Processing them one after the other takes a third
 * less time than between reads, because the processor has that code cached. Large ones are spread
 * over several turns: decoding takes up to ten thousand times as long as receiving.
 */
class Arrivals {
  #waiting: Arrival[] = [];
  #next = 0;

  add(size: number, handOn: () => void): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#handOn());
    this.#waiting.push({ size, handOn });
  }

  #handOn(): void {
    let size = 0;
    while (this.#next < this.#waiting.length && size < ARRIVALS_SIZE_MAX) {
      const arrival = this.#waiting[this.#next++] as Arrival;
      size += arrival.size;
      arrival.handOn();
    }
    if (this.#next < this.#waiting.length) {
      setImmediate(() => this.#handOn());
      return;
    }
    this.#waiting = [];
    this.#next = 0;
  }
}

interface Arrival {
  readonly size: number;
  readonly handOn: () => void;
}

/** Bytes of bodies that are processed in one turn of the event loop. */
const ARRIVALS_SIZE_MAX: number = 64 * 1024;

const arrivals = new Arrivals();

interface Deadline extends Placed {
  readonly atMs: number;
  readonly pass: () => void;
}

/**
 * Deadlines of bodies, checked by one timer. Nearly all bodies arrive with their head, and a timer
 * for each would cost more than reading it.
 */
class Deadlines {
  readonly #deadlines = new IndexedSet<Deadline>();
  #timer: NodeJS.Timeout | undefined;

  add(atMs: number, pass: () => void): Deadline {
    const deadline = { atMs, pass, place: -1 };
    this.#deadlines.add(deadline);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return deadline;
  }

  /** Returns false when it was already removed. */
  remove(deadline: Deadline): boolean {
    return this.#deadlines.remove(deadline);
  }

  #look(): void {
    if (this.#deadlines.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const now = performance.now();
    for (const { atMs, pass } of this.#deadlines.list()) if (now >= atMs) pass();
  }
}

/** How much later than its deadline a body may be refused. */
const LOOK_MS = 250;

const deadlines = new Deadlines();

/** Nearly always there is one chunk, and copying it would cost more than all else here. */
function join(chunks: Uint8Array[], size: number): Uint8Array {
  const first = chunks[0];
  if (first !== undefined && chunks.length === 1) return first;
  const whole = Buffer.concat(chunks, size);
  // The listeners of the request would retain the chunks beside the whole.
  chunks.length = 0;
  return whole;
}

function noRoom(): Refusal {
  return unavailable("the bodies of all requests have taken all memory there is for them", 1);
}

function cutOff(): Refusal {
  return new CutOff();
}

function tooLarge(): Refusal {
  return new Refusal(413, `expected a body of at most ${BODY_SIZE_MAX} bytes`);
}

function tooSlow(timeMsMax: number): Refusal {
  return new Refusal(408, `expected the whole body within ${timeMsMax} ms`);
}
