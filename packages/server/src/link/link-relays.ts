/**
 * Link relays: in a cluster, pass incoming links on to the node that runs the links of their app.
 *
 * The caller has proved the secret here. The other node gets the messages so far with the nonce of
 * this one, and checks the proof again. From then on messages go through unread, in both directions.
 */

import { type ByeCode, encodeMessage } from "@bigpeer/protocol";
import type { ChannelListener } from "../sync/channel-listener.ts";
import type { DialOptions } from "../sync/dial.ts";
import type { ChannelMaker, WebSocketChannel } from "../sync/web-socket.ts";
import type { PassedLink, ProvenLink } from "./incoming-link.ts";

/** Arguments of `bye`: code, message, and after how many milliseconds the caller may return. */
type Bye = readonly [code: ByeCode, message: string, afterMs?: number];

/** The other Big Peer tries again, and then reaches the node that runs the links. */
export const ELSEWHERE: Bye = [
  "busy",
  "another node of the cluster runs the links of this app",
  5_000,
];

const CLOSING: Bye = ["closing", "the server is closing"];

const OVERFULL: Bye = [
  "busy",
  "the messages of all links have taken all memory there is for them",
  1_000,
];

/** With more unsent bytes on one side, the other side is not read. */
const UNSENT_SIZE_MAX: number = 1024 * 1024;

/** Headers of the request with which a node passes a link on. */
const ADDRESS_HEADER = "x-bigpeer-address";
const NONCE_HEADER = "x-bigpeer-nonce";

/** Reads them; undefined if they are not there. */
export function passedLinkOf(headers: {
  readonly [name: string]: string | string[] | undefined;
}): PassedLink | undefined {
  const { [ADDRESS_HEADER]: remoteAddress, [NONCE_HEADER]: nonce } = headers;
  if (typeof remoteAddress !== "string" || typeof nonce !== "string") return undefined;
  return { remoteAddress, nonce: Buffer.from(nonce, "base64") };
}

export class LinkRelays {
  readonly #channels: ChannelMaker;
  readonly #targetOf: (appId: string) => DialOptions | undefined;
  readonly #relays = new Set<LinkRelay>();

  /** `targetOf` says how the node that runs the links of an app is dialled. */
  constructor(channels: ChannelMaker, targetOf: (appId: string) => DialOptions | undefined) {
    this.#channels = channels;
    this.#targetOf = targetOf;
  }

  get count(): number {
    return this.#relays.size;
  }

  pass(proven: ProvenLink): void {
    const target = this.#targetOf(proven.appId);
    const relay = new LinkRelay(proven, target?.url, () => this.#relays.delete(relay));
    this.#relays.add(relay);
    if (target === undefined) relay.end(ELSEWHERE);
    else relay.dial(this.#channels, target);
  }

  /** Ends those to a node that does not run the links any more: one that hangs would not. */
  tick(): void {
    for (const relay of Array.from(this.#relays)) {
      if (this.#targetOf(relay.appId)?.url !== relay.url) relay.end(ELSEWHERE);
    }
  }

  close(): void {
    for (const relay of Array.from(this.#relays)) relay.end(CLOSING);
  }
}

class LinkRelay {
  readonly appId: string;
  /** Of the node that it goes to. */
  readonly url: string | undefined;
  readonly #proven: ProvenLink;
  readonly #caller: WebSocketChannel;
  readonly #onEnded: () => void;
  #node: WebSocketChannel | undefined;
  #giveUp: (() => void) | undefined;
  #isOver = false;

  constructor(proven: ProvenLink, url: string | undefined, onEnded: () => void) {
    this.appId = proven.appId;
    this.url = url;
    this.#proven = proven;
    this.#caller = proven.channel;
    this.#onEnded = onEnded;
    // It has proved the secret, and may send all that a link sends.
    this.#caller.trust();
    this.#caller.listen(this.#listener(this.#caller, () => this.#node));
  }

  dial(channels: ChannelMaker, target: DialOptions): void {
    const { remoteAddress, nonce } = this.#proven;
    const headers = {
      ...target.headers,
      [ADDRESS_HEADER]: remoteAddress,
      [NONCE_HEADER]: Buffer.from(nonce).toString("base64"),
    };
    this.#giveUp = channels.dial(
      { ...target, headers },
      {
        failed: () => this.end(ELSEWHERE),
        opened: (channel) => this.#opened(channel),
      },
    );
  }

  /** Sends `bye` to the caller, and closes both connections. */
  end([code, message, after]: Bye): void {
    if (this.#isOver) return;
    const bye = { t: "bye", code, message, ...(after !== undefined && { after }) } as const;
    this.#caller.send(encodeMessage(bye));
    this.#close();
  }

  #opened(channel: WebSocketChannel): void {
    this.#giveUp = undefined;
    if (this.#isOver) return channel.cut();
    this.#node = channel;
    channel.trust();
    channel.listen(this.#listener(channel, () => this.#caller));
    for (const bytes of this.#proven.heard) channel.send(bytes);
    this.#caller.resume();
  }

  #listener(from: WebSocketChannel, to: () => WebSocketChannel | undefined): ChannelListener {
    return {
      message: (bytes) => {
        const other = to();
        other?.send(bytes);
        if ((other?.queuedBytes ?? 0) > UNSENT_SIZE_MAX) from.pause();
      },
      drained: () => to()?.resume(),
      malformed: (reason) => this.end(["malformed", reason]),
      overfull: () => this.end(OVERFULL),
      closed: () => this.#close(),
    };
  }

  /** What was sent still arrives. */
  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#giveUp?.();
    this.#caller.close();
    this.#node?.close();
    this.#onEnded();
  }
}
