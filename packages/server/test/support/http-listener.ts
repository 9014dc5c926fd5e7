/**
 * A listener and its connections, for tests of what goes over them.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createAnswer } from "../../src/http/answer.ts";
import { encodeAnswer } from "../../src/http/answer-encoding.ts";
import type { HttpRequest } from "../../src/http/http-request.ts";
import { type HttpOptions, type HttpServer, listenHttp } from "../../src/http/http-server.ts";
import { refusalOf } from "../../src/http/refusal.ts";

export type Decide = (request: HttpRequest) => Promise<number>;

/** A server that answers with the status that `decide` finds, or with the one of its refusal. */
export function listen(decide: Decide, options: Partial<HttpOptions> = {}): Promise<HttpServer> {
  return listenWith(async (request) => {
    const status = await decide(request).catch((error: unknown) => refusalOf(error)?.status ?? 500);
    return encodeAnswer(createAnswer(status, { status }), { headers: {}, isJsonOnly: true });
  }, options);
}

/** A server on a free port, closed when the test ends. */
export async function listenWith(
  answer: HttpOptions["answer"],
  options: Partial<HttpOptions> = {},
): Promise<HttpServer> {
  const host = "127.0.0.1";
  const server = await listenHttp({ host, port: 0, log: () => {}, ...options, answer });
  onTestFinished(() => server.close());
  return server;
}

/** Reads the body and answers 200 with nothing said about it. */
export const readAll: Decide = async (request) => {
  await request.readBody();
  return 200;
};

export const refuseAll: Decide = async () => 401;

export interface Connection {
  readonly socket: Socket;
  readonly received: () => string;
}

export async function connectTo({ url }: HttpServer): Promise<Connection> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  // The server may end it while we write.
  socket.on("error", () => {});
  await once(socket, "connect");
  return { socket, received: () => text };
}

/** How a request begins that has more headers, or none. */
export const HEAD = "POST / HTTP/1.1\r\nHost: x\r\n";

/** A point where a test holds something up until it lets it go on. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

export function createGate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
