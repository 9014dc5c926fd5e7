/**
 * Device records: writes the last known state of each device of an app to its collection
 * `__small_peer_info`. Key and credential identify a device: a client with the key of another
 * device gets a record of its own (W6).
 *
 * Devices that connect or leave are written with the next tick, all in one transaction; other
 * changes at most every ten seconds. Progress alone does not cause a write (W9). No connection
 * waits: a failed write is logged and retried (W10). Records of a credential that has written much
 * lately lag, and what a device changed before it left is then not written (W7).
 *
 * A killed server could not record who left. So when an app is opened, records that say `connected`
 * are corrected before anything else is written. In a cluster this is done by each node that begins
 * to evaluate the app, and devices of all nodes count as connected.
 */

import type { Platform } from "@bigpeer/engine";
import type { Store, Transaction, View } from "@bigpeer/engine/store";
import type { PeerChange, PeerReport, SyncServer } from "@bigpeer/engine/sync";
import { peerRow } from "@bigpeer/engine/sync";
import {
  type Edit,
  getField,
  type MutableObject,
  PeerError,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { describeError, type Log } from "../observability/log.ts";
import { DeviceAllowance, type DeviceAllowanceLimits } from "./device-allowance.ts";
import { DEVICE_TYPES, loggedSize, recordedSubscriptions, updateOf } from "./device-content.ts";
import { DeviceEvictionList } from "./device-eviction-list.ts";
import {
  DEVICE_RECORDS,
  type DeviceName,
  idOf,
  isSameName,
  nameIn,
  textOf,
} from "./device-name.ts";
import { RecordBudget, type RecordLimits } from "./record-budget.ts";

export interface DeviceRecordsOptions extends RecordLimits {
  readonly appId: string;
  readonly store: Pick<Store, "read" | "transact">;
  readonly platform: Pick<Platform, "now" | "elapsed" | "pause">;
  readonly log: Log;
  /** Devices that are connected when the records begin; left out, there are none yet. */
  readonly sync?: FollowedSync;
  /** For tests. */
  readonly allowance?: DeviceAllowanceLimits;
}

/** The part of the sync server that the records follow. */
export type FollowedSync = Pick<SyncServer, "onPeers" | "peer" | "peers">;

/** How often a connected device is written, at most. */
const CHANGED_MS = 10_000;

/** When a failed write is retried. */
const RETRY_MS = 10_000;

/** Records that one transaction writes, and that one read visits. */
const WRITTEN_AT_ONCE = 100;
const READ_AT_ONCE = 500;

/** Ticks in which all connected devices are checked for changed subscriptions. */
const LOOK_TICKS = 10;

/** Devices that may wait to be written; beyond that the first is dropped. */
const PENDING_MAX = 50_000;

/** Errors of the content of a record, not of the store. */
const CONTENT_CODES = new Set([
  "value.invalid",
  "id.invalid",
  "operation.invalid",
  "operation.refused",
]);

const NOT_WRITABLE_CODES = new Set(["store.closed", "cluster.elsewhere"]);

/** A connected device with all its sessions, the newest of which is reported. */
interface Live {
  readonly sessions: Set<number>;
  /** The last report. */
  report: PeerReport;
  /** As they were last written. */
  subscriptions: PeerReport["subscriptions"];
  writtenMs: number;
}

/** A device that waits to be written. */
interface Pending {
  /** The last report. */
  readonly report: PeerReport;
  /** It connected or left. */
  readonly isUrgent: boolean;
  /** It left, and only that will be written: nothing else of it is kept. */
  readonly isBrief?: true;
}

interface Due extends Pending {
  readonly name: DeviceName;
  readonly isConnected: boolean;
  readonly fields: ValueObject;
}

/** What a transaction did to the records, for the eviction list. */
type Effect = (roll: DeviceEvictionList) => void;

export class DeviceRecords {
  readonly #options: DeviceRecordsOptions;
  /** By the text of the name, like all maps of devices here. */
  readonly #live = new Map<string, Live>();
  readonly #pending = new Map<string, Pending>();
  /** The last reported name of each session. */
  readonly #names = new Map<number, DeviceName>();
  readonly #roll = new DeviceEvictionList();
  readonly #allowance: DeviceAllowance;
  #sync: FollowedSync | undefined;
  #unfollow: () => void = () => {};
  /** Where the check of subscriptions continues. */
  #look: Iterator<[string, Live]> | undefined;
  #isRestored = false;
  #writing: Promise<void> | undefined;
  #retryMs = Number.NEGATIVE_INFINITY;
  #isFull = false;
  #isClosed = false;

  constructor(options: DeviceRecordsOptions) {
    this.#options = options;
    this.#allowance = new DeviceAllowance(() => options.platform.elapsed(), options.allowance);
    // Before the records are corrected: a device that is connected has not left.
    if (options.sync !== undefined) this.follow(options.sync);
    this.#start(false);
  }

  /** Whether it writes nothing any more, because the store is closed or written elsewhere. */
  get isStopped(): boolean {
    return this.#isClosed;
  }

  /** Records from now on which devices connect, change and leave. */
  follow(sync: FollowedSync): void {
    this.#sync = sync;
    for (const report of sync.peers()) this.#note({ report, kind: "joined" });
    this.#unfollow = sync.onPeers((change) => this.#note(change));
  }

  /** Writes nothing any more: another node of the cluster does. */
  stop(): void {
    this.#isClosed = true;
    this.#unfollow();
    this.#live.clear();
    this.#pending.clear();
    this.#names.clear();
  }

  /** Call about once a second. */
  tick(): void {
    this.#lookAround();
    if (this.#options.platform.elapsed() >= this.#retryMs) this.#start(false);
  }

  /** Writes everything that is known, and nothing after it. Never rejects. */
  async close(): Promise<void> {
    await this.#writing;
    this.#start(true);
    await this.#writing;
    this.#isClosed = true;
  }

  #note({ report, kind }: PeerChange): void {
    const { session } = report;
    const name = nameOf(report);
    const former = this.#names.get(session);
    // The session has another credential or key now: the former device has left.
    if (former !== undefined && !isSameName(former, name)) this.#parted(session, former);
    if (kind === "left") {
      this.#names.delete(session);
      this.#take(session, name);
    } else {
      this.#names.set(session, name);
      this.#join(session, name, report);
    }
    this.#await(name, report, kind !== "changed");
  }

  #join(session: number, name: DeviceName, report: PeerReport): void {
    const live = this.#live.get(textOf(name));
    if (live === undefined) {
      const writtenMs = Number.NEGATIVE_INFINITY;
      const sessions = new Set([session]);
      this.#live.set(textOf(name), { sessions, report, subscriptions: [], writtenMs });
      return;
    }
    live.sessions.add(session);
    live.report = report;
  }

  /** Removes a session from its device; a device without sessions has left. */
  #take(session: number, name: DeviceName): Live | undefined {
    const live = this.#live.get(textOf(name));
    live?.sessions.delete(session);
    if (live?.sessions.size === 0) this.#live.delete(textOf(name));
    return live;
  }

  #parted(session: number, former: DeviceName): void {
    const live = this.#take(session, former);
    if (live !== undefined) this.#await(former, live.report, true);
  }

  #await(name: DeviceName, report: PeerReport, isUrgent: boolean): void {
    const text = textOf(name);
    const before = this.#pending.get(text);
    this.#pending.set(text, { report, isUrgent: isUrgent || before?.isUrgent === true });
    if (this.#pending.size <= PENDING_MAX) return;
    for (const first of this.#pending.keys()) {
      this.#pending.delete(first);
      return;
    }
  }

  /** Changed subscriptions are not reported, so each tick checks a part of the devices. */
  #lookAround(): void {
    const count = Math.ceil(this.#live.size / LOOK_TICKS);
    for (let i = 0; i < count; i++) {
      this.#look ??= this.#live.entries();
      const { done, value } = this.#look.next();
      if (done === true) {
        this.#look = undefined;
        return;
      }
      const [text, live] = value;
      const report = this.#reportOf(live);
      // A session with another name is reported soon.
      if (report === undefined || this.#pending.has(text) || textOf(nameOf(report)) !== text)
        continue;
      if (!areSame(report.subscriptions, live.subscriptions)) {
        this.#await(nameOf(report), report, false);
      }
    }
  }

  #reportOf({ sessions }: Live): PeerReport | undefined {
    return this.#sync?.peer(Math.max(...sessions));
  }

  #start(isAll: boolean): void {
    if (this.#writing !== undefined || this.#isClosed) return;
    if (this.#isRestored && this.#pending.size === 0) return;
    this.#writing = this.#write(isAll).finally(() => {
      this.#writing = undefined;
    });
  }

  /** Never rejects. */
  async #write(isAll: boolean): Promise<void> {
    const { platform, log, appId } = this.#options;
    try {
      if (!this.#isRestored) await this.#restore();
      for (;;) {
        const due = this.#takeDue(isAll);
        if (due.length === 0) return;
        await this.#record(due);
        if (this.#isClosed) return;
        // Later ones wait for the next tick, so that many changes are few transactions.
        if (due.length < WRITTEN_AT_ONCE) return;
        await platform.pause();
      }
    } catch (error) {
      if (isNotWritable(error)) return this.stop();
      this.#retryMs = platform.elapsed() + RETRY_MS;
      log("warn", `devices could not be recorded: ${describeError(error)}`, { appId });
    }
  }

  /** Removes devices that are written now from the pending ones, and returns them. */
  #takeDue(isAll: boolean): Due[] {
    const now = this.#options.platform.elapsed();
    const due: Due[] = [];
    for (const [text, pending] of this.#pending) {
      const live = this.#live.get(text);
      const isEarly = live !== undefined && now - live.writtenMs < CHANGED_MS;
      if (isEarly && !pending.isUrgent && !isAll) continue;
      const isSpent = this.#allowance.isSpent(pending.report.credential);
      if (isSpent && !isAll) {
        if (live === undefined) this.#abridge(text, pending);
        continue;
      }
      const report = this.#lastOf(text, live) ?? pending.report;
      if (live !== undefined) {
        live.subscriptions = report.subscriptions;
        live.writtenMs = now;
      }
      const isConnected = live !== undefined;
      const isBrief = isSpent || pending.isBrief === true;
      const fields = this.#fieldsOf(report, isConnected, isBrief);
      const { isUrgent } = pending;
      due.push({
        name: nameOf(report),
        isConnected,
        report,
        isUrgent,
        fields,
        ...(isBrief && { isBrief }),
      });
      this.#pending.delete(text);
      if (due.length === WRITTEN_AT_ONCE) break;
    }
    return due;
  }

  /** Reduces a pending device to the fact that it left; drops it if it has no record. */
  #abridge(text: string, { report, isBrief }: Pending): void {
    if (isBrief === true) return;
    const id = idOf(nameOf(report));
    const isRecorded = this.#options.store.read(
      (view) => view.get(DEVICE_RECORDS, id) !== undefined,
    );
    if (!isRecorded) {
      this.#pending.delete(text);
      return;
    }
    const description = { ...report.description, metadata: {} };
    const brief = { ...report, description, identity: {}, subscriptions: [] };
    this.#pending.set(text, { report: brief, isUrgent: true, isBrief: true });
  }

  /** The current report of a device; undefined if it is not connected under this name. */
  #lastOf(text: string, live: Live | undefined): PeerReport | undefined {
    const report = live && this.#reportOf(live);
    return report !== undefined && textOf(nameOf(report)) === text ? report : undefined;
  }

  #fieldsOf(report: PeerReport, isConnected: boolean, isBrief: boolean): ValueObject {
    const state = {
      status: isConnected ? "connected" : "left",
      lastSeen: Math.floor(this.#options.platform.now() - report.traffic.heardMs),
    };
    if (isBrief) return state;
    const { fields } = peerRow(report);
    const copied: MutableObject = {};
    for (const name of COPIED) {
      const value = getField(fields, name);
      if (value !== undefined) setField(copied, name, value);
    }
    return {
      ...copied,
      credential: report.credential,
      ...state,
      subscriptions: recordedSubscriptions(report),
    };
  }

  /** Rejects if the store failed; then all of these devices are pending again. */
  async #record(due: readonly Due[]): Promise<void> {
    try {
      const effects = await this.#apply(due);
      for (const effect of effects) effect(this.#roll);
    } catch (error) {
      const isOfContent = error instanceof PeerError && CONTENT_CODES.has(error.code);
      if (!isOfContent) {
        this.#awaitAgain(due);
        throw error;
      }
      // The content of one record must not block the others.
      if (due.length > 1) await this.#recordApart(due);
      else this.#leaveOut(due, error);
    }
  }

  async #recordApart(due: readonly Due[]): Promise<void> {
    for (const [i, each] of due.entries()) {
      try {
        await this.#record([each]);
      } catch (error) {
        this.#awaitAgain(due.slice(i + 1));
        throw error;
      }
    }
  }

  #awaitAgain(due: readonly Due[]): void {
    for (const { name, report, isUrgent, isBrief } of due) {
      const text = textOf(name);
      if (this.#pending.has(text)) continue;
      this.#await(name, report, isUrgent);
      if (isBrief) this.#pending.set(text, { report, isUrgent, isBrief });
    }
  }

  /** Returns effects that count only when the transaction is durable. */
  async #apply(due: readonly Due[]): Promise<Effect[]> {
    const effects: Effect[] = [];
    await this.#options.store.transact((transaction) => {
      effects.length = 0;
      const room = new RecordBudget(transaction, this.#roll, this.#options);
      for (const each of due) this.#applyOne(transaction, each, { room, effects });
    });
    return effects;
  }

  #applyOne(
    transaction: Transaction,
    { name, isConnected, fields, isUrgent, isBrief }: Due,
    { room, effects }: { readonly room: RecordBudget; readonly effects: Effect[] },
  ): void {
    const id = idOf(name);
    room.touch(name);
    const before = transaction.view.get(DEVICE_RECORDS, id)?.fields;
    if (before !== undefined) {
      const update = updateOf(id, before, fields, { isUrgent, isBrief: isBrief === true });
      transaction.apply(update);
      const size = loggedSize(update, before);
      effects.push((roll) => {
        roll.mark(name, isConnected);
        this.#allowance.charge(name.credential, size);
      });
      return;
    }
    if (isBrief === true) return;
    const made = room.make(name.credential);
    if (made === undefined) return this.#noteFull();
    const insert = [
      { kind: "insert", collection: DEVICE_RECORDS, id, fields, types: DEVICE_TYPES, clean: true },
    ] as const;
    transaction.apply(insert);
    const size = loggedSize(insert, {});
    effects.push((roll) => {
      this.#allowance.charge(name.credential, size);
      for (const removed of made) roll.remove(removed);
      roll.add(name);
      roll.mark(name, isConnected);
    });
  }

  #noteFull(): void {
    const { log, appId } = this.#options;
    if (!this.#isFull) log("warn", "too many devices: new ones are not recorded", { appId });
    this.#isFull = true;
  }

  #leaveOut([one]: readonly Due[], error: unknown): void {
    const { log, appId } = this.#options;
    log("warn", `a device cannot be recorded: ${describeError(error)}`, {
      appId,
      peer: one?.name.key,
    });
  }

  /** Marks devices as `left` whose record says `connected` and that are not. */
  async #restore(): Promise<void> {
    const { store, platform } = this.#options;
    const known: Known[] = [];
    let after: Value | undefined;
    for (;;) {
      const { ids, last, devices } = store.read((view) => recordsIn(view, after));
      if (ids.length > 0) {
        await store.transact((transaction) => {
          for (const id of ids) this.#markLeft(transaction, id);
        });
      }
      for (const device of devices) known.push(device);
      if (last === undefined) break;
      after = last;
      await platform.pause();
    }
    known.sort((one, other) => one.lastSeen - other.lastSeen);
    for (const { name } of known) {
      this.#roll.add(name);
      this.#roll.mark(name, this.#live.has(textOf(name)));
    }
    this.#isRestored = true;
  }

  #markLeft(transaction: Transaction, id: Value): void {
    const name = nameIn(id);
    if (name !== undefined && this.#live.has(textOf(name))) return;
    const fields = transaction.view.get(DEVICE_RECORDS, id)?.fields;
    if (fields === undefined || fields["status"] !== "connected") return;
    const edits: Edit[] = [{ kind: "set", path: ["status"], value: "left" }];
    transaction.apply([{ kind: "update", collection: DEVICE_RECORDS, id, edits }]);
  }
}

