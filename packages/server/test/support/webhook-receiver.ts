/**
 * A real receiver of webhooks: an HTTP server that records what arrives, verifies each signature,
 * and answers as the test wishes.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";

export interface ReceivedChange {
  readonly cursor: string;
  readonly type: string;
  readonly collection: string;
  readonly id: unknown;
  readonly txnId: number;
  readonly document?: Record<string, unknown>;
}

export interface Received {
  readonly id: string;
  readonly body: string;
  readonly changes: readonly ReceivedChange[];
  /** The status that it was answered with. */
  readonly status: number;
}

/** How a request is answered: a status, or by hand. */
export type Behaviour = (
  received: Omit<Received, "status">,
  response: ServerResponse,
) => number | undefined;

export const PATIENCE: { readonly timeout: number; readonly interval: number } = {
  timeout: 30_000,
  interval: 20,
};

export class WebhookReceiver {
  /** All requests with a status, in the order of their arrival. */
  readonly received: Received[] = [];
  secret = "";
  behaviour: Behaviour = () => 204;
  #server: Server | undefined;
  #port = 0;

  /** Closed when the test ends. */
  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    onTestFinished(() => receiver.stop());
    await receiver.open();
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  /** Listens, after the first time on the same port. */
  async open(): Promise<void> {
    const server = createServer((request, response) => void this.#take(request, response));
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Cuts all connections, like a process that is killed. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  /** Changes that were taken, without the repetitions of a change. */
  get taken(): readonly ReceivedChange[] {
    const byCursor = new Map<string, ReceivedChange>();
    for (const { status, changes } of this.received) {
      if (status >= 300) continue;
      for (const change of changes) {
        if (!byCursor.has(change.cursor)) byCursor.set(change.cursor, change);
      }
    }
    return [...byCursor.values()];
  }

  /** Resolves when these documents were taken, each at its first time in this order. */
  async holds(ids: readonly unknown[]): Promise<void> {
    await vi.waitFor(() => {
      const found = this.taken.map(({ id }) => id);
      if (JSON.stringify(found) === JSON.stringify(ids)) return;
      throw new Error(`expected ${JSON.stringify(ids)}, found ${JSON.stringify(found)}`);
    }, PATIENCE);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString();
    const id = String(request.headers["webhook-id"]);
    if (!isSigned(this.secret, request, body)) {
      this.received.push({ id, body, changes: [], status: 401 });
      response.writeHead(401).end();
      return;
    }
    const { data } = JSON.parse(body) as { readonly data: readonly ReceivedChange[] };
    const received = { id, body, changes: data };
    const status = this.behaviour(received, response);
    if (status === undefined) return;
    this.received.push({ ...received, status });
    response.writeHead(status).end();
  }
}

/** As the specification Standard Webhooks says, written without the code of the server. */
function isSigned(secret: string, { headers }: IncomingMessage, body: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  const expected = createHmac("sha256", key).update(signed).digest();
  const age = Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"]));
  if (!(age < 300)) return false;
  return String(headers["webhook-signature"])
    .split(" ")
    .some((signature) => {
      const [version, text = ""] = signature.split(",");
      const given = Buffer.from(text, "base64");
      return (
        version === "v1" && given.length === expected.length && timingSafeEqual(given, expected)
      );
    });
}
