/**
 * WebSocket: accepted and dialled WebSocket connections as channels for sync and links.
 *
 * Frames of a server are not masked, so a message has the same bytes on all connections. They are
 * made once and written to the sockets directly, which is a third faster than a header by the
 * library for each. The library still reads and closes. No timer runs while a connection is open.
 *
 * Received bytes are charged before the library sees them, and handed to it in small pieces: only
 * while this pass of the event loop has time, while the listener wants more, and never after the
 * end.
 */

import type { Socket } from "node:net";
import type { Channel } from "@bigpeer/engine";
import { assert, SYNC_MESSAGE_BYTES_MAX } from "@bigpeer/protocol";
import { WebSocket, WebSocketServer } from "ws";
import { networkOf } from "../address/client-address.ts";
import type { UpgradeRequest } from "../http/http-server.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { INTAKE, type Intake, type LateReader } from "../limits/intake.ts";
import {
  AFTER_END_SIZE_MAX,
  GREETINGS_SIZE_MAX,
  HELLO_PIECES_MAX,
  LINGER_MS_MAX,
  MESSAGE_FRAGMENTS_MAX,
  SYNC_HELLO_SIZE_MAX,
  SYNC_UNSENT_SIZE_MAX,
} from "../limits/limits.ts";
import type { ChannelListener } from "./channel-listener.ts";
import type { DialHandlers, DialOptions } from "./dial.ts";
import { FrameMaker } from "./frame-maker.ts";
import { FrameScanner } from "./frame-scanner.ts";
import { kindOf, TrafficMeter } from "./traffic.ts";

/** With more unsent bytes no pong is sent: the other side does not read. */
const PONG_UNSENT_MAX: number = 64 * 1024;

/** Codes with which the library closes a connection whose frames it cannot read. */
const BROKEN_REASONS: ReadonlyMap<number, string> = new Map([
  [1002, "expected frames of WebSocket"],
  [1007, "expected frames of WebSocket"],
  [1008, `expected messages of at most ${MESSAGE_FRAGMENTS_MAX} fragments`],
  [1009, `expected messages of at most ${SYNC_MESSAGE_BYTES_MAX} bytes`],
]);

/** Bytes that a chunk of a connection, or a fragment of a message, costs beside its content. */
export const PIECE_COST = 256;

/** Bytes that the library gets at once: it reads all of them, whatever happens meanwhile. */
const FEED_SIZE = 4_096;

/** How often a closed connection may show progress in sending before it is cut. */
const LINGERS_MAX = 15;

const NOTHING = new Uint8Array();

/** Payer for data of servers that this one dialled; no network has such a name. */
const DIALLED = "dialled";

/** A WebSocket of the library that reports why it closes before it does. */
class ReportingWebSocket extends WebSocket {
  channel: WebSocketChannel | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    const broken = code === undefined ? undefined : BROKEN_REASONS.get(code);
    if (broken !== undefined) this.channel?.refuse(broken);
    super.close(code, reason);
  }
}

/** What all channels of a server share. */
interface Shared {
  /** Bytes that a connection may send before it is known. */
  readonly greetingSizeMax: number;
  /** Memory budgets for data of known connections, and of all others. */
  readonly room: ByteBudget;
  readonly greetings: ByteBudget;
  readonly intake: Intake;
  readonly frames: FrameMaker;
  readonly sent: TrafficMeter;
  readonly received: TrafficMeter;
}