/** The record of a device, connected or not: of several with this key the one seen last. */
export function deviceRecord(store: Store, key: string): ValueObject | undefined {
  return store.read((view) => {
    let last: ValueObject | undefined;
    let count = 0;
    for (const { id, fields } of view.scan(DEVICE_RECORDS, { after: [key] })) {
      if (nameIn(id)?.key !== key || ++count > SAME_KEY_MAX) break;
      if (last === undefined || lastSeenOf(fields) > lastSeenOf(last)) last = fields;
    }
    return last;
  });
}

/** Records with the same key that are read. */
const SAME_KEY_MAX = 100;

function nameOf({ description, credential }: PeerReport): DeviceName {
  return { key: description.key, credential };
}

function lastSeenOf(fields: ValueObject): number {
  const { lastSeen } = fields;
  return typeof lastSeen === "number" ? lastSeen : 0;
}

/** Fields that a record has in common with `system:peers`. */
const COPIED = [
  "peerKeyString",
  "deviceName",
  "os",
  "sdkVersion",
  "userId",
  "peerMetadata",
  "identityServiceMetadata",
  "connectedSince",
  "sync",
];

interface Known {
  readonly name: DeviceName;
  readonly lastSeen: number;
}

interface ReadRecords {
  /** Records that say `connected`. */
  readonly ids: readonly Value[];
  readonly devices: readonly Known[];
  readonly last: Value | undefined;
}

function recordsIn(view: View, after: Value | undefined): ReadRecords {
  const range = after === undefined ? {} : { after };
  const ids: Value[] = [];
  const devices: Known[] = [];
  let count = 0;
  for (const { id, fields } of view.scan(DEVICE_RECORDS, range)) {
    if (fields["status"] === "connected") ids.push(id);
    const name = nameIn(id);
    if (name !== undefined) devices.push({ name, lastSeen: lastSeenOf(fields) });
    if (++count === READ_AT_ONCE) return { ids, devices, last: id };
  }
  return { ids, devices, last: undefined };
}

/** Compares arguments by identity: a subscription keeps its objects. */
function areSame(one: PeerReport["subscriptions"], other: PeerReport["subscriptions"]): boolean {
  return (
    one.length === other.length &&
    one.every(({ query, args }, i) => query === other[i]?.query && args === other[i]?.args)
  );
}

/** The store is closed, or another node of the cluster writes it. */
function isNotWritable(error: unknown): boolean {
  return error instanceof PeerError && NOT_WRITABLE_CODES.has(error.code);
}
