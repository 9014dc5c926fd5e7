/**
 * Replica: the store of one app on one node of a cluster. It follows the log that all nodes share,
 * and evaluates the writes of the app while this node is its evaluating node.
 *
 *   following ──evaluate()──> evaluating ──another node begins an epoch, or stepDown()──> following
 *       └──an entry does not fit──> failed <───────────────────┘
 *
 * What makes a node the evaluating node is an entry in the log, and what ends it is an entry of
 * another: nothing else decides. While it evaluates, its own entries come back through the tail and
 * are passed over.
 */

import { assert, PeerError, unreachable } from "@bigpeer/protocol";
import { SLICE_MS } from "../limits.ts";
import type { Platform, Writes } from "../platform.ts";
import type { Steps } from "../steps.ts";
import { FORMAT_VERSION, firstWrites, newIdentity, readIdentity } from "../store/identity.ts";
import { HEAD_KEY } from "../store/keys.ts";
import { Overlay } from "../store/overlay.ts";
import { Progress, type Wait } from "../store/progress.ts";
import { readHead } from "../store/records.ts";
import { Store, type StoreOptions } from "../store/store.ts";
import type { CommitGroup, TransactionLog } from "../store/transaction-log.ts";
import { LOG_START, LogChain, type LogPosition, type TakenEntry } from "./log-chain.ts";
import {
  contentsOf,
  decodeEntry,
  type EntryContent,
  isSameDigest,
  type SharedTransaction,
  WRITER_ENTRY_FORMAT,
} from "./log-entry.ts";
import { awaitStart, findStart, type LogStart } from "./log-start.ts";
import {
  EMPTY_CONTENT,
  formatOf,
  LogWriter,
  type LogWriterHost,
  nodeOfWriter,
} from "./log-writer.ts";
import { replay } from "./replay.ts";
import type { ReplicaStorage } from "./replica-storage.ts";
import type { LogTail, SharedEntry, SharedLog } from "./shared-log.ts";
import { stateDigest } from "./state-digest.ts";

export type ReplicaRole = "following" | "evaluating" | "failed";

export interface ReplicaHost {
  readonly log: SharedLog;
  readonly storage: ReplicaStorage;
  readonly platform: Platform;
  /** The name of this node in the cluster, without a full stop. */
  readonly node: string;
  readonly options?: StoreOptions;
  /** How many flushes apart the state of the nodes is compared; 64 if left out. */
  readonly comparedEvery?: number;
  /** As in LogWriterHost. */
  readonly entryFormat?: LogWriterHost["entryFormat"];
  readonly newestFormat?: LogWriterHost["newestFormat"];
  /** Whether the log may be begun, if it is empty. */
  readonly mayBegin?: boolean;
  /** Resolves after some time, longer after more attempts in a row. */
  readonly wait: (attempt: number) => Promise<void>;
  /** Called after each change of its role. */
  readonly onRole?: (role: ReplicaRole) => void;
  /** Called with transactions of another node when the store has them. */
  readonly onApplied?: (transactions: readonly SharedTransaction[]) => void;
}

/** Groups of this size fit into one entry. */
const GROUP_BYTES_MAX: number = 3 * 1024 * 1024;

/** An append takes milliseconds; a log that has lost its leader takes seconds to have another. */
const STALLED_MS = 2_000;

/** Longer than a log takes to have another leader; then callers are answered without an outcome. */
const UNANSWERED_MS = 10_000;

const COMPARED_EVERY = 64;

/** With the longest wait in between, half a minute: a leader that was replaced has given up by then. */
const MISSED_MAX = 30;

const NOTHING: Writes = new Map();

export class Replica {
  readonly store: Store;
  readonly #host: ReplicaHost;
  readonly #running: Promise<void>;
  /** The last entry that it has, and those who wait for a later one. */
  readonly #progress: Progress;
  #chain: LogChain;
  #writer: LogWriter | undefined;
  #role: ReplicaRole = "following";
  #tail: LogTail | undefined;
  /** The last of the pieces of work that do not overlap: applying an entry, beginning an epoch. */
  #turn: Promise<unknown> = Promise.resolve();
  #flushCount = 0;
  /** How often in a row the log did not have the last entry of the store. */
  #missed = 0;
  #failure: unknown;
  #isClosed = false;

