/**
 * PeerStore: the store of a small peer, with what its server confirmed and what it has not yet.
 *
 * The documents of the store are what shows, so statements, indexes and live queries work on it as on
 * any other. Beside them lies what the server sent and what was written here and has no outcome
 * (S34). Everything that belongs together is one transaction, so a crash at any moment leaves a state
 * in which both sides can go on.
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
import { Store } from "../store/store.ts";
import type { Transaction } from "../store/transaction.ts";
import { Confirmation } from "./confirmation.ts";
import { Layers } from "./layers.ts";
import { forgetKept, forgetRefused, type RefusedUpload, refusedUploads } from "./outcome.ts";
import { refusedRows, type SyncSession, syncInfoRow } from "./peer-facts.ts";
import type { AppliedBatch, ConfirmedBatch, PeerLayers } from "./peer-layers.ts";
import { notePending } from "./pending.ts";
import {
  forkChain,
  type Numbering,
  type OwnUpload,
  reofferKept,
  sealedUploads,
  sealNext,
  usedSites,
} from "./seal.ts";
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
 * The log of a peer serves those who observe its documents: it need not reach back far. What of a
 * document is forgotten is the server's to say; of those that were deleted the peer forgets all.
 */
export const PEER_RETENTION: Retention = {
  ...DEFAULT_RETENTION,
  logAgeMs: 86_400_000,
  logCount: 100_000,
  logBytes: 64 * 1024 * 1024,
  horizonMs: Number.POSITIVE_INFINITY,
};

export interface PeerStoreOptions {
  /** The app that the store belongs to. */
  readonly appId: string;
  readonly retention?: Retention;
  /** How long it is remembered that a document was deleted. */
  readonly deletedMs?: number;
  readonly clock?: ClockLimits;
}

/** Transactions that were noted as pending: durable, not yet, or never. */
interface Noted {
  /** None before it has still to be told of; undefined when none has. */
  first: number | undefined;
  last: number;
}

interface PeerStoreParts {
  readonly platform: Platform;
  readonly options: PeerStoreOptions;
  readonly noted: Noted;
  readonly time: ServerTime;
}

export interface ServerWelcome {
  readonly history: string;
  readonly app: string;
  readonly rights: Uint8Array;
  /** How far its clock is ahead of that of the device. */
  readonly offsetMs: number;
}

export class PeerStore implements PeerLayers {
  readonly store: Store;
  readonly #platform: Platform;
  readonly #options: PeerStoreOptions;
  readonly #subscriptions: Subscriptions;
  readonly #listeners = new Set<() => void>();
  readonly #noted: Noted;
  readonly #time: ServerTime;

