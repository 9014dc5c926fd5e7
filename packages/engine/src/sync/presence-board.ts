/**
 * Presence board: who is connected, and who wants to be told of it (S40 to S42).
 *
 * Nothing is told at once. A tick looks at who is there, tells the difference to all who know the
 * state before, each frame made once, and goes on with the lists of those who do not. What comes to
 * one that does not read is not queued: it begins anew when it reads again. So any churn costs a look
 * at the told peers for each tick, and what was told. That has a bound for each tick as well: what is
 * told to all may be a thousand times what was said. News that are larger take several ticks, and what
 * happens meanwhile is told together.
 */

import {
  compareBytes,
  encodeCbor,
  type PeerDescription,
  type PresentPeer,
  type Value,
} from "@bigpeer/protocol";
import type { PeerReport } from "./peer-report.ts";
import { presenceFrame } from "./presence-frame.ts";
import type { StreamLimits } from "./stream-limits.ts";

/** What the board needs of a session. */
export interface PresentSession {
  readonly session: number;
  readonly description: PeerDescription;
  readonly credential: string;
  readonly sinceMs: number;
  readonly queuedBytes: number;
  /** Undefined when it is over. */
  report(): PeerReport | undefined;
  /** Never throws. */
  send(bytes: Uint8Array): void;
}

export interface PresenceLimits
  extends Pick<StreamLimits, "frameBytes" | "roomBytes" | "queueBytes"> {
  /** Peers that are told of, those that came first. */
  readonly toldPeers: number;
  /** Bytes of lists, of all watchers, that are sent for each tick, and those of news. */
  readonly listBytes: number;
  readonly newsBytes: number;
  /** Bytes that wait for all watchers together; beyond it each has its share. */
  readonly unreadBytes: number;
}

type OwnLimits = Pick<PresenceLimits, "toldPeers" | "listBytes" | "newsBytes" | "unreadBytes">;

export const PRESENCE_LIMITS: OwnLimits = {
  toldPeers: 1000,
  listBytes: 8 * 1024 * 1024,
  newsBytes: 32 * 1024 * 1024,
  unreadBytes: 128 * 1024 * 1024,
};

export type PresenceKind = "joined" | "changed" | "left";

export interface PresenceHost {
  readonly limits: PresenceLimits;
  pause(): Promise<void>;
  onPeer(session: PresentSession, kind: PresenceKind): void;
  noteFault(error: unknown): void;
}

/** A peer that is listed. */
interface Entry {
  readonly session: PresentSession;
  identity: string;
  /** What is told of it; undefined until somebody is told. */
  encoded: Uint8Array | undefined;
}

/**
 * `new`: it waits for the next tick; `waiting`: for room for its list; `listing`: it has the list up
 * to and with the session `after`; `current`: it knows all that was told.
 */
interface Watcher {
  readonly session: PresentSession;
  identity: string;
  phase: "new" | "waiting" | "listing" | "current";
  after: number;
}

/** A part of a list, or of what is different since the tick before. */
interface Part {
  readonly entries: readonly Entry[];
  readonly gone: readonly number[];
  readonly size: number;
  /** For all who are none of these: with what was told before, and as the beginning of a list. */
  added: Uint8Array | undefined;
  whole: Uint8Array | undefined;
}

/** A look at who is there: what is told of each, as it was when it was encoded. */
interface Look {
  readonly total: number;
  readonly encoded: Map<Entry, Uint8Array>;
}

interface News {
  readonly parts: readonly Part[];
  /** Of all parts, about. */
  readonly size: number;
  readonly partOf: ReadonlyMap<string, Part>;
}

/** Peers of one part: whoever is among them needs a frame of its own. */
const PART_PEERS = 64;

/** Watchers that are told before others have their turn, and about what they are told together. */
const TOLD_AT_ONCE = 100;
const TOLD_BYTES = 4 * 1024 * 1024;

/** Bytes that are encoded before others have their turn: a peer may say thousands of small things. */
const ENCODED_BYTES = 128 * 1024;

/** What sending a piece costs beside its bytes. */
const PIECE_COST = 4 * 1024;

