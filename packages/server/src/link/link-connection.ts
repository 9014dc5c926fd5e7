/**
 * Link connection: one connection to another Big Peer, dialled or accepted, from its opening to the
 * engine's link on it, and to its end. While it lasts, its app is in use.
 *
 * opening ──app is open──> running ──> over
 */

import type { Channel } from "@bigpeer/engine";
import type { FetchOutcome, Link, LinkEvent, LinkStatus } from "@bigpeer/engine/link";
import { type ByeCode, encodeMessage } from "@bigpeer/protocol";
import type { AppUse } from "../apps/open-apps.ts";
import { LINGER_MS_MAX } from "../limits/limits.ts";
import type { QueriesByCollection } from "../registry/replications.ts";
import type { ChannelListener } from "../sync/channel-listener.ts";
import type { WebSocketChannel } from "../sync/web-socket.ts";
import type { LinkEnd } from "./link-dialler.ts";
import type { FilesLink } from "./link-files.ts";

export interface LinkConnectionHost {
  /** Both sides have proved that they know the secret. */
  linked(connection: LinkConnection): void;
  /** Called once, when it has ended. */
  ended(connection: LinkConnection, end: LinkEnd): void;
  /** Called with unexpected errors, and with those that an operator must see. */
  failed(connection: LinkConnection, error: unknown): void;
}

export interface LinkConnectionOptions {
  readonly channel: WebSocketChannel;
  readonly side: "dial" | "accept";
  /** As configured; undefined for an accepted connection. */
  readonly address?: string;
  /** Of the other end, as far as it is known. */
  readonly remoteAddress: string;
  readonly host: LinkConnectionHost;
  /** A monotonic clock, and milliseconds since 1970. */
  readonly elapsed: () => number;
  readonly now: () => number;
}

/** What a link pulls. */
export interface Pulled {
  readonly queries: QueriesByCollection;
  /** Whether contents of attachments come with the documents, or on demand. */
  readonly isEager: boolean;
}

/** Creates the engine's link on a channel. */
export type MakeLink = (channel: Channel, onEvent: (event: LinkEvent) => void) => Link;

const NOTHING_PULLED: Pulled = { queries: {}, isEager: false };

const NO_COLLECTIONS: ReadonlySet<string> = new Set();

const LOST: LinkEnd = { code: "lost", message: "the connection ended without a word" };

export class LinkConnection implements Channel, ChannelListener, FilesLink {
  readonly side: "dial" | "accept";
  readonly address: string | undefined;
  readonly remoteAddress: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly #options: LinkConnectionOptions;
  readonly #channel: WebSocketChannel;
  #phase: "opening" | "running" | "over" = "opening";
  /** Messages that arrived before there was a link. */
  #early: Uint8Array[] = [];
  #link: Link | undefined;
  #use: AppUse | undefined;
  #partner: string | undefined;
  #pulled: Pulled = NOTHING_PULLED;
  #linkedMs = 0;
  #end: LinkEnd = LOST;
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #released: Promise<void> = Promise.resolve();

  constructor(options: LinkConnectionOptions) {
    const { channel, side, address, remoteAddress } = options;
    this.#options = options;
    this.#channel = channel;
    this.side = side;
    this.address = address;
    this.remoteAddress = remoteAddress;
    this.sinceMs = options.now();
    channel.listen(this);
    channel.pause();
    // An accepted connection has proved the secret, and may send all that a link sends.
    if (side === "accept") channel.trust();
  }

  /** The history of the other side, when both have proved the secret. */
  get partner(): string | undefined {
    return this.#partner;
  }

  get isLinked(): boolean {
    return this.#partner !== undefined && this.#phase === "running";
  }

  /** When that was, on the monotonic clock. */
  get linkedMs(): number {
    return this.#linkedMs;
  }

  /** Undefined until there is a link. */
  get ownHistory(): string | undefined {
    return this.#use?.app.store.identity.historyId;
  }

  /** Undefined until there is a link. */
  get status(): LinkStatus | undefined {
    return this.#link?.status();
  }

