/**
 * Device records: what was last known of each device of an app, in its collection `__small_peer_info`.
 * A device is known by its key and its credential: whoever comes with the key of another one has a
 * record of his own.
 *
 * Whoever joins or leaves is noted at once and written with the next tick, all of them in one
 * transaction; what changed in between at most every ten seconds. Nobody waits for it: what cannot be
 * written is logged and tried again. How far a device is changes all the time, so that alone is no
 * reason to write; `system:peers` has it. A credential that has written much lately waits longer: its
 * records lag, and what a device had to say of itself before it left is not written any more (W7).
 *
 * A server that was killed could not write who left. So what says `connected` when an app is opened is
 * put right before anything else is written.
 */

import type {
  PeerChange,
  PeerReport,
  Platform,
  Store,
  SyncServer,
  Transaction,
  View,
} from "@bigpeer/engine";
import { peerRow } from "@bigpeer/engine";
import {
  type Edit,
  getField,
  type MutableObject,
  PeerError,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { describeError, type Log } from "../log.ts";
import { DeviceAllowance, type DeviceAllowanceLimits } from "./device-allowance.ts";
import { DEVICE_TYPES, loggedSize, recordedSubscriptions, updateOf } from "./device-content.ts";
import {
  DEVICE_RECORDS,
  type DeviceName,
  idOf,
  isSameName,
  nameIn,
  textOf,
} from "./device-name.ts";
import { DeviceRoll } from "./device-roll.ts";
import { type RecordLimits, RecordRoom } from "./record-room.ts";

export interface DeviceRecordsOptions extends RecordLimits {
  readonly appId: string;
  readonly store: Pick<Store, "read" | "transact">;
  readonly platform: Pick<Platform, "now" | "elapsed" | "pause">;
  readonly log: Log;
  /** For tests. */
  readonly allowance?: DeviceAllowanceLimits;
}

/** Sync, as far as the records follow it. */
export type FollowedSync = Pick<SyncServer, "onPeers" | "peer">;

/** How often a device that stays is written. */
const CHANGED_MS = 10_000;

/** When what could not be written is tried again. */
const RETRY_MS = 10_000;

/** Records of one transaction, and those that are looked at in one read. */
const WRITTEN_AT_ONCE = 100;
const READ_AT_ONCE = 500;

/** Ticks in which all connected devices are looked at for other subscriptions. */
const LOOK_TICKS = 10;

/** Devices that may wait to be written; beyond it the first is forgotten. */
const PENDING_MAX = 50_000;

/** Errors of what is to be written, not of the store. */
const CONTENT_CODES = new Set([
  "value.invalid",
  "id.invalid",
  "operation.invalid",
  "operation.refused",
]);

/** A device that is connected: by all its sessions, the newest of which is told of. */
interface Live {
  readonly sessions: Set<number>;
  /** The last that was told. */
  report: PeerReport;
  /** As they were written. */
  subscriptions: PeerReport["subscriptions"];
  writtenMs: number;
}

/** A device that is to be written. */
interface Pending {
  /** The last that was told. */
  readonly report: PeerReport;
  /** It joined or left. */
  readonly isUrgent: boolean;
  /** It left, and only that is still to be written: nothing else is held of it. */
  readonly isBrief?: true;
}

interface Due extends Pending {
  readonly name: DeviceName;
  readonly isConnected: boolean;
  readonly fields: ValueObject;
}

/** What a transaction did to the records. */
type Effect = (roll: DeviceRoll) => void;

export class DeviceRecords {
  readonly #options: DeviceRecordsOptions;
  /** By the text of their names, as all that is here. */
  readonly #live = new Map<string, Live>();
  readonly #pending = new Map<string, Pending>();
  /** By session: as whom it was told of last. */
  readonly #names = new Map<number, DeviceName>();
  readonly #roll = new DeviceRoll();
  readonly #allowance: DeviceAllowance;
  #sync: FollowedSync | undefined;
  /** Where the look at subscriptions goes on. */
  #look: Iterator<[string, Live]> | undefined;
  #isRestored = false;
  #writing: Promise<void> | undefined;
  #retryMs = Number.NEGATIVE_INFINITY;
  #isFull = false;
  #isClosed = false;

  constructor(options: DeviceRecordsOptions) {
    this.#options = options;
    this.#allowance = new DeviceAllowance(() => options.platform.elapsed(), options.allowance);
    this.#start(false);
  }

  /** Records who joins, changes and leaves from now on. */
  follow(sync: FollowedSync): void {
    this.#sync = sync;
    sync.onPeers((change) => this.#note(change));
  }

  /** To be called about every second. */
  tick(): void {
    this.#lookAround();
    if (this.#options.platform.elapsed() >= this.#retryMs) this.#start(false);
  }

  /** Writes all that is known, and nothing after it. Never rejects. */
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
    // It has another credential now, or another key: the device that it was has left.
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

  /** Takes a session from its device; the device that has none any more has left. */
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

  /** Nobody tells of other subscriptions: each tick looks at a part of the devices. */
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
      // One that has another name meanwhile is told of soon.
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
        // Whoever came meanwhile waits for the next tick: many who come and go are few transactions.
        if (due.length < WRITTEN_AT_ONCE) return;
        await platform.pause();
      }
    } catch (error) {
      if (isClosedStore(error)) {
        this.#isClosed = true;
        return;
      }
      this.#retryMs = platform.elapsed() + RETRY_MS;
      log("warn", `devices could not be recorded: ${describeError(error)}`, { appId });
    }
  }

  /** Some of those that are to be written now; they are not pending any more. */
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

  /** What is held of a device that left and has to wait: that it left, if it is recorded at all. */
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

  /** What can be said of a device now. */
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

  /** Rejects when the store is to blame; then all of them wait again. */
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
      // What one device says of itself must not keep the others out.
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

  /** What it has done counts when it is written, not before. */
  async #apply(due: readonly Due[]): Promise<Effect[]> {
    const effects: Effect[] = [];
    await this.#options.store.transact((transaction) => {
      effects.length = 0;
      const room = new RecordRoom(transaction, this.#roll, this.#options);
      for (const each of due) this.#applyOne(transaction, each, { room, effects });
    });
    return effects;
  }

  #applyOne(
    transaction: Transaction,
    { name, isConnected, fields, isUrgent, isBrief }: Due,
    { room, effects }: { readonly room: RecordRoom; readonly effects: Effect[] },
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

  /** Those that are said to be connected and are not have left, nobody knows when. */
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

/** What is known of a device, connected or not: of several with this key the one that was seen last. */
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

/** Records with the same key that are looked at. */
const SAME_KEY_MAX = 100;

function nameOf({ description, credential }: PeerReport): DeviceName {
  return { key: description.key, credential };
}

function lastSeenOf(fields: ValueObject): number {
  const { lastSeen } = fields;
  return typeof lastSeen === "number" ? lastSeen : 0;
}

/** What a record has as `system:peers` has it. */
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
  /** Those that are said to be connected. */
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

/** A subscription keeps its text and arguments as long as it lives. */
function areSame(one: PeerReport["subscriptions"], other: PeerReport["subscriptions"]): boolean {
  return (
    one.length === other.length &&
    one.every(({ query, args }, i) => query === other[i]?.query && args === other[i]?.args)
  );
}

function isClosedStore(error: unknown): boolean {
  return error instanceof PeerError && error.code === "store.closed";
}
