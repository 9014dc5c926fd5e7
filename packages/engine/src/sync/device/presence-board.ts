/**
 * Presence board: tracks connected peers and sends the list to watchers (S40 to S42, S82).
 *
 * Nothing is sent at once. A tick compares the listed peers with those of the tick before and sends
 * the difference to watchers that have the list, each frame encoded once. Then it continues the
 * lists of the others. Nothing is queued for a watcher that does not read: it gets the whole list
 * when it reads again. So a tick costs a look at the listed peers and the bytes sent, whatever the
 * churn. The bytes of a tick are limited, because one change goes to all watchers. Larger changes
 * take several ticks, and later changes are combined.
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
import type { PresenceLimits } from "./presence-limits.ts";
import { isNewerSession } from "./session-number.ts";

/** A session as the board sees it; in a cluster also one of another node. */
export interface PresentSession {
  readonly session: number;
  readonly description: PeerDescription;
  readonly credential: string;
  readonly sinceMs: number;
  readonly queuedBytes: number;
  /** Undefined when the session is over. */
  report(): PeerReport | undefined;
  /** Never throws. */
  send(bytes: Uint8Array): void;
}

export type PresenceKind = "joined" | "changed" | "left";

export interface PresenceHost {
  readonly limits: PresenceLimits;
  pause(): Promise<void>;
  onPeer(session: PresentSession, kind: PresenceKind): void;
  noteFault(error: unknown): void;
}

/** A listed peer. */
interface Entry {
  readonly session: PresentSession;
  identity: string;
  /** Its encoded form; undefined until a watcher needs it. */
  encoded: Uint8Array | undefined;
}

/**
 * `new`: waits for the next tick; `waiting`: waits for room for its list; `listing`: has the list
 * up to and including the session `after`; `current`: has everything that was sent.
 */
interface Watcher {
  readonly session: PresentSession;
  identity: string;
  phase: "new" | "waiting" | "listing" | "current";
  after: number;
}

/** A part of the list, or of the changes since the last tick: one frame. */
interface Part {
  readonly entries: readonly Entry[];
  readonly gone: readonly number[];
  readonly size: number;
  /** Shared frames for watchers that are not in the part: as changes, and as a list start. */
  added: Uint8Array | undefined;
  whole: Uint8Array | undefined;
}

/** A look at the connected peers: the encoded form of each at that time. */
interface Look {
  readonly total: number;
  readonly encoded: Map<Entry, Uint8Array>;
}

interface PresenceChanges {
  readonly parts: readonly Part[];
  /** Approximate bytes of all parts. */
  readonly size: number;
  readonly partOf: ReadonlyMap<string, Part>;
}

/** Peers of one part. A watcher that is one of them needs its own frame. */
const PART_PEERS = 64;

/** Watchers that are notified between two pauses, and the approximate bytes for them. */
const NOTIFIED_AT_ONCE = 100;
const NOTIFIED_BYTES = 4 * 1024 * 1024;

/** Bytes that are encoded between two pauses: metadata may have thousands of small values. */
const ENCODED_BYTES = 128 * 1024;

/** Cost of a piece beside its bytes. */
const PIECE_COST = 4 * 1024;

const NO_ENCODED: ReadonlyMap<number, Uint8Array> = new Map();
const NOTHING_SENT: Part = { entries: [], gone: [], size: 0, added: undefined, whole: undefined };

