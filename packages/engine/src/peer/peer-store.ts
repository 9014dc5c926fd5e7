/**
 * PeerStore: the store of a small peer, with the confirmed states from its server and its pending
 * writes.
 *
 * The documents of the store are the view of both, so statements, indexes and live queries work as
 * on any store. Confirmed states and writes without an outcome lie beside them (S34). Changes that
 * belong together are one transaction, so both sides can continue after a crash at any moment.
 *
 * Own writes and outcomes of uploads are strict commits. Downloads are relaxed: documents and the
 * cursor that covers them are one transaction, so the peer downloads again what a crash loses (K94).
 */

import {
  compareBytes,
  PeerError,
  type Site,
  type StreamMode,
  type SyncCursor,
  siteOfBytes,
  timeOfMs,
  type Value,
  type ValueObject,
  type Versions,
} from "@bigpeer/protocol";
import type { ClockLimits } from "../crdt/clock.ts";
import { DRIFT_MS_MAX, HORIZON_MS, REST_MS_MAX } from "../limits.ts";
import type { KeyValue, Platform } from "../platform.ts";
import type { SystemRow } from "../query/system/system-collections.ts";
import { subscriptionKey } from "../store/keys.ts";
import { DEFAULT_RETENTION, type Retention } from "../store/maintenance.ts";
import {
  chainFact,
  countFact,
  LIVE_FACT,
  liveFact,
  SERVER_FACT,
  serverFact,
} from "../store/peer-records.ts";
import type { RequestOptions } from "../store/queued-request.ts";
import { Store } from "../store/store.ts";
import type { UploadStep } from "../store/upload-step.ts";
import type { View } from "../store/view.ts";
import { Confirmation } from "./confirmation.ts";
import { Layers } from "./layers.ts";
import { forgetKept, forgetRefused, type RefusedUpload, refusedUploads } from "./outcome.ts";
import type { AppliedBatch, ConfirmedBatch, PeerLayers } from "./peer-layers.ts";
import { refusedRows, type SyncSession, syncInfoRow } from "./peer-rows.ts";
import { notePending } from "./pending.ts";
import {
  forkChain,
  type Numbering,
  type OwnUpload,
  reofferKept,
  sequencedUploads,
  sequenceNext,
  usedSites,
} from "./sequenced-upload.ts";
import { ServerTime } from "./server-time.ts";
import {
  allRecords,
  changeRecord,
  cursorOf,
  filling,
  fixed,
  giveUp,
  type KnownSubscription,
  mended,
  recordOf,
  Subscriptions,
  torn,
  withoutCursor,
} from "./subscriptions.ts";
import { forgetDeleted, sweepHeld } from "./sweep.ts";

/**
 * Retention of a peer's store. The log is short because only local observers read it. The server
 * decides which metadata of a live document expires. The peer drops a deleted document as a whole.
 */
export const PEER_RETENTION: Retention = {
  ...DEFAULT_RETENTION,
  logAgeMs: 86_400_000,
  logCount: 100_000,
  logBytes: 64 * 1024 * 1024,
  horizonMs: Number.POSITIVE_INFINITY,
};

export interface PeerStoreOptions {
  /** The app that the store belongs to (S39). */
  readonly appId: string;
  readonly retention?: Retention;
  /** How long the peer remembers that a document was deleted (S36). */
  readonly deletedMs?: number;
  readonly clock?: ClockLimits;
}

/** Transactions that were recorded as pending. Some may never become durable. */
interface Noted {
  /** The first one that listeners do not know of; undefined if there is none. */
  first: number | undefined;
  last: number;
}

/** Whether own writes are refused, because the store is about to be erased. */
interface WriteLock {
  isOn: boolean;
}

interface PeerStoreParts {
  readonly platform: Platform;
  readonly options: PeerStoreOptions;
  readonly noted: Noted;
  readonly time: ServerTime;
  readonly lock: WriteLock;
}

/** Holds uploads back until the server has the contents that they refer to; sees what arrives. */
export interface UploadGate {
  /** How many of the uploads that were never sent may be sent, at most `max`. */
  room(view: View, max: number): number;
  /** Whether an upload has to wait. */
  holds(view: View, steps: readonly UploadStep[]): boolean;
  /** A batch of the server was applied: its documents may refer to contents. */
  applied(batch: ConfirmedBatch): void;
}

