/**
 * Dial options: how to open a WebSocket to another server, and the callbacks for the result.
 */

import type { TlsOptions } from "node:tls";

export interface DialOptions {
  /** `ws` or `wss`. */
  readonly url: string;
  /** Own certificate, and the CA that verifies the certificate of the other side. */
  readonly tls?: Pick<TlsOptions, "cert" | "key" | "ca" | "minVersion">;
  /** Further headers of the request. */
  readonly headers?: { readonly [name: string]: string };
  readonly timeoutMs: number;
}

/** Exactly one of them is called, once. */
export interface DialHandlers<Channel> {
  opened(channel: Channel): void;
  failed(error: Error): void;
}
