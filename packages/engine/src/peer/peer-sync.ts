/**
 * PeerSync: a small peer that speaks with its server. It runs the machine (peer-session.ts) over the
 * layers of the store and over what the host gives: a dialler, a timer, tokens.
 *
 * Work of the store is done strictly in order, one at a time. While more of it waits than a bound,
 * the connection is not read. When a part of it fails, what comes behind it on that connection is
 * dropped, and the next connection goes on from where the store stands: nothing is lost.
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
import type { ConfirmedBatch, PeerLayers, SealedUpload } from "./peer-layers.ts";
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
  /** The connection is gone, or was never made. */
  closed(reason: string): void;
}

export interface DialHandle {
  /** Ends it, whether it was made or not. */
  close(): void;
  /** Stops reading, and goes on. */
  pause?(): void;
  resume?(): void;
}

export interface PeerSyncOptions<Refused = RefusedUpload> {
  readonly store: PeerLayers<Refused>;
  readonly platform: Pick<Platform, "now" | "elapsed" | "random">;
  readonly appId: string;
  readonly description: PeerDescription;
  readonly dial: (handlers: DialHandlers) => DialHandle;
  /** Calls once after so many milliseconds, unless it is cancelled. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  readonly token: () => Promise<string>;
  readonly onEvent: (event: PeerSyncEvent<Refused>) => void;
  /** Runs a statement of the server (S44); left out: all are refused. */
  readonly run?: RunStatement | undefined;
}

export type PeerSyncEvent<Refused = RefusedUpload> =
  | SessionReport
  /** A subscription is whole. */
  | { readonly kind: "ready"; readonly key: string }
  /** Uploads that the server did not take, or put aside. */
  | { readonly kind: "refused"; readonly uploads: readonly Refused[] };

export interface PeerSyncStatus {
  readonly phase: PhaseName;
  /** What the server's clock is ahead; undefined when not connected. */
  readonly offsetMs: number | undefined;
  /** Bytes of frames that wait for the store. */
  readonly waitingBytes: number;
}

/** Bytes of frames that wait for the store, beyond which the connection is not read. */
const WAITING_BYTES_MAX = 512 * 1024;

/** A login that was refused would be refused again: nothing is gained by asking soon. */
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
  /** The work that is being done. */
  #current: StoreAction | undefined;
  #handle: DialHandle | undefined;
  #channel: Channel | undefined;
  /** What the server was shown last. */
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

  /** Nothing becomes ready until somebody does something: whoever waits is told. */
  exclude(error: PeerError): void {
    this.#held.exclude(error);
  }

  /** The server has let this peer in, or it is tried anew. */
  admit(): void {
    this.#held.admit();
  }

  /** Says goodbye. Resolves when the store has taken what came before. */
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

  /** Whether the store has still to do what takes documents away, of which the cursor knows nothing. */
  #isMoving(key: string): boolean {
    const work = this.#current === undefined ? this.#work : [this.#current, ...this.#work];
    return work.some((action) => {
      if (action.kind === "begin" || action.kind === "deny") return action.subscription === key;
      return action.kind === "compare" && action.subscriptions.includes(key);
    });
  }

  /** What the peer says of itself: told now if it is connected, and in every hello (S40). */
  setMetadata(metadata: ValueObject): void {
    const size = encodeCbor(metadata).length;
    if (size > SYNC_METADATA_BYTES_MAX) {
      const message = `expected at most ${SYNC_METADATA_BYTES_MAX} bytes of metadata, found ${size}`;
      throw new PeerError("value.invalid", message);
    }
    this.#take({ kind: "metadata", metadata });
  }

  /**
   * Calls it soon with what is known, then whenever that is another. The first watcher makes the peer
   * ask its server (S41), the last one to go makes it stop. Returns the way to go.
   */
  watch(listener: (presence: Presence) => void): () => void {
    return this.#watchers.watch(listener);
  }

  get presence(): Presence {
    return presenceOf(this.#state);
  }

  /** Steps the machine. What an action brings about at once waits until the step is over. */
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
      // Made and given up in the same breath: nobody could hang up before there was a handle.
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
        // Who has no other one may have it later.
        if (token === this.#token) return this.#take({ kind: "unrenewed", connection });
        this.#token = token;
        this.#take({ kind: "token", token });
      },
      (error: unknown) => {
        this.#options.onEvent({ kind: "failed", error });
        // The session goes on until its token ends; one that was refused is not asked for before.
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
    const isNews =
      event.kind !== "unsubscribed" || this.#held.refuse(event.key, event.code, event.message);
    if (isNews) this.#options.onEvent(event);
  }

  #queueWork(action: StoreAction): void {
    this.#work.push(action);
    this.#count(sizeOf(action));
    this.#working ??= this.#workOff();
  }

  async #workOff(): Promise<void> {
    // The step that asked for the work is over before any of it is done.
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

  /** What comes behind a failure would leave a gap. */
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
      case "seal": {
        const uploads = await this.#seal(action);
        return { kind: "sealed", connection, ...uploads };
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

  /** Unless somebody has taken the subscription up again meanwhile. */
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
    // It may have been refused while the store was taking in what completed it.
    const isRefused = this.#state.subscriptions.get(key)?.refusal !== undefined;
    if (!isRefused && this.#held.setReady(key)) this.#options.onEvent({ kind: "ready", key });
  }

  /** Subscriptions with one filter ask as one. */
  async #compare(action: Extract<StoreAction, { readonly kind: "compare" }>): Promise<Value[]> {
    const lacking = new Map<string, Value>();
    for (const subscription of action.subscriptions) {
      const ids = await this.#options.store.compare(subscription, action.versions);
      for (const id of ids) lacking.set(documentId(id).key, id);
    }
    return [...lacking.values()];
  }

  /** What was handed out and not sent on this connection, then what never was. */
  async #seal(
    action: Extract<StoreAction, { readonly kind: "seal" }>,
  ): Promise<{ uploads: SealedUpload[]; isAll: boolean }> {
    const { max, sent, offsetMs } = action;
    const uploads: SealedUpload[] = [...this.#options.store.sealed(sent, max)];
    if (uploads.length === max) return { uploads, isAll: false };
    const room = max - uploads.length;
    const more = await this.#options.store.seal(offsetMs, room);
    return { uploads: [...uploads, ...more], isAll: more.length < room };
  }
}

function sizeOf(action: StoreAction): number {
  return action.kind === "apply" || action.kind === "compare" ? action.bytes : 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a login was refused; undefined when another try may do better. */
function refusalOf(error: unknown): ErrorCode | undefined {
  return error instanceof PeerError && REFUSALS.includes(error.code) ? error.code : undefined;
}
