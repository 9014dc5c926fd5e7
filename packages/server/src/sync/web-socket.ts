/**
 * WebSocket: from a connection that asks for one, or that is made to another server, to the channel
 * that sync and links speak over.
 *
 * Frames of a server are not masked, so a message has the same bytes on every connection: they are
 * made once and written to the connections themselves, which is a third faster than to have the
 * library make a head for each. It still reads what comes, answers pings and ends connections. Nothing
 * here has a timer while a connection is open.
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import type { Channel } from "@bigpeer/engine";
import { SYNC_MESSAGE_BYTES_MAX } from "@bigpeer/protocol";
import { WebSocket, WebSocketServer } from "ws";
import { ByteRoom } from "../http/byte-room.ts";
import { LINGER_MS_MAX, SYNC_HELLO_SIZE_MAX, SYNC_UNSENT_SIZE_MAX } from "../limits.ts";
import { Intake, type LateReader } from "./intake.ts";
import { kindOf, TrafficMeter } from "./traffic.ts";

/** Who is told what happens on a connection. */
export interface ChannelListener {
  message(bytes: Uint8Array): void;
  /** What came is no message: nothing more is read. */
  malformed(reason: string): void;
  /** Too much came at once, of all connections together: nothing more of this one is read. */
  overfull(): void;
  /** All that was sent is out, and it was not before. */
  drained(): void;
  /** Once, at the end. */
  closed(): void;
}

/** Above it the head and the content of a frame are written as two: a copy would cost more. */
const JOINED_MAX: number = 64 * 1024;

/** Pongs are left out above it: nobody reads them. */
const PONG_UNSENT_MAX: number = 64 * 1024;

/** Codes with which the library ends a connection whose frames it cannot read. */
const BROKEN_REASONS: ReadonlyMap<number, string> = new Map([
  [1002, "expected frames of WebSocket"],
  [1007, "expected frames of WebSocket"],
  [1009, `expected messages of at most ${SYNC_MESSAGE_BYTES_MAX} bytes`],
]);

/** Two bytes and the mask of a client. */
const CONTROL_HEAD_SIZE = 6;

const NOTHING = new Uint8Array();

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
  readonly room: ByteRoom;
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
    WebSocket: TellingWebSocket,
  });

  /** `sizeMax` is for all messages of which not all has come, or that wait to be read. */
  constructor(
    sizeMax: number,
    greetingSizeMax: number = SYNC_HELLO_SIZE_MAX,
    intake: Intake = new Intake(),
  ) {
    const { sent, received } = this;
    const room = new ByteRoom(sizeMax);
    this.#shared = { greetingSizeMax, room, intake, frames: new FrameMaker(), sent, received };
  }

  /** Undefined when the request is none of WebSocket; then it was answered. */
  accept(request: IncomingMessage, socket: Socket, head: Buffer): WebSocketChannel | undefined {
    let made: WebSocketChannel | undefined;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      made = new WebSocketChannel(webSocket, socket, this.#shared);
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
      handlers.opened(new WebSocketChannel(webSocket, socket, this.#shared, true));
    });
    return () => webSocket.terminate();
  }
}

export interface DialOptions {
  /** `ws` or `wss`. */
  readonly url: string;
  /** Own certificate, and who must have signed that of the other. */
  readonly tls?: Pick<TlsOptions, "cert" | "key" | "ca" | "minVersion">;
  readonly timeoutMs: number;
}

/** One of them is called, once. */
export interface DialHandlers {
  opened(channel: WebSocketChannel): void;
  failed(error: Error): void;
}

/** A message that waits to be read, and what it has taken of the room. */
interface LateMessage {
  readonly bytes: Buffer;
  readonly size: number;
}

export class WebSocketChannel implements Channel, LateReader {
  readonly #webSocket: TellingWebSocket;
  readonly #socket: Socket;
  readonly #shared: Shared;
  /** We have dialled: then frames are masked, each in its own way. */
  readonly #isMasked: boolean;
  #listener: ChannelListener | undefined;
  /** What came since the last whole message. */
  #unread = 0;
  #isKnown = false;
  /** Messages that came when there was no time to read them; undefined when there are none. */
  #late: LateMessage[] | undefined;
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

  constructor(webSocket: TellingWebSocket, socket: Socket, shared: Shared, isMasked = false) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#shared = shared;
    this.#isMasked = isMasked;
    webSocket.channel = this;
    webSocket.on("message", onMessage).on("ping", onPing).on("pong", onPong).on("close", onClose);
    // It is followed by `close`, which is all that there is to know.
    webSocket.on("error", ignore);
    // Before the library sees it: a message that is whole gives back what it had taken.
    socket.prependListener("data", (chunk: Buffer) => this.#arrived(chunk.length));
  }

  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  /** To be called once, before anything else gets a turn. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  /** From now on messages may have their full size. */
  trust(): void {
    this.#isKnown = true;
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
    this.#readOn();
  }