  /** After its end: resolves when the app is no longer needed. */
  get released(): Promise<void> {
    return this.#released;
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  /** The app is open: creates the link, which first gets the messages received before. */
  begin(use: AppUse, heard: readonly Uint8Array[], makeLink: MakeLink): void {
    // The connection may have ended meanwhile, or the server closes.
    if (this.#phase !== "opening") return use.release();
    this.#phase = "running";
    this.#use = use;
    const link = makeLink(this, (event) => this.#happened(event));
    this.#link = link;
    const early = [...heard, ...this.#early];
    this.#early = [];
    for (const bytes of early) this.#hear(link, bytes);
    this.#channel.resume();
  }

  /** Sets what is pulled, also before there is a link. */
  configure(pulled: Pulled): void {
    this.#pulled = pulled;
    this.#link?.configure(pulled.queries);
  }

  get pulled(): Pulled {
    return this.#pulled;
  }

  get isEager(): boolean {
    return this.#pulled.isEager;
  }

  get isPulling(): boolean {
    return Object.keys(this.#pulled.queries).length > 0;
  }

  get fetchingNow(): string | undefined {
    return this.#link?.fetchingNow;
  }

  get servedCollections(): ReadonlySet<string> {
    return this.#link?.servedCollections ?? NO_COLLECTIONS;
  }

  isFetching(id: string): boolean {
    return this.#link?.isFetching(id) ?? false;
  }

  fetch(id: string): Promise<FetchOutcome> {
    return this.#link?.fetch(id) ?? Promise.resolve("over");
  }

  refer(ids: readonly string[]): void {
    this.#link?.refer(ids);
  }

  tick(): void {
    this.#link?.tick();
  }

  /** Ends it in order, with `bye`. */
  end(code: ByeCode, message: string, afterMs?: number): void {
    if (this.#phase === "over") return;
    this.#end = { code, message, afterMs };
    if (this.#link !== undefined) {
      void this.#link.close(code, message, afterMs);
      return;
    }
    const after = afterMs === undefined ? {} : { after: afterMs };
    this.send(encodeMessage({ t: "bye", code, message, ...after }));
    this.close();
  }

  /** Ends it at once. */
  cut(): void {
    this.#channel.cut();
  }

  send(bytes: Uint8Array): void {
    if (this.#phase !== "over") this.#channel.send(bytes);
  }

  /** The link has ended. Queued messages are still sent. */
  close(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#channel.close();
    // The other side may never close its own.
    this.#timer = setTimeout(() => this.#channel.cut(), LINGER_MS_MAX);
    this.#timer.unref();
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#channel.pause();
    else this.#channel.resume();
  }

  message(bytes: Uint8Array): void {
    if (this.#phase === "opening") this.#early.push(bytes);
    else if (this.#phase === "running" && this.#link !== undefined) this.#hear(this.#link, bytes);
  }

  malformed(reason: string): void {
    this.end("malformed", reason);
  }

  overfull(): void {
    this.end("busy", "the messages of all links have taken all memory there is for them", 1_000);
  }

  drained(): void {
    if (this.#phase === "running") this.#link?.drained();
  }

  closed(): void {
    this.#phase = "over";
    clearTimeout(this.#timer);
    this.#link?.closed();
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#released = this.#release();
    this.#options.host.ended(this, this.#end);
  }

  /** A side that has proved the secret may send all that a link sends. */
  #hear(link: Link, bytes: Uint8Array): void {
    link.receive(bytes);
    if (link.isProven) this.#channel.trust();
  }

  /** Keeps the app in use until what came is merged. Never rejects. */
  async #release(): Promise<void> {
    const use = this.#use;
    await this.#link?.close("closing", "the connection is over");
    use?.release();
  }

  #happened(event: LinkEvent): void {
    switch (event.kind) {
      case "linked":
        this.#partner = event.partner;
        this.#linkedMs = this.#options.elapsed();
        return this.#options.host.linked(this);
      case "ended":
        this.#end = { code: event.code, message: event.message, afterMs: event.after };
        return;
      case "fault":
        return this.#options.host.failed(this, event.error);
    }
  }
}
