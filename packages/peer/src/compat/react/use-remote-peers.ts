/**
 * useRemotePeers: the other peers that are connected to the server.
 */

import type { Ditto, Peer } from "../index.ts";
import { useDitto } from "./use-ditto.ts";
import { usePresenceGraph } from "./use-presence-graph.ts";

export interface UsePeersParams {
  path?: string;
}

const NONE: Peer[] = [];

export function useRemotePeers(params: UsePeersParams = {}): {
  ditto: Ditto | null;
  remotePeers: Peer[];
} {
  const { ditto } = useDitto(params.path);
  return { ditto, remotePeers: usePresenceGraph(ditto)?.remotePeers ?? NONE };
}