  private constructor(store: Store, { platform, options, noted, time }: PeerStoreParts) {
    this.#noted = noted;
    this.#time = time;
    this.store = store;
    this.#platform = platform;
    this.#options = options;
    this.#subscriptions = store.read(({ reader }) => new Subscriptions(reader, platform));
    store.onCommit((txnId) => this.#committed(txnId));
  }

  /** Opens the store of a peer on a storage that nobody else writes to; makes one where none is. */
  static async open(
    storage: KeyValue,
    platform: Platform,
    options: PeerStoreOptions,
  ): Promise<PeerStore> {
    const { appId, retention = PEER_RETENTION, clock } = options;
    const noted: Noted = { first: undefined, last: 0 };
    const time = new ServerTime(platform, knownOffset(storage));
    const corrected = { ...platform, now: () => time.now() };
    const store = await Store.open(storage, corrected, {
      retention,
      ...(clock === undefined ? {} : { clock }),
      // A device may rest as long as it likes, and its clock is corrected by the server's (S33).
      isClockAccepted: true,
      siteOf: (reader, { site }) => chainFact(reader, site).site,
      onTransaction: (transaction, own, { site: life }) => {
        const noting = { life, platform, time };
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
    const opened = new PeerStore(store, { platform, options, noted, time });
    // From the first moment on: what is written before it ever saw a server is of this app as well.
    if (app === undefined) {
      await opened.#write((layers) =>
        layers.put(SERVER_FACT, { ...serverFact(layers), app: appId }),
      );
    }
    return opened;
  }

  /** Under which uploads are numbered: that of the store, or a new one after a fork. */
  get site(): Site {
    return this.store.read(({ reader }) => chainFact(reader, this.store.identity.site).site);
  }

  /** Local transactions without an outcome. */
  get pendingCount(): number {
    return this.store.read(({ reader }) => countFact(reader).pending);
  }

  /** Calls `listener` when a local write became durable. Returns the way to stop it. */
  onPending(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * A connection begins: subscriptions of the one before are not live any more. On a new history
   * nothing that is known of versions holds (S38); a store of another app is refused (S39).
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
    // What a crash left of it: nobody else would say that it may not be read any more.
    await this.#finishForgetting();
    await this.#forgetDoubtful();
    for (const known of this.store.read(({ reader }) => this.#subscriptions.surplus(reader))) {
      await this.forget(known.key);
    }
  }

  /**
   * What the credential may read. When it has changed, what no active subscription covers is let go
   * of, and the others with it (S21).
   */
  async rights(rights: Uint8Array): Promise<void> {
    const before = this.store.read(({ reader }) => serverFact(reader).rights);
    if (before !== undefined && compareBytes(before, rights) === 0) return;
    if (before !== undefined) await this.#letGo();
    // The last write of all: a sweep that was cut off is done again, whatever the rights are then.
    await this.#write((layers) => layers.put(SERVER_FACT, { ...serverFact(layers), rights }));
  }

  /** Known or new, and active from now on. Its key is the same for equal query and arguments. */
  subscription(
    query: string,
    args: ValueObject = {},
  ): {
    readonly key: string;
    readonly collection: string;
    readonly cursor: SyncCursor | undefined;
  } {
    const known = this.#subscriptions.open(query, args);
    const { key, collection } = known;
    return { key, collection, cursor: this.store.read(({ reader }) => cursorOf(reader, known)) };
  }

  /** Nobody follows the subscription any more. What it covers stays, and where it is. */
  async release(subscription: string): Promise<void> {
    this.#subscriptions.release(subscription);
    await this.behind([subscription]);
    await this.#forgetDoubtful();
  }

  /** The server does not permit it: what it alone covers is let go of, and so is its cursor (S21). */
  async deny(subscription: string): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#write((layers) => {
      changeRecord(layers, known, withoutCursor);
    });
    await sweepHeld(this.store, (document) => document.uncover((cover) => cover === known.number));
  }

  /** Forgets a subscription and lets go of what it alone covers. */
  async forget(subscription: string): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#forgetWith([known], (layers) => giveUp(layers, known));
    await this.#finishForgetting();
  }