const NO_ENCODED: ReadonlyMap<number, Uint8Array> = new Map();
const NOTHING_TOLD: Part = { entries: [], gone: [], size: 0, added: undefined, whole: undefined };

export class PresenceBoard {
  readonly #host: PresenceHost;
  /** The newest of each peer, in the order in which they came; see inOrder(). */
  readonly #entries = new Map<number, Entry>();
  #isInOrder = true;
  readonly #byIdentity = new Map<string, Entry>();
  /** Those whose place another connection of the same peer has: few, and not for long. */
  readonly #passed = new Map<number, Entry>();
  readonly #watchers = new Map<number, Watcher>();
  /** Those who wait for their list, or for the rest of it. */
  readonly #lists = new Set<Watcher>();
  readonly #changed = new Set<Entry>();
  /** What watchers were told, as of the last look: by session, in their order. */
  #told: ReadonlyMap<number, Uint8Array> = NO_ENCODED;
  #list: readonly Part[] = [];
  #toldTotal = 0;
  #isOtherThanTold = false;
  #isTelling = false;
  /** A look takes its turns: what is told is that of the one before it. */
  #isLooking = false;
  /** Bytes of lists that this tick may still send, and those of news. */
  #room: number;
  #newsRoom: number;
  #onNewsRoom: (() => void) | undefined;
  /** More waits for all watchers than should. */
  #isCrowded = false;

