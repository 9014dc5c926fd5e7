/**
 * A server over HTTP that is no Big Peer. It ends with the test.
 */

import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface HttpServer {
  readonly server: Server;
  readonly url: string;
  /** The environment of a command that calls it. */
  readonly env: Record<string, string>;
}

export async function startHttpServer(listener: RequestListener): Promise<HttpServer> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, env: { BIGPEER_URL: url, BIGPEER_MANAGEMENT_URL: url, BIGPEER_KEY: "k" } };
}
