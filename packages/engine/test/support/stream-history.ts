/**
 * Random histories for streams: documents are written, deleted and forgotten, the log is cut, peers
 * come and go, read slowly, and have their permissions changed; all of it from one seed.
 *
 * A second opinion watches: the conditions and permissions as plain functions, and every state that
 * the store has had. It says at each `complete` and `committed` what the peer must hold at exactly that
 * transaction, and of each entry whether the peer may be told it.
 */

import { type DocumentEntry, documentId, TIME_MAX } from "@bigpeer/protocol";
import { collect } from "../../src/crdt/collect.ts";
import type { DocumentState } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import type { Authority } from "../../src/query/permission/authority.ts";
import type { Store } from "../../src/store/store.ts";
import { authorityOf } from "./caller.ts";
import { type OpenStreams, openStreams, turns } from "./open-streams.ts";
import { Receiver, Subscription } from "./stream-receiver.ts";
import { type Random, seededRandom } from "./test-platform.ts";

type Fields = { readonly owner?: number; readonly n?: number; readonly text?: string };
type PermissionChecker = (id: string, fields: Fields) => boolean;

interface Wish {
  readonly query: string;
  readonly collection: string;
  readonly chooses: PermissionChecker;
}

const WISHES: readonly Wish[] = [
  { query: "SELECT * FROM cars", collection: "cars", chooses: () => true },
  {
    query: "SELECT * FROM cars WHERE owner = 1",
    collection: "cars",
    chooses: (_, { owner }) => owner === 1,
  },
  {
    query: "SELECT * FROM cars WHERE n > 2",
    collection: "cars",
    chooses: (_, { n = 0 }) => n > 2,
  },
  {
    query: "SELECT * FROM cars WHERE owner IN (1, 2) AND n < 4",
    collection: "cars",
    chooses: (_, { owner = 0, n = 9 }) => (owner === 1 || owner === 2) && n < 4,
  },
  { query: "SELECT * FROM boats", collection: "boats", chooses: () => true },
  {
    query: "SELECT * FROM boats WHERE _id = 'd3'",
    collection: "boats",
    chooses: (id) => id === "d3",
  },
  {
    query: "SELECT * FROM cars WHERE _id > 'd4'",
    collection: "cars",
    chooses: (id) => id > "d4",
  },
];

interface Right {
  readonly authority: Authority | undefined;
  readonly mayRead: (collection: string, id: string, fields: Fields) => boolean;
}

const RIGHTS: readonly Right[] = [
  { authority: undefined, mayRead: () => true },
  {
    authority: authorityOf({ cars: ["owner == 1", "n > 3"], boats: ["true"] }),
    mayRead: (collection, _, { owner, n = 0 }) => collection === "boats" || owner === 1 || n > 3,
  },
  {
    authority: authorityOf({ cars: ["n <= 2"], boats: ["owner == 2"] }),
    mayRead: (collection, _, { owner, n = 9 }) => (collection === "cars" ? n <= 2 : owner === 2),
  },
];

interface KnownDocument {
  readonly id: string;
  readonly fields: Fields;
  readonly version: number;
  readonly state: DocumentState;
}

const COLLECTIONS = ["cars", "boats"];

/** Every state that the store has had. */
class Past {
  readonly #store: Store;
  readonly #states: ReadonlyMap<string, KnownDocument>[] = [];
  readonly #versions = new Map<string, Fields>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** After each transaction; those of maintenance show the same. */
  note(): void {
    const state = new Map<string, KnownDocument>();
    this.#store.read((snapshot) => {
      for (const collection of COLLECTIONS) {
        for (const document of snapshot.scan(collection)) {
          const id = document.id as string;
          const { version, state: kept } = snapshot.state(collection, id);
          const fields = document.fields as Fields;
          const place = `${collection}/${documentId(id).key}`;
          state.set(place, { id, fields, version, state: kept });
          this.#versions.set(`${place}/${version}`, fields);
        }
      }
      for (let txn = this.#states.length; txn <= snapshot.txnId; txn++) this.#states.push(state);
    });
  }

  fieldsOf(place: string, version: number): Fields | undefined {
    return this.#versions.get(`${place}/${version}`);
  }

  /** Whether a subscription that came back with a cursor could have been told of a document. */
  hasShown(
    { collection, chooses }: Wish,
    { mayRead }: Right,
    { key, since }: { readonly key: string; readonly since: number },
  ): boolean {
    return this.#states.slice(since).some((state) => {
      const document = state.get(`${collection}/${key}`);
      if (document === undefined) return false;
      const { id, fields } = document;
      return chooses(id, fields) && mayRead(collection, id, fields);
    });
  }

  /** What a subscription must hold at a transaction. */
  expected(
    { collection, chooses }: Wish,
    { mayRead }: Right,
    txn: number,
  ): Map<string, KnownDocument> {
    const expected = new Map<string, KnownDocument>();
    for (const [place, document] of this.#states[txn] ?? []) {
      const key = place.slice(collection.length + 1);
      const { id, fields } = document;
      const isOf = place.startsWith(`${collection}/`);
      if (isOf && chooses(id, fields) && mayRead(collection, id, fields))
        expected.set(key, document);
    }
    return expected;
  }
}

