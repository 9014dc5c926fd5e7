/**
 * A small peer of a run: an app that writes and follows queries, its store on its own disk, its
 * sessions. It may crash at any write, be copied, and come back from an older copy of itself.
 *
 * Its storage behaves as IndexedDB of a browser may: a crash loses the newest relaxed commits,
 * a commit is aborted now and then, and while the quota is reached no commit that grows succeeds.
 */

import { decodeServerMessage } from "@bigpeer/protocol";
import { HORIZON_MS } from "../../src/limits.ts";
import type { PeerContents } from "../../src/peer/contents/peer-contents.ts";
import type { PeerSubscription } from "../../src/peer/held-subscriptions.ts";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync } from "../../src/peer/peer-sync.ts";
import type { KeyValue, Writes } from "../../src/platform.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { readIdentity, renewIdentity } from "../../src/store/identity.ts";
import type { MemoryDisk, WriteFailure } from "../../src/store/memory-disk.ts";
import type { Credential } from "./credential.ts";
import { watchOwnWrites } from "./own-writes.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimContents } from "./sim-contents.ts";
import { SimDevice } from "./sim-device.ts";
import type { End, SimNetwork } from "./sim-network.ts";
import { type NewMedium, SimNode } from "./sim-node.ts";
import type { Wish } from "./sim-rules.ts";
import { APP_ID, type SimBackend } from "./sim-server.ts";
import type { SimStatement } from "./sim-statements.ts";
import type { WireTap } from "./wire-tap.ts";

/** The runs of statements on peers, by their numbers. */
interface PeerRuns {
  wishOf(number: number): Wish;
}

export interface PeerParts {
  readonly scheduler: Scheduler;
  readonly network: SimNetwork;
  readonly server: Pick<SimBackend, "newToken">;
  readonly tap: WireTap;
  readonly runs: PeerRuns;
  readonly count: (name: string) => void;
  /** What peers keep their data on; left out, it is the disk of their machine. */
  readonly newMedium?: NewMedium | undefined;
  readonly contents?: SimContents | undefined;
}

interface Running {
  readonly storage: KeyValue;
  readonly store: PeerStore;
  readonly runner: StatementRunner;
  readonly sync: PeerSync;
  readonly contents: PeerContents | undefined;
  readonly subscriptions: Map<string, PeerSubscription>;
}

/** One store and its copies: which writes may have been made by several of them. */
export class SimPeer {
  readonly name: string;
  readonly node: SimNode;
  readonly device: SimDevice;
  credential: Credential;
  readonly wishes = new Map<string, Wish>();
  /** Called when a piece of a fill has come that is not the last. */
  onPiece: (() => void) | undefined;
  /** It has forgotten something that comes back with the next connection alone (S37). */
  hasEvicted = false;
  /** All that it ever followed. */
  readonly pastWishes = new Map<string, Wish>();
  readonly #parts: PeerParts;
  #running: Running | undefined;
  isSyncWanted = true;
  /** How far its clock was off when a server told it the time, in this life. */
  #measuredSkewMs: number | undefined;
  /** How long it remembers what was deleted. */
  readonly #deletedMs: number;
  /** How many of a thousand commits the storage aborts. */
  #abortsPerMille: number;
  /** Whether its quota is reached. */
  isFull = false;
  /** Its disk is a copy, and whoever opens it next can tell: then it is another life. */
  isCopyKnown = false;

  constructor(name: string, credential: Credential, seed: number, parts: PeerParts) {
    this.name = name;
    this.credential = credential;
    this.#parts = parts;
    this.node = new SimNode(name, parts.scheduler, seed);
    this.device = new SimDevice(this.node, (run) => parts.runs.wishOf(run));
    this.#deletedMs = this.node.random.pick([HORIZON_MS, 5000]);
    this.#abortsPerMille = this.node.random.pick([0, 0, 10, 50]);
    this.node.refusalOf = (writes) => this.#refusalOf(writes);
    this.node.medium = parts.newMedium?.(this.node);
  }

  /** Whether its clock was measured in this life, and was not set since. */
  get isClockKnown(): boolean {
    return this.#running !== undefined && this.#measuredSkewMs === this.node.skewMs;
  }

