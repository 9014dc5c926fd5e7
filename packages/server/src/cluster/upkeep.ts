/**
 * Upkeep: the parts of a node that move data between nodes and keep the logs small: copies of
 * stores, positions, trimming, closed apps, and the contents of attachments.
 */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@bigpeer/engine";
import { readIdentity } from "@bigpeer/engine/store";
import { DATA_FILE, openReplicaStorage } from "@bigpeer/node";
import { isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import type { AttachmentNodes } from "../attachments/attachment-folder.ts";
import type { ClusterConfig, UpkeepTimes } from "../config/config.ts";
import { appStoreFolder } from "../config/data-folder.ts";
import type { Answer } from "../http/answer.ts";
import type { Endpoint } from "../http/router.ts";
import type { PurgedLogs, UnknownFolder } from "../maintenance/deleted-apps.ts";
import { HOUR_MS, PeriodicTask } from "../maintenance/periodic-task.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { Registry } from "../registry/registry.ts";
import { REGISTRY_STORE } from "../stores/stores.ts";
import { ClosedApps } from "./closed-apps.ts";
import type { ClusterStores, ReplicaFolder } from "./cluster-stores.ts";
import { answerHasContent, contentEndpoint } from "./content-endpoint.ts";
import { attachHere, type ContentApp, contentNodes } from "./content-nodes.ts";
import { clearCopies } from "./copies-folder.ts";
import { copyEndpoint, StoreCopies } from "./copy-endpoint.ts";
import { LogTrimmer } from "./log-trimmer.ts";
import type { Membership } from "./membership.ts";
import type { NatsLogs } from "./nats/nats-logs.ts";
import type { NodeClient } from "./node-client.ts";
import type { Procedure } from "./node-listener.ts";
import { OtherNodes } from "./other-nodes.ts";
import { StoreCopier } from "./store-copy.ts";
import { positionsOf, StorePositions } from "./store-positions.ts";

export const UPKEEP_TIMES: UpkeepTimes = {
  trimMs: 60_000,
  catchUpMs: HOUR_MS,
  keptEntries: 1_000,
  copyHoldMs: 30_000,
};

/** What the node serves, once it is open. */
export interface UpkeepSource {
  readonly registry: Registry;
  readonly apps: OpenApps;
}

export interface UpkeepHost {
  readonly node: string;
  readonly config: Pick<ClusterConfig, "awayMs" | "upkeep">;
  readonly dataDir: string;
  readonly platform: Platform;
  readonly client: NodeClient;
  readonly membership: Membership;
  readonly logs: NatsLogs;
  readonly stores: () => ClusterStores;
  /** Throws while the node is not open. */
  readonly source: () => UpkeepSource;
  /** Calls a procedure of the node that evaluates a store. */
  readonly atEvaluator: (store: string, name: string, value: ValueObject) => Promise<ValueObject>;
  readonly log: Log;
}

/** A younger folder of an unknown app is left alone: the app may be being created. */
const PURGED_AGE_MS = 60_000;

export class Upkeep {
  readonly #host: UpkeepHost;
  readonly #times: UpkeepTimes;
  readonly #nodes: OtherNodes;
  readonly #positions: StorePositions;
  readonly #copies: StoreCopies;
  readonly #copier: StoreCopier;
  #tasks: readonly { stop(): Promise<void> }[] = [];

  /** Removes what a crash left of copies. */
  constructor(host: UpkeepHost) {
    const { dataDir, client, membership, platform, log } = host;
    clearCopies(dataDir);
    this.#host = host;
    this.#times = { ...UPKEEP_TIMES, ...host.config.upkeep };
    this.#nodes = new OtherNodes(membership, client);
    this.#copies = new StoreCopies({
      dataDir,
      withStore: (store, work) => this.#withStore(store, work),
      holdMs: this.#times.copyHoldMs,
    });
    this.#positions = new StorePositions({
      dataDir,
      opened: (store) => host.stores().folderOf(store),
      held: (store) => this.#copies.held(store),
    });
    this.#copier = new StoreCopier({
      dataDir,
      client,
      nodes: this.#nodes,
      firstEntry: async (store) => (await host.logs.log(store).next(0))?.sequence ?? 0,
      elapsed: () => platform.elapsed(),
      log,
    });
  }

  /** Throws while the node is not open. */
  get apps(): OpenApps {
    return this.#host.source().apps;
  }

  /** Answers the procedure `positions`. */
  positions(value: Value): Value {
    return this.#positions.answer(value);
  }

  /** Answers with a copy of a store; see StoreCopies. */
  give(store: string): Promise<Answer> {
    return this.#copies.give(store);
  }

  /** Brings a copy of a store of another node into its folder; see StoreCopier. */
  copy(store: string, folder: string): Promise<void> {
    return this.#copier.copy(store, folder);
  }

  attachmentNodes(app: ContentApp): AttachmentNodes {
    const { client, atEvaluator, log } = this.#host;
    return contentNodes(app, { client, nodes: this.#nodes, atEvaluator, log });
  }

  /** Answers the procedure `attach`. */
  async attach(value: Value): Promise<Value> {
    const { store, id, len, by } = isObject(value) ? value : {};
    const isWhole = typeof id === "string" && typeof len === "number" && typeof by === "string";
    if (!isWhole || typeof store !== "string") {
      throw new PeerError("attachment.invalid", "expected an app, an id, a size and a credential");
    }
    const { apps } = this.#host.source();
    const use = apps.tryUse(store) ?? (await apps.use(store));
    try {
      return { txnId: await attachHere(use.app.store, { id, len }, by) };
    } finally {
      use.release();
    }
  }

  /** Starts the background work. Call it once, when the node is open. */
  start(): void {
    const { trimMs } = this.#times;
    const noting = new PeriodicTask(() => this.#noteNodes(), trimMs);
    this.#tasks = [noting, this.#startTrimming(), this.#startCatchUp()];
  }

  /** Resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#copier.close();
    await Promise.all(this.#tasks.map((task) => task.stop()));
  }

  get purgedLogs(): PurgedLogs {
    return {
      removeLog: (appId) => this.#host.logs.log(appId).remove(),
      folderOf: (appId) => this.#folderOf(appId),
    };
  }

  /** A log is removed only with an app that is removed for good. */
  async #folderOf(appId: string): Promise<UnknownFolder> {
    const { dataDir, log, logs, platform } = this.#host;
    const folder = appStoreFolder(dataDir, appId);
    if (!existsSync(join(folder, DATA_FILE))) return "other";
    if (platform.now() - statSync(folder).mtimeMs < PURGED_AGE_MS) return "young";
    const storage = await openReplicaStorage(folder, { log });
    // Without an identity it is empty: the node was killed when it had just made it.
    const isOfLog = storage.position !== undefined || readIdentity(storage) === undefined;
    await storage.close();
    const isPurged = isOfLog && (await logs.log(appId).end()) === 0;
    return isPurged ? "purged" : "other";
  }

  #startTrimming(): LogTrimmer {
    const { config, platform, logs, stores, log } = this.#host;
    const { trimMs: everyMs, keptEntries } = this.#times;
    return new LogTrimmer({
      evaluated: () => {
        return [...stores().all()].flatMap(([name, { replica }]) => {
          return replica.role === "evaluating" ? [name] : [];
        });
      },
      own: (store) => this.#positions.of(store),
      nodes: () => this.#knownNodes(),
      ask: async (name, names) => {
        const node = this.#host.membership.find(name);
        const answer = node && (await this.#nodes.ask(node, "positions", { stores: [...names] }));
        return answer === undefined ? undefined : positionsOf(answer);
      },
      trim: async (store, through) => {
        await logs.log(store).trim(through);
        log("debug", `the log of ${store} was trimmed`, { through });
      },
      elapsed: () => platform.elapsed(),
      bounds: { keptEntries, awayMs: config.awayMs },
      everyMs,
      log,
    });
  }

  #startCatchUp(): ClosedApps {
    const { logs, stores, source, log } = this.#host;
    return new ClosedApps({
      apps: source().apps,
      known: () =>
        source()
          .registry.apps.names()
          .map(({ id }) => id),
      position: (id) => this.#positions.of(id).sequence,
      end: (id) => logs.log(id).end(),
      whenReached: (id, sequence) => stores().find(id)?.whenReached(sequence),
      everyMs: this.#times.catchUpMs,
      log,
    });
  }

  /** Other nodes that are alive, or have been within `awayMs`. */
  #knownNodes(): readonly string[] {
    const { node, membership, config, platform, source } = this.#host;
    const nowMs = platform.now();
    const heard = membership.heard().filter(({ agoMs }) => agoMs < config.awayMs);
    const recorded = source()
      .registry.nodes.list()
      .filter(({ seenAt }) => nowMs - seenAt < config.awayMs);
    const names = [...heard.map(({ info }) => info.node), ...recorded.map((each) => each.node)];
    return [...new Set(names)].filter((name) => name !== node);
  }

  /** The node that evaluates the registry records which nodes there are. */
  async #noteNodes(): Promise<void> {
    const { node, membership, config, platform, source, log } = this.#host;
    try {
      const { registry } = source();
      if (registry.storeFolder.store.isFollowing) return;
      const alive = [node, ...membership.others.map((other) => other.node)];
      await registry.nodes.note(alive, { nowMs: platform.now(), awayMs: config.awayMs });
    } catch (error) {
      log("debug", `failed to record the nodes of the cluster: ${describeError(error)}`);
    }
  }

  async #withStore(store: string, work: (opened: ReplicaFolder) => Promise<void>): Promise<void> {
    const { stores, source } = this.#host;
    const onOpened = async (): Promise<void> => {
      const opened = stores().folderOf(store);
      if (opened === undefined) throw new PeerError("store.busy", "the store is not open here");
      await work(opened);
    };
    if (store === REGISTRY_STORE) return onOpened();
    return source().apps.visit(store, onOpened);
  }
}

/** Procedures for other nodes. `upkeep` throws while the node is not open. */
export function upkeepProcedures(upkeep: () => Upkeep): { [name: string]: Procedure } {
  return {
    positions: async (value) => upkeep().positions(value),
    has_content: (value) => answerHasContent(() => upkeep().apps, value),
    attach: (value) => upkeep().attach(value),
  };
}

/** Endpoints for other nodes, for contents that are streamed. */
export function upkeepEndpoints(upkeep: () => Upkeep): Endpoint[] {
  return [copyEndpoint(upkeep), contentEndpoint(() => upkeep().apps)];
}
