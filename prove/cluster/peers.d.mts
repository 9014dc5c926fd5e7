/** Types of peers.mjs, for tests. */

import type { HistoryEvent, PeerEnd } from "./checker.mjs";

export interface PeersOptions {
  /** Number of peers. */
  readonly count: number;
  /** Addresses of nodes, which are used in turn. */
  readonly urls: readonly string[];
  readonly appId: string;
  readonly apiKey: string;
  /** Takes an event for each write of a peer. */
  readonly record: (event: HistoryEvent) => void;
  /** Gets what happens to the connections of the peers. */
  readonly logFile: string;
}

export class Peers {
  static start(options: PeersOptions): Promise<Peers>;
  /** No peer writes any more. */
  settle(): Promise<void>;
  digests(): Promise<PeerEnd[]>;
  end(): Promise<void>;
}

/** Number of teams that so many peers form. */
export function teamsOf(peers: number): number;
