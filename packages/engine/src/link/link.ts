/**
 * Link: a connection between this store and that of another Big Peer. It connects the state machine
 * (link-session.ts), the streams that the other side follows here, and the target that merges the
 * queries that this side follows there.
 *
 * The owner of the channel reports frames and the end, and calls `tick` about once a second. An
 * error ends this link alone.
 */

import {
  type ByeCode,
  decodeLinkMessageIncremental,
  encodeMessage,
  type LinkMessage,
  PeerError,
  type Site,
  unreachable,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import { noteServerSites, serverSites } from "../store/server-sites.ts";
import type { Store } from "../store/store.ts";
import { entryCount } from "../sync/outbox/frame.ts";
import type { SessionStreams, StreamSession } from "../sync/stream/session-streams.ts";
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
  /** Streams of the app's sync server, so that rounds are shared. */
  readonly streams: Streams;
  readonly channel: Channel;
  /** The role of this side: it dialled or accepted. */
  readonly side: LinkSide;
  readonly queries: QueriesByCollection;
  /** HMAC-SHA-256 with the replication secret; undefined where there is none. */
  readonly hmac: (bytes: Uint8Array) => Uint8Array | undefined;
  /** Nonce of this side, if its `link` was sent before this object was made. */
  readonly nonce?: Uint8Array;
  /** Left out if contents are neither fetched nor served. */
  readonly attachments?: LinkAttachments;
  readonly limits?: Partial<LinkLimits & LinkTargetLimits>;
  readonly onEvent: (event: LinkEvent) => void;
}

export type LinkEvent =
  /** Both sides know each other; `partner` is the history of the other store. */
  | { readonly kind: "linked"; readonly partner: string }
  /** The link is over, with the reason that either side gave. */
  | {
      readonly kind: "ended";
      readonly code: ByeCode;
      readonly message: string;
      readonly after?: number;
    }
  /** An unexpected error. */
  | { readonly kind: "fault"; readonly error: unknown };

type ActionOf<K extends LinkAction["kind"]> = Extract<LinkAction, { kind: K }>;

const NONCE_BYTES = 32;

