/**
 * Sync endpoint: upgrades requests for `/sync` and `/{appId}/sync` to connections of peers, or
 * refuses them with an HTTP answer.
 */

import type { Socket } from "node:net";
import { lastAnswer } from "../http/broken-request.ts";
import type { Cors } from "../http/cors.ts";
import type { UpgradeRequest, Upgrades } from "../http/http-server.ts";
import { PathTable } from "../http/path-table.ts";
import { Refusal, unavailable, upgradeMessage } from "../http/refusal.ts";
import { nextRequestId } from "../http/request-id.ts";
import { type Endpoint, messageBody, pathOf } from "../http/router.ts";
import { LINGER_MS_MAX } from "../limits/limits.ts";
import type { Log } from "../observability/log.ts";
import { peerLine } from "../observability/log-events.ts";
import type { SyncServers } from "./sync-servers.ts";

export interface SyncEndpointOptions {
  readonly host: SyncServers;
  /** Whether peers can be served now. */
  readonly isOpen: () => boolean;
  readonly connectionsMax: number;
  readonly cors: Cors;
  readonly log: Log;
  /** Called for each request that got no connection. */
  readonly onRefused?: (reason: string) => void;
}

const PATHS = ["/sync", "/{appId}/sync"];

const TABLE = new PathTable(PATHS.map((path) => ({ path })));

/** When a peer retries at a server that has the maximum of peers, in seconds. */
const FULL_RETRY_SECONDS = 10;

/** When an address with too many unauthenticated peers retries, in seconds. */
const NEWCOMERS_RETRY_SECONDS = 1;

/** Answers requests that do not ask for a WebSocket. */
export function syncEndpoints(): Endpoint[] {
  return PATHS.map((path) => ({
    name: "sync",
    path,
    methods: ["GET"],
    failureBody: messageBody,
    answer: () => {
      const headers = { upgrade: "websocket" };
      throw new Refusal(426, upgradeMessage("peers sync"), headers);
    },
  }));
}

export function syncUpgrades(options: SyncEndpointOptions): Upgrades {
  const { connectionsMax } = options;
  return { connectionsMax, take: (asked) => take(options, asked) };
}

function take(options: SyncEndpointOptions, asked: UpgradeRequest): boolean {
  const { incoming, socket, remoteAddress } = asked;
  const { method, url = "", headers } = incoming;
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket") return false;
  const found = TABLE.find(pathOf(url));
  if (found?.isExact !== true) return false;
  const { appId } = found.parameters;
  const refused = refusalFor(options, headers.origin, remoteAddress);
  if (refused !== undefined) {
    const [reason, refusal] = refused;
    options.onRefused?.(reason);
    peerLine(options.log, "a peer was refused", { appId, remoteAddress, code: reason });
    refuse(socket, refusal);
    return true;
  }
  const channel = options.host.channels.accept(asked);
  if (channel === undefined) options.onRefused?.("handshake");
  else options.host.add(channel, { appId, remoteAddress });
  return true;
}

function refusalFor(
  { host, isOpen, connectionsMax, cors }: SyncEndpointOptions,
  origin: string | undefined,
  remoteAddress: string,
): [reason: string, refusal: Refusal] | undefined {
  if (!isOpen()) return ["unavailable", unavailable("the server is starting or closing", 1)];
  if (!cors.allows(origin)) {
    return ["origin", new Refusal(403, "pages of this origin may not sync with this server")];
  }
  if (!host.hasRoomFor(remoteAddress)) {
    const message = "too many peers of this address have not shown a credential yet";
    return ["newcomers", unavailable(message, NEWCOMERS_RETRY_SECONDS)];
  }
  if (host.connectionCount < connectionsMax || host.cutSilent()) return undefined;
  const message = "the server has as many peers as it may have";
  return ["full", unavailable(message, FULL_RETRY_SECONDS)];
}

/** Refuses a request for an upgrade. */
export function refuse(socket: Socket, refusal: Refusal): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS_MAX);
  // A connection that was reset needs nothing more.
  socket.on("error", () => {}).once("close", () => clearTimeout(timer));
  socket.end(lastAnswer(refusal, nextRequestId()));
  socket.resume();
}
