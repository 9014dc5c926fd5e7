/**
 * Link: a connection between this store and one of another Big Peer. It brings together the machine
 * (link-session.ts), the streams that the other side follows here, and the target that merges what
 * this side follows there.
 *
 * Whoever owns the connection tells what comes in and when it is gone, and calls `tick` about once a
 * second. What goes wrong ends this link alone.
 */

import {
  type ByeCode,
  decodeLinkMessageInTurns,
  encodeMessage,
  type LinkMessage,
  PeerError,
  type Site,
  unreachable,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import { noteServerSites, serverSites } from "../store/server-sites.ts";
import type { Store } from "../store/store.ts";
import { entryCount } from "../sync/frame.ts";
import type { SessionStreams, StreamSession } from "../sync/session-streams.ts";
import type { Streams } from "../sync/streams.ts";
import { attachmentsOf } from "./link-batch.ts";
import { type FetchOutcome, type LinkAttachments, LinkContents } from "./link-contents.ts";
import type { LinkSide } from "./link-proof.ts";
import { listQueries, type QueriesByCollection, statementOf } from "./link-query.ts";
import { linkStep, newLink } from "./link-session.ts";
import {
  LINK_LIMITS,
  type LinkAction,
  type LinkLimits,
  type LinkMoment,
  type LinkSessionEvent,
  type LinkState,
  type StreamMessage,
  type WantedQuery,
} from "./link-state.ts";
import {
  type LinkFault,
  type LinkStatus,
  lagOf,
  statusOf,
  subscriptionsOf,
} from "./link-status.ts";
import { LinkTarget, type LinkTargetLimits, type TargetEvent } from "./link-target.ts";

export interface LinkOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  /** Those of the app's sync server, so that rounds are shared. */
  readonly streams: Streams;
  readonly channel: Channel;
  /** Who has dialled: this side or the other. */
  readonly side: LinkSide;
  readonly queries: QueriesByCollection;
  /** HMAC-SHA-256 with the replication secret; undefined where there is none. */
  readonly hmac: (bytes: Uint8Array) => Uint8Array | undefined;
  /** What this side has said in its greeting, where it was said before the link was made. */
  readonly nonce?: Uint8Array;
  /** Left out where nothing is kept: then contents are neither fetched nor given. */
  readonly attachments?: LinkAttachments;
  readonly limits?: Partial<LinkLimits & LinkTargetLimits>;
  readonly onEvent: (event: LinkEvent) => void;
}

export type LinkEvent =
  /** Both sides know each other; `partner` is the history of the other store. */
  | { readonly kind: "linked"; readonly partner: string }
  /** It is over, and who says why: this side or the other. */
  | {
      readonly kind: "ended";
      readonly code: ByeCode;
      readonly message: string;
      readonly after?: number;
    }
  /** Something that nobody expected. */
  | { readonly kind: "fault"; readonly error: unknown };

type ActionOf<K extends LinkAction["kind"]> = Extract<LinkAction, { kind: K }>;

const NONCE_BYTES = 32;

/** When to come back after something failed here. */
const BUSY_AFTER_MS = 1000;

export class Link implements StreamSession {
  readonly #options: LinkOptions;
  readonly #sinceMs: number;
  #state: LinkState;
  /** Both undefined before it is linked. */
  #streams: SessionStreams | undefined;
  #target: LinkTarget | undefined;
  readonly #contents: LinkContents | undefined;
  #released: Promise<void> = Promise.resolve();
  #fault: LinkFault | undefined;
  /** What came behind a message that takes long to read, while it does. */
  #unread: Uint8Array[] | undefined;
  #isHeld = false;
  #heardMs: number | undefined;
  #lagSinceMs: number | undefined;
  #servedUpTo: number | undefined;
  #pulledBytes = 0;
  #sentBytes = 0;
  #knownSites: readonly Site[] = [];
  /** The transaction as of which they are known. */
  #sitesTxn: number | undefined;
  readonly #served = { documents: 0, bytes: 0 };
  /** Everybody who follows may read everything. */
  readonly authority: undefined = undefined;

  constructor(options: LinkOptions) {
    const { store, platform, appId: app, side, nonce, attachments, limits } = options;
    this.#options = options;
    this.#sinceMs = platform.now();
    const facts = {
      side,
      app,
      history: store.identity.historyId,
      nonce: nonce ?? platform.random(NONCE_BYTES),
      sites: this.#sites(),
      limits: { ...LINK_LIMITS, ...limits },
    };
    this.#contents =
      attachments &&
      new LinkContents(
        attachments,
        (message) => this.#say(message),
        (error) => this.#tellFault(error),
      );
    const wanted = this.#wantedOf(options.queries);
    this.#state = newLink(facts, wanted, this.#now(), nonce !== undefined);
    this.#happen({ kind: "opened" });
  }

