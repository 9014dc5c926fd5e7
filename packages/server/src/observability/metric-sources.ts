/**
 * Metric sources: what other parts of the server report to the metrics, and what the metrics read
 * from them at each scrape.
 */

import type { ChangeFeed } from "@bigpeer/engine/changes";
import type { StatementRunner } from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import type { SyncStats } from "@bigpeer/engine/sync";

/** Messages on the connections of peers, in one direction. */
export interface TrafficCount {
  /** By kind; `other` for unknown kinds. */
  readonly frames: ReadonlyMap<string, number>;
  readonly bytes: number;
}

export interface WatchedStats extends SyncStats {
  /** Each peer counts once, however many connections it has. */
  readonly peers: number;
}

/** Sync statistics that can be read at any time. */
export interface WatchedSync {
  /** Undefined for an app that no peer has used since it was opened. */
  statsOf(appId: string): WatchedStats | undefined;
  /** Connected peers, including those without a session yet. */
  readonly connectionCount: number;
  readonly channels: { readonly sent: TrafficCount; readonly received: TrafficCount };
}

/** Completed request. */
export interface CountedRequest {
  /** Name of the endpoint; `none` without an endpoint. */
  readonly operation: string;
  readonly method: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** Sizes of the bodies. */
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

/** App whose store is open. */
export interface WatchedApp {
  readonly id: string;
  readonly storeFolder: { readonly store: Store; readonly folder: string };
  readonly statements: Pick<StatementRunner, "requests">;
  readonly attachments: { readonly partial: { readonly count: number } };
  readonly changes: Pick<ChangeFeed, "count" | "groupCount" | "keptLength">;
}

/**
 * Result of a statement on peers. `refused`: because of the request; `busy`: because of other
 * requests.
 */
export type RunResult = "done" | "cancelled" | "refused" | "busy" | "failed";

/** How a peer answered. */
export type PeerResult = "answered" | "refused" | "timeout" | "lost" | "busy" | "failed";

/** Statement on peers that ended. */
export interface EndedRun {
  readonly result: RunResult;
  readonly elapsedMs: number;
  readonly peers: readonly PeerResult[];
}
