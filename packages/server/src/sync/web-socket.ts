/**
 * WebSocket: from a connection that asks for one, or that is made to another server, to the channel
 * that sync and links speak over.
 *
 * Frames of a server are not masked, so a message has the same bytes on every connection: they are
 * made once and written to the connections themselves, which is a third faster than to have the
 * library make a head for each. It still reads what comes and ends connections. Nothing here has a
 * timer while a connection is open.
 *
 * What comes is charged before the library sees it, and handed to it in small pieces: only while there
 * is time in this pass of the event loop, while somebody wants to hear it, and never after the end.
 */

import type { Socket } from "node:net";
import type { Channel } from "@bigpeer/engine";
import { assert, SYNC_MESSAGE_BYTES_MAX } from "@bigpeer/protocol";
import { WebSocket, WebSocketServer } from "ws";
import { ByteRoom } from "../http/byte-room.ts";
import { networkOf } from "../http/client-address.ts";
import type { UpgradeRequest } from "../http/http-server.ts";
import { INTAKE, type Intake, type LateReader } from "../intake.ts";
import {
  AFTER_END_SIZE_MAX,
  GREETINGS_SIZE_MAX,
  HELLO_PIECES_MAX,
  LINGER_MS_MAX,
  MESSAGE_FRAGMENTS_MAX,
  SYNC_HELLO_SIZE_MAX,
  SYNC_UNSENT_SIZE_MAX,
} from "../limits.ts";
import type { ChannelListener } from "./channel-listener.ts";
import type { DialHandlers, DialOptions } from "./dial.ts";
import { FrameMaker } from "./frame-maker.ts";
import { FrameScanner } from "./frame-scanner.ts";
import { kindOf, TrafficMeter } from "./traffic.ts";

/** Pongs are left out above it: nobody reads them. */
const PONG_UNSENT_MAX: number = 64 * 1024;

/** Codes with which the library ends a connection whose frames it cannot read. */
const BROKEN_REASONS: ReadonlyMap<number, string> = new Map([
  [1002, "expected frames of WebSocket"],
  [1007, "expected frames of WebSocket"],
  [1008, `expected messages of at most ${MESSAGE_FRAGMENTS_MAX} fragments`],
  [1009, `expected messages of at most ${SYNC_MESSAGE_BYTES_MAX} bytes`],
]);

/** What a chunk of a connection, and a fragment of a message, cost in bytes beside their own. */
export const PIECE_COST = 256;

/** What the library is given at once: it reads all of it, whatever happens meanwhile. */
const FEED_SIZE = 4_096;

/** How often a connection that is over may be found with less to send, before it is cut. */
const LINGERS_MAX = 15;

const NOTHING = new Uint8Array();

/** Who pays for what comes of servers that we have dialled; no network has such a name. */
const DIALLED = "dialled";

/** A connection of the library that says why it is ended before it ends. */
class TellingWebSocket extends WebSocket {
  channel: WebSocketChannel | undefined;

  override close(code?: number, reason?: string | Buffer): void {
    const broken = code === undefined ? undefined : BROKEN_REASONS.get(code);
    if (broken !== undefined) this.channel?.refuse(broken);
    super.close(code, reason);
  }
}

/** What all channels of a server have together. */
interface Shared {
  /** What one may have sent before it is known. */
  readonly greetingSizeMax: number;
  /** For what comes of those who are known, and of all others. */
  readonly room: ByteRoom;
  readonly greetings: ByteRoom;
  readonly intake: Intake;
  readonly frames: FrameMaker;
  readonly sent: TrafficMeter;
  readonly received: TrafficMeter;
}

