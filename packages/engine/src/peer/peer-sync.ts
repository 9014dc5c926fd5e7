/**
 * PeerSync: the sync client of a small peer. It runs the state machine of the session
 * (peer-session.ts) over the layers of the store, with a dialler, a timer and tokens from the host.
 *
 * The store does its work strictly in order, one piece at a time. While more than a limit waits for
 * it, the connection is not read. When a piece fails, the later work of that connection is dropped,
 * and the next connection continues from the state of the store: nothing is lost.
 */

import {
  decodeServerMessage,
  documentId,
  type ErrorCode,
  encodeCbor,
  encodeMessage,
  type PeerDescription,
  PeerError,
  type PeerMessage,
  type RunMessage,
  type ServerMessage,
  SYNC_METADATA_BYTES_MAX,
  type SyncCursor,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import { HeldSubscriptions, type PeerSubscription } from "./held-subscriptions.ts";
import type { RefusedUpload } from "./outcome.ts";
import type { ConfirmedBatch, PeerLayers, SequencedUpload } from "./peer-layers.ts";
import { presenceOf } from "./peer-presence.ts";
import { isUp, peerState, peerStep } from "./peer-session.ts";
import { PresenceWatchers } from "./presence-watchers.ts";
import { RunningStatements, type RunStatement } from "./running-statements.ts";
import type {
  PeerAction,
  PeerEvent,
  PeerState,
  PhaseName,
  Presence,
  SessionReport,
  StoreAction,
} from "./session-state.ts";
import { doubted } from "./subscriptions.ts";

export interface DialHandlers {
  opened(channel: Channel): void;
  message(bytes: Uint8Array): void;
  /** The connection ended, or could not be made. */
  closed(reason: string): void;
}

export interface DialHandle {
  /** Ends the connection or the attempt. */
  close(): void;
  /** Stops reading; `resume` continues. */
  pause?(): void;
  resume?(): void;
}

export interface PeerSyncOptions<Refused = RefusedUpload> {
  readonly store: PeerLayers<Refused>;
  readonly platform: Pick<Platform, "now" | "elapsed" | "random">;
  readonly appId: string;
  readonly description: PeerDescription;
  readonly dial: (handlers: DialHandlers) => DialHandle;
  /** Calls `wake` once after `ms`. Returns a function that cancels it. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  readonly token: () => Promise<string>;
  readonly onEvent: (event: PeerSyncEvent<Refused>) => void;
  /** Runs a statement of the server (S44); without it the peer refuses all. */
  readonly run?: RunStatement | undefined;
}

export type PeerSyncEvent<Refused = RefusedUpload> =
  | SessionReport
  /** A subscription is complete. */
  | { readonly kind: "ready"; readonly key: string }
  /** Uploads that the server refused or set aside (S27). */
  | { readonly kind: "refused"; readonly uploads: readonly Refused[] };

export interface PeerSyncStatus {
  readonly phase: PhaseName;
  /** How far the server's clock is ahead; undefined when not connected. */
  readonly offsetMs: number | undefined;
  /** Bytes of frames that wait for the store. */
  readonly waitingBytes: number;
}

/** Bytes of frames that wait for the store, beyond which the connection is not read. */
const WAITING_BYTES_MAX = 512 * 1024;

/** Errors of a login that a retry would repeat: the peer retries at the slowest rate. */
const REFUSALS: readonly ErrorCode[] = ["permission.denied", "config.invalid"];

export class PeerSync<Refused = RefusedUpload> {
  readonly #options: PeerSyncOptions<Refused>;
  readonly #held: HeldSubscriptions;
  readonly #watchers: PresenceWatchers;
  readonly #runs: RunningStatements;
  readonly #events: PeerEvent[] = [];
  readonly #work: StoreAction[] = [];
  readonly #forgetPending: () => void;
  #state: PeerState;
  #isStepping = false;
  #waitingBytes = 0;
  #isPaused = false;
  #working: Promise<void> | undefined;
  /** The work in progress. */
  #current: StoreAction | undefined;
  #handle: DialHandle | undefined;
  #channel: Channel | undefined;
  /** The credential that was sent last. */
  #token: string | undefined;
  #cancelWake: (() => void) | undefined;

  constructor(options: PeerSyncOptions<Refused>) {
    this.#options = options;
    const { appId, description, platform, store } = options;
    const [a = 0, b = 0, c = 0, d = 0] = platform.random(4);
    this.#state = peerState(appId, description, ((a << 24) | (b << 16) | (c << 8) | d) >>> 0);
    this.#forgetPending = store.onPending(() => this.#take({ kind: "pending" }));
    this.#held = new HeldSubscriptions((key) => this.#take({ kind: "unsubscribe", key }));
    this.#runs = new RunningStatements(options.run);
    this.#watchers = new PresenceWatchers({
      presence: () => this.presence,
      wakeIn: options.wakeIn,
      onWatched: (isOn) => this.#take({ kind: "watch", isOn }),
      onError: (error) => options.onEvent({ kind: "failed", error }),
    });
  }

  start(): void {
    this.#take({ kind: "start" });
  }

  /** The server does not accept this peer: rejects all waiters. */
  exclude(error: PeerError): void {
    this.#held.exclude(error);
  }

  /** The server accepts this peer, or the peer tries again. */
  admit(): void {
    this.#held.admit();
  }

  /** Sends `bye` and disconnects. Resolves when the store has applied what came before. */
  async stop(): Promise<void> {
    this.#take({ kind: "stop" });
    while (this.#working !== undefined) await this.#working;
  }

  async close(): Promise<void> {
    this.#forgetPending();
    this.#watchers.close();
    await this.stop();
    this.#held.close();
  }

  status(): PeerSyncStatus {
    const { phase } = this.#state;
    const offsetMs = "link" in phase ? phase.link.offsetMs : undefined;
    return { phase: phase.name, offsetMs, waitingBytes: this.#waitingBytes };
  }

  subscribe(query: string, args: ValueObject = {}): PeerSubscription {
    const { key, cursor: known } = this.#options.store.subscription(query, args);
    const subscription = this.#held.hold(key, query, args);
    const cursor = known && this.#isMoving(key) ? doubted(known) : known;
    this.#take({ kind: "subscribe", key, query, args, cursor });
    return subscription;
  }

  /** Whether queued work removes documents of it, which its cursor does not show yet. */
  #isMoving(key: string): boolean {
    const work = this.#current === undefined ? this.#work : [this.#current, ...this.#work];
    return work.some((action) => {
      if (action.kind === "begin" || action.kind === "deny") return action.subscription === key;
      return action.kind === "compare" && action.subscriptions.includes(key);
    });
  }

  /** Sets the metadata of the peer: sent now if it is connected, and in each `hello` (S40). */
  setMetadata(metadata: ValueObject): void {
    const size = encodeCbor(metadata).length;
    if (size > SYNC_METADATA_BYTES_MAX) {
      const message = `expected at most ${SYNC_METADATA_BYTES_MAX} bytes of metadata, found ${size}`;
      throw new PeerError("value.invalid", message);
    }
    this.#take({ kind: "metadata", metadata });
  }

  /**
   * Calls `listener` soon with the current presence, then each time it changes. The peer asks its
   * server for presence while there is a watcher (S41). Returns a function that stops the calls.
   */
  watch(listener: (presence: Presence) => void): () => void {
    return this.#watchers.watch(listener);
  }

  get presence(): Presence {
    return presenceOf(this.#state);
  }

  /** Steps the state machine. Events that an action causes at once wait until the step is over. */
  #take(event: PeerEvent): void {
    this.#events.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const { platform } = this.#options;
        const now = { elapsed: platform.elapsed(), wall: platform.now() };
        const { state, actions } = peerStep(this.#state, next, now);
        this.#state = state;
        for (const action of actions) this.#act(action);
      }
    } finally {
      this.#isStepping = false;
    }
    this.#watchers.note();
  }

  #act(action: PeerAction): void {
    switch (action.kind) {
      case "dial":
        return this.#dial(action.connection);
      case "hangUp":
        return this.#hangUp();
      case "send":
        return this.#send(action.message);
      case "pong":
        return this.#pong(action);
      case "run":
        return this.#run(action.run, action.connection);
      case "cancel":
        return this.#runs.cancel(action.id);
      case "renew":
        return this.#renew(this.#state.connection);
      case "wakeAt":
        return this.#wakeAt(action.elapsed);
      case "sleep":
        return this.#sleep();
      case "report":
        return this.#report(action.event);
      default:
        return this.#queueWork(action);
    }
  }

  #dial(connection: number): void {
    const { token, dial, store } = this.#options;
    const isCurrent = (): boolean => connection === this.#state.connection;
    const isAwaited = (): boolean => isCurrent() && this.#state.phase.name === "connecting";
    const begin = (credential: string): void => {
      if (!isAwaited()) return;
      this.#handle = dial({
        opened: (channel) => {
          if (!isAwaited()) return channel.close();
          this.#channel = channel;
          this.#token = credential;
          this.#take({ kind: "opened", connection, token: credential, site: store.site });
        },
        message: (bytes) => {
          if (isCurrent()) this.#read(connection, bytes);
        },
        closed: (message) => this.#take({ kind: "disconnected", connection, message }),
      });
      // The attempt was given up inside `dial`, before there was a handle to close.
      if (!isCurrent() || !isUp(this.#state.phase)) this.#hangUp();
    };
    token().then(begin, (error: unknown) => {
      const message = `no token: ${messageOf(error)}`;
      this.#take({ kind: "disconnected", connection, message, refusal: refusalOf(error) });
    });
  }

  #read(connection: number, bytes: Uint8Array): void {
    let message: ServerMessage;
    try {
      message = decodeServerMessage(bytes);
    } catch (error) {
      return this.#take({ kind: "garbled", connection, message: messageOf(error) });
    }
    this.#take({ kind: "message", connection, message, bytes: bytes.length });
  }

  #hangUp(): void {
    this.#channel?.close();
    this.#handle?.close();
    this.#channel = undefined;
    this.#handle = undefined;
    this.#isPaused = false;
  }

  #send(message: PeerMessage): void {
    this.#channel?.send(encodeMessage(message));
  }

  #pong({ ping, now, txn }: Extract<PeerAction, { readonly kind: "pong" }>): void {
    const { pendingCount: pending } = this.#options.store;
    const reached = txn === undefined ? {} : { txn };
    this.#send({ t: "pong", ping, now, ...reached, pending });
  }

  #run(run: RunMessage, connection: number): void {
    const { phase } = this.#state;
    if (!("link" in phase)) return;
    this.#runs.start(run, phase.link.messageBytes, ({ id, items, end }) =>
      this.#take({ kind: "answered", connection, id, items, end }),
    );
  }

  #renew(connection: number): void {
    this.#options.token().then(
      (token) => {
        if (connection !== this.#state.connection) return;
        // The app has no new token yet; it may have one later.
        if (token === this.#token) return this.#take({ kind: "unrenewed", connection });
        this.#token = token;
        this.#take({ kind: "token", token });
      },
      (error: unknown) => {
        this.#options.onEvent({ kind: "failed", error });
        // The session lasts until its token expires. A refused login is not retried before.
        if (refusalOf(error) === undefined) this.#take({ kind: "unrenewed", connection });
      },
    );
  }

  #sleep(): void {
    this.#cancelWake?.();
    this.#cancelWake = undefined;
  }

  #wakeAt(elapsed: number): void {
    this.#sleep();
    const ms = Math.max(0, elapsed - this.#options.platform.elapsed());
    this.#cancelWake = this.#options.wakeIn(ms, () => {
      this.#cancelWake = undefined;
      this.#take({ kind: "tick", isReading: !this.#isPaused });
    });
  }

  #report(event: SessionReport): void {
    const isNew =
      event.kind !== "unsubscribed" || this.#held.refuse(event.key, event.code, event.message);
    if (isNew) this.#options.onEvent(event);
  }

  #queueWork(action: StoreAction): void {
    this.#work.push(action);
    this.#count(sizeOf(action));
    this.#working ??= this.#workOff();
  }

  async #workOff(): Promise<void> {
    // The step that queued the work ends before any of it is done.
    await Promise.resolve();
    for (let action = this.#work.shift(); action !== undefined; action = this.#work.shift()) {
      this.#current = action;
      try {
        const event = await this.#carryOut(action);
        this.#current = undefined;
        if (event !== undefined) this.#take(event);
      } catch (error) {
        this.#current = undefined;
        this.#drop(action.connection);
        this.#take({ kind: "failed", connection: action.connection, error });
      }
      this.#count(-sizeOf(action));
    }
    this.#working = undefined;
  }

  /** Drops the queued work of a connection that failed, because it would leave a gap. */
  #drop(connection: number): void {
    const isKept = (action: StoreAction): boolean =>
      action.connection !== connection || action.kind === "release";
    for (const action of this.#work) if (!isKept(action)) this.#count(-sizeOf(action));
    this.#work.splice(0, this.#work.length, ...this.#work.filter(isKept));
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    const handle = this.#handle;
    if (!this.#isPaused && this.#waitingBytes > WAITING_BYTES_MAX && handle?.pause !== undefined) {
      this.#isPaused = true;
      handle.pause();
    } else if (this.#isPaused && this.#waitingBytes <= WAITING_BYTES_MAX / 2) {
      this.#isPaused = false;
      handle?.resume?.();
    }
  }

  async #carryOut(action: StoreAction): Promise<PeerEvent | undefined> {
    const { store } = this.#options;
    const { connection } = action;
    switch (action.kind) {
      case "welcome": {
        const { history, app, rights, offsetMs } = action;
        await store.welcome({ history, app, rights, offsetMs });
        return { kind: "welcomed", connection, cursors: this.#cursors() };
      }
      case "rights":
        await store.rights(action.rights);
        return undefined;
      case "apply":
        return this.#apply(action.batch, connection);
      case "compare": {
        const ids = await this.#compare(action);
        const { filter, range } = action.versions;
        return { kind: "compared", connection, filter, ids, isLast: range.through === undefined };
      }
      case "behind":
        await store.behind(action.subscriptions);
        return undefined;
      case "begin":
        await store.begin(action.subscription, action.mode);
        return undefined;
      case "deny":
        if (this.#held.has(action.subscription)) await store.deny(action.subscription);
        return undefined;
      case "release":
        await this.#give(action.subscription);
        return undefined;
      case "sequence": {
        const uploads = await this.#sequence(action);
        return { kind: "sequenced", connection, ...uploads };
      }
      case "reoffer":
        return {
          kind: "reoffered",
          connection,
          ask: await store.reoffer(action.site, action.known),
        };
      case "fork":
        await store.fork(action.site, action.number);
        return { kind: "forked", connection };
      default:
        return unreachable(action);
    }
  }

  /** Releases the subscription, unless the app holds it again. */
  async #give(key: string): Promise<void> {
    const { store } = this.#options;
    await (this.#held.has(key) ? store.behind([key]) : store.release(key));
  }

  #cursors(): Map<string, SyncCursor> {
    const cursors = new Map<string, SyncCursor>();
    for (const { key, query, args } of this.#held.entries()) {
      const { cursor } = this.#options.store.subscription(query, args);
      if (cursor !== undefined) cursors.set(key, cursor);
    }
    return cursors;
  }

  async #apply(batch: ConfirmedBatch, connection: number): Promise<PeerEvent> {
    const { wants, refused } = await this.#options.store.apply(batch);
    if (refused.length > 0) this.#options.onEvent({ kind: "refused", uploads: refused });
    for (const { subscription } of batch.completed ?? []) this.#setReady(subscription);
    return { kind: "applied", connection, batch, wants };
  }

  #setReady(key: string): void {
    // The server may have refused it while the store applied what completed it.
    const isRefused = this.#state.subscriptions.get(key)?.refusal !== undefined;
    if (!isRefused && this.#held.setReady(key)) this.#options.onEvent({ kind: "ready", key });
  }

  /** Compares all subscriptions of one filter, and joins the ids that they lack. */
  async #compare(action: Extract<StoreAction, { readonly kind: "compare" }>): Promise<Value[]> {
    const lacking = new Map<string, Value>();
    for (const subscription of action.subscriptions) {
      const ids = await this.#options.store.compare(subscription, action.versions);
      for (const id of ids) lacking.set(documentId(id).key, id);
    }
    return [...lacking.values()];
  }

  /** Uploads that were handed out and not sent on this connection, then ones never sent. */
  async #sequence(
    action: Extract<StoreAction, { readonly kind: "sequence" }>,
  ): Promise<{ uploads: SequencedUpload[]; isAll: boolean }> {
    const { max, sent, offsetMs } = action;
    const uploads: SequencedUpload[] = [...this.#options.store.sequenced(sent, max)];
    if (uploads.length === max) return { uploads, isAll: false };
    const room = max - uploads.length;
    const more = await this.#options.store.sequence(offsetMs, room);
    return { uploads: [...uploads, ...more], isAll: more.length < room };
  }
}

function sizeOf(action: StoreAction): number {
  return action.kind === "apply" || action.kind === "compare" ? action.bytes : 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error code of a refused login; undefined if another try may succeed. */
function refusalOf(error: unknown): ErrorCode | undefined {
  return error instanceof PeerError && REFUSALS.includes(error.code) ? error.code : undefined;
}