  constructor(host: PresenceHost) {
    this.#host = host;
    this.#room = host.limits.listBytes;
    this.#newsRoom = host.limits.newsBytes;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** The newest session of each peer, in the order in which they came. */
  *sessions(): Iterable<PresentSession> {
    for (const { session } of this.#inOrder()) yield session;
  }

  join(session: PresentSession): void {
    this.#enter({ session, identity: identityOf(session), encoded: undefined });
  }

  /** What it says of itself, or what is known of it, is something else. */
  change(session: PresentSession): void {
    const identity = identityOf(session);
    const watcher = this.#watchers.get(session.session);
    if (watcher !== undefined) watcher.identity = identity;
    const entry = this.#entries.get(session.session);
    if (entry === undefined) return this.#changePassed(session.session, identity);
    entry.encoded = undefined;
    this.#isOtherThanTold = true;
    this.#changed.add(entry);
    const { identity: former } = entry;
    if (identity === former) return;
    this.#byIdentity.delete(former);
    entry.identity = identity;
    this.#claim(entry);
    this.#fillPlace(former);
  }

  /** While everything of it can still be asked. */
  leave(session: PresentSession): void {
    this.watch(session, false);
    this.#passed.delete(session.session);
    const entry = this.#entries.get(session.session);
    if (entry === undefined) return;
    this.#byIdentity.delete(entry.identity);
    this.#remove(entry);
    this.#fillPlace(entry.identity);
  }

  watch(session: PresentSession, isOn: boolean): void {
    const { session: number } = session;
    const known = this.#watchers.get(number);
    if ((known !== undefined) === isOn) return;
    if (known !== undefined) {
      this.#watchers.delete(number);
      this.#lists.delete(known);
      return;
    }
    const identity = identityOf(session);
    this.#watchers.set(number, { session, identity, phase: "new", after: 0 });
  }

  /** What was sent to it has been taken. */
  drained({ session }: PresentSession): void {
    const watcher = this.#watchers.get(session);
    if (watcher !== undefined && this.#lists.has(watcher)) this.#sendList(watcher);
  }

  /** To be called about every second. */
  tick(): void {
    this.#makeRoom();
    for (const { session } of this.#changed) this.#host.onPeer(session, "changed");
    this.#changed.clear();
    if (this.#watchers.size === 0) return this.#forget();
    if (!this.#isTelling) this.#look();
    else if (!this.#isLooking) this.#startLists();
    this.#sendLists();
  }

  #makeRoom(): void {
    const { listBytes, newsBytes, unreadBytes } = this.#host.limits;
    this.#room = listBytes;
    this.#newsRoom = newsBytes;
    let unread = 0;
    for (const { session } of this.#watchers.values()) unread += session.queuedBytes;
    this.#isCrowded = unread > unreadBytes;
    this.#onNewsRoom?.();
    this.#onNewsRoom = undefined;
  }

  #sendLists(): void {
    for (const watcher of Array.from(this.#lists)) {
      if (this.#room <= 0) break;
      // Whoever is not done stands behind the others at the next tick.
      this.#lists.delete(watcher);
      this.#lists.add(watcher);
      this.#sendList(watcher);
    }
  }

  #enter(entry: Entry): void {
    this.#entries.set(entry.session.session, entry);
    this.#isOtherThanTold = true;
    if (this.#claim(entry)) this.#host.onPeer(entry.session, "joined");
  }

  /**
   * The newest connection of a peer takes the place of the one before it (S40). False when there is a
   * newer one than this.
   */
  #claim(entry: Entry): boolean {
    const other = this.#byIdentity.get(entry.identity);
    const isNewest = other === undefined || other.session.session < entry.session.session;
    if (isNewest) this.#byIdentity.set(entry.identity, entry);
    const passed = isNewest ? other : entry;
    if (passed !== undefined) {
      this.#passed.set(passed.session.session, passed);
      this.#remove(passed);
    }
    return isNewest;
  }

  #changePassed(session: number, identity: string): void {
    const entry = this.#passed.get(session);
    if (entry === undefined || entry.identity === identity) return;
    this.#passed.delete(session);
    entry.identity = identity;
    this.#enterAgain(entry);
  }

  /**
   * The connection that was listed is over: another one of the peer may live on. A greeting that was
   * heard late may have been of one that nobody holds any more.
   */
  #fillPlace(identity: string): void {
    let newest: Entry | undefined;
    for (const entry of this.#passed.values()) {
      const isNewer = newest === undefined || newest.session.session < entry.session.session;
      if (entry.identity === identity && isNewer) newest = entry;
    }
    if (newest === undefined) return;
    this.#passed.delete(newest.session.session);
    this.#enterAgain(newest);
  }

  /** Where it was in the order of all. */
  #enterAgain(entry: Entry): void {
    entry.encoded = undefined;
    this.#enter(entry);
    this.#isInOrder = false;
  }

  /** Put in order when somebody looks: thousands may enter again before anybody does. */
  #inOrder(): Iterable<Entry> {
    if (!this.#isInOrder) {
      const sorted = Array.from(this.#entries).sort(([one], [other]) => one - other);
      this.#entries.clear();
      for (const [session, entry] of sorted) this.#entries.set(session, entry);
      this.#isInOrder = true;
    }
    return this.#entries.values();
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.session.session);
    this.#changed.delete(entry);
    this.#isOtherThanTold = true;
    this.#host.onPeer(entry.session, "left");
  }

  /** Nobody wants to know: nothing is held for it. */
  #forget(): void {
    if (this.#list.length === 0) return;
    this.#told = NO_ENCODED;
    this.#list = [];
    for (const entry of this.#entries.values()) entry.encoded = undefined;
    this.#isOtherThanTold = true;
  }

  /** Finds what is different since the last look, and tells it to those who know that. */
  #look(): void {
    if (!this.#isOtherThanTold) return this.#startLists();
    // What changes while this one takes its turns is for the next look.
    this.#isOtherThanTold = false;
    const look: Look = { total: this.#entries.size, encoded: new Map() };
    const turns = this.#encodeInTurns(look);
    if (turns.next().done === true) return this.#looked(look);
    this.#isTelling = true;
    this.#isLooking = true;
    void this.#lookOn(look, turns);
  }

  /** In turns with everything else. Never rejects. */
  async #lookOn(look: Look, turns: Iterator<void, void>): Promise<void> {
    try {
      do await this.#host.pause();
      while (turns.next().done !== true);
      this.#isTelling = false;
      this.#isLooking = false;
      this.#looked(look);
      this.#sendLists();
    } catch (error) {
      this.#isTelling = false;
      this.#isLooking = false;
      this.#isOtherThanTold = true;
      this.#host.noteFault(error);
    }
  }

  /** What is encoded already costs nothing. Of one that left meanwhile nothing can be told. */
  *#encodeInTurns({ encoded }: Look): Generator<void, void> {
    let bytes = 0;
    for (const entry of this.#first()) {
      if (bytes > ENCODED_BYTES) {
        yield;
        bytes = 0;
      }
      if (this.#entries.get(entry.session.session) !== entry) continue;
      if (entry.encoded === undefined) bytes += encodedOf(entry).length;
      encoded.set(entry, encodedOf(entry));
    }
  }

  #looked({ total, encoded }: Look): void {
    const told = new Map<number, Uint8Array>();
    const came: Entry[] = [];
    for (const [entry, now] of encoded) {
      const { session } = entry.session;
      const before = this.#told.get(session);
      // What is known of it may be other without anything that is told.
      const isOther = before === undefined || !isSame(before, now);
      if (isOther) came.push(entry);
      else if (entry.encoded === now) entry.encoded = before;
      told.set(session, isOther ? now : before);
    }
    const gone = Array.from(this.#told.keys()).filter((session) => !told.has(session));
    const isOther = came.length + gone.length > 0 || this.#toldTotal !== total;
    this.#told = told;
    this.#list = this.#partsOf(Array.from(encoded.keys()), []);
    this.#toldTotal = total;
    if (isOther) this.#tell(this.#partsOf(came, gone));
    this.#startLists();
  }

  #startLists(): void {
    for (const watcher of this.#watchers.values()) {
      if (watcher.phase === "new") this.#startList(watcher);
    }
  }

  #startList(watcher: Watcher): void {
    watcher.phase = "waiting";
    this.#lists.add(watcher);
  }

  /** Those that are told of. */
  #first(): Entry[] {
    const entries: Entry[] = [];
    for (const entry of this.#inOrder()) {
      if (entries.length === this.#host.limits.toldPeers) break;
      entries.push(entry);
    }
    return entries;
  }

  #partsOf(came: readonly Entry[], gone: readonly number[]): Part[] {
    const { frameBytes } = this.#host.limits;
    const parts: Part[] = [];
    let entries: Entry[] = [];
    let size = gone.length * 5;
    const end = (): void => {
      const goneNow = parts.length === 0 ? gone : [];
      parts.push({ entries, gone: goneNow, size, added: undefined, whole: undefined });
      entries = [];
      size = 0;
    };
    for (const entry of came) {
      const { length } = this.#toldOf(entry);
      const isFull = entries.length === PART_PEERS || size + length > frameBytes;
      if (isFull && entries.length > 0) end();
      entries.push(entry);
      size += length;
    }
    if (entries.length > 0 || parts.length === 0) end();
    return parts;
  }

  #tell(parts: readonly Part[]): void {
    const watchers = Array.from(this.#watchers.values()).filter(knowsTheList);
    const news = newsOf(parts);
    const count = Math.max(1, Math.min(TOLD_AT_ONCE, Math.floor(TOLD_BYTES / (news.size + 1))));
    this.#tellSome(watchers.slice(0, count), news);
    if (watchers.length <= count) return;
    this.#isTelling = true;
    void this.#tellRest(watchers, count, news);
  }

  /** In turns with everything else. Never rejects. */
  async #tellRest(watchers: readonly Watcher[], count: number, news: News): Promise<void> {
    try {
      for (let from = count; from < watchers.length; from += count) {
        await this.#host.pause();
        if (this.#newsRoom <= 0) await this.#whenNewsRoom();
        this.#tellSome(watchers.slice(from, from + count), news);
      }
    } catch (error) {
      this.#host.noteFault(error);
    } finally {
      this.#isTelling = false;
    }
  }

  /** At the next tick. */
  #whenNewsRoom(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNewsRoom = resolve;
    });
  }

  #tellSome(watchers: readonly Watcher[], { parts, size, partOf }: News): void {
    for (const watcher of watchers) {
      const { session, identity } = watcher;
      if (!knowsTheList(watcher) || this.#watchers.get(session.session) !== watcher) continue;
      if (session.queuedBytes + size > this.#unreadMax()) {
        this.#startList(watcher);
        continue;
      }
      this.#newsRoom -= size + PIECE_COST;
      const own = partOf.get(identity);
      for (const part of parts) {
        session.send(this.#frameOf(part, watcher, { isWhole: false, isAmongThem: part === own }));
      }
    }
  }

  /** What may wait for one watcher. */
  #unreadMax(): number {
    const { queueBytes, unreadBytes } = this.#host.limits;
    const most = queueBytes / 2;
    return this.#isCrowded ? Math.min(most, unreadBytes / this.#watchers.size) : most;
  }

  #frameOf(
    part: Part,
    watcher: Watcher,
    { isWhole, isAmongThem }: { readonly isWhole: boolean; readonly isAmongThem: boolean },
  ): Uint8Array {
    const total = this.#totalFor(watcher);
    const { entries, gone } = part;
    // One whose place was taken by a connection that has left is not counted: it is rare.
    if (!isAmongThem && total !== this.#toldTotal) {
      const form = isWhole ? "whole" : "added";
      part[form] ??= presenceFrame({ isWhole, total, peers: this.#encode(entries), gone });
      return part[form];
    }
    const others = entries.filter(({ identity }) => identity !== watcher.identity);
    return presenceFrame({ isWhole, total, peers: this.#encode(others), gone });
  }

  #encode(entries: readonly Entry[]): Uint8Array[] {
    return entries.map((entry) => this.#toldOf(entry));
  }

  /** As it was when all were told: what it is since then comes with the next look. */
  #toldOf(entry: Entry): Uint8Array {
    return this.#told.get(entry.session.session) ?? encodedOf(entry);
  }

  /** All but itself. */
  #totalFor({ identity }: Watcher): number {
    return this.#toldTotal - (this.#byIdentity.has(identity) ? 1 : 0);
  }

  /** Sends pieces of the whole list, as long as there is room for them. */
  #sendList(watcher: Watcher): void {
    const { roomBytes } = this.#host.limits;
    const { session } = watcher;
    while (watcher.phase !== "current") {
      const { queuedBytes } = session;
      const isUnread = this.#isCrowded ? queuedBytes > 0 : queuedBytes >= roomBytes;
      if (this.#room <= 0 || isUnread) return;
      const frame = this.#nextPiece(watcher);
      this.#room -= frame.length + PIECE_COST;
      session.send(frame);
    }
    this.#lists.delete(watcher);
  }

  /** The parts may be others than at the piece before: what is told twice is the same. */
  #nextPiece(watcher: Watcher): Uint8Array {
    const isWhole = watcher.phase === "waiting";
    const after = isWhole ? 0 : watcher.after;
    const at = isWhole ? 0 : this.#list.findIndex((part) => lastOf(part) > after);
    const part = this.#list[at] ?? NOTHING_TOLD;
    const isLast = at === -1 || at === this.#list.length - 1;
    watcher.phase = isLast ? "current" : "listing";
    watcher.after = lastOf(part);
    const isAmongThem = part.entries.some(({ identity }) => identity === watcher.identity);
    return this.#frameOf(part, watcher, { isWhole, isAmongThem });
  }
}

function lastOf({ entries }: Part): number {
  return entries.at(-1)?.session.session ?? 0;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one === other || compareBytes(one, other) === 0;
}

/** What is different since the last look says something to it. */
function knowsTheList({ phase }: Watcher): boolean {
  return phase === "listing" || phase === "current";
}

function newsOf(parts: readonly Part[]): News {
  const partOf = new Map<string, Part>();
  let size = 0;
  for (const part of parts) {
    size += part.size;
    for (const { identity } of part.entries) partOf.set(identity, part);
  }
  return { parts, size, partOf };
}

/** The same peer by the same credential. */
function identityOf({ description, credential }: PresentSession): string {
  return JSON.stringify([description.key, credential]);
}

function encodedOf(entry: Entry): Uint8Array {
  entry.encoded ??= encodeCbor(presentPeer(entry.session) as unknown as Value);
  return entry.encoded;
}

/** No more than peers may know of each other (S42). */
function presentPeer({ session, description, sinceMs }: PresentSession): PresentPeer {
  const { key, deviceName, os, sdk, metadata } = description;
  return { session, key, deviceName, os, sdk, metadata, since: sinceMs };
}
