/**
 * The server of a run: one store on one disk, the sync server on it, and those who write to it directly.
 * It may crash at any write, be closed in order, or come back from a backup as another life. It may
 * also be one node of a cluster: then a replica opens its store, and other nodes evaluate for it.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Platform } from "../../src/platform.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { DEFAULT_RETENTION, type Retention } from "../../src/store/maintenance.ts";
import type { MemoryDisk, WriteFailure } from "../../src/store/memory-disk.ts";
import { Store, type StoreOptions } from "../../src/store/store.ts";
import type { UploadAnswer } from "../../src/store/upload.ts";
import type { ServerConnection, SessionUpload } from "../../src/sync/connection/connection-host.ts";
import type { Admission } from "../../src/sync/session/session-event.ts";
import { type SyncLimits, SyncServer } from "../../src/sync/sync-server.ts";
import { authorityOf, type Credential, newCredential } from "./credential.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SentUploads } from "./sent-uploads.ts";
import { type Checkpoint, type OracleBook, ServerOracle } from "./server-oracle.ts";
import type { Accepting, End, Receiver } from "./sim-network.ts";
import { type Life, SimNode } from "./sim-node.ts";
import { randomRights } from "./sim-rules.ts";
import type { SimStatement } from "./sim-statements.ts";
import type { WireTap } from "./wire-tap.ts";

export const APP_ID = "8b1f6a52-6c2f-4a2e-9e0c-1f1d3c5a7b90";

export interface Backup {
  readonly disk: MemoryDisk;
  readonly checkpoint: Checkpoint;
}

export interface Session {
  readonly end: End;
  readonly connection: ServerConnection;
  readonly dialler: string;
}

/** What peers, events and checks see of a server: one machine, or a cluster of nodes. */
export interface SimBackend extends Accepting {
  readonly machines: readonly SimServer[];
  readonly oracle: ServerOracle;
  /** What is durable. */
  readonly disk: MemoryDisk;
  readonly credentials: readonly Credential[];
  readonly limits: Partial<SyncLimits>;
  readonly restores: number;
  /** On all machines. */
  readonly sessions: readonly Session[];
  note(what: string): void;
  newToken(credential: Credential): string;
  changeRights(credential: Credential): void;
  setRevoked(credential: Credential, isRevoked: boolean): void;
  /** A statement of somebody who writes to the server directly. */
  write(statement: SimStatement, credential: Credential | undefined): Promise<boolean>;
  maintain(): Promise<void>;
  failNextWrite(code: WriteFailure): void;
  /** Nothing more happens to it. */
  setPeace(): void;
  /** Why it cannot serve everyone now; undefined when it can. */
  unsettled(): string | undefined;
  /** What must hold at the end of it alone. */
  checkAtEnd(): void;
}

/** What all machines of a server have in common. */
export interface ServerSettings {
  readonly credentials: readonly Credential[];
  readonly limits: Partial<SyncLimits>;
  readonly retention: Retention;
}

/** The cluster, as one of its nodes uses it. */
export interface NodeHost {
  readonly settings: ServerSettings;
  readonly oracle: ServerOracle;
  /** What the log makes durable. */
  readonly disk: MemoryDisk;
  open(platform: Platform, options: StoreOptions): Promise<Store>;
  close(): Promise<void>;
  /** The process has ended. */
  crash(): void;
  /** As takeUpload, where the app is evaluated. */
  upload(asked: SessionUpload): Promise<UploadAnswer>;
  /** Resolves when the store has everything that was acknowledged before. */
  catchUp(): Promise<void>;
  nextSession(): number;
}

export interface ServerParts {
  readonly sent: SentUploads;
  readonly tap: WireTap;
  /** Left out for a server of one machine. */
  readonly cluster?: NodeHost;
  /** "server" where there is only one. */
  readonly name?: string;
  /** Told of all that the oracle finds. */
  readonly book?: OracleBook;
  /** No token ends with time. */
  readonly isTokenEternal?: boolean;
}

interface Running {
  readonly store: Store;
  readonly runner: StatementRunner;
  readonly sync: SyncServer;
  readonly sessions: Set<Session>;
}

/** Small in many runs, so that what they guard against happens. */
function randomLimits(random: SimNode["random"]): Partial<SyncLimits> {
  const queueBytes = random.pick([2000, 8000, 64_000]);
  const limits: Partial<SyncLimits> = {
    queueBytes,
    roomBytes: queueBytes / 4,
    frameBytes: queueBytes / 4,
    catchUpBytes: queueBytes / 4,
    roundBytes: queueBytes,
  };
  if (random.chance(0.3)) return limits;
  return {
    ...limits,
    frameBytes: random.pick([200, queueBytes / 16, queueBytes / 4]),
    roundBytes: random.pick([700, queueBytes / 2, queueBytes]),
    catchUpBytes: random.pick([300, queueBytes / 8, queueBytes / 4]),
    pieceDocuments: random.pick([1, 3, 1000]),
    pieceLooks: random.pick([2, 10, 5000]),
    namedIds: random.pick([1, 10_000]),
    joinTransactions: random.pick([1, 10, 2000]),
    resumeTransactions: random.pick([5, 50, 50_000]),
    uploads: random.pick([2, 64]),
    listedPeers: random.pick([2, 1000]),
    listBytes: random.pick([1, 100_000]),
  };
}