  close(): void {
    this.#over();
    this.#webSocket.close(1000);
    // Then the end of the other side is not seen either.
    if (this.#isStopped) setTimeout(() => this.#webSocket.terminate(), LINGER_MS_MAX).unref();
    else this.#webSocket.resume();
  }

  /** Ends it at once, whatever was not sent. */
  cut(): void {
    this.#over();
    this.#webSocket.terminate();
  }

  /** What came is no message. */
  refuse(reason: string): void {
    // What came before it counts.
    while (this.#late !== undefined && this.#lateRead < this.#late.length) this.#readFirst();
    if (this.#isOver) return;
    this.#over();
    this.#listener?.malformed(reason);
  }

  /** For the library's events alone. */
  received(bytes: Buffer, isBinary: boolean): void {
    const size = this.#unread;
    this.#unread = 0;
    if (this.#isOver || !isBinary || (this.#late === undefined && this.#shared.intake.isOpen())) {
      this.#shared.room.give(size);
      if (!this.#isOver) this.#hear(bytes, isBinary);
    } else this.#keep({ bytes, size });
  }

  /** For the intake alone. */
  readLate(): boolean {
    this.#readFirst();
    if (this.#late !== undefined && this.#lateRead < this.#late.length) return true;
    this.#late = undefined;
    if (this.#isGone) this.#end();
    else this.#readOn();
    return false;
  }

  /** For the library's events alone: a control frame with so much content, which is no message. */
  passed(size: number): void {
    const taken = Math.min(this.#unread, size + CONTROL_HEAD_SIZE);
    this.#shared.room.give(taken);
    this.#unread -= taken;
  }

  /** For the library's events alone. */
  closed(): void {
    this.#shared.room.give(this.#unread);
    this.#unread = 0;
    // What came before counts, and comes first.
    if (this.#late === undefined) this.#end();
    else this.#isGone = true;
  }

  #end(): void {
    this.#isOver = true;
    this.#listener?.closed();
    this.#listener = undefined;
  }

  #hear(bytes: Buffer, isBinary: boolean): void {
    this.#shared.received.add(kindOf(bytes), bytes.length);
    if (isBinary) this.#listener?.message(bytes);
    else this.refuse("expected a binary frame, found text");
  }

  #keep(message: LateMessage): void {
    if (this.#late === undefined) {
      this.#late = [];
      this.#lateRead = 0;
      this.#webSocket.pause();
      this.#shared.intake.wait(this);
    }
    this.#late.push(message);
  }

  #readFirst(): void {
    const first = this.#late?.[this.#lateRead++];
    if (first === undefined) return;
    this.#shared.room.give(first.size);
    this.#hear(first.bytes, true);
  }

  /** Nothing that comes, or waits, counts any more. */
  #over(): void {
    this.#isOver = true;
    for (const { size } of this.#late?.slice(this.#lateRead) ?? []) this.#shared.room.give(size);
    // The intake still has it: that it is empty is found there.
    if (this.#late !== undefined) this.#late = [];
    this.#lateRead = 0;
  }

  #readOn(): void {
    const isWanted = !this.#isHeld && !this.#isOver && this.#late === undefined;
    if (isWanted) this.#webSocket.resume();
  }

  #arrived(size: number): void {
    if (this.#isOver) return;
    const { greetingSizeMax } = this.#shared;
    if (!this.#isKnown && this.#unread + size > greetingSizeMax) {
      this.#stop();
      this.refuse(`expected a hello of at most ${greetingSizeMax} bytes`);
    } else if (this.#shared.room.take(size)) this.#unread += size;
    else {
      this.#stop();
      this.#over();
      this.#listener?.overfull();
    }
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
  channelOf(this)?.passed(bytes.length);
  if (this.bufferedAmount <= PONG_UNSENT_MAX) this.pong(bytes);
}

function onPong(this: WebSocket, bytes: Buffer): void {
  channelOf(this)?.passed(bytes.length);
}

function onClose(this: WebSocket): void {
  channelOf(this)?.closed();
}

function ignore(): void {}

function channelOf(webSocket: WebSocket): WebSocketChannel | undefined {
  return webSocket instanceof TellingWebSocket ? webSocket.channel : undefined;
}

/** FIN and the opcode of a binary frame. */
const BINARY_FRAME = 0x82;

interface Frame {
  readonly kind: string;
  /** All of it, unless there is content beside it. */
  readonly head: Buffer;
  readonly content: Uint8Array | undefined;
}

/** Remembers what it made last: many connections get the same message, one after the other. */
class FrameMaker {
  #bytes: Uint8Array | undefined;
  #frame: Frame | undefined;

  frameOf(bytes: Uint8Array): Frame {
    if (this.#frame !== undefined && bytes === this.#bytes) return this.#frame;
    const kind = kindOf(bytes);
    const head = frameHead(bytes.length);
    if (bytes.length > JOINED_MAX) return { kind, head, content: bytes };
    this.#bytes = bytes;
    this.#frame = { kind, head: Buffer.concat([head, bytes]), content: undefined };
    return this.#frame;
  }
}

/** RFC 6455, 5.2: one byte for the kind, then the length in 1, 3 or 9 bytes. */
function frameHead(length: number): Buffer {
  if (length < 126) return Buffer.of(BINARY_FRAME, length);
  if (length < 65_536) return Buffer.of(BINARY_FRAME, 126, length >> 8, length & 0xff);
  const head = Buffer.alloc(10);
  head[0] = BINARY_FRAME;
  head[1] = 127;
  // Lengths end long before 48 bits do.
  head.writeUIntBE(length, 4, 6);
  return head;
}