/** Makes channels from connections. One for each server. */
export class ChannelMaker {
  readonly sent: TrafficMeter = new TrafficMeter();
  readonly received: TrafficMeter = new TrafficMeter();
  readonly #shared: Shared;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Text is refused, whatever it contains.
    skipUTF8Validation: true,
    autoPong: false,
    maxPayload: SYNC_MESSAGE_BYTES_MAX,
    maxFragments: MESSAGE_FRAGMENTS_MAX,
    WebSocket: ReportingWebSocket,
  });

  /** `sizeMax` is for all messages that are incomplete, or wait to be read. */
  constructor(
    sizeMax: number,
    greetingSizeMax: number = SYNC_HELLO_SIZE_MAX,
    intake: Intake = INTAKE,
  ) {
    const { sent, received } = this;
    const room = new ByteBudget(sizeMax);
    const greetings = new ByteBudget(GREETINGS_SIZE_MAX);
    const frames = new FrameMaker();
    this.#shared = { greetingSizeMax, room, greetings, intake, frames, sent, received };
  }

  /** Bytes of all messages that are incomplete, or wait to be read. */
  get unreadBytes(): number {
    return this.#shared.room.size + this.#shared.greetings.size;
  }

  /** Undefined if the request is not a valid one for a WebSocket; then it was answered. */
  accept({ incoming, socket, head, remoteAddress }: UpgradeRequest): WebSocketChannel | undefined {
    let made: WebSocketChannel | undefined;
    this.#server.handleUpgrade(incoming, socket, head, (webSocket) => {
      made = new WebSocketChannel(webSocket, socket, this.#shared, networkOf(remoteAddress));
    });
    return made;
  }

  /** Connects to another server. Returns a function that gives up the attempt. */
  dial(options: DialOptions, handlers: DialHandlers<WebSocketChannel>): () => void {
    const { url, tls, headers, timeoutMs } = options;
    const webSocket = new ReportingWebSocket(url, {
      ...tls,
      ...(headers && { headers }),
      perMessageDeflate: false,
      skipUTF8Validation: true,
      autoPong: false,
      maxPayload: SYNC_MESSAGE_BYTES_MAX,
      maxFragments: MESSAGE_FRAGMENTS_MAX,
      handshakeTimeout: timeoutMs,
    });
    let socket: Socket | undefined;
    const fail = (error: Error): void => handlers.failed(error);
    // There may be more than one; the first counts.
    webSocket.on("error", ignore).once("error", fail);
    webSocket.once("upgrade", (response) => {
      ({ socket } = response);
    });
    webSocket.once("open", () => {
      webSocket.off("error", fail);
      if (socket === undefined) return webSocket.terminate();
      handlers.opened(new WebSocketChannel(webSocket, socket, this.#shared, DIALLED));
    });
    return () => webSocket.terminate();
  }
}

export class WebSocketChannel implements Channel, LateReader {
  readonly #webSocket: ReportingWebSocket;
  readonly #socket: Socket;
  readonly #shared: Shared;
  /** This server dialled: then each frame is masked differently. */
  readonly #isMasked: boolean;
  #listener: ChannelListener | undefined;
  #payer: string;
  readonly #scanner = new FrameScanner();
  /** Bytes charged to the budget for what came. */
  #unread = 0;
  /** The part of it that stays charged when the messages of the last chunk are read. */
  #open = 0;
  /** Bytes and pieces that came before the other side is known. */
  #greetingSize = 0;
  #greetingPieces = 0;
  #isKnown = false;
  /** Hands bytes to the library. */
  readonly #deliver: (bytes: Buffer) => void;
  /** Chunks that were not handed on, and how much of the first one was. */
  #chunks: Buffer[] = [];
  #fed = 0;
  #isFeeding = false;
  /** Whether the channel waits in the intake. */
  #isQueued = false;
  /** The content of the last ping; undefined if it was answered. */
  #ping: Buffer | undefined;
  /** Messages that came when there was no time to read them; undefined if there are none. */
  #late: Buffer[] | undefined;
  /** Bytes charged for all of them. */
  #lateSize = 0;
  /** Bytes charged for messages that may be kept: of an unknown side, and while paused. */
  #heardSize = 0;
  /** How many of them were read. */
  #lateRead = 0;
  /** The connection ended while some of them waited. */
  #isGone = false;
  /** The listener wants nothing more for now. */
  #isHeld = false;
  /** Whether `drained` must be called when the queue is empty. */
  #isWaiting = false;
  /** Whatever comes is ignored. */
  #isOver = false;
  /** Nothing is read any more. */
  #isStopped = false;
  /** It was closed, and waits for the other side. */
  #isEnding = false;

  /** `payer` counts in the intake until the other side is known. */
  constructor(webSocket: ReportingWebSocket, socket: Socket, shared: Shared, payer: string) {
    this.#payer = payer;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#shared = shared;
    this.#isMasked = payer === DIALLED;
    webSocket.channel = this;
    webSocket.on("message", onMessage).on("ping", onPing).on("close", onClose);
    // It is followed by `close`, which is enough.
    webSocket.on("error", ignore);
    const [deliver] = socket.listeners("data");
    assert(deliver !== undefined, "a library that reads what comes");
    this.#deliver = (bytes) => deliver.call(socket, bytes);
    socket.removeAllListeners("data");
    socket.on("data", (chunk: Buffer) => this.#arrived(chunk));
    // What came before the end counts, and the library reads nothing after it.
    socket.prependListener("close", () => this.#feedAll());
  }

  get payer(): string {
    return this.#payer;
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  get #room(): ByteBudget {
    return this.#isKnown ? this.#shared.room : this.#shared.greetings;
  }

  /** Call once, before anything else runs. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  /** The other side is known: messages may have their full size, and `owner` pays for them. */
  trust(owner: string = this.#payer): void {
    this.#payer = owner;
    if (this.#isKnown) return;
    const taken = this.#unread + this.#lateSize + this.#heardSize;
    this.#shared.greetings.give(taken);
    this.#isKnown = true;
    this.#heardSize = 0;
    // It was charged before, so it is charged here even beyond the budget.
    this.#room.force(this.#unread + this.#lateSize);
  }

  send(bytes: Uint8Array): void {
    const socket = this.#socket;
    if (this.#webSocket.readyState !== WebSocket.OPEN || !socket.writable) return;
    if (socket.writableLength > SYNC_UNSENT_SIZE_MAX) {
      // Senders have limits of their own; this one is for what they do not count.
      this.cut();
      return;
    }
    this.#write(bytes);
    if (socket.writableLength > 0 && !this.#isWaiting) {
      this.#isWaiting = true;
      // An empty write behind the queue: Node's event does not report less than its water mark.
      socket.write(NOTHING, () => this.#written());
    }
  }

  /** Stops reading for now. */
  pause(): void {
    this.#isHeld = true;
    this.#webSocket.pause();
  }

  resume(): void {
    this.#isHeld = false;
    this.#giveHeard();
    this.#readOn();
  }

  /**
   * Closes after what was sent. Nothing that comes is kept from here on (S63): a little is read and
   * discarded, so that the other side sees the last messages before the connection ends.
   */
  close(): void {
    this.#over();
    this.#webSocket.close(1000);
    if (this.#isEnding) return;
    this.#isEnding = true;
    const socket = this.#socket;
    // The library would keep each incomplete message.
    socket.removeAllListeners("data");
    let left = AFTER_END_SIZE_MAX;
    socket.on("data", ({ length }: Buffer) => {
      left -= length;
      if (left <= 0) socket.pause();
    });
    socket.end();
    if (this.#isStopped) socket.pause();
    else socket.resume();
    this.#linger(LINGERS_MAX, socket.writableLength);
  }

  /** Closes at once, without what was not sent. */
  cut(): void {
    this.#over();
    this.#webSocket.terminate();
  }

  /** Reports that what came is not a valid message. */
  refuse(reason: string): void {
    // Messages before it count.
    while (this.#hasLate) this.#readFirst();
    if (this.#isOver) return;
    this.#over();
    this.#listener?.malformed(reason);
  }

  /** Called by the library's events alone. */
  received(bytes: Buffer, isBinary: boolean): void {
    const size = this.#unread - this.#open;
    this.#unread = this.#open;
    if (this.#isOver || !isBinary || this.#isInTime) {
      this.#heardSize += size;
      if (!this.#isOver) this.#hear(bytes, isBinary);
      this.#giveHeard();
    } else this.#keep(bytes, size);
  }

  /** Called by the library's events alone. */
  pinged(content: Buffer): void {
    // A copy, because it is a part of a chunk. Only the last of several is answered (S62).
    this.#ping = Buffer.from(content);
  }

  /** Called by the intake alone. */
  readLate(): boolean {
    if (this.#hasLate) this.#readFirst();
    else {
      this.#forgetLate();
      this.#feedPiece();
    }
    if (this.#hasLate || this.#mayFeed) return true;
    this.#isQueued = false;
    this.#forgetLate();
    this.#answerPing();
    if (this.#isGone) this.#end();
    else this.#readOn();
    return false;
  }

  /** Called by the library's events alone. */
  closed(): void {
    this.#room.give(this.#unread + this.#heardSize);
    this.#unread = 0;
    this.#open = 0;
    this.#heardSize = 0;
    // Messages that came before count, and are read first.
    if (this.#hasLate) this.#isGone = true;
    else this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#room.give(this.#heardSize);
    this.#heardSize = 0;
    this.#listener?.closed();
    this.#listener = undefined;
  }

  #hear(bytes: Buffer, isBinary: boolean): void {
    this.#shared.received.add(kindOf(bytes), bytes.length);
    if (isBinary) this.#listener?.message(bytes);
    else this.refuse("expected a binary frame, found text");
  }

  #keep(message: Buffer, size: number): void {
    this.#lateSize += size;
    if (this.#late === undefined) {
      this.#late = [];
      this.#lateRead = 0;
      this.#waitInLine();
    }
    this.#late.push(message);
  }

  #readFirst(): void {
    const first = this.#late?.[this.#lateRead++];
    if (first !== undefined) this.#hear(first, true);
  }

  #forgetLate(): void {
    this.#heardSize += this.#lateSize;
    this.#lateSize = 0;
    this.#giveHeard();
    this.#late = undefined;
    this.#lateRead = 0;
  }

  #giveHeard(): void {
    if (!this.#isKnown || this.#isHeld) return;
    this.#room.give(this.#heardSize);
    this.#heardSize = 0;
  }

  /** Discards everything that comes, or waits. */
  #over(): void {
    this.#isOver = true;
    // The intake may still have this channel: it finds nothing left.
    this.#forgetLate();
    this.#chunks = [];
    this.#fed = 0;
  }

  #readOn(): void {
    if (this.#isHeld || this.#isOver || this.#late !== undefined) return;
    if (this.#chunks.length > 0) this.#waitInLine();
    else this.#webSocket.resume();
  }

  get #hasLate(): boolean {
    return this.#late !== undefined && this.#lateRead < this.#late.length;
  }

  /** Whether the library may get more bytes now. */
  get #mayFeed(): boolean {
    return this.#chunks.length > 0 && !this.#isHeld && !this.#isOver && !this.#hasLate;
  }

  /** Whether a message may be read now, and need not wait for others. */
  get #isInTime(): boolean {
    return this.#late === undefined && !this.#isQueued && this.#shared.intake.isOpen();
  }

  /** Queues in the intake: nothing more is received until all that is here was read. */
  #waitInLine(): void {
    this.#webSocket.pause();
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#shared.intake.wait(this);
  }

  /** Hands bytes to the library, while there is time. */
  #feed(): void {
    // A callback has resumed the channel.
    if (this.#isFeeding) return;
    this.#isFeeding = true;
    while (this.#mayFeed && !this.#isQueued && this.#shared.intake.isOpen()) this.#feedPiece();
    this.#isFeeding = false;
    if (this.#mayFeed) this.#waitInLine();
    else if (this.#chunks.length > 0) this.#webSocket.pause();
    if (!this.#isQueued) this.#answerPing();
  }

  #feedPiece(): void {
    const first = this.#chunks[0];
    if (first === undefined) return;
    const end = Math.min(first.length, this.#fed + FEED_SIZE);
    const piece = first.subarray(this.#fed, end);
    this.#fed = end;
    if (end === first.length) {
      this.#chunks.shift();
      this.#fed = 0;
    }
    this.#deliver(piece);
  }

  #feedAll(): void {
    while (this.#chunks.length > 0 && !this.#isOver) this.#feedPiece();
  }

  #answerPing(): void {
    const content = this.#ping;
    this.#ping = undefined;
    const webSocket = this.#webSocket;
    if (content === undefined || webSocket.readyState !== WebSocket.OPEN) return;
    if (webSocket.bufferedAmount <= PONG_UNSENT_MAX) webSocket.pong(content);
  }

  /** Charges what will be kept of a chunk, before the library sees it. */
  #arrived(chunk: Buffer): void {
    if (this.#isOver) return;
    // It stops if the chunk is refused because of its pieces.
    const scanned = this.#scanner.read(chunk, this.#isKnown ? undefined : HELLO_PIECES_MAX);
    const { frames, controls, openFrames, isCleared, isOpen } = scanned;
    const isWhole = scanned.messages > 0;
    const pieces = frames + 1;
    if (!this.#isKnown && this.#isLongGreeting(chunk.length, pieces + controls)) return;
    this.#chunks.push(chunk);
    // The library does not report the end of control frames, and keeps nothing of them.
    if (isCleared && !isWhole) this.#closeOpen();
    if (!isWhole && !isOpen) return this.#feed();
    const cost = chunk.length + pieces * PIECE_COST;
    if (!this.#room.take(cost)) {
      this.#stop();
      this.#over();
      this.#listener?.overfull();
      return;
    }
    this.#unread += cost;
    const left = isOpen ? chunk.length + (openFrames + 1) * PIECE_COST : 0;
    this.#open = isWhole ? left : this.#unread;
    this.#feed();
  }

  #closeOpen(): void {
    this.#room.give(this.#unread);
    this.#unread = 0;
    this.#open = 0;
  }

  /** Whether more came than a greeting needs (S62); then the listener is notified. */
  #isLongGreeting(size: number, pieces: number): boolean {
    const { greetingSizeMax } = this.#shared;
    this.#greetingSize += size;
    this.#greetingPieces += pieces;
    const isLarge = this.#greetingSize > greetingSizeMax;
    if (!isLarge && this.#greetingPieces <= HELLO_PIECES_MAX) return false;
    this.#stop();
    this.refuse(
      isLarge
        ? `expected a hello of at most ${greetingSizeMax} bytes`
        : `expected a hello in at most ${HELLO_PIECES_MAX} pieces`,
    );
    return true;
  }

  /** Cuts the connection if the other side does not close it, or does not take what was sent. */
  #linger(left: number, unsent: number): void {
    const socket = this.#socket;
    const timer = setTimeout(() => {
      const { writableLength } = socket;
      const isTaken = writableLength > 0 && writableLength < unsent;
      if (isTaken && left > 0) this.#linger(left - 1, writableLength);
      else this.#webSocket.terminate();
    }, LINGER_MS_MAX);
    timer.unref();
    socket.once("close", () => clearTimeout(timer));
  }

  #write(bytes: Uint8Array): void {
    const { frames, sent } = this.#shared;
    if (this.#isMasked) {
      sent.add(kindOf(bytes), bytes.length);
      this.#webSocket.send(bytes);
      return;
    }
    const socket = this.#socket;
    const { kind, head, content } = frames.frameOf(bytes);
    sent.add(kind, bytes.length);
    if (content === undefined) socket.write(head);
    else {
      socket.cork();
      socket.write(head);
      socket.write(content);
      socket.uncork();
    }
  }

  /** Reads nothing more: the rest of an incomplete message would be kept. */
  #stop(): void {
    this.#isStopped = true;
    this.#webSocket.pause();
  }

  #written(): void {
    if (this.#socket.writableLength > 0 && !this.#socket.destroyed) {
      this.#socket.write(NOTHING, () => this.#written());
      return;
    }
    this.#isWaiting = false;
    if (!this.#socket.destroyed) this.#listener?.drained();
  }
}

/** Shared by all connections: `this` is the one with the event. */
function onMessage(this: WebSocket, bytes: unknown, isBinary: boolean): void {
  channelOf(this)?.received(bytes as Buffer, isBinary);
}

function onPing(this: WebSocket, bytes: Buffer): void {
  channelOf(this)?.pinged(bytes);
}

function onClose(this: WebSocket): void {
  channelOf(this)?.closed();
}

function ignore(): void {}

function channelOf(webSocket: WebSocket): WebSocketChannel | undefined {
  return webSocket instanceof ReportingWebSocket ? webSocket.channel : undefined;
}