export interface ServerWelcome {
  readonly history: string;
  readonly app: string;
  readonly rights: Uint8Array;
  /** How far the server's clock is ahead of the device's. */
  readonly offsetMs: number;
}

export class PeerStore implements PeerLayers {
  readonly store: Store;
  /** Says which uploads wait for a content (S90); set by what keeps contents. */
  gate: UploadGate | undefined;
  readonly #platform: Platform;
  readonly #options: PeerStoreOptions;
  readonly #subscriptions: Subscriptions;
  readonly #listeners = new Set<() => void>();
  readonly #noted: Noted;
  readonly #time: ServerTime;
  readonly #lock: WriteLock;

  private constructor(store: Store, { platform, options, noted, time, lock }: PeerStoreParts) {
    this.#noted = noted;
    this.#lock = lock;
    this.#time = time;
    this.store = store;
    this.#platform = platform;
    this.#options = options;
    this.#subscriptions = store.read(({ reader }) => new Subscriptions(reader, platform));
    store.onCommit((txnId) => this.#committed(txnId));
  }

  /** Opens the store of a peer, or creates it. Nothing else may write to the storage. */
  static async open(
    storage: KeyValue,
    platform: Platform,
    options: PeerStoreOptions,
  ): Promise<PeerStore> {
    const { appId, retention = PEER_RETENTION, clock } = options;
    const noted: Noted = { first: undefined, last: 0 };
    const time = new ServerTime(platform, knownOffset(storage));
    const lock: WriteLock = { isOn: false };
    const corrected = { ...platform, now: () => time.now() };
    const store = await Store.open(storage, corrected, {
      retention,
      ...(clock === undefined ? {} : { clock }),
      // A device may be off for any time, and its clock is corrected by the server's (S33).
      isClockAccepted: true,
      siteOf: (reader, { site }) => chainFact(reader, site).site,
      onTransaction: (transaction, own, { site: life }) => {
        const noting = { life, platform, time };
        if (lock.isOn && own.steps.length > 0) throw beingErased();
        if (!notePending(transaction, own, noting)) return;
        noted.first ??= transaction.txnId;
        noted.last = transaction.txnId;
      },
    });
    const { app } = store.read(({ reader }) => serverFact(reader));
    if (app !== undefined && app !== appId) {
      await store.close();
      throw otherApp(appId, app);
    }
    const opened = new PeerStore(store, { platform, options, noted, time, lock });
    // From the start: writes before the first connection belong to this app as well (S39).
    if (app === undefined) {
      await opened.#write((layers) =>
        layers.put(SERVER_FACT, { ...serverFact(layers), app: appId }),
      );
    }
    return opened;
  }

  /** The site that numbers uploads: that of the store, or another one after a fork (S75). */
  get site(): Site {
    return this.store.read(({ reader }) => chainFact(reader, this.store.identity.site).site);
  }

  /** Local transactions without an outcome. */
  get pendingCount(): number {
    return this.store.read(({ reader }) => countFact(reader).pending);
  }

  /**
   * Refuses own writes from now on, so that the store can be erased. Rejects with `store.pending` if
   * a write has no outcome, unless `isForced`: then nothing changes. A write that was accepted before
   * the call counts.
   */
  async refuseWrites(isForced: boolean): Promise<void> {
    await this.store.transact(({ view }) => {
      const { pending } = countFact(view.reader);
      if (pending > 0 && !isForced) throw stillPending(pending);
      this.#lock.isOn = true;
    });
  }