function randomRetention(random: SimNode["random"]): Retention {
  if (random.chance(0.4)) return DEFAULT_RETENTION;
  return {
    ...DEFAULT_RETENTION,
    logAgeMs: 5000 + random.below(30_000),
    logCount: 20 + random.below(200),
    horizonMs: 15_000 + random.below(60_000),
    siteMs: 5000 + random.below(60_000),
  };
}

export function randomSettings(random: SimNode["random"], isTokenEternal: boolean): ServerSettings {
  const credentials = ["ann", "bob", "cleo", "root"].map((name) => {
    return newCredential(name, random, isTokenEternal);
  });
  return { credentials, limits: randomLimits(random), retention: randomRetention(random) };
}

export class SimServer implements SimBackend {
  readonly node: SimNode;
  readonly oracle: ServerOracle;
  readonly machines: readonly SimServer[] = [this];
  readonly #settings: ServerSettings;
  readonly #scheduler: Scheduler;
  readonly #tap: WireTap;
  readonly #cluster: NodeHost | undefined;
  readonly #accepted = new WeakSet<End>();
  #running: Running | undefined;
  /** Transactions that somebody was told of. */
  reported = 0;
  restores = 0;
  wasClockSetBack = false;
  /** Told of each process of the server before anybody speaks to it. */
  onUp: ((sync: SyncServer) => void) | undefined;

  constructor(scheduler: Scheduler, seed: number, parts: ServerParts) {
    const { cluster } = parts;
    this.#scheduler = scheduler;
    this.#cluster = cluster;
    this.node = new SimNode(parts.name ?? "server", scheduler, seed);
    this.#tap = parts.tap;
    this.oracle = cluster?.oracle ?? new ServerOracle(scheduler, parts.sent, parts.book);
    this.node.onDurable = () => this.oracle.catchUp(this.node.disk);
    const { random } = this.node;
    this.#settings = cluster?.settings ?? randomSettings(random, parts.isTokenEternal === true);
  }

  get credentials(): readonly Credential[] {
    return this.#settings.credentials;
  }

  get limits(): Partial<SyncLimits> {
    return this.#settings.limits;
  }