/** Makes channels of connections. One for each server. */
export class ChannelMaker {
  readonly sent: TrafficMeter = new TrafficMeter();
  readonly received: TrafficMeter = new TrafficMeter();
  readonly #shared: Shared;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Text is refused, whatever is in it.
    skipUTF8Validation: true,
    autoPong: false,
    maxPayload: SYNC_MESSAGE_BYTES_MAX,
    maxFragments: MESSAGE_FRAGMENTS_MAX,
    WebSocket: TellingWebSocket,
  });

  /** `sizeMax` is for all messages of which not all has come, or that wait to be read. */
  constructor(
    sizeMax: number,
    greetingSizeMax: number = SYNC_HELLO_SIZE_MAX,
    intake: Intake = INTAKE,
  ) {
    const { sent, received } = this;
    const room = new ByteRoom(sizeMax);
    const greetings = new ByteRoom(GREETINGS_SIZE_MAX);
    const frames = new FrameMaker();
    this.#shared = { greetingSizeMax, room, greetings, intake, frames, sent, received };
  }

  /** What messages of all connections take that are not whole, or wait to be read. */
  get unreadBytes(): number {
    return this.#shared.room.size + this.#shared.greetings.size;
  }

  /** Undefined when the request is none of WebSocket; then it was answered. */
  accept({ incoming, socket, head, remoteAddress }: UpgradeRequest): WebSocketChannel | undefined {
    let made: WebSocketChannel | undefined;
    this.#server.handleUpgrade(incoming, socket, head, (webSocket) => {
      made = new WebSocketChannel(webSocket, socket, this.#shared, networkOf(remoteAddress));
    });
    return made;
  }

  /** Connects to another server. Returns the way to give it up before it has. */
  dial({ url, tls, timeoutMs }: DialOptions, handlers: DialHandlers): () => void {
    const webSocket = new TellingWebSocket(url, {
      ...tls,
      perMessageDeflate: false,
      skipUTF8Validation: true,
      autoPong: false,
      maxPayload: SYNC_MESSAGE_BYTES_MAX,
      maxFragments: MESSAGE_FRAGMENTS_MAX,
      handshakeTimeout: timeoutMs,
    });
    let socket: Socket | undefined;
    const fail = (error: Error): void => handlers.failed(error);
    // There may be more than one; the first says all.
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
  readonly #webSocket: TellingWebSocket;
  readonly #socket: Socket;
  readonly #shared: Shared;
  /** We have dialled: then frames are masked, each in its own way. */
  readonly #isMasked: boolean;
  #listener: ChannelListener | undefined;
  #payer: string;
  readonly #scanner = new FrameScanner();
  /** What was taken of the room for what came. */
  #unread = 0;
  /** The part of it that stays taken when the messages of the last chunk are read. */
  #open = 0;
  /** All that came before it is known who that is, in bytes and in pieces. */
  #greetingSize = 0;
  #greetingPieces = 0;
  #isKnown = false;
  /** Hands bytes to the library. */
  readonly #deliver: (bytes: Buffer) => void;
  /** Chunks that came and were not handed on, and how much of the first of them was. */
  #chunks: Buffer[] = [];
  #fed = 0;
  #isFeeding = false;
  /** Whether the intake will call. */
  #isQueued = false;
  /** What the last ping had in it; undefined when it was answered. */
  #ping: Buffer | undefined;
  /** Messages that came when there was no time to read them; undefined when there are none. */
  #late: Buffer[] | undefined;
  /** What all of them have taken of the room. */
  #lateSize = 0;
  /** What messages have taken that may be kept: before it is known who that is, and while it is paused. */
  #heardSize = 0;
  /** How many of them were read. */
  #lateRead = 0;
  /** The connection was gone while some of them waited. */
  #isGone = false;
  /** Whoever listens wants nothing more for now. */
  #isHeld = false;
  /** Somebody waits to be told that all is out. */
  #isWaiting = false;
  /** Nothing that comes counts any more. */
  #isOver = false;
  /** Nothing is read any more. */
  #isStopped = false;
  /** It was closed, and the other side is waited for. */
  #isEnding = false;

  /** `payer` is who takes part in the intake until it is known who that is. */
  constructor(webSocket: TellingWebSocket, socket: Socket, shared: Shared, payer: string) {
    this.#payer = payer;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#shared = shared;
    this.#isMasked = payer === DIALLED;
    webSocket.channel = this;
    webSocket.on("message", onMessage).on("ping", onPing).on("close", onClose);
    // It is followed by `close`, which is all that there is to know.
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

  get #room(): ByteRoom {
    return this.#isKnown ? this.#shared.room : this.#shared.greetings;
  }

  /** To be called once, before anything else gets a turn. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  /** From now on messages may have their full size, and `owner` pays for them. */
  trust(owner: string = this.#payer): void {
    this.#payer = owner;
    if (this.#isKnown) return;
    const taken = this.#unread + this.#lateSize + this.#heardSize;
    this.#shared.greetings.give(taken);
    this.#isKnown = true;
    this.#heardSize = 0;
    // It was there before: so it is taken whether there is room or not.
    this.#room.force(this.#unread + this.#lateSize);
  }

  send(bytes: Uint8Array): void {
    const socket = this.#socket;
    if (this.#webSocket.readyState !== WebSocket.OPEN || !socket.writable) return;
    if (socket.writableLength > SYNC_UNSENT_SIZE_MAX) {
      // Whoever sends has bounds of his own; this one is for what they do not know of.
      this.cut();
      return;
    }
    this.#write(bytes);
    if (socket.writableLength > 0 && !this.#isWaiting) {
      this.#isWaiting = true;
      // Nothing, behind all that waits. Node's own event does not tell of less than its water mark.
      socket.write(NOTHING, () => this.#written());
    }
  }

  /** Reads nothing more for now. */
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
   * What was sent goes out. Nothing that comes is kept from here on: a little is read and forgotten,
   * so that the other side sees what it was sent before the connection ends.
   */
  close(): void {
    this.#over();
    this.#webSocket.close(1000);
    if (this.#isEnding) return;
    this.#isEnding = true;
    const socket = this.#socket;
    // The library would keep each message until it is whole.
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

  /** Ends it at once, whatever was not sent. */
  cut(): void {
    this.#over();
    this.#webSocket.terminate();
  }

  /** What came is no message. */
  refuse(reason: string): void {
    // What came before it counts.
    while (this.#hasLate) this.#readFirst();
    if (this.#isOver) return;
    this.#over();
    this.#listener?.malformed(reason);
  }

  /** For the library's events alone. */
  received(bytes: Buffer, isBinary: boolean): void {
    const size = this.#unread - this.#open;
    this.#unread = this.#open;
    if (this.#isOver || !isBinary || this.#isInTime) {
      this.#heardSize += size;
      if (!this.#isOver) this.#hear(bytes, isBinary);
      this.#giveHeard();
    } else this.#keep(bytes, size);
  }

  /** For the library's events alone. */
  pinged(content: Buffer): void {
    // A copy: it is a part of a chunk. Of several only the last need be answered.
    this.#ping = Buffer.from(content);
  }

  /** For the intake alone. */
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

  /** For the library's events alone. */
  closed(): void {
    this.#room.give(this.#unread + this.#heardSize);
    this.#unread = 0;
    this.#open = 0;
    this.#heardSize = 0;
    // What came before counts, and comes first.
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

  /** Nothing that comes, or waits, counts any more. */
  #over(): void {
    this.#isOver = true;
    // The intake may still have it: that there is nothing is found there.
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

  /** Whether the library may be given more now. */
  get #mayFeed(): boolean {
    return this.#chunks.length > 0 && !this.#isHeld && !this.#isOver && !this.#hasLate;
  }

  /** Whether a message may be read now, and need not wait for others. */
  get #isInTime(): boolean {
    return this.#late === undefined && !this.#isQueued && this.#shared.intake.isOpen();
  }

  /** Nothing more is received until the intake has called, and all that is here was read. */
  #waitInLine(): void {
    this.#webSocket.pause();
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#shared.intake.wait(this);
  }

  /** Hands on what came, while there is time. */
  #feed(): void {
    // Something that was called has resumed it.
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
    // One that is refused because of its pieces is read no more.
    const scanned = this.#scanner.read(chunk, this.#isKnown ? undefined : HELLO_PIECES_MAX);
    const { frames, controls, openFrames, isCleared, isOpen } = scanned;
    const isWhole = scanned.messages > 0;
    const pieces = frames + 1;
    if (!this.#isKnown && this.#isLongGreeting(chunk.length, pieces + controls)) return;
    this.#chunks.push(chunk);
    // Control frames end without a word of the library, and nothing of them is kept.
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

  /** Whether more came than a greeting needs; then that is told. */
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

  /** Cuts the connection when its other side does not close it, or take what was sent. */
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

  /** Reads nothing more: the rest of what has begun would be kept until it is whole. */
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

/** The same for all connections: `this` is the one that it happened on. */
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
  return webSocket instanceof TellingWebSocket ? webSocket.channel : undefined;
}