/** What counts of a state: floors may be collected on one side and not on the other. */
function essence(state: DocumentState): string {
  return Buffer.from(stateToBytes(collect(state, TIME_MAX))).toString("hex");
}

interface Peer {
  readonly receiver: Receiver;
  readonly wishes: Map<Subscription, Wish>;
  right: Right;
  isConnected: boolean;
}

export interface HistoryReport {
  /** How often a subscription was whole, and entries by kind. */
  whole: number;
  readonly entries: { [kind: string]: number };
  readonly modes: { [mode: string]: number };
  /** Fills that went on where they were cut. */
  goneOn: number;
  falls: number;
}

export interface HistoryOptions {
  /** Who was whole mostly begins anew when it comes back: so many fills are cut. */
  readonly isForgetful?: boolean;
}

const HISTORY_LENGTH = 176;

/** Runs one history. Throws where a peer holds or hears what it should not. */
async function runHistory(seed: number, options: HistoryOptions): Promise<HistoryReport> {
  const random = seededRandom(seed);
  const opened = await openHistory(random, seededRandom(-seed));
  const history = new History(random, opened, options);
  await history.run(HISTORY_LENGTH);
  return history.report;
}

/** Runs several, and says which seed failed. */
export async function runHistories(
  first: number,
  count: number,
  options: HistoryOptions = {},
): Promise<HistoryReport> {
  const total: HistoryReport = { whole: 0, entries: {}, modes: {}, goneOn: 0, falls: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const report = await runHistory(seed, options).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
    total.whole += report.whole;
    total.falls += report.falls;
    total.goneOn += report.goneOn;
    addCounts(total.entries, report.entries);
    addCounts(total.modes, report.modes);
  }
  return total;
}

function addCounts(
  total: { [name: string]: number },
  more: { readonly [name: string]: number },
): void {
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count;
}

interface HistoryClock {
  nowMs: number;
}

interface OpenHistory extends OpenStreams {
  readonly clock: HistoryClock;
}

/**
 * Small bounds, so that all of them are met; a clock that cuts the work anywhere.
 * The clock has random numbers of its own: how often it is read does not change what peers do.
 */
async function openHistory(random: Random, ticks: Random): Promise<OpenHistory> {
  const clock: HistoryClock = { nowMs: 0 };
  const limits = {
    queueBytes: 3000,
    roomBytes: 1500,
    frameBytes: 400,
    roundBytes: 3000,
    catchUpBytes: 500 + random.below(2000),
    heldBytes: 4000 + random.below(20_000),
    pieceDocuments: 1 + random.below(4),
    pieceLooks: 1 + random.below(6),
    namedIds: 3,
    joinTransactions: random.below(12),
    resumeTransactions: 60,
    gatheredChanges: 10 + random.below(60),
    gatheredBytes: 8000 + random.below(30_000),
  };
  const retention = {
    logAgeMs: 20 * 86_400_000,
    logCount: 40,
    logBytes: 1e9,
    horizonMs: 2 * 86_400_000,
    answerMs: 86_400_000,
    siteMs: 86_400_000,
  };
  const elapsed = (): number => (clock.nowMs += ticks.below(9));
  const opened = await openStreams({ limits, store: { retention }, platform: { elapsed } });
  if (random.chance(0.5)) await opened.execute("CREATE INDEX by_owner ON cars (owner)");
  return { ...opened, clock };
}

class History {
  readonly #random: Random;
  readonly #opened: OpenHistory;
  readonly #past: Past;
  readonly #peers: Peer[] = [];
  #isForgetful: boolean;
  readonly report: HistoryReport = { whole: 0, entries: {}, modes: {}, goneOn: 0, falls: 0 };