export class PresenceBoard {
  readonly #host: PresenceHost;
  /** The newest session of each peer, in the order of connection; see inOrder(). */
  readonly #entries = new Map<number, Entry>();
  #isInOrder = true;
  /** The highest number that has entered. */
  #lastEntered = 0;
  readonly #byIdentity = new Map<string, Entry>();
  /** Sessions that another connection of the same peer replaced: few, and not for long. */
  readonly #passed = new Map<number, Entry>();
  readonly #watchers = new Map<number, Watcher>();
  /** Watchers that wait for their list, or for the rest of it. */
  readonly #lists = new Set<Watcher>();
  readonly #changed = new Set<Entry>();
  /** What watchers were sent, as of the last look: by session, in order. */
  #sent: ReadonlyMap<number, Uint8Array> = NO_ENCODED;
  #list: readonly Part[] = [];
  #announcedTotal = 0;
  #isChanged = false;
  #isNotifying = false;
  /** A look is in progress: until it ends, lists are those of the look before. */
  #isLooking = false;
  /** Bytes of lists, and of changes, that this tick may still send. */
  #room: number;
  #changeBudget: number;
  #onChangeBudget: (() => void) | undefined;
  /** Watchers have more unread bytes than the limit. */
  #isCrowded = false;

  constructor(host: PresenceHost) {
    this.#host = host;
    this.#room = host.limits.listBytes;
    this.#changeBudget = host.limits.changeBytes;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** The newest session of each peer, in the order of connection. */
  *sessions(): Iterable<PresentSession> {
    for (const { session } of this.#inOrder()) yield session;
  }

  /** A listed session. */
  find(session: number): PresentSession | undefined {
    return this.#entries.get(session)?.session;
  }

  join(session: PresentSession): void {
    this.#enter({ session, identity: identityOf(session), encoded: undefined });
  }

  /** The description, or other data, of a session changed. */
  change(session: PresentSession): void {
    const identity = identityOf(session);
    const watcher = this.#watchers.get(session.session);
    if (watcher !== undefined) watcher.identity = identity;
    const entry = this.#entries.get(session.session);
    if (entry === undefined) return this.#changePassed(session.session, identity);
    entry.encoded = undefined;
    this.#isChanged = true;
    this.#changed.add(entry);
    const { identity: former } = entry;
    if (identity === former) return;
    this.#byIdentity.delete(former);
    entry.identity = identity;
    this.#claim(entry);
    this.#fillPlace(former);
  }

  /** Must be called while the session can still report. */
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

  /** The network has taken what was sent to the session. */
  drained({ session }: PresentSession): void {
    const watcher = this.#watchers.get(session);
    if (watcher !== undefined && this.#lists.has(watcher)) this.#sendList(watcher);
  }

  /** Must be called about once a second. */
  tick(): void {
    this.#makeRoom();
    for (const { session } of this.#changed) this.#host.onPeer(session, "changed");
    this.#changed.clear();
    if (this.#watchers.size === 0) return this.#forget();
    if (!this.#isNotifying) this.#look();
    else if (!this.#isLooking) this.#startLists();
    this.#sendLists();
  }

  #makeRoom(): void {
    const { listBytes, changeBytes, unreadBytes } = this.#host.limits;
    this.#room = listBytes;
    this.#changeBudget = changeBytes;
    let unread = 0;
    for (const { session } of this.#watchers.values()) unread += session.queuedBytes;
    this.#isCrowded = unread > unreadBytes;
    this.#onChangeBudget?.();
    this.#onChangeBudget = undefined;
  }

  #sendLists(): void {
    for (const watcher of Array.from(this.#lists)) {
      if (this.#room <= 0) break;
      // A watcher that is not done goes to the end of the queue.
      this.#lists.delete(watcher);
      this.#lists.add(watcher);
      this.#sendList(watcher);
    }
  }

  #enter(entry: Entry): void {
    const { session } = entry.session;
    // Sessions of other nodes have numbers of other ranges.
    if (session < this.#lastEntered) this.#isInOrder = false;
    else this.#lastEntered = session;
    this.#entries.set(session, entry);
    this.#isChanged = true;
    if (this.#claim(entry)) this.#host.onPeer(entry.session, "joined");
  }

  /**
   * The newest connection of a peer replaces the previous one (S40). Returns false if there is a
   * newer one than this.
   */
  #claim(entry: Entry): boolean {
    const other = this.#byIdentity.get(entry.identity);
    const isNewest = other === undefined || isNewerSession(entry.session, other.session);
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
   * The listed connection ended: another one of the peer may still be alive. A late `hello` may
   * belong to a connection that is already dead.
   */
  #fillPlace(identity: string): void {
    let newest: Entry | undefined;
    for (const entry of this.#passed.values()) {
      const isNewer = newest === undefined || isNewerSession(entry.session, newest.session);
      if (entry.identity === identity && isNewer) newest = entry;
    }
    if (newest === undefined) return;
    this.#passed.delete(newest.session.session);
    this.#enterAgain(newest);
  }

  /** Lists it at its former place in the order. */
  #enterAgain(entry: Entry): void {
    entry.encoded = undefined;
    this.#enter(entry);
  }

  /** Sorts on demand: thousands may enter again before the next look. */
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
    this.#isChanged = true;
    this.#host.onPeer(entry.session, "left");
  }

  /** Nothing is held while there are no watchers. */
  #forget(): void {
    if (this.#list.length === 0) return;
    this.#sent = NO_ENCODED;
    this.#list = [];
    for (const entry of this.#entries.values()) entry.encoded = undefined;
    this.#isChanged = true;
  }

  /** Finds the changes since the last look and sends them to watchers that have the list. */
  #look(): void {
    if (!this.#isChanged) return this.#startLists();
    // Changes during this look are for the next one.
    this.#isChanged = false;
    const look: Look = { total: this.#entries.size, encoded: new Map() };
    const slicer = this.#encodeInTurns(look);
    if (slicer.next().done === true) return this.#looked(look);
    this.#isNotifying = true;
    this.#isLooking = true;
    void this.#lookOn(look, slicer);
  }

  /** Continues in slices, between other work. Never rejects. */
  async #lookOn(look: Look, slicer: Iterator<void, void>): Promise<void> {
    try {
      do await this.#host.pause();
      while (slicer.next().done !== true);
      this.#isNotifying = false;
      this.#isLooking = false;
      this.#looked(look);
      this.#sendLists();
    } catch (error) {
      this.#isNotifying = false;
      this.#isLooking = false;
      this.#isChanged = true;
      this.#host.noteFault(error);
    }
  }

  /** Encoded peers cost nothing. A peer that left meanwhile is skipped. */
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
    const sent = new Map<number, Uint8Array>();
    const came: Entry[] = [];
    for (const [entry, now] of encoded) {
      const { session } = entry.session;
      const before = this.#sent.get(session);
      // The change may concern only data that watchers do not see.
      const isOther = before === undefined || !isSame(before, now);
      if (isOther) came.push(entry);
      else if (entry.encoded === now) entry.encoded = before;
      sent.set(session, isOther ? now : before);
    }
    const gone = Array.from(this.#sent.keys()).filter((session) => !sent.has(session));
    const isOther = came.length + gone.length > 0 || this.#announcedTotal !== total;
    this.#sent = sent;
    this.#list = this.#partsOf(Array.from(encoded.keys()), []);
    this.#announcedTotal = total;
    if (isOther) this.#notify(this.#partsOf(came, gone));
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

  /** Peers that are listed. */
  #first(): Entry[] {
    const entries: Entry[] = [];
    for (const entry of this.#inOrder()) {
      if (entries.length === this.#host.limits.listedPeers) break;
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
      const { length } = this.#encodedEntry(entry);
      const isFull = entries.length === PART_PEERS || size + length > frameBytes;
      if (isFull && entries.length > 0) end();
      entries.push(entry);
      size += length;
    }
    if (entries.length > 0 || parts.length === 0) end();
    return parts;
  }

  #notify(parts: readonly Part[]): void {
    const watchers = Array.from(this.#watchers.values()).filter(knowsTheList);
    const changes = changesOf(parts);
    const count = Math.max(
      1,
      Math.min(NOTIFIED_AT_ONCE, Math.floor(NOTIFIED_BYTES / (changes.size + 1))),
    );
    this.#notifySome(watchers.slice(0, count), changes);
    if (watchers.length <= count) return;
    this.#isNotifying = true;
    void this.#notifyRest(watchers, count, changes);
  }

  /** Continues in slices, between other work. Never rejects. */
  async #notifyRest(
    watchers: readonly Watcher[],
    count: number,
    changes: PresenceChanges,
  ): Promise<void> {
    try {
      for (let from = count; from < watchers.length; from += count) {
        await this.#host.pause();
        if (this.#changeBudget <= 0) await this.#whenChangeBudget();
        this.#notifySome(watchers.slice(from, from + count), changes);
      }
    } catch (error) {
      this.#host.noteFault(error);
    } finally {
      this.#isNotifying = false;
    }
  }

  /** Resolves at the next tick. */
  #whenChangeBudget(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChangeBudget = resolve;
    });
  }

  #notifySome(watchers: readonly Watcher[], { parts, size, partOf }: PresenceChanges): void {
    for (const watcher of watchers) {
      const { session, identity } = watcher;
      if (!knowsTheList(watcher) || this.#watchers.get(session.session) !== watcher) continue;
      if (session.queuedBytes + size > this.#unreadMax()) {
        this.#startList(watcher);
        continue;
      }
      this.#changeBudget -= size + PIECE_COST;
      const own = partOf.get(identity);
      for (const part of parts) {
        session.send(this.#frameOf(part, watcher, { isWhole: false, isAmongThem: part === own }));
      }
    }
  }

  /** Unread bytes that one watcher may have. */
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
    // A watcher that is not listed itself has another total, which is rare.
    if (!isAmongThem && total !== this.#announcedTotal) {
      const form = isWhole ? "whole" : "added";
      part[form] ??= presenceFrame({ isWhole, total, peers: this.#encode(entries), gone });
      return part[form];
    }
    const others = entries.filter(({ identity }) => identity !== watcher.identity);
    return presenceFrame({ isWhole, total, peers: this.#encode(others), gone });
  }

  #encode(entries: readonly Entry[]): Uint8Array[] {
    return entries.map((entry) => this.#encodedEntry(entry));
  }

  /** The form that watchers were sent. Later changes come with the next look. */
  #encodedEntry(entry: Entry): Uint8Array {
    return this.#sent.get(entry.session.session) ?? encodedOf(entry);
  }

  /** All peers but the watcher itself. */
  #totalFor({ identity }: Watcher): number {
    return this.#announcedTotal - (this.#byIdentity.has(identity) ? 1 : 0);
  }

  /** Sends pieces of the whole list while there is room for them. */
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

  /** The parts may differ from those of the piece before: a peer may be sent twice, unchanged. */
  #nextPiece(watcher: Watcher): Uint8Array {
    const isWhole = watcher.phase === "waiting";
    const after = isWhole ? 0 : watcher.after;
    const at = isWhole ? 0 : this.#list.findIndex((part) => lastOf(part) > after);
    const part = this.#list[at] ?? NOTHING_SENT;
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

/** Whether changes since the last look make sense to the watcher. */
function knowsTheList({ phase }: Watcher): boolean {
  return phase === "listing" || phase === "current";
}

function changesOf(parts: readonly Part[]): PresenceChanges {
  const partOf = new Map<string, Part>();
  let size = 0;
  for (const part of parts) {
    size += part.size;
    for (const { identity } of part.entries) partOf.set(identity, part);
  }
  return { parts, size, partOf };
}

/** Identifies a peer by its key and its credential. */
function identityOf({ description, credential }: PresentSession): string {
  return JSON.stringify([description.key, credential]);
}

function encodedOf(entry: Entry): Uint8Array {
  entry.encoded ??= encodeCbor(presentPeer(entry.session) as unknown as Value);
  return entry.encoded;
}

/** No more than peers may see of each other (S42). */
function presentPeer({ session, description, sinceMs }: PresentSession): PresentPeer {
  const { key, deviceName, os, sdk, metadata } = description;
  return { session, key, deviceName, os, sdk, metadata, since: sinceMs };
}