  receive(bytes: Uint8Array): void {
    this.#heardMs = this.#options.platform.now();
    if (this.#unread !== undefined) this.#unread.push(bytes);
    else this.#read(bytes);
  }

  #read(bytes: Uint8Array): void {
    const turns = decodeLinkMessageInTurns(bytes);
    try {
      const { done, value: message } = turns.next();
      if (done === true) this.#happen({ kind: "message", message, size: bytes.length });
      else void this.#readOn(turns, bytes.length);
    } catch (error) {
      this.#misread(error);
    }
  }

  /** One that takes long. What comes behind it waits, and no more of it is taken meanwhile. Never rejects. */
  async #readOn(turns: Generator<void, LinkMessage>, size: number): Promise<void> {
    this.#unread = [];
    this.#updateHold();
    try {
      while (this.#state.phase !== "closed") {
        await this.#options.platform.pause();
        const { done, value: message } = turns.next();
        if (done !== true) continue;
        this.#happen({ kind: "message", message, size });
        break;
      }
    } catch (error) {
      this.#misread(error);
    }
    this.#readRest();
  }

  #readRest(): void {
    const rest = this.#unread ?? [];
    this.#unread = undefined;
    this.#updateHold();
    for (const bytes of rest) {
      if (this.#unread === undefined) this.#read(bytes);
      else (this.#unread as Uint8Array[]).push(bytes);
    }
  }

  #misread(error: unknown): void {
    if (!(error instanceof PeerError)) return this.#fail(error);
    this.#happen({ kind: "garbled", reason: error.message });
  }

  /** Nothing is taken from the connection while a message is read, or the target has enough. */
  #updateHold(): void {
    const isOpen = this.#state.phase !== "closed";
    const isHeld = isOpen && (this.#unread !== undefined || this.#target?.isFull === true);
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#options.channel.hold?.(isHeld);
  }

  /** Whether the other side has proved that it knows the secret. */
  get isProven(): boolean {
    const { phase } = this.#state;
    return phase === "meeting" || phase === "linked";
  }

  /** What was sent has been taken by the network. */
  drained(): void {
    this.#streams?.drained();
  }

  /** The connection is gone. */
  closed(): void {
    this.#happen({ kind: "disconnected" });
  }

  /** What is followed from now on (S56). */
  configure(queries: QueriesByCollection): void {
    this.#happen({ kind: "configured", wanted: this.#wantedOf(queries) });
  }

  tick(): void {
    this.#target?.tick();
    this.#noteLag();
    if (this.#contents?.isOverdue(this.#options.platform.elapsed()) === true) {
      const message = "the other side does not answer what it was asked for";
      return this.#happen({ kind: "closing", code: "too_slow", message });
    }
    this.#happen({
      kind: "tick",
      servedTxn: this.#streams?.completeUpTo ?? 0,
      sites: this.#state.phase === "linked" ? this.#sites() : [],
      queuedBytes: this.queuedBytes,
      takenBytes: this.#sentBytes - this.queuedBytes,
      isReading: this.#target?.isFull !== true,
    });
  }

  /** Ends it in order. Resolves when what had come is merged; never rejects. */
  close(code: ByeCode, message: string, after?: number): Promise<void> {
    this.#happen({ kind: "closing", code, message, after });
    return this.#released;
  }

  /** Contents that documents refer to: what is not here is fetched, where that is wanted (S55). */
  refer(ids: Iterable<string>): void {
    if (this.#state.phase === "linked") this.#contents?.refer(ids);
  }

  /** The content that comes over this link at this moment. */
  get fetchingNow(): string | undefined {
    return this.#contents?.fetchingNow;
  }

  /** Whether a content comes over this link, or waits to be asked for. */
  isFetching(id: string): boolean {
    return this.#contents?.isFetching(id) ?? false;
  }

  /** Collections of which the other side follows something. */
  get servedCollections(): ReadonlySet<string> {
    const collections = new Set<string>();
    if (this.#state.phase !== "linked") return collections;
    for (const { stream } of this.#state.served.values()) {
      if (stream !== undefined) collections.add(stream.collection);
    }
    return collections;
  }

  /** Fetches the content of an attachment from the other side. Never rejects. */
  fetch(id: string): Promise<FetchOutcome> {
    if (this.#state.phase !== "linked") return Promise.resolve("over");
    return this.#contents?.fetch(id) ?? Promise.resolve("missing");
  }

  status(): LinkStatus {
    this.#noteLag();
    const figures = this.#target?.figures;
    const lag = lagOf(this.#state, this.#target);
    const nowMs = this.#options.platform.elapsed();
    return {
      ...statusOf(this.#state),
      sinceMs: this.#sinceMs,
      ...(this.#fault && { lastError: this.#fault }),
      ...(this.#heardMs !== undefined && { heardMs: this.#heardMs }),
      pulled: {
        documents: figures?.documents ?? 0,
        bytes: this.#pulledBytes,
        transactions: figures?.transactions ?? 0,
        unchanged: figures?.unchanged ?? 0,
        stale: figures?.stale ?? 0,
      },
      served: { ...this.#served },
      ...(this.#servedUpTo !== undefined && { servedUpTo: this.#servedUpTo }),
      ...(lag !== undefined && {
        lagTxn: lag,
        lagMs: this.#lagSinceMs === undefined ? 0 : nowMs - this.#lagSinceMs,
      }),
      missingContents: this.#contents?.missingCount ?? 0,
      subscriptions: subscriptionsOf(this.#state, this.#target),
    };
  }

  // For the streams that the other side follows.

  send(bytes: Uint8Array): void {
    this.#served.documents += entryCount(bytes);
    this.#served.bytes += bytes.length;
    this.#servedUpTo = this.#streams?.completeUpTo;
    this.#transmit(bytes);
  }

  get queuedBytes(): number {
    return this.#options.channel.queuedBytes;
  }

  onFailed(filterKey: string, { code, message }: PeerError): void {
    this.#happen({ kind: "stream_failed", filterKey, code, message });
  }

  #transmit(bytes: Uint8Array): void {
    this.#sentBytes += bytes.length;
    this.#options.channel.send(bytes);
  }

  #say(message: LinkMessage): void {
    this.#transmit(encodeMessage(message));
  }

  #now(): LinkMoment {
    const { platform, store } = this.#options;
    return { wallMs: platform.now(), elapsedMs: platform.elapsed(), txn: store.txnId };
  }

  /** What cannot be asked for is left out, and can be seen. */
  #wantedOf(queries: QueriesByCollection): WantedQuery[] {
    return listQueries(queries).flatMap((query) => {
      try {
        return [{ ...query, statement: statementOf(query) }];
      } catch (error) {
        if (!(error instanceof PeerError)) throw error;
        this.#note(error.code, error.message);
        return [];
      }
    });
  }

  #note(code: string, message: string): void {
    const atMs = this.#options.platform.now();
    this.#fault = { code: cut(code, CODE_SHOWN), message: cut(message, MESSAGE_SHOWN), atMs };
  }

  #noteLag(): void {
    const isLagging = (lagOf(this.#state, this.#target) ?? 0) > 0;
    if (isLagging) this.#lagSinceMs ??= this.#options.platform.elapsed();
    else this.#lagSinceMs = undefined;
  }

  /** Never throws: what nobody expected ends this link, and no other. */
  #happen(event: LinkSessionEvent): void {
    try {
      this.#step(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #step(event: LinkSessionEvent): void {
    const { state, actions } = linkStep(this.#state, event, this.#now());
    this.#state = state;
    for (const action of actions) {
      this.#perform(action);
      // Something that this led to has ended the link: nothing else is to be done.
      if (this.#state !== state && this.#state.phase === "closed") return;
    }
  }

  /** What a link does not send is the other side's fault, all else ours. */
  #fail(error: unknown): void {
    const isTheirs = error instanceof PeerError && THEIR_FAULTS.has(error.code);
    if (!isTheirs) this.#tellFault(error);
    const message = error instanceof PeerError ? error.message : "the link could not go on here";
    try {
      if (isTheirs) this.#step({ kind: "closing", code: "malformed", message });
      else this.#step({ kind: "closing", code: "busy", message, after: BUSY_AFTER_MS });
    } catch (again) {
      this.#tellFault(again);
      this.#options.channel.close();
      this.#release(false);
    }
  }

  #tellFault(error: unknown): void {
    this.#options.onEvent({ kind: "fault", error });
  }

  #perform(action: LinkAction): void {
    switch (action.kind) {
      case "send":
        return this.#say(action.message);
      case "sign": {
        const { side, bytes } = action;
        return this.#happen({ kind: "signed", side, proof: this.#options.hmac(bytes) });
      }
      case "linked":
        return this.#linked(action.partner);
      case "sites":
        return void this.#noteSites(action.sites);
      case "follow":
        return this.#follow(action);
      case "unfollow":
        return this.#target?.unfollow(action.id);
      case "subscribed":
        return this.#target?.subscribed(action.id, action.filter, action.isResumed);
      case "take":
        return this.#take(action.message, action.size);
      case "reached":
        return this.#target?.reached(action.txn);
      case "serve":
        return this.#serve(action);
      case "unserve":
        return this.#streams?.unfollow(action.filterKey);
      case "want":
        return this.#streams?.want(action.filterKey, action.ids, false);
      case "contents":
        return this.#takeContents(action);
      case "note":
        return this.#note(action.code, action.message);
      case "ended": {
        const { code, message } = action.bye;
        this.#note(code, message);
        const shown = cut(message, MESSAGE_SHOWN);
        return this.#options.onEvent({ kind: "ended", ...action.bye, message: shown });
      }
      case "close":
        return this.#options.channel.close();
      case "release":
        return this.#release(action.isOrderly);
      default:
        return unreachable(action);
    }
  }

  #linked(partner: string): void {
    const { store, platform, appId, streams, limits } = this.#options;
    this.#streams = streams.open(this);
    this.#target = new LinkTarget({
      store,
      platform,
      appId,
      source: partner,
      ...(limits && { limits }),
      onEvent: (event) => this.#merged(event),
    });
    void this.#contents?.referAll(store, platform);
    this.#options.onEvent({ kind: "linked", partner });
  }

  /** Of Big Peers, as far as they are known here (S60). Nothing is read while nothing is written. */
  #sites(): readonly Site[] {
    const { store } = this.#options;
    const { txnId } = store;
    if (this.#sitesTxn !== txnId) {
      this.#knownSites = [store.identity.site, ...store.read(serverSites)];
      this.#sitesTxn = txnId;
    }
    return this.#knownSites;
  }

  /** Before anything that comes behind it is merged. Never rejects. */
  async #noteSites(sites: readonly Site[]): Promise<void> {
    try {
      await noteServerSites(this.#options.store, sites);
    } catch (error) {
      this.#tellFault(error);
    }
  }

  #follow({ id, query }: ActionOf<"follow">): void {
    // It may have been removed while others were asked for.
    if (this.#state.phase !== "linked" || !this.#state.follows.has(id)) return;
    const cursor = this.#target?.follow(id, query);
    this.#happen({ kind: "cursor", id, cursor });
  }

  #take(message: StreamMessage, size: number): void {
    const target = this.#target;
    if (target === undefined) return;
    switch (message.t) {
      case "documents":
        this.#pulledBytes += size;
        target.documents(message, size);
        break;
      case "complete":
        target.complete(message);
        break;
      case "behind":
        target.behind(message);
        break;
      case "committed":
        target.committed(message.txn);
        break;
      default:
        unreachable(message);
    }
    this.#updateHold();
  }

  #merged(event: TargetEvent): void {
    switch (event.kind) {
      case "held":
        this.#note("clock.ahead", "what comes is ahead of the clock here, and is held back");
        return this.#happen(event);
      case "want":
        return this.#say({ t: "want", filter: event.filter, ids: event.ids });
      case "merged":
        if (this.#contents !== undefined) this.#contents.refer(attachmentsOf(event.changed));
        return;
      case "room":
        this.#updateHold();
        return;
      case "failed":
        return this.#fail(event.error);
      default:
        return unreachable(event);
    }
  }

  #serve({ id, query, cursor }: ActionOf<"serve">): void {
    const streams = this.#streams;
    if (streams === undefined || this.#state.phase !== "linked") return;
    try {
      const prepared = this.#options.streams.prepareLink(query, this.#state.partner);
      const { filter, filterKey, collection } = prepared;
      const mode = streams.follow(prepared, cursor) === "resume" ? "resume" : "fill";
      this.#happen({ kind: "served", id, filter, filterKey, collection, mode });
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      const { code, message } = error;
      this.#happen({ kind: "not_served", id, code, message });
    }
  }

  /** Where nothing is kept there is nothing to give. */
  #takeContents({ message }: ActionOf<"contents">): void {
    if (this.#contents !== undefined) {
      const fault = this.#contents.take(message);
      if (fault !== undefined) this.#happen({ kind: "garbled", reason: fault });
    } else if (message.t === "fetch") {
      const { id, offset } = message;
      this.#say({ t: "content", id, offset, bytes: new Uint8Array() });
    }
  }

  #release(isOrderly: boolean): void {
    // The end of the connection has to be read as well.
    if (this.#isHeld) this.#options.channel.hold?.(false);
    this.#isHeld = false;
    this.#streams?.close();
    this.#contents?.close();
    this.#released = this.#target?.close(isOrderly) ?? this.#released;
  }
}

/** Characters of a sentence of the other side that are kept, and of what it names the reason. */
const MESSAGE_SHOWN = 500;
const CODE_SHOWN = 64;

function cut(text: string, size: number): string {
  return text.length <= size ? text : `${text.slice(0, size - 1)}…`;
}

/** What the other side has sent is no message of a link, or no state of a document. */
const THEIR_FAULTS: ReadonlySet<string> = new Set([
  "sync.malformed",
  "state.malformed",
  "id.invalid",
  "operation.invalid",
]);