  constructor(random: Random, opened: OpenHistory, { isForgetful = false }: HistoryOptions) {
    this.#random = random;
    this.#isForgetful = isForgetful;
    this.#opened = opened;
    this.#past = new Past(opened.store);
  }

  async run(length: number): Promise<void> {
    this.#past.note();
    for (let i = 0; i < 4; i++) this.#peers.push(this.#newPeer());
    for (let i = 0; i < length; i++) {
      // In the second half whoever was cut comes to follow changes.
      if (i > length / 2) this.#isForgetful = false;
      if (this.#isForgetful && this.#random.chance(0.1)) this.#cutFills();
      await this.#act();
      this.#checkFaults();
      // Fills that are to be cut must not be over before.
      const most = this.#isForgetful ? 4 : 8;
      if (this.#random.chance(0.5)) await turns(this.#random.below(most));
    }
    await this.#end();
  }

  #newPeer(): Peer {
    const right = this.#random.pick(RIGHTS);
    const peer: Peer = {
      receiver: new Receiver(this.#opened, right.authority, {
        onEntry: (subscription, entry) => this.#checkEntry(peer, subscription, entry),
        onWhole: (subscription, txn) => this.#checkWhole(peer, subscription, txn),
        onMisfit: (_, [kind, id]) => {
          throw new Error(`a ${kind} of ${id as string} does not fit`);
        },
      }),
      wishes: new Map(),
      right,
      isConnected: true,
    };
    for (const wish of WISHES) {
      if (this.#random.chance(0.4)) peer.wishes.set(new Subscription(wish.query), wish);
    }
    this.#connect(peer);
    return peer;
  }

  #connect(peer: Peer): void {
    peer.isConnected = true;
    for (const subscription of peer.wishes.keys()) this.#subscribe(peer, subscription);
  }

