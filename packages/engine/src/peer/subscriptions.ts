/**
 * Subscriptions: those that a peer has known, what they cover, and how far each is.
 *
 * A subscription is its query and arguments: the same ones later are the same subscription, and go on
 * from where it was (S21). While it is live it has no position of its own, but that of all live ones,
 * so that a commit of the server writes one record, however many there are.
 */

import {
  canonicalBytes,
  encodeMessage,
  hasTooManyContainers,
  PeerError,
  SYNC_MESSAGE_BYTES_MAX,
  type SyncCursor,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Platform, Reader } from "../platform.ts";
import { located } from "../query/fault.ts";
import { prepareCondition } from "../query/live/live-statement.ts";
import { requireParameters } from "../query/plan/parameters.ts";
import { SUBSCRIPTIONS, subscriptionKey } from "../store/keys.ts";
import {
  COUNT_FACT,
  countFact,
  type FillRecord,
  type LiveFact,
  liveFact,
  type Records,
  type SubscriptionRecord,
  serverFact,
} from "../store/peer-records.ts";
import type { Layers } from "./layers.ts";

/** Subscriptions that are remembered after they ended. */
export const SUBSCRIPTIONS_MAX = 1000;

export interface KnownSubscription {
  /** Of its query and arguments. */
  readonly key: string;
  readonly query: string;
  readonly args: ValueObject;
  readonly collection: string;
  /** Stands in what it covers. Never given twice. */
  readonly number: number;
}

/** What a subscription goes on from. One with a gap names a filter that no server has (S13). */
const NO_FILTER = new Uint8Array(16);

/** Where it goes on from while something may be missing of what it says. */
export function doubted({ history, txn }: SyncCursor): SyncCursor {
  return { history, filter: NO_FILTER, txn };
}

export class Subscriptions {
  readonly #platform: Platform;
  readonly #known = new Map<string, KnownSubscription>();
  readonly #active = new Set<string>();
  /** Whether some may be in doubt that stayed live while rights changed. */
  mayTrust = false;
  #last: number;

  constructor(reader: Reader, platform: Platform) {
    this.#platform = platform;
    this.#last = countFact(reader).subscriptions;
    for (const { value } of reader.entries(SUBSCRIPTIONS)) {
      const record = value as unknown as SubscriptionRecord;
      if (record.isForgotten !== true) this.#add(record);
    }
  }

  /** Known or new; active from now on. Throws a PeerError when nothing can be followed by it (S9). */
  open(query: string, args: ValueObject): KnownSubscription {
    const known = this.#known.get(this.#keyOf(query, args)) ?? this.#begin(query, args);
    this.#active.add(known.key);
    return known;
  }

  get(key: string): KnownSubscription | undefined {
    return this.#known.get(key);
  }

  /** It is not followed any more; what it covers stays. */
  release(key: string): void {
    this.#active.delete(key);
  }

  forget(key: string): void {
    this.#known.delete(key);
    this.#active.delete(key);
  }

