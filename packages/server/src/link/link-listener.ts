/**
 * Link listener: the HTTP server of the replication port, where other Big Peers connect. Its one
 * path, `/link`, becomes a WebSocket; all others return 404.
 *
 * A caller is unknown until the proof. So there are limits on how many callers there are, in all
 * and from one address, on how long the proof takes, and on what they send meanwhile.
 */

import { PeerError } from "@bigpeer/protocol";
import { networkOf } from "../address/client-address.ts";
import type { TlsFiles } from "../config/config.ts";
import { type HttpServer, listenHttp, type UpgradeRequest } from "../http/http-server.ts";
import { Refusal, unavailable, upgradeMessage } from "../http/refusal.ts";
import { messageBody, pathOf, Router } from "../http/router.ts";
import {
  LINGER_MS_MAX,
  LINK_HANDSHAKES_MAX,
  LINK_HANDSHAKES_PER_ADDRESS_MAX,
  LINK_NEWCOMERS,
  LINK_PROOF_MS_MAX,
  LINKS_MAX,
} from "../limits/limits.ts";
import type { Log } from "../observability/log.ts";
import { refuse } from "../sync/sync-endpoint.ts";
import type { ChannelMaker } from "../sync/web-socket.ts";
import {
  IncomingLink,
  type IncomingLinkHost,
  type PassedLink,
  type ProvenLink,
} from "./incoming-link.ts";
import type { LinkEnd } from "./link-dialler.ts";

export interface LinkListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly channels: ChannelMaker;
  readonly log: Log;
  /** On a monotonic clock. */
  readonly elapsed: () => number;
  readonly random: (size: number) => Uint8Array;
  /** Number of accepted links. */
  readonly acceptedCount: () => number;
  readonly secretOf: (appId: string) => string | undefined;
  /** See IncomingLinkHost. */
  readonly admits: (remoteAddress: string, appId: string, secret: string) => boolean;
  readonly onProven: (link: ProvenLink) => void;
  /** Returns how long the refused caller must wait, if it is sent a time. */
  readonly onRefused: (incoming: IncomingLink, end: LinkEnd) => number | undefined;
}

export const LINK_PATH = "/link";

const RETRY_SECONDS = 10;

export class LinkListener implements IncomingLinkHost {
  readonly #options: LinkListenerOptions;
  /** Connections without a proof, in the order in which they came. */
  readonly #incoming = new Set<IncomingLink>();
  #http: HttpServer | undefined;

  constructor(options: LinkListenerOptions) {
    this.#options = options;
  }

  /** Where it listens. */
  get url(): string {
    return this.#http?.url ?? "";
  }

  /** Connections that have not proved a secret yet. */
  get incomingCount(): number {
    return this.#incoming.size;
  }

  /** Throws PeerError `config.invalid` if it cannot listen at the address. */
  async listen(): Promise<void> {
    const { host, port, tls, log } = this.#options;
    const router = new Router({ endpoints: [linkEndpoint()], dataEndpoints: [], log });
    try {
      this.#http = await listenHttp({
        host,
        port,
        log,
        ...(tls && { tls }),
        upgrades: { connectionsMax: LINKS_MAX, take: (asked) => this.#take(asked) },
        newcomers: LINK_NEWCOMERS,
        answer: (request) => router.answer(request),
      });
    } catch (error) {
      throw asLinkSetting(error);
    }
  }

  reloadTls(): void {
    this.#http?.reloadTls();
  }

  /** Refuses callers that take too long. Call about once a second. */
  tick(): void {
    const now = this.#options.elapsed();
    const message = `expected a proof within ${LINK_PROOF_MS_MAX} ms`;
    for (const incoming of this.#incoming) {
      if (now - incoming.startMs < LINK_PROOF_MS_MAX) break;
      incoming.dismiss({ code: "malformed", message });
      // The caller may never close its side.
      if (now - incoming.startMs >= LINK_PROOF_MS_MAX + LINGER_MS_MAX) incoming.cut();
    }
  }

  /** Accepts no more callers. The owner of the proven links ends those. */
  async close(): Promise<void> {
    for (const incoming of this.#incoming) {
      incoming.dismiss({ code: "closing", message: "the server is closing" });
      incoming.cut();
    }
    await this.#http?.close();
  }

  secretOf(appId: string): string | undefined {
    return this.#options.secretOf(appId);
  }

  random(size: number): Uint8Array {
    return this.#options.random(size);
  }

  admits(remoteAddress: string, appId: string, secret: string): boolean {
    return this.#options.admits(remoteAddress, appId, secret);
  }

  proven(incoming: IncomingLink, link: ProvenLink): void {
    this.#incoming.delete(incoming);
    this.#options.onProven(link);
  }

  refused(incoming: IncomingLink, end: LinkEnd): number | undefined {
    return this.#options.onRefused(incoming, end);
  }

  ended(incoming: IncomingLink): void {
    this.#incoming.delete(incoming);
  }

  /** Takes a connection that another node of the cluster passes on. */
  takePassed(asked: UpgradeRequest, passed: PassedLink): void {
    this.#begin({ ...asked, remoteAddress: passed.remoteAddress }, passed);
  }

  #take(asked: UpgradeRequest): boolean {
    const isHere = isLinkRequest(asked);
    if (isHere) this.#begin(asked);
    return isHere;
  }

  #begin(asked: UpgradeRequest, passed?: PassedLink): void {
    const { incoming, socket, remoteAddress } = asked;
    const refusal = this.#refusalFor(remoteAddress, incoming.headers.origin);
    if (refusal !== undefined) return refuse(socket, refusal);
    const { channels, elapsed } = this.#options;
    const channel = channels.accept(asked);
    if (channel === undefined) return;
    const connected = { channel, remoteAddress, startMs: elapsed() };
    this.#incoming.add(new IncomingLink(connected, this, passed));
  }

  #refusalFor(remoteAddress: string, origin: string | undefined): Refusal | undefined {
    // A page in a browser is not a Big Peer.
    if (origin !== undefined) return new Refusal(403, "this is where Big Peers are linked");
    const network = networkOf(remoteAddress);
    let count = 0;
    for (const incoming of this.#incoming) {
      if (networkOf(incoming.remoteAddress) === network) count++;
    }
    const isFull =
      count >= LINK_HANDSHAKES_PER_ADDRESS_MAX ||
      this.#incoming.size >= LINK_HANDSHAKES_MAX ||
      this.#options.acceptedCount() >= LINKS_MAX;
    return isFull
      ? unavailable("there are as many links as there may be", RETRY_SECONDS)
      : undefined;
  }
}

export function isLinkRequest({ incoming }: UpgradeRequest): boolean {
  const { method, url = "", headers } = incoming;
  const isWebSocket = method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
  return isWebSocket && pathOf(url) === LINK_PATH;
}

function linkEndpoint() {
  return {
    name: "link",
    path: LINK_PATH,
    methods: ["GET"],
    failureBody: messageBody,
    answer: (): never => {
      const headers = { upgrade: "websocket" };
      throw new Refusal(426, upgradeMessage("Big Peers are linked"), headers);
    },
  };
}

/** The HTTP server names the settings of the data API: replaces them in its error. */
function asLinkSetting(error: unknown): unknown {
  if (!(error instanceof PeerError) || error.code !== "config.invalid") return error;
  const message = error.message.replace(/--(host|port)\b/, "--replication-$1");
  return new PeerError(error.code, message, { cause: error.cause });
}
