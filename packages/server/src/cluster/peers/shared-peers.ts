/**
 * SharedPeers: makes the peers of all nodes of a cluster known on each node, for every app that is
 * open here. From them come presence, the list of devices, their records, and which node runs a
 * statement on a peer.
 *
 * Only the evaluating node of an app records devices, when it knows the peers of all nodes that are
 * alive. It keeps the app open while other nodes have peers of it.
 */

import { setImmediate as pause } from "node:timers/promises";
import type { ExplainSyncRequest } from "@bigpeer/engine/query";
import {
  type RemoteRun,
  type RunningRemote,
  SESSION_RANGE_COUNT,
  SESSION_RANGE_SIZE,
  type SyncServer,
  sessionRange,
} from "@bigpeer/engine/sync";
import { isArray, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../../apps/open-app.ts";
import type { AppUse, OpenApps } from "../../apps/open-apps.ts";
import type { Log } from "../../observability/log.ts";
import type { ExplainSteps } from "../../sync/device-rows.ts";
import type { ClusterPeers } from "../../sync/sync-servers.ts";
import type { Bus } from "../bus.ts";
import type { Membership } from "../membership.ts";
import type { NodeClient } from "../node-client.ts";
import type { Procedure } from "../node-listener.ts";
import { NodeRuns, RUN_PROCEDURES } from "./node-runs.ts";
import { PeerFeed, peersTopic } from "./peer-feed.ts";
import {
  type FeedPosition,
  type PeerPage,
  peerMessageIn,
  peerPageIn,
  positionsIn,
  textIn,
  valueOf,
} from "./peer-message.ts";
import { type PeerNode, RemotePeers } from "./remote-peers.ts";
import { SplitRun } from "./split-run.ts";

export interface SharedPeersHost {
  readonly node: string;
  /** Different after each start, in hexadecimal digits. */
  readonly instance: string;
  readonly bus: Bus;
  readonly membership: Pick<Membership, "others" | "isGone" | "isComplete">;
  readonly client: Pick<NodeClient, "call">;
  /** Undefined until the server is open. */
  readonly apps: () => Pick<OpenApps, "tryUse" | "use"> | undefined;
  /** The node that evaluates an app, as far as this node knows. */
  readonly evaluatorOf: (appId: string) => string | undefined;
  /** A monotonic clock. */
  readonly elapsed: () => number;
  readonly log: Log;
}

/** Ticks between two messages about how far the feeds are. */
const POSITION_TICKS = 5;
const POSITIONS_TOPIC = "peers";

/** Feeds in one of these messages. */
const POSITIONS_AT_ONCE = 1_000;

const PAGE_PROCEDURE = "peers";
const EXPLAIN_PROCEDURE = "explain_sync";

/** What other nodes call; `peers` throws until this node is open. */
export function peerProcedures(peers: () => SharedPeers): { [name: string]: Procedure } {
  const names = [PAGE_PROCEDURE, EXPLAIN_PROCEDURE, ...Object.values(RUN_PROCEDURES)];
  return Object.fromEntries(
    names.map((name) => [name, async (value: Value) => peers().answer(name, value)]),
  );
}

/** How long an app that is being opened waits for the peers of other nodes. */
const PREPARE_MS_MAX = 2_000;

/** After this time an app that was prepared and is not open has failed to open. */
const UNOPENED_MS_MAX = 60_000;

/** How long a call of another node may take. */
const CALL_MS_MAX = 5_000;

/** Time slice of an explanation for another node. */
const SLICE_MS = 5;

interface Opened {
  readonly app: OpenApp;
  readonly sync: SyncServer;
  readonly feed: PeerFeed;
  readonly feedId: string;
}

interface Tracked {
  readonly appId: string;
  readonly remote: RemotePeers;
  readonly unsubscribe: () => void;
  readonly startMs: number;
  opened: Opened | undefined;
  /** Keeps the app open. */
  use: AppUse | undefined;
  /** Counts the times in which devices were recorded here. */
  term: number;
  isRecording: boolean;
}

export class SharedPeers implements ClusterPeers {
  readonly #host: SharedPeersHost;
  readonly #range: number;
  readonly #tracked = new Map<string, Tracked>();
  readonly #runs: NodeRuns;
  readonly #unsubscribe: () => void;
  /** Nodes whose sessions have the numbers of this node's. */
  readonly #clashing = new Set<string>();
  #feedCount = 0;
  #lastSession: number;
  #tickCount = 0;

  constructor(host: SharedPeersHost) {
    this.#host = host;
    this.#range = rangeOf(host.instance);
    this.#lastSession = this.#range * SESSION_RANGE_SIZE;
    this.#runs = new NodeRuns((appId) => this.#tracked.get(appId)?.opened?.sync);
    this.#unsubscribe = host.bus.subscribe(POSITIONS_TOPIC, (value) => this.#hear(value));
  }

  /** Answers a call of another node. */
  async answer(name: string, value: Value): Promise<Value> {
    switch (name) {
      case PAGE_PROCEDURE:
        return valueOf(this.#page(value));
      case EXPLAIN_PROCEDURE:
        return this.#answerExplain(value);
      default:
        return this.#runs.answer(name, value);
    }
  }

  /** All apps share the numbers: none is used again while this node runs. */
  nextSession(): number {
    return ++this.#lastSession;
  }

  /** Reads the peers of other nodes before an app is open. Resolves in any case, after a while. */
  async prepare(appId: string): Promise<void> {
    const { remote } = this.#track(appId);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PREPARE_MS_MAX);
    });
    await Promise.race([remote.whenRead(), late]);
    clearTimeout(timer);
  }

  opened(app: OpenApp, sync: SyncServer): void {
    const { bus, node, instance, membership } = this.#host;
    const tracked = this.#track(app.id);
    const feedId = `${instance}.${++this.#feedCount}`;
    const feed = new PeerFeed({
      bus,
      node,
      appId: app.id,
      feed: feedId,
      sync,
      isOwn: (session) => this.#isOwn(session),
      isAlone: () => membership.others.length === 0,
      defer: (work) => void setImmediate(work),
    });
    tracked.opened = { app, sync, feed, feedId };
    tracked.remote.attach(sync.presence);
  }

  closing(appId: string): void {
    const tracked = this.#tracked.get(appId);
    if (tracked === undefined) return;
    this.#tracked.delete(appId);
    tracked.unsubscribe();
    tracked.opened?.feed.close();
    tracked.remote.close();
    tracked.use?.release();
  }

  /** Another node evaluates the app, or this one. */
  roleChanged(appId: string): void {
    const tracked = this.#tracked.get(appId);
    if (tracked !== undefined) tracked.isRecording = false;
  }

  tick(): void {
    const isAnnouncing = ++this.#tickCount % POSITION_TICKS === 0;
    if (isAnnouncing) this.#announce();
    for (const tracked of Array.from(this.#tracked.values())) {
      tracked.remote.check();
      tracked.opened?.feed.tick();
      this.#hold(tracked);
      const isUnopened = tracked.opened === undefined;
      if (isUnopened && this.#host.elapsed() - tracked.startMs > UNOPENED_MS_MAX) {
        this.closing(tracked.appId);
      }
    }
  }

  recordingTerm({ id, store }: OpenApp): number | undefined {
    const tracked = this.#tracked.get(id);
    if (tracked === undefined) return undefined;
    if (store.isFollowing) {
      tracked.isRecording = false;
      return undefined;
    }
    if (!tracked.isRecording) {
      if (!tracked.remote.isComplete) return undefined;
      tracked.isRecording = true;
      tracked.term++;
    }
    return tracked.term;
  }

  run(appId: string, sync: SyncServer, sessions: readonly number[], run: RemoteRun): RunningRemote {
    const own: number[] = [];
    const parts = new Map<string, number[]>();
    const remote = this.#tracked.get(appId)?.remote;
    for (const session of sessions) {
      const url = this.#isOwn(session) ? undefined : remote?.nodeOf(session)?.url;
      // A session that has ended meanwhile is lost here.
      const part = url === undefined ? own : (parts.get(url) ?? []);
      part.push(session);
      if (url !== undefined) parts.set(url, part);
    }
    if (parts.size === 0) return sync.run(sessions, run);
    const { client, elapsed } = this.#host;
    const asked = {
      sessions,
      own: own.length === 0 ? undefined : sync.run(own, run),
      parts: Array.from(parts, ([url, numbers]) => ({ url, sessions: numbers })),
    };
    return new SplitRun({ appId, client, elapsed }, asked, run);
  }

  explain(appId: string, request: ExplainSyncRequest): Promise<ValueObject[]> | undefined {
    const nodes = this.#tracked.get(appId)?.remote.nodesWith(request.peerKey) ?? [];
    return nodes.length === 0 ? undefined : this.#explainAt(appId, nodes, request);
  }

  close(): void {
    this.#unsubscribe();
    this.#runs.close();
    for (const appId of Array.from(this.#tracked.keys())) this.closing(appId);
  }

  #isOwn(session: number): boolean {
    return sessionRange(session) === this.#range;
  }

  #track(appId: string): Tracked {
    const known = this.#tracked.get(appId);
    if (known !== undefined) return known;
    const { node: self, membership, bus, elapsed } = this.#host;
    const remote = new RemotePeers({
      nodes: () => membership.others.filter((node) => !this.#isClashing(node)),
      isGone: ({ node, instance }) => membership.isGone(node, instance),
      areAllHeard: () => membership.isComplete,
      isOf: (session, { instance }) => sessionRange(session) === rangeOf(instance),
      read: (node, after) => this.#read(node, appId, after),
      elapsed,
    });
    const unsubscribe = bus.subscribe(peersTopic(appId), (value) => {
      const message = peerMessageIn(value);
      if (message !== undefined && message.node !== self) remote.receive(message);
    });
    const tracked: Tracked = {
      appId,
      remote,
      unsubscribe,
      startMs: elapsed(),
      opened: undefined,
      use: undefined,
      term: 0,
      isRecording: false,
    };
    this.#tracked.set(appId, tracked);
    return tracked;
  }

  /** One in two million starts draws the numbers of another node. */
  #isClashing({ node, instance }: PeerNode): boolean {
    if (rangeOf(instance) !== this.#range) return false;
    if (!this.#clashing.has(instance)) {
      this.#clashing.add(instance);
      const remedy = "restart one of them";
      this.#host.log("error", `the node ${node} has the session numbers of this node: ${remedy}`);
    }
    return true;
  }

  async #read({ url }: PeerNode, appId: string, after: number): Promise<PeerPage> {
    const value = await this.#call(url, PAGE_PROCEDURE, { appId, after });
    const page = peerPageIn(value);
    if (page === undefined) throw new PeerError("store.busy", "expected peers of a node");
    return page;
  }

  #page(value: Value): PeerPage {
    const { appId, after } = isObject(value) ? value : {};
    const feed = this.#tracked.get(textIn(appId))?.opened?.feed;
    return feed?.page(Number(after ?? 0)) ?? { feed: "", sequence: 0, peers: [] };
  }

  #call(url: string, name: string, value: Value): Promise<Value> {
    return this.#host.client.call(url, name, value, AbortSignal.timeout(CALL_MS_MAX));
  }

  /** Keeps the app open on its evaluating node while other nodes have peers of it. */
  #hold(tracked: Tracked): void {
    const { opened, appId, remote } = tracked;
    const isNeeded = opened !== undefined && !opened.app.store.isFollowing && remote.size > 0;
    if (isNeeded) tracked.use ??= this.#host.apps()?.tryUse(appId);
    else {
      tracked.use?.release();
      tracked.use = undefined;
    }
  }

  #announce(): void {
    const { bus, node, membership, evaluatorOf } = this.#host;
    if (membership.others.length === 0) return;
    const positions: FeedPosition[] = [];
    for (const { appId, opened } of this.#tracked.values()) {
      if (opened === undefined) continue;
      const { feed, feedId } = opened;
      const evaluator = feed.hasPeers ? evaluatorOf(appId) : undefined;
      const position = { appId, feed: feedId, sequence: feed.sequence };
      positions.push({ ...position, ...(evaluator !== undefined && { evaluator }) });
    }
    for (let from = 0; from < positions.length; from += POSITIONS_AT_ONCE) {
      const feeds = positions.slice(from, from + POSITIONS_AT_ONCE).map(valueOf);
      bus.publish(POSITIONS_TOPIC, { node, feeds });
    }
  }

  #hear(value: Value): void {
    const { node, feeds } = isObject(value) ? value : {};
    if (typeof node !== "string" || node === this.#host.node) return;
    for (const { appId, feed, sequence, evaluator } of positionsIn(feeds)) {
      const tracked = this.#tracked.get(appId);
      tracked?.remote.noteFeed(node, feed, sequence);
      // This node records the devices of the app.
      if (tracked === undefined && evaluator === this.#host.node) void this.#open(appId);
    }
  }

  /** Never rejects. */
  async #open(appId: string): Promise<void> {
    try {
      (await this.#host.apps()?.use(appId))?.release();
    } catch {
      // The log of the apps has the reason.
    }
  }

  async #explainAt(
    appId: string,
    nodes: readonly PeerNode[],
    { collection, id, peerKey }: ExplainSyncRequest,
  ): Promise<ValueObject[]> {
    const request = { collection, id, peerKey };
    const answers = await Promise.all(
      nodes.map(async ({ url }) => {
        try {
          return await this.#call(url, EXPLAIN_PROCEDURE, { appId, request });
        } catch (error) {
          if (error instanceof PeerError) throw error;
          throw new PeerError("store.busy", "the node of the peer cannot be reached; try again");
        }
      }),
    );
    return answers.flatMap((rows) => (isArray(rows) ? rows.filter(isObject) : []));
  }

  async #answerExplain(value: Value): Promise<Value> {
    const { appId, request } = isObject(value) ? value : {};
    const sync = this.#tracked.get(textIn(appId))?.opened?.sync;
    if (sync === undefined) return [];
    const rows = await inSlices(sync.explain(request as unknown as ExplainSyncRequest));
    return rows.filter(({ verdict }) => verdict !== "not_connected");
  }
}

/** The range of the session numbers of a node. */
function rangeOf(instance: string): number {
  return Number.parseInt(instance.slice(0, 6), 16) % SESSION_RANGE_COUNT;
}

async function inSlices(steps: ExplainSteps): Promise<ValueObject[]> {
  let startMs = performance.now();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() - startMs < SLICE_MS) continue;
    await pause();
    startMs = performance.now();
  }
}
