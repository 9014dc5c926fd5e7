/**
 * A server of somebody else, for tests: a webhook, or where a key set lies. It answers as the test
 * says, and keeps what it was asked.
 */

import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Given {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** As JSON, or a text as it is. */
  readonly body?: unknown;
}

/** What it answers; a promise that never resolves is a server that hangs. */
export type Answering = (asked: Asked) => Given | Promise<Given>;

export interface AnsweringServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  answering: Answering;
}

/** Closed when the test ends. */
export async function answeringServer(answering: Answering): Promise<AnsweringServer> {
  const asked: Asked[] = [];
  const http = createServer((request, response) => {
    void text(request).then(async (body) => {
      const { method = "", url: path = "", headers } = request;
      const one = { method, path, headers, body };
      asked.push(one);
      const given = await server.answering(one);
      response.writeHead(given.status ?? 200, given.headers);
      response.end(typeof given.body === "string" ? given.body : JSON.stringify(given.body ?? {}));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const server: AnsweringServer = { url: `http://127.0.0.1:${port}/`, asked, answering };
  return server;
}