  #subscribe({ receiver }: Peer, subscription: Subscription): void {
    // Not what it holds: that is what a server of another history would meet.
    const isForgotten = this.#isForgetful && !subscription.isFilling && this.#random.chance(0.8);
    if (isForgotten) subscription.cursor = undefined;
    const { cursor } = subscription;
    receiver.subscribe(subscription);
    const { mode = "" } = subscription;
    if (mode === "fill" && cursor?.after !== undefined) this.report.goneOn++;
    this.report.modes[mode] = (this.report.modes[mode] ?? 0) + 1;
  }

  async #act(): Promise<void> {
    const dice = this.#random.below(100);
    if (dice < 60) return this.#write();
    if (dice < 92) return this.#touchPeer(this.#random.pick(this.#peers));
    if (dice < 96) {
      this.#opened.clock.nowMs += this.#random.below(40_000);
      return this.#opened.streams.tick();
    }
    this.#opened.platform.nowMs += this.#random.below(2 * 86_400_000);
    await this.#opened.store.maintain();
    this.#past.note();
  }

  /** Whoever is being filled loses its connection and comes back at once. */
  #cutFills(): void {
    for (const peer of this.#peers) {
      const isFilling = [...peer.wishes.keys()].some((subscription) => subscription.isFilling);
      if (!isFilling || !peer.isConnected) continue;
      peer.receiver.disconnect();
      this.#connect(peer);
    }
  }

  async #write(): Promise<void> {
    const { execute, put } = this.#opened;
    const collection = this.#random.chance(0.8) ? "cars" : "boats";
    const id = `d${this.#random.below(9)}`;
    const n = this.#random.below(6);
    const owner = this.#random.below(4);
    const where = `WHERE _id = '${id}'`;
    const dice = this.#random.below(100);
    if (dice < 35) {
      const text = "x".repeat(this.#random.chance(0.3) ? 1500 : this.#random.below(60));
      await put(collection, { _id: id, n, owner, text });
    } else if (dice < 55) await execute(`UPDATE ${collection} SET n = ${n} ${where}`);
    else if (dice < 70) await execute(`UPDATE ${collection} SET owner = ${owner} ${where}`);
    else if (dice < 76) await execute(`UPDATE ${collection} SET n = ${n} WHERE owner = ${owner}`);
    else if (dice < 81) await execute(`UPDATE ${collection} UNSET text ${where}`);
    else if (dice < 92) await execute(`DELETE FROM ${collection} ${where}`);
    else await execute(`EVICT FROM ${collection} ${where}`);
    this.#past.note();
  }

  #touchPeer(peer: Peer): void {
    const { receiver } = peer;
    const dice = this.#random.below(100);
    if (dice < 40) return receiver.take(1 + this.#random.below(6));
    if (dice < 60) {
      receiver.isFast = !receiver.isFast;
      if (receiver.isFast) this.#drain(peer);
      return;
    }
    if (dice < 80) {
      if (!peer.isConnected) return this.#connect(peer);
      receiver.disconnect();
      peer.isConnected = false;
      return;
    }
    if (dice < 90) {
      if (peer.isConnected) receiver.disconnect();
      peer.right = this.#random.pick(RIGHTS);
      receiver.authority = peer.right.authority;
      return this.#connect(peer);
    }
    if (peer.wishes.size === 0 || !peer.isConnected) return;
    const subscription = this.#random.pick([...peer.wishes.keys()]);
    receiver.unsubscribe(subscription);
    this.#subscribe(peer, subscription);
  }

  #drain({ receiver, isConnected }: Peer): void {
    receiver.take();
    if (isConnected) receiver.session.drained();
  }

  /** Everybody reads again: all must become live, and hold what there is. */
  async #end(): Promise<void> {
    const { streams, store, clock } = this.#opened;
    for (const peer of this.#peers) {
      peer.receiver.isFast = true;
      if (!peer.isConnected) this.#connect(peer);
      this.#drain(peer);
    }
    for (let i = 0; i < 200 && !this.#isSettled(); i++) {
      clock.nowMs += 40_000;
      streams.tick();
      await turns(20);
    }
    this.#checkFaults();
    for (const peer of this.#peers) {
      this.report.falls += peer.receiver.ofKind("behind").length;
      for (const subscription of peer.wishes.keys()) {
        if (!subscription.isLive) throw new Error(`${subscription.query} is not live`);
        this.#checkWhole(peer, subscription, store.txnId);
      }
      if (peer.wishes.size > 0 && peer.receiver.session.completeUpTo !== store.txnId) {
        throw new Error("the position is not the last transaction");
      }
      if (peer.receiver.failures.length > 0) throw peer.receiver.failures[0];
    }
    streams.close();
  }

  #checkFaults(): void {
    for (const { receiver } of this.#peers) if (receiver.fault !== undefined) throw receiver.fault;
  }

  #isSettled(): boolean {
    const { streams, store } = this.#opened;
    const { live, streams: count } = streams.stats();
    return (
      live === count &&
      this.#peers.every(({ receiver, wishes }) =>
        wishes.size === 0 ? true : receiver.session.completeUpTo === store.txnId,
      )
    );
  }

  #checkWhole(peer: Peer, subscription: Subscription, txn: number): void {
    const wish = peer.wishes.get(subscription);
    if (wish === undefined) return;
    this.report.whole++;
    const expected = this.#past.expected(wish, peer.right, txn);
    const name = `${wish.query} at ${txn}`;
    const held = [...subscription.held.keys()].toSorted().join(" ");
    const wanted = [...expected.keys()].toSorted().join(" ");
    if (held !== wanted) throw new Error(`${name}: expected ${wanted}, held ${held}`);
    for (const [key, document] of expected) {
      const kept = subscription.held.get(key);
      if (kept?.version !== document.version || essence(kept.state) !== essence(document.state)) {
        throw new Error(`${name}: ${key} differs, version ${kept?.version} / ${document.version}`);
      }
    }
  }

  /** S19: only what matches and may be read, and the end of what was told before. */
  #checkEntry(peer: Peer, subscription: Subscription, entry: DocumentEntry): void {
    const wish = peer.wishes.get(subscription);
    if (wish === undefined) return;
    const [kind, id] = entry;
    this.report.entries[kind] = (this.report.entries[kind] ?? 0) + 1;
    const { key } = documentId(id);
    const name = `${kind} ${id as string} of ${wish.query}`;
    const isKnown = kind === "put" || subscription.reported.has(key);
    if (!isKnown && !this.#past.hasShown(wish, peer.right, { key, since: subscription.since })) {
      throw new Error(`${name}: the peer was never told of it`);
    }
    if (kind === "drop" || kind === "deleted") return;
    const fields = this.#past.fieldsOf(`${wish.collection}/${key}`, entry[2]);
    if (fields === undefined) throw new Error(`${name}: no such version`);
    if (!peer.right.mayRead(wish.collection, id as string, fields)) {
      throw new Error(`${name}: the peer may not read it`);
    }
    if (wish.chooses(id as string, fields) === (kind === "left")) {
      throw new Error(`${name}: it does not match, or still does`);
    }
  }
}