  private constructor(host: ReplicaHost, store: Store, position: LogPosition) {
    this.#host = host;
    this.store = store;
    this.#progress = new Progress(position.sequence);
    this.#chain = new LogChain(host.platform, position, host.newestFormat);
    this.#running = this.#follow();
  }

  /**
   * Opens the store on its storage and follows the log. Rejects as awaitStart, and with
   * `store.foreign` if the storage must begin with a copy, has a store that has followed no log, or
   * the log is empty and must not be begun.
   */
  static async open(host: ReplicaHost): Promise<Replica> {
    const { storage, platform } = host;
    if (storage.position === undefined && readIdentity(storage) !== undefined) throw ownStore();
    const position = await findPosition(host);
    // The store calls it only when it leads, and then there is a replica.
    const shared: TransactionLog = {
      groupBytesMax: GROUP_BYTES_MAX,
      get isStalled() {
        return (replica.#writer?.waitingMs ?? 0) > STALLED_MS;
      },
      append: (group) => replica.#append(group),
      confirm: () => replica.#confirm(),
    };
    const isWriterLogged = (): boolean => formatOf(host) >= WRITER_ENTRY_FORMAT;
    const options = { ...host.options, log: shared, isFollower: true, isWriterLogged };
    const store = await Store.open(storage, platform, options);
    const replica = new Replica(host, store, position);
    return replica;
  }

  get role(): ReplicaRole {
    return this.#role;
  }

  /** Why it failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The last entry that the store has. */
  get position(): LogPosition {
    return this.#host.storage.position ?? LOG_START;
  }

  /** The node that evaluates by the log, as far as it was followed. */
  get evaluator(): string {
    return nodeOfWriter(this.#last.writer);
  }

  /**
   * Makes this node the evaluating node. False if another one was faster, the log cannot be reached
   * now, or `isWanted` returns false. It is called when the store has the end of the log.
   */
  async evaluate(isWanted: () => boolean = () => true): Promise<boolean> {
    if (this.#writer !== undefined) return this.#role === "evaluating";
    try {
      await this.whenReached(await this.#host.log.end()).promise;
      return await this.#inTurn(async () => isWanted() && this.#beginEpoch());
    } catch (error) {
      if (this.#isTailOver) return false;
      if (error instanceof PeerError && error.code !== "cluster.elsewhere") throw error;
      return false;
    }
  }

  /**
   * Waits until the store has an entry. The caller cancels a wait that it no longer needs. Rejects
   * with `store.closed` if it never will.
   */
  whenReached(sequence: number): Wait {
    return this.#progress.whenReached(sequence);
  }

  /**
   * Appends an entry that changes nothing. When it resolves, this node was the evaluating node after
   * the call, and the store has everything that was acknowledged before it. Rejects with
   * `cluster.elsewhere` if another one is, and with `cluster.unanswered` if the log does not answer.
   */
  async confirm(): Promise<LogPosition> {
    await this.store.answered(this.store.transact(() => undefined));
    return this.position;
  }

  /** Called about once a second: callers do not wait without end for a log that does not answer. */
  tick(): void {
    if ((this.#writer?.waitingMs ?? 0) > UNANSWERED_MS) this.store.releaseCallers();
  }

  /** Evaluates nothing more; resolves when everything accepted is answered. */
  async stepDown(): Promise<void> {
    if (this.#role !== "evaluating") return;
    await this.store.follow();
    this.#depose();
  }

  /** Answers what was accepted and ends following. The storage stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return this.#running;
    this.#isClosed = true;
    this.#tail?.close();
    // An epoch that is being begun comes first: its store would take requests again.
    await this.#turn;
    await this.store.follow();
    await this.store.close();
    await this.#running;
    this.#progress.end();
  }

  /** Follows the log until it is closed or has failed. Never rejects. */
  async #follow(): Promise<void> {
    for (let attempt = 1; !this.#isClosed; attempt++) {
      try {
        if ((await this.#isInLog()) && (await this.#followTail())) attempt = 0;
      } catch {
        // The log cannot be reached now.
      }
      if (this.#isClosed || this.#role === "failed") return;
      if (this.#writer?.isDeposed === true) await this.#followAgain();
      else await this.#host.wait(attempt).catch(() => {});
    }
  }

  /**
   * Whether the log has the last entry that this store has: nothing else would tell that the log
   * has lost it. A leader of the log that has just begun may lack it for a while.
   */
  async #isInLog(): Promise<boolean> {
    try {
      await findStart(this.#host, this.#last);
      this.#missed = 0;
      return true;
    } catch (error) {
      // Only an upgrade of this node helps.
      if (hasCode(error, "store.format_newer")) this.#fail(error);
      if (!hasCode(error, "store.corrupt")) throw error;
      this.#missed++;
      if (this.#missed > MISSED_MAX) this.#fail(error);
      return false;
    }
  }

  /** The last entry that was followed or written. */
  get #last(): LogPosition {
    return this.#writer?.last ?? this.#chain.last;
  }

  /** Returns whether it has got any entry. */
  async #followTail(): Promise<boolean> {
    // It may have been closed, or deposed, since it was known that there is something to follow.
    if (this.#isTailOver) return false;
    const tail = this.#host.log.follow(this.#last.sequence);
    this.#tail = tail;
    let isMoving = false;
    try {
      for await (const entry of tail) {
        isMoving = true;
        await this.#inTurn(() => this.#receive(entry)).catch((error) => this.#fail(error));
        if (this.#isTailOver) break;
      }
      return isMoving;
    } finally {
      tail.close();
    }
  }

  /** Whether there is nothing to follow, or it must be followed from another entry on. */
  get #isTailOver(): boolean {
    return this.#isClosed || this.#role === "failed" || this.#writer?.isDeposed === true;
  }

  async #receive(entry: SharedEntry): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) return this.#take(entry);
    // Its own entries come back, most of them after their outcome is known.
    if (entry.sequence <= writer.last.sequence) return;
    if (this.#writerOf(entry) !== writer.last.writer) this.#depose();
  }

  #writerOf({ bytes }: SharedEntry): string {
    return decodeEntry(bytes, this.#host.newestFormat).writer;
  }

  async #take({ sequence, bytes }: SharedEntry): Promise<void> {
    if (sequence <= this.#chain.last.sequence) return;
    const taken = await this.#inSlices(this.#chain.take(sequence, bytes));
    const position = this.#chain.complete;
    if (position.sequence === sequence) await this.#apply(taken, position);
    this.#progress.reach(this.#last.sequence);
  }

  async #apply({ transactions, state }: TakenEntry, position: LogPosition): Promise<void> {
    const { storage } = this.#host;
    const reached = async (): Promise<LogPosition> => position;
    if (transactions.length === 0) return storage.commitLogged(NOTHING, reached);
    const snapshot = storage.snapshot();
    try {
      const group = new Overlay(snapshot);
      await this.#inSlices(replayAll(group, transactions, this.store.identity.site));
      if (state !== undefined) await this.#compare(group.writes, state, position);
      await storage.commitLogged(group.writes, reached);
      this.store.replicated(readHead(group.get(HEAD_KEY)));
      this.#host.onApplied?.(transactions);
    } finally {
      snapshot.close();
    }
  }

  async #compare(writes: Writes, state: Uint8Array, { sequence }: LogPosition): Promise<void> {
    const own = await this.#inSlices(stateDigest(writes, this.#host.platform));
    if (isSameDigest(own, state)) return;
    const message = `this node and the evaluating node have applied entry ${sequence} differently`;
    throw new PeerError("store.corrupt", message);
  }

  async #beginEpoch(): Promise<boolean> {
    if (this.#writer !== undefined || this.#isTailOver) return false;
    let writer: LogWriter | undefined;
    await this.#host.storage.commitLogged(NOTHING, async () => {
      writer = await this.#newWriter(this.#chain.last);
      return writer.last;
    });
    this.#writer = writer;
    this.#setRole("evaluating");
    this.store.lead();
    this.#progress.reach(this.#last.sequence);
    return true;
  }

  #newWriter(last: LogPosition): Promise<LogWriter> {
    return LogWriter.begin({ ...this.#host, onDeposed: () => this.#depose() }, last);
  }

  /** Another node has begun an epoch: from now on nothing is evaluated here. */
  #depose(): void {
    if (this.#role !== "evaluating") return;
    this.#writer?.resign();
    this.#setRole("following");
    // Awaited before it follows again.
    void this.store.follow();
    this.#tail?.close();
  }

  /** After it was the evaluating node. What it wrote itself is in the store already. */
  async #followAgain(): Promise<void> {
    await this.store.follow();
    const { platform, newestFormat } = this.#host;
    this.#chain = new LogChain(platform, this.position, newestFormat);
    this.#writer = undefined;
  }

  async #append({ transactions, writes }: CommitGroup): Promise<void> {
    const contents = await this.#inSlices(contentsOf(transactions));
    const [first] = contents;
    const every = this.#host.comparedEvery ?? COMPARED_EVERY;
    const isCompared = ++this.#flushCount % every === 0 && first?.kind === "transactions";
    if (!isCompared) return this.#write(contents, writes);
    const state = await this.#inSlices(stateDigest(writes, this.#host.platform));
    return this.#write([{ ...first, state }], writes);
  }

  #confirm(): Promise<void> {
    return this.#write([EMPTY_CONTENT], NOTHING);
  }

  async #write(contents: readonly EntryContent[], writes: Writes): Promise<void> {
    const writer = this.#writer;
    assert(writer !== undefined, "a writer of the log");
    let isLogged = false;
    try {
      await this.#host.storage.commitLogged(writes, async () => {
        for (const content of contents) await writer.append(content);
        isLogged = true;
        return writer.last;
      });
    } catch (error) {
      // The log has what the storage could not keep, or the reverse: the store must be opened again.
      if (isLogged || hasCode(error, "store.corrupt")) this.#fail(error);
      throw error;
    }
    this.#progress.reach(this.#last.sequence);
  }

  #fail(error: unknown): void {
    if (this.#role === "failed") return;
    this.#failure = error;
    void this.store.follow();
    this.#tail?.close();
    this.#setRole("failed");
    this.#progress.end();
  }

  #setRole(role: ReplicaRole): void {
    this.#role = role;
    this.#host.onRole?.(role);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Runs steps with a pause after each slice of time. */
  async #inSlices<T>(steps: Steps<T>): Promise<T> {
    const { platform } = this.#host;
    let endMs = platform.elapsed() + SLICE_MS;
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (platform.elapsed() < endMs) continue;
      await platform.pause();
      endMs = platform.elapsed() + SLICE_MS;
    }
  }
}

