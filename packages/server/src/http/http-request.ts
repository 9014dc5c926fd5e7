/**
 * A request as the endpoints see it. Its body is read only when somebody asks for it: whoever may
 * not send one is answered before.
 */

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Readable, Transform } from "node:stream";
import { type Placed, Roster } from "@bigpeer/engine";
import { BODY_MS_MAX, BODY_SIZE_MAX } from "../limits.ts";
import type { Room } from "../shares.ts";
import { Refusal, unavailable } from "./refusal.ts";

export interface HttpRequest {
  /** Made here, for the log and for whoever asks about a failure. */
  readonly id: string;
  readonly method: string;
  /** As on the wire, with its query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the client: the other end of the connection, or what a trusted proxy says. */
  readonly remoteAddress: string;
  /** Whether the connection itself is encrypted. */
  readonly isEncrypted: boolean;
  /** What HTTP does not allow in its head; undefined when nothing is wrong. */
  readonly fault: string | undefined;
  /** What the body will have at most. */
  readonly bodySizeMax: number;
  /**
   * To be called when its credential was accepted, with the name under which what is used with it is
   * counted. Throws a Refusal, 503, when that has too many connections. False when the same was said of
   * the request before on the same connection.
   */
  identify(owner: string): boolean;
  /** Calls `listener` when the client leaves before it was answered. Returns the way to stop it. */
  onHangUp(listener: () => void): () => void;
  /** Takes the memory for an answer until it is sent; false when there is none left. */
  reserveAnswer(size: number): boolean;
  /**
   * To be called once. Rejects with a Refusal when the body is too large or does not come. What comes
   * is taken from `room`: whoever gets the body gives its size back. When there is none left, this
   * is a refusal too; after a refusal nothing is taken any more. `timeMsMax` is its time, where it is
   * to be less than for others.
   */
  readBody(room?: Room, timeMsMax?: number): Promise<Uint8Array>;
  /**
   * Instead of readBody: the body as it comes, without any bound. To be called once. It fails with a
   * Refusal when the client leaves; whoever destroys it can still answer.
   */
  openBody(): Readable;
}

/** What the body of `request` can have at most, as far as we would read it. */
export function bodySizeMaxOf({ headers }: Pick<IncomingMessage, "headers">): number {
  const announced = headers["content-length"];
  if (announced !== undefined) return Number(announced);
  return headers["transfer-encoding"] === undefined ? 0 : BODY_SIZE_MAX;
}

/** Whether the client will go on sending more than is worth waiting for. */
export function isLongUnread(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  return isChunked || bodySizeMaxOf(request) > BODY_SIZE_MAX;
}

export interface BodyOptions {
  /** Called when the body is wanted: a client may wait to be told so. */
  readonly begin?: () => void;
  /** Told of all that comes. */
  readonly onBytes?: (count: number) => void;
  /** Of what is read; see HttpRequest. */
  readonly room?: Room | undefined;
  /** When the time of the body begins, on the clock of `performance`; now unless it is said. */
  readonly startMs?: number;
  readonly timeMsMax?: number | undefined;
}

/** The whole body, within its bounds of size and time. The connection stays usable either way. */
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
      // The listener of errors stays: one that comes when nobody listens would end the process.
      request.off("data", take).off("end", end).off("close", leave).pause();
      // And it would keep them while the rest of the body is let pass.
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
    // They stay when the body is there: taking them off costs more than reading it.
    request.on("data", take).on("end", end).on("error", leave).on("close", leave);
  });
}

/**
 * Chunks that are kept one by one; then they are joined. Each costs some hundred bytes beside its
 * own, and a client may send a body byte by byte.
 */
const LOOSE_MAX = 1_024;

/**
 * The body as a stream of its own: destroying the request would take the connection, and with it
 * the answer that says why.
 */
export function openBody(request: IncomingMessage, options: BodyOptions = {}): Readable {
  options.begin?.();
  const body = new Transform({
    transform: (chunk: Uint8Array, _, done) => {
      options.onBytes?.(chunk.length);
      done(null, chunk);
    },
  });
  // An error that nobody waits for would end the process.
  body.on("error", () => {});
  const leave = (): void => {
    if (!request.readableEnded) body.destroy(cutOff());
  };
  request.on("error", leave).on("close", leave);
  return request.pipe(body);
}

/**
 * Bodies that came in one turn of the event loop, handed on together at its end. With many clients
 * several come in each turn. What is then done for one after the other takes a third less time than
 * between two reads from connections: the processor has that code at hand. Those of more than a few
 * bytes are handed on in several turns: to decode one takes up to ten thousand times as long as to
 * receive it.
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

/** Bytes of bodies that are handed on in one turn of the event loop. */
const ARRIVALS_SIZE_MAX: number = 64 * 1024;

const arrivals = new Arrivals();

interface Deadline extends Placed {
  readonly atMs: number;
  readonly pass: () => void;
}

/**
 * By when bodies must be there. One timer looks at all of them: nearly all come together with their
 * head, and a timer for each would cost more than reading it.
 */
class Deadlines {
  readonly #deadlines = new Roster<Deadline>();
  #timer: NodeJS.Timeout | undefined;

  add(atMs: number, pass: () => void): Deadline {
    const deadline = { atMs, pass, place: -1 };
    this.#deadlines.add(deadline);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return deadline;
  }

  /** False when it was removed before. */
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

/** How much later than its time a body may be refused. */
const LOOK_MS = 250;

const deadlines = new Deadlines();

/** Nearly always there is one chunk, and memory of its own would cost more than all else here. */
function join(chunks: Uint8Array[], size: number): Uint8Array {
  const first = chunks[0];
  if (first !== undefined && chunks.length === 1) return first;
  const whole = Buffer.concat(chunks, size);
  // The listeners of the request would keep them beside the whole.
  chunks.length = 0;
  return whole;
}

function noRoom(): Refusal {
  return unavailable("the bodies of all requests have taken all memory there is for them", 1);
}

function cutOff(): Refusal {
  return new Refusal(400, "the connection ended inside the body");
}

function tooLarge(): Refusal {
  return new Refusal(413, `expected a body of at most ${BODY_SIZE_MAX} bytes`);
}

function tooSlow(timeMsMax: number): Refusal {
  return new Refusal(408, `expected the whole body within ${timeMsMax} ms`);
}