  /** As it was before it was forgotten, unless it has begun again. */
  keep(known: KnownSubscription): void {
    if (!this.#known.has(known.key)) this.#known.set(known.key, known);
  }

  isActive(key: string): boolean {
    return this.#active.has(key);
  }

  /** Whether an active one has this number. */
  isActiveNumber(number: number): boolean {
    for (const key of this.#active) if (this.#known.get(key)?.number === number) return true;
    return false;
  }

  active(): KnownSubscription[] {
    return [...this.#known.values()].filter(({ key }) => this.#active.has(key));
  }

  inactive(): KnownSubscription[] {
    return [...this.#known.values()].filter(({ key }) => !this.#active.has(key));
  }

  /** Those that are more than can be remembered: not active, used longest ago. */
  surplus(reader: Records): KnownSubscription[] {
    const count = this.#known.size - SUBSCRIPTIONS_MAX;
    if (count <= 0) return [];
    const used = ({ key }: KnownSubscription): number => recordOf(reader, key)?.used ?? 0;
    return this.inactive()
      .sort((a, b) => used(a) - used(b))
      .slice(0, count);
  }

  #begin(query: string, args: ValueObject): KnownSubscription {
    const { collection } = located(query, () => {
      const { plan, parameters } = prepareCondition(query);
      requireParameters(parameters, args);
      return plan;
    });
    checkSendable(query, args);
    return this.#add({ query, args, collection, number: ++this.#last });
  }

  #add({ query, args, collection, number }: Omit<KnownSubscription, "key">): KnownSubscription {
    const known = { key: this.#keyOf(query, args), query, args, collection, number };
    this.#known.set(known.key, known);
    return known;
  }

  #keyOf(query: string, args: ValueObject): string {
    let key = "";
    for (const byte of this.#platform.sha256(canonicalBytes([query, args])).subarray(0, 16)) {
      key += byte.toString(16).padStart(2, "0");
    }
    return key;
  }
}

/** For the cursor, and what stands around it. */
const MESSAGE_ROOM = 4096;

/** What no server reads would end each connection on which it is sent, and all else with it. */
function checkSendable(query: string, args: ValueObject): void {
  const bytes = encodeMessage({ t: "subscribe", id: 0, query, args });
  const most = SYNC_MESSAGE_BYTES_MAX - MESSAGE_ROOM;
  if (bytes.length <= most && !hasTooManyContainers(bytes)) return;
  const message =
    bytes.length > most
      ? `expected at most ${most} bytes of a query with its arguments, found ${bytes.length}`
      : `expected fewer lists, objects and binary values in arguments of ${bytes.length} bytes`;
  throw new PeerError("query.too_large", message);
}

export function recordOf(reader: Records, key: string): SubscriptionRecord | undefined {
  return reader.get(subscriptionKey(key)) as unknown as SubscriptionRecord | undefined;
}

/** Where a subscription goes on from; undefined before anything of it came. */
export function cursorOf(
  reader: Records,
  { key, number }: KnownSubscription,
): SyncCursor | undefined {
  const record = recordOf(reader, key);
  // One that is being given up: what it covers goes, and its place is no more.
  if (record?.number !== number) return undefined;
  const { history } = serverFact(reader);
  const place = placeOf(record, liveFact(reader));
  if (place === undefined || history === undefined) return undefined;
  const isWhole = record.isTorn !== true && record.isHoled !== true;
  const cursor = { history, ...place };
  return isWhole ? cursor : doubted(cursor);
}

/** Where it was complete, or else how far it is on the way there (S57). */
function placeOf(record: SubscriptionRecord, live: LiveFact): FillRecord | undefined {
  const { filter, fill } = record;
  return filter === undefined ? fill : { filter, txn: positionOf(record, live) };
}

function positionOf({ txn = 0, liveFrom }: SubscriptionRecord, live: LiveFact): number {
  return liveFrom !== undefined && live.txn > liveFrom ? Math.max(txn, live.txn) : txn;
}

/** Puts a changed record; makes one for a subscription that has none yet. */
export function changeRecord(
  layers: Layers,
  known: KnownSubscription,
  change: (record: SubscriptionRecord) => SubscriptionRecord,
): void {
  layers.put(subscriptionKey(known.key), change(ensureRecord(layers, known)));
}

/** Numbers become durable with the first record that has one. */
export function ensureRecord(layers: Layers, known: KnownSubscription): SubscriptionRecord {
  const record = recordOf(layers, known.key);
  if (record?.number === known.number) return record;
  // Of one that could not be given up when it was to be.
  if (record !== undefined) giveUp(layers, { ...known, number: record.number });
  const { number, query, args, collection } = known;
  const counts = countFact(layers);
  if (number > counts.subscriptions) layers.put(COUNT_FACT, { ...counts, subscriptions: number });
  const fresh: SubscriptionRecord = { number, query, args, collection, used: 0 };
  layers.put(subscriptionKey(known.key), fresh);
  return fresh;
}

/** Its record moves to a name of its own: the same subscription may begin anew meanwhile. */
export function giveUp(layers: Layers, { key, ...known }: KnownSubscription): void {
  const record: SubscriptionRecord = { ...known, used: 0, isForgotten: true };
  layers.put(subscriptionKey(key), null);
  layers.put(subscriptionKey(`${key}/${known.number}`), record);
}

/** It is whole under the rights of now. */
export function trusted(record: SubscriptionRecord): SubscriptionRecord {
  const { isDoubtful: _, ...rest } = record;
  return rest;
}

/** It has a position of its own again: whatever becomes live later says nothing of it. */
export function fixed(record: SubscriptionRecord, live: LiveFact): SubscriptionRecord {
  const { liveFrom: _, ...rest } = record;
  return record.liveFrom === undefined ? record : { ...rest, txn: positionOf(record, live) };
}

/** Nothing of where it was counts any more. */
export function withoutCursor(record: SubscriptionRecord): SubscriptionRecord {
  const { filter: _, txn: __, liveFrom: ___, fill: ____, isTorn: _____, ...rest } = record;
  return rest;
}

/** A fill begins. Of one that was cut it may be the rest: then how far that was holds on (S57). */
export function filling(record: SubscriptionRecord): SubscriptionRecord {
  const { filter, fill, isTorn } = record;
  const mayGoOn = filter === undefined && fill !== undefined && isTorn !== true;
  return mayGoOn ? record : withoutCursor(record);
}

/** How far its fill is, or that this is not known. */
export function filledUpTo(
  record: SubscriptionRecord,
  fill: FillRecord | undefined,
): SubscriptionRecord {
  const { fill: _, ...rest } = record;
  return fill === undefined ? rest : { ...rest, fill };
}

/** What it holds is of no one moment: it has to be compared before it can go on. */
export function torn(record: SubscriptionRecord): SubscriptionRecord {
  return { ...record, isTorn: true };
}

/** Documents of it are missing, whatever else is told: a compare or a fill brings them. */
export function holed(record: SubscriptionRecord): SubscriptionRecord {
  return { ...record, isHoled: true };
}

/** A compare begins, or a fill from the first id on: it brings all that was evicted before it. */
export function mended(record: SubscriptionRecord): SubscriptionRecord {
  const { isHoled: _, ...rest } = record;
  return rest;
}

/** All that are kept, those that are being forgotten included. */
export function* allRecords(reader: Reader): Iterable<readonly [key: string, SubscriptionRecord]> {
  for (const { key, value } of reader.entries(SUBSCRIPTIONS)) {
    yield [key, value as unknown as SubscriptionRecord];
  }
}