  /**
   * Calls `listener` when a local write has become durable, or uploads are offered again. Returns a
   * function that stops it.
   */
  onPending(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * A connection begins: subscriptions of the previous one are no longer live. On a new history the
   * held versions are void (S38). Throws if the server belongs to another app (S39).
   */
  async welcome({ history, app, rights, offsetMs: measured }: ServerWelcome): Promise<void> {
    if (app !== this.#options.appId) throw otherApp(app, this.#options.appId);
    this.#time.measure(measured);
    const { offsetMs = 0 } = this.#time;
    await this.#write((layers) => {
      const server = serverFact(layers);
      const isNew = server.history !== undefined && server.history !== history;
      const epoch = isNew ? server.epoch + 1 : server.epoch;
      const live = liveFact(layers);
      for (const [key, record] of allRecords(layers.view.reader)) {
        layers.put(key, isNew ? withoutCursor(record) : fixed(record, live));
      }
      const unasked = isNew ? usedSites(layers, this.#numbering) : (server.unasked ?? []);
      if (isNew) layers.put(LIVE_FACT, { ...live, txn: 0 });
      layers.put(SERVER_FACT, { ...server, app, history, epoch, offsetMs, unasked });
    });
    await this.rights(rights);
    // Finishes what a crash interrupted: the server does not drop these documents a second time.
    await this.#finishForgetting();
    await this.#forgetDoubtful();
    for (const known of this.store.read(({ reader }) => this.#subscriptions.surplus(reader))) {
      await this.forget(known.key);
    }
  }

  /**
   * Sets the digest of what the credential may read. If it changed, releases the documents that no
   * active subscription covers, and forgets inactive subscriptions (S71).
   */
  async rights(rights: Uint8Array): Promise<void> {
    const before = this.store.read(({ reader }) => serverFact(reader).rights);
    if (before !== undefined && compareBytes(before, rights) === 0) return;
    if (before !== undefined) await this.#letGo();
    // Written last, so that an interrupted sweep is repeated, whatever the rights are then.
    await this.#write((layers) => layers.put(SERVER_FACT, { ...serverFact(layers), rights }));
  }

  /** Opens a known or new subscription as active. Equal query and arguments give an equal key. */
  subscription(
    query: string,
    args: ValueObject = {},
  ): KnownSubscription & { readonly cursor: SyncCursor | undefined } {
    const known = this.#subscriptions.open(query, args);
    return { ...known, cursor: this.store.read(({ reader }) => cursorOf(reader, known)) };
  }

  /** The peer has ended the subscription. Its documents and its cursor stay (S21). */
  async release(subscription: string): Promise<void> {
    this.#subscriptions.release(subscription);
    await this.behind([subscription]);
    await this.#forgetDoubtful();
  }

  /** The server does not permit it: releases what it alone covers, and removes its cursor (S71). */
  async deny(subscription: string): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#write((layers) => {
      changeRecord(layers, known, withoutCursor);
    });
    await sweepHeld(this.store, (document) => document.uncover((cover) => cover === known.number));
  }

  /** Forgets a subscription and releases the documents that it alone covers. */
  async forget(subscription: string): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#forgetWith([known], (layers) => giveUp(layers, known));
    await this.#finishForgetting();
  }

  /**
   * A fill or comparison begins; called before its first piece is applied. If the connection breaks
   * in between, the store holds parts of two states. So the previous cursor is invalid (S15),
   * unless this is the rest of an interrupted fill (S57).
   */
  async begin(subscription: string, mode: Exclude<StreamMode, "resume">): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#download((layers) => {
      const record = recordOf(layers, known.key);
      if (record === undefined) return;
      const { filter, fill, isHoled } = record;
      if (filter === undefined && fill === undefined && isHoled !== true) return;
      const begun = mode === "fill" ? filling(record) : torn(mended(record));
      if (begun !== record) layers.put(subscriptionKey(known.key), begun);
    });
  }

  /** Applies a batch of the server, as one transaction. */
  async apply(batch: ConfirmedBatch): Promise<AppliedBatch<RefusedUpload>> {
    const { result } = await this.store.transact(
      (transaction) =>
        new Confirmation(transaction, this.#subscriptions, this.#time.certainMs).apply(batch),
      batch.outcomes.length === 0 ? DOWNLOAD : {},
    );
    // Only when the batch is committed.
    if (batch.committed !== undefined) this.#subscriptions.mayTrust = false;
    this.gate?.applied(batch);
    return result;
  }

  /** Returns listed ids that are not held in these versions; releases what is not listed (S13). */
  async compare(subscription: string, versions: Versions): Promise<readonly Value[]> {
    const { result } = await this.store.transact(
      (transaction) =>
        new Confirmation(transaction, this.#subscriptions).compare(subscription, versions),
      DOWNLOAD,
    );
    return result;
  }

  /** The subscriptions are no longer live: each keeps the position that it reached. */
  async behind(subscriptions: readonly string[]): Promise<void> {
    await this.#download((layers) => {
      const live = liveFact(layers);
      for (const key of subscriptions) {
        const known = this.#subscriptions.get(key);
        if (known !== undefined) changeRecord(layers, known, (record) => fixed(record, live));
      }
    });
  }

  /**
   * Hands out the next transactions that were never sent, at most `max`. Their numbers, times and
   * digests are final and durable when it resolves (S33). `offsetMs` is how far the server's clock
   * is ahead of the device's.
   */
  async sequence(offsetMs: number, max: number): Promise<readonly OwnUpload[]> {
    const { driftMsMax: driftMs } = this.#options.clock ?? DEFAULT_CLOCK;
    const { result } = await this.store.transact((transaction) => {
      const clock = { offsetMs, nowMs: this.#platform.now() + offsetMs, driftMs };
      const layers = new Layers(transaction);
      const room = this.gate?.room(transaction.view, max) ?? max;
      const sequenced = sequenceNext(layers, this.#numbering, { ...clock, max: room });
      layers.flush();
      return sequenced;
    });
    return result;
  }

  /**
   * Transactions that were handed out and have no outcome, in the order of sending, at most `max`.
   * For each site, `after` names the number to start after.
   */
  sequenced(
    after?: ReadonlyMap<Site, number>,
    max: number = Number.POSITIVE_INFINITY,
  ): readonly OwnUpload[] {
    return this.store.read((snapshot) => {
      const found: OwnUpload[] = [];
      for (const upload of sequencedUploads(snapshot, this.store.identity.site, after)) {
        if (found.length >= max) break;
        if (this.gate?.holds(snapshot, upload.steps)) break;
        found.push(upload);
      }
      return found;
    });
  }

  /**
   * The server has the uploads of a site up to `known` (S30). Returns another site to ask the
   * server about, because it may lack what this store uploaded under that site.
   */
  async reoffer(site: Site, known: number): Promise<Site | undefined> {
    const fresh = siteOfBytes(this.#platform.random(8));
    const { pendingCount } = this;
    await this.#write((layers) => {
      const server = serverFact(layers);
      const isUnasked = server.unasked?.includes(site) === true;
      reofferKept(layers, this.#numbering, { site, known, fresh, isUnasked });
      if (!isUnasked) return;
      const unasked = (server.unasked ?? []).filter((other) => other !== site);
      layers.put(SERVER_FACT, { ...serverFact(layers), unasked });
    });
    // The server may also lack contents that these uploads wait for.
    if (this.pendingCount > pendingCount) this.offer();
    return this.store.read(({ reader }) => serverFact(reader).unasked?.[0]);
  }

  /** Continues under a new site, because two stores have written as one site (S75). */
  async fork(site: Site, number: number): Promise<void> {
    const fresh = siteOfBytes(this.#platform.random(8));
    await this.#write((layers) => forkChain(layers, this.#numbering, { site, number, fresh }));
  }

  /** There are uploads to send: new ones, or such that waited for a content. */
  offer(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Refused and stale uploads, oldest first. */
  refused(): readonly RefusedUpload[] {
    return this.store.read(refusedUploads);
  }

  /** Forgets one of them, or all. Resolves with their number when that is durable. */
  async clearRefused(commitId?: number): Promise<number> {
    let count = 0;
    await this.#write((layers) => {
      count = forgetRefused(layers, commitId);
    });
    return count;
  }

  /** Rows of `system:data_sync_info`. */
  syncInfoRows(session: SyncSession): readonly SystemRow[] {
    return this.store.read((snapshot) => [syncInfoRow(snapshot, session)]);
  }

  refusedRows(): readonly SystemRow[] {
    return this.store.read(refusedRows);
  }

  /** Removes what has expired, in bounded transactions. */
  async maintain(): Promise<void> {
    await this.#finishForgetting();
    await this.#forgetKept();
    const { deletedMs = HORIZON_MS } = this.#options;
    await forgetDeleted(this.store, Math.max(0, timeOfMs(this.#time.now() - deletedMs)));
    await this.store.maintain();
  }

  /** Does nothing before a `welcome`: only the server's clock measures how old a kept upload is. */
  async #forgetKept(): Promise<void> {
    const serverMs = this.#time.certainMs;
    let hasMore = serverMs !== undefined;
    while (hasMore) {
      const { result } = await this.store.transact((transaction) => {
        const layers = new Layers(transaction);
        const isCut = forgetKept(layers, serverMs ?? 0);
        layers.flush();
        return isCut;
      });
      hasMore = result;
    }
  }

  async close(): Promise<void> {
    await this.store.close();
  }

  get #numbering(): Numbering {
    return { life: this.store.identity.site, platform: this.#platform };
  }

  async #write(change: (layers: Layers) => void, options: RequestOptions = {}): Promise<void> {
    await this.store.transact((transaction) => {
      const layers = new Layers(transaction);
      change(layers);
      layers.flush();
    }, options);
  }

  /** A write that the next connection repeats if a crash loses it. */
  async #download(change: (layers: Layers) => void): Promise<void> {
    await this.#write(change, DOWNLOAD);
  }

  /**
   * Forgets subscriptions together with a write. They are forgotten at once, so that one that is
   * opened meanwhile starts over, and restored if the write fails.
   */
  async #forgetWith(
    gone: readonly KnownSubscription[],
    change: (layers: Layers) => void,
  ): Promise<void> {
    for (const { key } of gone) this.#subscriptions.forget(key);
    try {
      await this.#write(change);
    } catch (error) {
      for (const known of gone) this.#subscriptions.keep(known);
      throw error;
    }
  }

  /** Releases what no active subscription covers; with pending writes, after their outcomes. */
  async #letGo(): Promise<void> {
    const inactive = this.#subscriptions.inactive();
    this.#subscriptions.mayTrust = true;
    await this.#forgetWith(inactive, (layers) => {
      layers.put(SERVER_FACT, { ...serverFact(layers), rights: NO_RIGHTS });
      for (const { key } of inactive) layers.put(subscriptionKey(key), null);
      for (const known of this.#subscriptions.active()) {
        changeRecord(layers, known, (record) => ({ ...record, isDoubtful: true }));
      }
    });
    await sweepHeld(this.store, (document) => {
      const isActive = (cover: number): boolean => this.#subscriptions.isActiveNumber(cover);
      if (document.held?.covers.some(isActive) === true) {
        return document.uncover((cover) => !isActive(cover));
      }
      // A document with pending writes stays until their outcomes, which say what may be kept.
      if (document.isPending) document.doubt();
      else document.forget();
    });
  }

  /** Forgets subscriptions that ended before they were complete under the new rights (S71). */
  async #forgetDoubtful(): Promise<void> {
    const doubtful = this.store.read(({ reader }) =>
      this.#subscriptions
        .inactive()
        .filter(({ key }) => recordOf(reader, key)?.isDoubtful === true),
    );
    for (const { key } of doubtful) await this.forget(key);
  }

  async #finishForgetting(): Promise<void> {
    const gone = this.store.read(({ reader }) =>
      [...allRecords(reader)].filter(([, { isForgotten }]) => isForgotten === true),
    );
    if (gone.length === 0) return;
    const numbers = new Set(gone.map(([, { number }]) => number));
    await sweepHeld(this.store, (document) => document.uncover((cover) => numbers.has(cover)));
    await this.#write((layers) => {
      for (const [key] of gone) layers.put(key, null);
    });
  }

  #committed(txnId: number): void {
    const { first, last } = this.#noted;
    if (first === undefined || first > txnId) return;
    // Later ones may never become durable: they must not delay this one.
    this.#noted.first = last > txnId ? txnId + 1 : undefined;
    this.offer();
  }
}

/** The commit of something that the server sends again, because the cursor is lost with it. */
const DOWNLOAD: RequestOptions = { durability: "relaxed" };

/** Stored while documents are released after a change of rights: no digest is equal to it. */
const NO_RIGHTS = new Uint8Array();

const DEFAULT_CLOCK: ClockLimits = { driftMsMax: DRIFT_MS_MAX, restMsMax: REST_MS_MAX };

/** The offset of the server's clock that the store last recorded. */
function knownOffset(storage: KeyValue): number | undefined {
  const snapshot = storage.snapshot();
  try {
    return serverFact(snapshot).offsetMs;
  } finally {
    snapshot.close();
  }
}

function beingErased(): PeerError {
  return new PeerError("store.closed", "the peer is being erased");
}

function stillPending(count: number): PeerError {
  const message = `expected no writes that wait for the server, found ${count}`;
  const hint = "sync until none waits, or erase them with force: true";
  return new PeerError("store.pending", message, { hint });
}

/** The error for a store or a server of another app (S39). */
function otherApp(found: string, own: string): PeerError {
  const message = `expected the app ${own}, to which the store belongs, found ${found}`;
  return new PeerError("store.foreign", message);
}