  get running(): Running | undefined {
    return this.#running;
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  async start(): Promise<void> {
    const { life } = this.node;
    const platform = this.node.platform();
    const storage = this.node.medium ? await this.node.medium.open() : this.node.storage();
    if (!life.isAlive) return;
    if (this.isCopyKnown && readIdentity(storage) !== undefined) {
      await renewIdentity(storage, platform);
      this.isCopyKnown = false;
    }
    const options = { appId: APP_ID, deletedMs: this.#deletedMs };
    const store = await PeerStore.open(storage, platform, options);
    if (!life.isAlive) return;
    watchOwnWrites(store, (detail) => {
      if (!life.isAlive) return;
      const { scheduler } = this.#parts;
      scheduler.fail("[S35] what was applied still shows", `${this.name}: ${detail}`);
    });
    this.#measuredSkewMs = undefined;
    const runner = new StatementRunner({ store: store.store, platform, appId: APP_ID });
    const sync = this.#newSync(store);
    const contents = this.#parts.contents?.open(this.node, store);
    this.#running = { storage, store, runner, sync, contents, subscriptions: new Map() };
    this.node.note(`is up as ${store.store.identity.site.slice(-4)}`);
    this.device.begin(sync, runner);
    for (const wish of this.wishes.values()) this.#follow(wish);
    if (!this.isSyncWanted) return;
    sync.start();
    contents?.start();
  }

  #newSync(store: PeerStore): PeerSync {
    const { network, tap, server } = this.#parts;
    const { life } = this.node;
    let helloSkewMs = 0;
    const description = {
      key: this.device.key,
      deviceName: this.name,
      os: "sim",
      sdk: "1",
      metadata: this.device.metadata,
    };
    return new PeerSync({
      store,
      platform: this.node.platform(),
      description,
      run: (run, reply) => this.device.run(run, reply),
      appId: APP_ID,
      token: async () => server.newToken(this.credential),
      wakeIn: (ms, work) => life.after(ms, work),
      onEvent: (event) => {
        if (event.kind === "failed") this.node.note(`failed: ${String(event.error)}`);
        if (event.kind !== "connected") return;
        this.#measuredSkewMs = helloSkewMs;
        this.#running?.contents?.connected(this.credential.name);
      },
      dial: (handlers) =>
        network.dial(this.name, life, {
          ...handlers,
          message: (bytes) => {
            handlers.message(bytes);
            if (this.onPiece !== undefined && isPiece(bytes)) this.onPiece();
          },
          opened: (channel) => {
            const end = channel as End;
            helloSkewMs = this.node.skewMs;
            end.onSend = (bytes) => {
              tap.fromPeer(end, bytes);
              // On a broken connection it arrives nowhere: a restored server gets nothing of it.
              if (!end.connection.up.isBroken) this.#parts.contents?.sent(this.name, bytes);
            };
            handlers.opened(end);
          },
        }),
    });
  }

  crash(): void {
    this.node.note("crashes");
    this.#running = undefined;
    for (let lost = this.node.crash(); lost > 0; lost--) this.#parts.count("relaxed commit lost");
  }

  /** From now on the storage takes every commit. */
  mendStorage(): void {
    this.#abortsPerMille = 0;
    this.isFull = false;
    this.failNextWrite(undefined);
  }

  failNextWrite(code: WriteFailure | undefined): void {
    (this.node.medium ?? this.node.disk).failNextWrite(code);
  }

  /** An app that cannot be opened would not be part of the run. */
  #refusalOf(writes: Writes): WriteFailure | undefined {
    if (this.#running === undefined) return undefined;
    let growth = 0;
    for (const value of writes.values()) growth += value === undefined ? -1 : 1;
    const isAborted = this.node.random.below(1000) < this.#abortsPerMille;
    if (!isAborted && !(this.isFull && growth > 0)) return undefined;
    this.#parts.count(isAborted ? "commit aborted" : "commit beyond the quota");
    return isAborted ? "store.write_failed" : "store.full";
  }

  /** In order, as an app that ends. */
  async close(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.node.note("closes");
    const { life } = this.node;
    this.#running = undefined;
    await running.contents?.close();
    await running.sync.close();
    await running.store.store.close();
    if (life.isAlive) await running.storage.close();
    if (life.isAlive) this.node.crash();
  }

  putDisk(disk: MemoryDisk): void {
    this.node.putDisk(disk);
  }

  follow(wish: Wish): void {
    if (this.wishes.has(wish.key)) return;
    this.node.note(`follows ${wish.key}`);
    this.wishes.set(wish.key, wish);
    this.pastWishes.set(wish.key, wish);
    this.#follow(wish);
  }

  leave(key: string): void {
    this.node.note(`leaves ${key}`);
    this.wishes.delete(key);
    this.#running?.subscriptions.get(key)?.cancel();
    this.#running?.subscriptions.delete(key);
  }

  /** What was evicted comes back with the next connection, or when it is asked for anew (S37). */
  followAgain(): void {
    this.hasEvicted = false;
    if (this.node.random.chance(0.5)) {
      this.setSync(false);
    } else {
      const wishes = [...this.wishes.values()];
      for (const wish of wishes) {
        this.leave(wish.key);
        this.follow(wish);
      }
    }
  }

  #follow({ key, query, args }: Wish): void {
    const running = this.#running;
    running?.subscriptions.set(key, running.sync.subscribe(query, args));
  }

  setSync(isWanted: boolean): void {
    if (this.isSyncWanted === isWanted) return;
    this.isSyncWanted = isWanted;
    this.node.note(isWanted ? "goes online" : "goes offline");
    const { sync, contents } = this.#running ?? {};
    if (isWanted) {
      sync?.start();
      contents?.start();
    } else {
      void sync?.stop();
      void contents?.stop();
    }
  }

  /**
   * Which of the statements wrote something; several are one transaction. Undefined when the peer is
   * down; rejects when it is refused.
   */
  write(statements: readonly SimStatement[]): Promise<readonly boolean[]> | undefined {
    const runner = this.#running?.runner;
    const [first, ...others] = statements;
    if (runner === undefined || first === undefined) return undefined;
    return others.length === 0 ? execute(runner, first) : executeAll(runner, statements);
  }
}

function isPiece(bytes: Uint8Array): boolean {
  const message = decodeServerMessage(bytes);
  return message.t === "documents" && message.range?.through !== undefined;
}

async function execute(
  runner: StatementRunner,
  { statement, args }: SimStatement,
): Promise<readonly boolean[]> {
  const { mutatedDocumentIds } = await runner.execute({ statement, args });
  return [mutatedDocumentIds.length > 0];
}

async function executeAll(
  runner: StatementRunner,
  statements: readonly SimStatement[],
): Promise<readonly boolean[]> {
  const transaction = runner.open();
  const written: boolean[] = [];
  try {
    for (const { statement, args, onDrafted } of statements) {
      const { mutatedDocumentIds } = transaction.execute({ statement, args });
      written.push(mutatedDocumentIds.length > 0);
      onDrafted?.(mutatedDocumentIds.length > 0);
    }
  } catch (error) {
    transaction.close();
    throw error;
  }
  const txnId = await transaction.commit();
  return txnId === undefined ? written.map(() => false) : written;
}
