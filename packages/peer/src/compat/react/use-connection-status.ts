/**
 * useConnectionStatus: whether there is a connection by a transport. The one transport is the
 * WebSocket to the server.
 */

import type { ConnectionType } from "../index.ts";
import { useDitto } from "./use-ditto.ts";
import { usePresenceGraph } from "./use-presence-graph.ts";

export interface ConnectionStatusParams {
  path?: string;
  forTransport: ConnectionType;
}

export function useConnectionStatus({ path, forTransport }: ConnectionStatusParams): boolean {
  const { ditto } = useDitto(path);
  const graph = usePresenceGraph(ditto);
  return forTransport === "WebSocket" && graph?.localPeer.isConnectedToDittoServer === true;
}