/** Milliseconds after which the other side should reconnect when this side has failed. */
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
  /** Frames that arrived while a long message is being decoded. */
  #unread: Uint8Array[] | undefined;
  #isHeld = false;
  #heardMs: number | undefined;
  #lagSinceMs: number | undefined;
  #servedUpTo: number | undefined;
  #pulledBytes = 0;
  #sentBytes = 0;
  #knownSites: readonly Site[] = [];
  /** The transaction as of which the sites are known. */
  #sitesTxn: number | undefined;
  readonly #served = { documents: 0, bytes: 0 };
  /** A follower may read everything. */
  readonly authority: undefined = undefined;

  constructor(options: LinkOptions) {
    const { store, platform, appId: app, side, nonce, attachments, limits } = options;
    this.#options = options;
    this.#sinceMs = platform.now();
    const config = {
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
        (error) => this.#reportFault(error),
      );
    const wanted = this.#wantedOf(options.queries);
    this.#state = newLink(config, wanted, this.#now(), nonce !== undefined);
    this.#happen({ kind: "opened" });
  }

  receive(bytes: Uint8Array): void {
    this.#heardMs = this.#options.platform.now();
    if (this.#unread !== undefined) this.#unread.push(bytes);
    else this.#read(bytes);
  }

  #read(bytes: Uint8Array): void {
    const slicer = decodeLinkMessageIncremental(bytes);
    try {
      const { done, value: message } = slicer.next();
      if (done === true) this.#happen({ kind: "message", message, size: bytes.length });
      else void this.#readOn(slicer, bytes.length);
    } catch (error) {
      this.#misread(error);
    }
  }

  /** Decodes a long message in slices, while later frames wait. Never rejects. */
  async #readOn(slicer: Generator<void, LinkMessage>, size: number): Promise<void> {
    this.#unread = [];
    this.#updateHold();
    try {
      while (this.#state.phase !== "closed") {
        await this.#options.platform.pause();
        const { done, value: message } = slicer.next();
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

  /** Stops reading while a message is being decoded, or while the target is full. */
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

  /** The network has taken what was sent. */
  drained(): void {
    this.#streams?.drained();
  }

  /** The connection is closed. */
  closed(): void {
    this.#happen({ kind: "disconnected" });
  }

  /** Sets the queries to follow from now on (S56). */
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

  /** Ends the link in order. Resolves when everything that arrived is merged; never rejects. */
  close(code: ByeCode, message: string, after?: number): Promise<void> {
    this.#happen({ kind: "closing", code, message, after });
    return this.#released;
  }

  /** Documents refer to these: fetches missing contents, if the storage is eager (S55). */
  refer(ids: Iterable<string>): void {
    if (this.#state.phase === "linked") this.#contents?.refer(ids);
  }

  /** The content that is being fetched. */
  get fetchingNow(): string | undefined {
    return this.#contents?.fetchingNow;
  }

  /** Whether a content is being fetched, or waits for its fetch. */
  isFetching(id: string): boolean {
    return this.#contents?.isFetching(id) ?? false;
  }

  /** Collections of which the other side follows queries. */
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
    const stats = this.#target?.stats;
    const lag = lagOf(this.#state, this.#target);
    const nowMs = this.#options.platform.elapsed();
    return {
      ...statusOf(this.#state),
      sinceMs: this.#sinceMs,
      ...(this.#fault && { lastError: this.#fault }),
      ...(this.#heardMs !== undefined && { heardMs: this.#heardMs }),
      pulled: {
        documents: stats?.documents ?? 0,
        bytes: this.#pulledBytes,
        transactions: stats?.transactions ?? 0,
        unchanged: stats?.unchanged ?? 0,
        stale: stats?.stale ?? 0,
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

  /** Leaves out invalid queries and notes the error for the status. */
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

  /** Never throws: an unexpected error ends this link and no other. */
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
      // The action ended the link: the remaining actions are void.
      if (this.#state !== state && this.#state.phase === "closed") return;
    }
  }

  /** Invalid messages are the fault of the other side, all other errors are ours. */
  #fail(error: unknown): void {
    const isTheirs = error instanceof PeerError && THEIR_FAULTS.has(error.code);
    if (!isTheirs) this.#reportFault(error);
    const message = error instanceof PeerError ? error.message : "the link could not go on here";
    try {
      if (isTheirs) this.#step({ kind: "closing", code: "malformed", message });
      else this.#step({ kind: "closing", code: "busy", message, after: BUSY_AFTER_MS });
    } catch (again) {
      this.#reportFault(again);
      this.#options.channel.close();
      this.#release(false);
    }
  }

  #reportFault(error: unknown): void {
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

  /** Sites of Big Peers known here (S60). Reads the store only after a new transaction. */
  #sites(): readonly Site[] {
    const { store } = this.#options;
    const { txnId } = store;
    if (this.#sitesTxn !== txnId) {
      this.#knownSites = [store.identity.site, ...store.read(serverSites)];
      this.#sitesTxn = txnId;
    }
    return this.#knownSites;
  }

  /** Notes the sites before later messages are merged (S60). Never rejects. */
  async #noteSites(sites: readonly Site[]): Promise<void> {
    try {
      await noteServerSites(this.#options.store, sites);
    } catch (error) {
      this.#reportFault(error);
    }
  }

  #follow({ id, query }: ActionOf<"follow">): void {
    // The query may have been removed while others were requested.
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

  /** Without attachment storage, answers that the content is missing. */
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
    // The end of the connection must be read as well.
    if (this.#isHeld) this.#options.channel.hold?.(false);
    this.#isHeld = false;
    this.#streams?.close();
    this.#contents?.close();
    this.#released = this.#target?.close(isOrderly) ?? this.#released;
  }
}

/** Characters that are kept of a message and of a code of the other side. */
const MESSAGE_SHOWN = 500;
const CODE_SHOWN = 64;

function cut(text: string, size: number): string {
  return text.length <= size ? text : `${text.slice(0, size - 1)}…`;
}

/** Errors that an invalid message or document state of the other side causes. */
const THEIR_FAULTS: ReadonlySet<string> = new Set([
  "sync.malformed",
  "state.malformed",
  "id.invalid",
  "operation.invalid",
]);
