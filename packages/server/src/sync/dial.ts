/**
 * Dialling: what is said of a WebSocket to another server, and who is told how that went.
 */

import type { TlsOptions } from "node:tls";
import type { WebSocketChannel } from "./web-socket.ts";

export interface DialOptions {
  /** `ws` or `wss`. */
  readonly url: string;
  /** Own certificate, and who must have signed that of the other. */
  readonly tls?: Pick<TlsOptions, "cert" | "key" | "ca" | "minVersion">;
  readonly timeoutMs: number;
}

/** One of them is called, once. */
export interface DialHandlers {
  opened(channel: WebSocketChannel): void;
  failed(error: Error): void;
}