  /**
   * A fill or compare begins. Before the first piece of it is taken: who loses the connection in
   * between holds parts of both, and must not go on from where the former was (S15), unless it is the
   * rest of that (S57).
   */
  async begin(subscription: string, mode: Exclude<StreamMode, "resume">): Promise<void> {
    const known = this.#subscriptions.get(subscription);
    if (known === undefined) return;
    await this.#write((layers) => {
      const record = recordOf(layers, known.key);
      if (record === undefined) return;
      const { filter, fill, isHoled } = record;
      if (filter === undefined && fill === undefined && isHoled !== true) return;
      const begun = mode === "fill" ? filling(record) : torn(mended(record));
      if (begun !== record) layers.put(subscriptionKey(known.key), begun);
    });
  }

  /** Takes what the server sent, as one transaction. */
  async apply(batch: ConfirmedBatch): Promise<AppliedBatch<RefusedUpload>> {
    const { result } = await this.store.transact((transaction) =>
      new Confirmation(transaction, this.#subscriptions, this.#time.certainMs).apply(batch),
    );
    // Not before it is durable: what the store did not take has not happened.
    if (batch.committed !== undefined) this.#subscriptions.mayTrust = false;
    return result;
  }

  /** The ids that are not held in these versions; lets go of what is not listed (S13). */
  async compare(subscription: string, versions: Versions): Promise<readonly Value[]> {
    const { result } = await this.store.transact((transaction) =>
      new Confirmation(transaction, this.#subscriptions).compare(subscription, versions),
    );
    return result;
  }

  /** The subscriptions are not live any more: each stays where it is. */
  async behind(subscriptions: readonly string[]): Promise<void> {
    await this.#write((layers) => {
      const live = liveFact(layers);
      for (const key of subscriptions) {
        const known = this.#subscriptions.get(key);
        if (known !== undefined) changeRecord(layers, known, (record) => fixed(record, live));
      }
    });
  }

  /**
   * Hands out the next transactions that were never sent, at most `max`. Their numbers, times and
   * digests are final and durable when it resolves (S33). `offsetMs` is how far the server's clock is
   * ahead of that of the device.
   */
  async seal(offsetMs: number, max: number): Promise<readonly OwnUpload[]> {
    const { driftMsMax: driftMs } = this.#options.clock ?? DEFAULT_CLOCK;
    const { result } = await this.store.transact((transaction) => {
      const clock = { offsetMs, nowMs: this.#platform.now() + offsetMs, driftMs };
      const layers = new Layers(transaction);
      const sealed = sealNext(layers, this.#numbering, { ...clock, max });
      layers.flush();
      return sealed;
    });
    return result;
  }

  /**
   * What was handed out and has no outcome, in the order in which it is sent, at most `max`. `after`
   * names for each site a number behind which to begin.
   */
  sealed(
    after?: ReadonlyMap<Site, number>,
    max: number = Number.POSITIVE_INFINITY,
  ): readonly OwnUpload[] {
    return this.store.read((snapshot) => {
      const found: OwnUpload[] = [];
      for (const upload of sealedUploads(snapshot, this.store.identity.site, after)) {
        if (found.length >= max) break;
        found.push(upload);
      }
      return found;
    });
  }

  /**
   * The server has the uploads of a site up to `known` (S30). Returns another site that it has to be
   * asked for, because it may lack what this store had uploaded under it.
   */
  async reoffer(site: Site, known: number): Promise<Site | undefined> {
    const fresh = siteOfBytes(this.#platform.random(8));
    await this.#write((layers) => {
      const server = serverFact(layers);
      const isUnasked = server.unasked?.includes(site) === true;
      reofferKept(layers, this.#numbering, { site, known, fresh, isUnasked });
      if (!isUnasked) return;
      const unasked = (server.unasked ?? []).filter((other) => other !== site);
      layers.put(SERVER_FACT, { ...serverFact(layers), unasked });
    });
    return this.store.read(({ reader }) => serverFact(reader).unasked?.[0]);
  }

  /** Two stores have written as one site: this one goes on under another (S29). */
  async fork(site: Site, number: number): Promise<void> {
    const fresh = siteOfBytes(this.#platform.random(8));
    await this.#write((layers) => forkChain(layers, this.#numbering, { site, number, fresh }));
  }

  /** Uploads that had no effect, oldest first. */
  refused(): readonly RefusedUpload[] {
    return this.store.read(refusedUploads);
  }

  /** Forgets one of them, or all. Resolves with how many there were, when that is durable. */
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

  /** Forgets what need not be kept, in bounded transactions. */
  async maintain(): Promise<void> {
    await this.#finishForgetting();
    await this.#forgetKept();
    const { deletedMs = HORIZON_MS } = this.#options;
    await forgetDeleted(this.store, Math.max(0, timeOfMs(this.#time.now() - deletedMs)));
    await this.store.maintain();
  }

  /** As long as no server was heard, nobody knows how long ago they were taken. */
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

  async #write(change: (layers: Layers, transaction: Transaction) => void): Promise<void> {
    await this.store.transact((transaction) => {
      const layers = new Layers(transaction);
      change(layers, transaction);
      layers.flush();
    });
  }

  /**
   * Forgets subscriptions with a write. At once, so that whoever begins one of them meanwhile begins
   * anew; but what the store does not take has not happened.
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

  /** Lets go of what no active subscription covers; what has pending writes follows with them. */
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
      // What is pending stays until it has an outcome, which says what may be kept.
      if (document.isPending) document.doubt();
      else document.forget();
    });
  }

  /** Of a subscription that ended before it was whole under new rights nobody says what it may keep. */
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
    // Those behind it may come to nothing: they must not keep this one waiting.
    this.#noted.first = last > txnId ? txnId + 1 : undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** While what may not be read any more is let go of: no digest is equal to it. */
const NO_RIGHTS = new Uint8Array();

const DEFAULT_CLOCK: ClockLimits = { driftMsMax: DRIFT_MS_MAX, restMsMax: REST_MS_MAX };

/** What was known of the server's clock when the store was used last. */
function knownOffset(storage: KeyValue): number | undefined {
  const snapshot = storage.snapshot();
  try {
    return serverFact(snapshot).offsetMs;
  } finally {
    snapshot.close();
  }
}

/** S39: what was written for one app must not get to another. */
function otherApp(found: string, own: string): PeerError {
  const message = `expected the app ${own}, to which the store belongs, found ${found}`;
  return new PeerError("store.foreign", message);
}
