/**
 * Subscriptions: all subscriptions that a peer has known, what each covers, and how far each is.
 *
 * Query and arguments identify a subscription: the same ones later continue from its cursor (S21).
 * All live subscriptions share one position, so a commit of the server writes one record, however
 * many there are.
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

/** Subscriptions that are remembered; beyond that, inactive ones are forgotten. */
export const SUBSCRIPTIONS_MAX = 1000;

export interface KnownSubscription {
  /** Hash of query and arguments. */
  readonly key: string;
  readonly query: string;
  readonly args: ValueObject;
  readonly collection: string;
  /** Marks the documents that it covers. Never used again. */
  readonly number: number;
}

/** A filter that no server has: a cursor with it makes the server compare (S13). */
const NO_FILTER = new Uint8Array(16);

/** A cursor for a subscription that may lack documents: the server compares. */
export function doubted({ history, txn }: SyncCursor): SyncCursor {
  return { history, filter: NO_FILTER, txn };
}

export class Subscriptions {
  readonly #platform: Platform;
  readonly #known = new Map<string, KnownSubscription>();
  readonly #active = new Set<string>();
  /** Whether some may be in doubt that stayed live while rights changed (S71). */
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

  /** Opens a known or new one and makes it active. Throws a PeerError for an invalid query (S9). */
  open(query: string, args: ValueObject): KnownSubscription {
    const known = this.#known.get(this.#keyOf(query, args)) ?? this.#begin(query, args);
    this.#active.add(known.key);
    return known;
  }

  get(key: string): KnownSubscription | undefined {
    return this.#known.get(key);
  }

  /** Makes it inactive; what it covers stays. */
  release(key: string): void {
    this.#active.delete(key);
  }

  forget(key: string): void {
    this.#known.delete(key);
    this.#active.delete(key);
  }

  /** Restores a forgotten subscription, unless it has begun again. */
  keep(known: KnownSubscription): void {
    if (!this.#known.has(known.key)) this.#known.set(known.key, known);
  }

  isActive(key: string): boolean {
    return this.#active.has(key);
  }

  /** Whether an active subscription has this number. */
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

  /** Inactive subscriptions beyond SUBSCRIPTIONS_MAX, the least recently used first. */
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

/** Bytes for the cursor and the rest of the message. */
const MESSAGE_ROOM = 4096;

/** Throws if no server would accept the message: it would end each connection. */
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

/** The cursor that a subscription continues from; undefined before anything of it arrived. */
export function cursorOf(
  reader: Records,
  { key, number }: KnownSubscription,
): SyncCursor | undefined {
  const record = recordOf(reader, key);
  // The record belongs to an earlier one that is being forgotten: its cursor is void.
  if (record?.number !== number) return undefined;
  const { history } = serverFact(reader);
  const place = placeOf(record, liveFact(reader));
  if (place === undefined || history === undefined) return undefined;
  const isWhole = record.isTorn !== true && record.isHoled !== true;
  const cursor = { history, ...place };
  return isWhole ? cursor : doubted(cursor);
}

/** The position where it was complete, or else its position inside the fill (S57). */
function placeOf(record: SubscriptionRecord, live: LiveFact): FillRecord | undefined {
  const { filter, fill } = record;
  return filter === undefined ? fill : { filter, txn: positionOf(record, live) };
}

function positionOf({ txn = 0, liveFrom }: SubscriptionRecord, live: LiveFact): number {
  return liveFrom !== undefined && live.txn > liveFrom ? Math.max(txn, live.txn) : txn;
}

/** Changes the record of a subscription, or creates one. */
export function changeRecord(
  layers: Layers,
  known: KnownSubscription,
  change: (record: SubscriptionRecord) => SubscriptionRecord,
): void {
  layers.put(subscriptionKey(known.key), change(ensureRecord(layers, known)));
}

/** The record of a subscription. Its number becomes durable when the record is created. */
export function ensureRecord(layers: Layers, known: KnownSubscription): SubscriptionRecord {
  const record = recordOf(layers, known.key);
  if (record?.number === known.number) return record;
  // The record belongs to an earlier one that was not forgotten in time.
  if (record !== undefined) giveUp(layers, { ...known, number: record.number });
  const { number, query, args, collection } = known;
  const counts = countFact(layers);
  if (number > counts.subscriptions) layers.put(COUNT_FACT, { ...counts, subscriptions: number });
  const fresh: SubscriptionRecord = { number, query, args, collection, used: 0 };
  layers.put(subscriptionKey(known.key), fresh);
  return fresh;
}

/** Moves its record to another key, to be forgotten: the subscription may begin again. */
export function giveUp(layers: Layers, { key, ...known }: KnownSubscription): void {
  const record: SubscriptionRecord = { ...known, used: 0, isForgotten: true };
  layers.put(subscriptionKey(key), null);
  layers.put(subscriptionKey(`${key}/${known.number}`), record);
}

/** It is complete under the current rights. */
export function trusted(record: SubscriptionRecord): SubscriptionRecord {
  const { isDoubtful: _, ...rest } = record;
  return rest;
}

/** It is no longer live: it gets a position of its own again. */
export function fixed(record: SubscriptionRecord, live: LiveFact): SubscriptionRecord {
  const { liveFrom: _, ...rest } = record;
  return record.liveFrom === undefined ? record : { ...rest, txn: positionOf(record, live) };
}

/** Removes all that describes its position. */
export function withoutCursor(record: SubscriptionRecord): SubscriptionRecord {
  const { filter: _, txn: __, liveFrom: ___, fill: ____, isTorn: _____, ...rest } = record;
  return rest;
}

/** A fill begins. If it may continue an interrupted one, that position stays (S57). */
export function filling(record: SubscriptionRecord): SubscriptionRecord {
  const { filter, fill, isTorn } = record;
  const mayGoOn = filter === undefined && fill !== undefined && isTorn !== true;
  return mayGoOn ? record : withoutCursor(record);
}

/** Sets the position of its fill, or removes it if it is unknown. */
export function filledUpTo(
  record: SubscriptionRecord,
  fill: FillRecord | undefined,
): SubscriptionRecord {
  const { fill: _, ...rest } = record;
  return fill === undefined ? rest : { ...rest, fill };
}

/** Its documents are not of one moment: it must compare before it continues. */
export function torn(record: SubscriptionRecord): SubscriptionRecord {
  return { ...record, isTorn: true };
}

/** It lacks documents: only a comparison or a fill brings them. */
export function holed(record: SubscriptionRecord): SubscriptionRecord {
  return { ...record, isHoled: true };
}

/** A comparison, or a fill from the first id on, begins: it brings everything that was lacking. */
export function mended(record: SubscriptionRecord): SubscriptionRecord {
  const { isHoled: _, ...rest } = record;
  return rest;
}

/** All records, including those of subscriptions that are being forgotten. */
export function* allRecords(reader: Reader): Iterable<readonly [key: string, SubscriptionRecord]> {
  for (const { key, value } of reader.entries(SUBSCRIPTIONS)) {
    yield [key, value as unknown as SubscriptionRecord];
  }
}
