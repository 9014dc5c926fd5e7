/**
 * Stamp table: dictionary of the distinct stamps of one state, so that entries refer to them by a
 * small number.
 *
 * Reference 0 is NONE and 1 the default: the most frequent stamp, on a tie the latest. The others
 * follow from the latest to the oldest. The table depends on the state alone, not on its history,
 * so its bytes are canonical (K10, K12).
 */

import {
  assert,
  type ByteReader,
  type ByteWriter,
  compareStamps,
  NO_SITE,
  NONE,
  type Site,
  type Stamp,
} from "@bigpeer/protocol";
import { type Counter, type DocumentState, eachStateStamp, type Kids } from "./state.ts";

export class StampTable {
  /** The default first, then the others from the latest to the oldest. */
  readonly stamps: readonly Stamp[];
  /** How many places of the state refer to a stamp; 0 for a table that was read. */
  readonly uses: number;

  constructor(stamps: readonly Stamp[], uses = 0) {
    this.stamps = stamps;
    this.uses = uses;
  }

  static of(state: DocumentState): StampTable {
    const counts = new StampCounts();
    const visit = (stamp: Stamp): void => counts.add(stamp);
    eachStateStamp(state, visit);
    eachBirth(state.root, visit);
    return new StampTable(counts.order(), counts.total);
  }

  get default(): Stamp {
    return this.stamps[0] ?? NONE;
  }

  get size(): number {
    return this.stamps.length;
  }

  /** The reference to a stamp; it must be one of the table. */
  referenceTo(stamp: Stamp): number {
    if (stamp === NONE) return 0;
    if (this.isDefault(stamp)) return 1;
    // Binary search: the stamps after the default are in order.
    let low = 1;
    let high = this.stamps.length - 1;
    for (;;) {
      assert(low <= high, "a stamp of this table");
      const middle = (low + high) >> 1;
      const order = compareStamps(stamp, this.stamps[middle] ?? NONE);
      if (order === 0) return middle + 1;
      if (order > 0) high = middle - 1;
      else low = middle + 1;
    }
  }

  isDefault(stamp: Stamp): boolean {
    return stamp === this.default || compareStamps(stamp, this.default) === 0;
  }

  at(reference: number, reader: ByteReader): Stamp {
    if (reference === 0) return NONE;
    return this.stamps[reference - 1] ?? reader.fail("expected a stamp of the table");
  }

  write(writer: ByteWriter): void {
    writeStamp(writer, this.default);
    if (this.size === 1) return;
    writer.varint(this.size - 1);
    for (let i = 1; i < this.stamps.length; i++) {
      const stamp = this.stamps[i] as Stamp;
      writer.varint(stamp.time);
      const isSameSite = stamp.site === this.default.site;
      writer.byte(isSameSite ? 0 : 1);
      if (!isSameSite) writer.raw(siteBytes(stamp.site));
    }
  }

  static read(reader: ByteReader, hasMore: boolean): StampTable {
    const first: Stamp = { time: reader.varint(), site: readSite(reader) };
    const stamps = [first];
    const more = hasMore ? reader.varint() : 0;
    if (more > reader.left) reader.fail("expected more stamps");
    for (let i = 0; i < more; i++) {
      const time = reader.varint();
      stamps.push({ time, site: reader.byte() === 0 ? first.site : readSite(reader) });
    }
    return new StampTable(stamps);
  }
}

interface StampCount {
  readonly stamp: Stamp;
  count: number;
}

/** Counts how often each stamp occurs. Most states have one stamp, and need no map. */
class StampCounts {
  readonly #all: StampCount[] = [];
  #last: StampCount | undefined;
  total = 0;
  /** The same entries by name, once there are many. */
  #named: Map<string, StampCount> | undefined;

  add(stamp: Stamp): void {
    const entry = this.#last?.stamp === stamp ? this.#last : this.#find(stamp);
    entry.count++;
    this.total++;
    this.#last = entry;
  }

  /** The most frequent first, then the others from the latest to the oldest. */
  order(): Stamp[] {
    const counts = this.#all;
    let best: StampCount | undefined;
    for (const entry of counts) if (isBefore(entry, best)) best = entry;
    if (best === undefined) return [];
    const stamps = [best.stamp];
    for (const entry of counts) if (entry !== best) stamps.push(entry.stamp);
    if (stamps.length < 3) return stamps;
    const [first, ...others] = stamps as [Stamp, ...Stamp[]];
    return [first, ...others.sort((a, b) => compareStamps(b, a))];
  }

  #find(stamp: Stamp): StampCount {
    const known = this.#all.length > FEW ? this.#byName(stamp) : this.#amongFew(stamp);
    if (known !== undefined) return known;
    const entry = { stamp, count: 0 };
    this.#all.push(entry);
    this.#named?.set(stampName(stamp), entry);
    return entry;
  }

  #amongFew(stamp: Stamp): StampCount | undefined {
    for (const entry of this.#all) if (compareStamps(entry.stamp, stamp) === 0) return entry;
    return undefined;
  }

  #byName(stamp: Stamp): StampCount | undefined {
    this.#named ??= new Map(this.#all.map((entry) => [stampName(entry.stamp), entry]));
    return this.#named.get(stampName(stamp));
  }
}

/** Whether `a` precedes `b` as the default: more frequent, on a tie later. */
function isBefore(a: StampCount, b: StampCount | undefined): boolean {
  if (b === undefined || a.count !== b.count) return a.count > (b?.count ?? 0);
  return compareStamps(a.stamp, b.stamp) > 0;
}

/** Up to this many stamps are searched one by one: that is cheaper than naming them. */
const FEW = 8;

function stampName(stamp: Stamp): string {
  return `${stamp.time}/${stamp.site}`;
}

function eachBirth(kids: Kids, visit: (stamp: Stamp) => void): void {
  for (const kid of kids.values()) {
    eachCounterBirth(kid.ctr, visit);
    eachCounterBirth(kid.pn, visit);
    if (kid.map !== undefined) eachBirth(kid.map.kids, visit);
  }
}

function eachCounterBirth(counter: Counter | undefined, visit: (stamp: Stamp) => void): void {
  for (const add of counter?.adds ?? []) if (add.birth !== NONE) visit(add.birth);
}

function writeStamp(writer: ByteWriter, stamp: Stamp): void {
  writer.varint(stamp.time);
  writer.raw(siteBytes(stamp.site));
}

let lastSite: Site = NO_SITE;
let lastSiteBytes = new Uint8Array(8);

/** A store nearly always writes its own site, so one cached result is enough. */
function siteBytes(site: Site): Uint8Array {
  if (site === lastSite) return lastSiteBytes;
  const bytes = new Uint8Array(8);
  for (let i = 0; i < 8; i++) bytes[i] = Number.parseInt(site.slice(i * 2, i * 2 + 2), 16);
  lastSite = site;
  lastSiteBytes = bytes;
  return bytes;
}

let lastRead: Site = NO_SITE;
let lastReadBytes: Uint8Array = new Uint8Array(8);

/** The reverse, cached as well: states from a server are mostly of one site too. */
function readSite(reader: ByteReader): Site {
  if (reader.isNext(lastReadBytes)) return lastRead;
  const bytes = reader.raw(8);
  let site = "";
  for (const byte of bytes) site += byte.toString(16).padStart(2, "0");
  lastRead = site;
  lastReadBytes = bytes;
  return site;
}