  get disk(): MemoryDisk {
    return this.#cluster?.disk ?? this.node.disk;
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  get store(): Store | undefined {
    return this.#running?.store;
  }

  get sync(): SyncServer | undefined {
    return this.#running?.sync;
  }

  get sessions(): readonly Session[] {
    return [...(this.#running?.sessions ?? [])];
  }

  /** Whether one of its processes has accepted a connection. */
  hasAccepted(end: End): boolean {
    return this.#accepted.has(end);
  }

  note(what: string): void {
    this.node.note(what);
  }

  unsettled(): string | undefined {
    return this.isUp ? undefined : "the server is down";
  }

  setPeace(): void {
    this.node.writesToCrash = undefined;
  }

  failNextWrite(code: WriteFailure): void {
    this.node.note("will fail to write");
    this.node.disk.failNextWrite(code);
  }

  checkAtEnd(): void {
    this.oracle.catchUp(this.disk);
    this.oracle.check(this.disk);
  }

  async start(): Promise<void> {
    const { life } = this.node;
    const platform = this.node.platform();
    const { retention, limits } = this.#settings;
    const cluster = this.#cluster;
    const store = await (cluster?.open(platform, { retention }) ??
      Store.open(this.node.storage(), platform, { retention }));
    if (!life.isAlive) return;
    this.oracle.catchUp(this.disk);
    this.oracle.check(this.disk);
    const sync = new SyncServer({
      store,
      platform,
      appId: APP_ID,
      admit: (token, _, channel) => this.#admit(token, channel as End),
      limits,
      ...(cluster && {
        upload: (asked) => cluster.upload(asked),
        nextSession: () => cluster.nextSession(),
      }),
      onFault: (error) => this.#fault(error, life),
    });
    const runner = new StatementRunner({ store, platform, appId: APP_ID });
    this.#running = { store, runner, sync, sessions: new Set() };
    this.onUp?.(sync);
    this.node.note(`is up at ${store.txnId} of ${store.identity.historyId.slice(0, 6)}`);
    this.#tickEvery(life, sync);
  }

  #fault(error: unknown, life: Life): void {
    // A node that cannot catch up says `bye busy`.
    const isExpected = this.#cluster !== undefined && error instanceof PeerError;
    if (isExpected || !life.isAlive) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#scheduler.fail("nothing unexpected happens", text);
  }

  #tickEvery(life: Life, sync: SyncServer): void {
    life.after(1000, () => {
      if (this.#running?.sync !== sync) return;
      sync.tick();
      this.#tickEvery(life, sync);
    });
  }

  crash(): void {
    this.node.note("crashes");
    this.#end();
  }

  #end(): void {
    this.#running = undefined;
    this.#cluster?.crash();
    this.node.crash();
  }

  /** In order: everyone is told, what was accepted is finished. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.node.note("closes");
    const { life } = this.node;
    this.#running = undefined;
    running.sync.close();
    await (this.#cluster?.close() ?? running.store.close());
    if (life.isAlive) this.#end();
  }

  async backup(): Promise<Backup> {
    const checkpoint = this.oracle.checkpoint();
    this.node.note(`is copied at ${checkpoint.txn}`);
    return { checkpoint, disk: await this.node.copyOfDisk() };
  }

  /** The process must be dead. */
  async restore({ disk, checkpoint }: Backup): Promise<void> {
    this.node.note(`comes back from its copy at ${checkpoint.txn}`);
    this.restores++;
    this.node.putDisk(disk);
    const { life, onDurable } = this.node;
    this.node.onDurable = undefined;
    await renewIdentity(this.node.storage(), this.node.platform());
    this.node.onDurable = onDurable;
    if (life.isAlive) this.oracle.restore(checkpoint, this.node.disk, this.wasClockSetBack);
  }

  accept(end: End, dialler: string): { receiver: Receiver; life: Life } | undefined {
    const running = this.#running;
    if (running === undefined) return undefined;
    const { life } = this.node;
    const connection = running.sync.connect(end);
    const session: Session = { end, connection, dialler };
    running.sessions.add(session);
    this.#accepted.add(end);
    end.onSend = (bytes) => this.#tap.fromServer(end, bytes);
    const receiver: Receiver = {
      message: (bytes) => {
        this.#tap.atServer(end, bytes);
        connection.receive(bytes);
      },
      drained: () => connection.drained(),
      closed: () => {
        running.sessions.delete(session);
        connection.closed();
      },
    };
    return { receiver, life };
  }

  write(statement: SimStatement, credential: Credential | undefined): Promise<boolean> {
    const running = this.#running;
    if (running === undefined) return Promise.resolve(false);
    const { life } = this.node;
    const authority = credential?.authority;
    const request = {
      statement: statement.statement,
      args: statement.args,
      ...(authority !== undefined && { authority }),
    };
    return running.runner.execute(request).then(
      (result) => {
        if (!life.isAlive) return false;
        const { transactionId } = result;
        if (transactionId > this.oracle.txn) {
          this.#scheduler.fail("nothing is told before it is durable", `${transactionId}`);
        }
        this.reported = Math.max(this.reported, transactionId);
        return result.mutatedDocumentIds.length > 0;
      },
      () => false,
    );
  }

  async maintain(): Promise<void> {
    await this.#running?.store.maintain().catch(() => undefined);
  }

  changeRights(credential: Credential): void {
    credential.rights = randomRights(this.node.random);
    credential.past.push(credential.rights);
    credential.authority = authorityOf(credential);
    this.node.note(`${credential.name} may now ${credential.rights.text}`);
    this.sendRights(credential);
  }

  setRevoked(credential: Credential, isRevoked: boolean): void {
    if (credential.isRevoked === isRevoked) return;
    credential.isRevoked = isRevoked;
    this.node.note(`${credential.name} is ${isRevoked ? "revoked" : "known again"}`);
    if (isRevoked) this.sendRights(credential);
  }

  sendRights(credential: Credential): void {
    for (const { end, connection } of this.sessions) {
      const known = this.#tap.sessionOf(end);
      if (known.credential !== credential || !known.isWelcome) continue;
      known.rights = credential.rights;
      connection.changeRights(this.#admission(credential, known.token));
    }
  }

  newToken(credential: Credential): string {
    const { tokenMs } = credential;
    return `${credential.name}@${tokenMs === undefined ? "" : this.node.nowMs + tokenMs}`;
  }

  #admit(token: string, end: End): Admission | undefined | Promise<Admission | undefined> {
    const decide = (): Admission | undefined => {
      const [name = ""] = token.split("@");
      const credential = this.credentials.find((each) => each.name === name);
      return credential && this.#admission(credential, token);
    };
    if (this.#cluster !== undefined && !this.#tap.sessionOf(end).isWelcome) {
      return this.#cluster.catchUp().then(decide);
    }
    const { random, life } = this.node;
    if (random.chance(0.5)) return decide();
    return new Promise((resolve) => {
      life.after(random.below(200), () => resolve(decide()));
    });
  }

  #admission(credential: Credential, token: string): Admission | undefined {
    const [, expires = ""] = token.split("@");
    const expiresMs = expires === "" ? undefined : Number(expires);
    if (credential.isRevoked) return undefined;
    if (expiresMs !== undefined && expiresMs <= this.node.nowMs) return undefined;
    const { authority, name } = credential;
    return { authority, credential: name, ...(expiresMs !== undefined && { expiresMs }) };
  }
}