function hasCode(error: unknown, code: PeerError["code"]): boolean {
  return error instanceof PeerError && error.code === code;
}

function* replayAll(
  group: Overlay,
  transactions: readonly SharedTransaction[],
  site: string,
): Steps<void> {
  for (const transaction of transactions) {
    const { overlay } = yield* replay(group, transaction, site);
    group.absorb(overlay);
    yield;
  }
}

async function findPosition(host: ReplicaHost): Promise<LogPosition> {
  const { storage, mayBegin = false } = host;
  for (;;) {
    try {
      return await begin(host, await awaitStart(host, storage.position, mayBegin));
    } catch (error) {
      // Another node has begun the log at the same time.
      if (!hasCode(error, "cluster.elsewhere")) throw error;
    }
  }
}

/** Gives the storage its identity, if it has none. Returns where it is in the log. */
async function begin(host: ReplicaHost, start: LogStart): Promise<LogPosition> {
  const { storage } = host;
  switch (start.kind) {
    case "continued":
      return start.position;
    case "beginning": {
      const { historyId, site } = start.history;
      const writes = firstWrites({ format: FORMAT_VERSION, historyId, site });
      await storage.commitLogged(writes, async () => start.position);
      return start.position;
    }
    case "new":
      if (host.mayBegin === true) return beginLog(host);
      throw new PeerError("store.foreign", "expected the log of an app in the cluster, found none");
    case "forgotten":
      throw new PeerError(
        "store.foreign",
        "the log of the cluster no longer has what this store lacks: it must begin with a copy",
      );
    default:
      return unreachable(start);
  }
}

function ownStore(): PeerError {
  const message = "expected a store that follows the log of a cluster, found one of its own";
  return new PeerError("store.foreign", message, {
    hint: "`bigpeer cluster adopt` takes it into the cluster",
  });
}

async function beginLog(host: ReplicaHost): Promise<LogPosition> {
  const { storage, platform } = host;
  const identity = newIdentity(platform);
  const { historyId, site } = identity;
  await storage.commitLogged(firstWrites(identity), async () => {
    const content: EntryContent = { kind: "history", historyId, site, txnId: 0 };
    return (await LogWriter.begin(host, LOG_START, content)).last;
  });
  const { position } = storage;
  assert(position !== undefined, "the position of its first entry");
  return position;
}
