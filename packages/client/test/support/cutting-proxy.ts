/**
 * A TCP proxy that lets requests through and loses answers: the server has done what was asked, and
 * the client does not learn it. It cuts the connection, or stays silent.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll } from "vitest";

const HOST = "127.0.0.1";

/** Until a connection is cut whose request has just been sent: about as long as a small write takes. */
const CUT_MS = 3;

/** What becomes of an answer; `cut-request` does not wait for it. */
export type Fate = "pass" | "cut" | "silence" | "cut-request";

export class CuttingProxy {
  readonly url: string;
  /** Answers that did not reach the client. */
  lost = 0;
  /** What happens to the next answer. */
  fate: () => Fate = () => "pass";
  readonly #port: number;

  private constructor(port: number, target: string) {
    this.url = `http://${HOST}:${port}`;
    this.#port = Number(new URL(target).port);
  }

  /** Closed after the tests of the file. */
  static async open(target: string): Promise<CuttingProxy> {
    const listener = createServer();
    await once(listener.listen(0, HOST), "listening");
    const { port } = listener.address() as AddressInfo;
    const proxy = new CuttingProxy(port, target);
    const sockets = new Set<Socket>();
    listener.on("connection", (client) => {
      sockets.add(client);
      proxy.#forward(client);
    });
    afterAll(() => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    });
    return proxy;
  }

  #forward(client: Socket): void {
    const server = connect(this.#port, HOST);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
    }
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    let fate: Fate = "pass";
    let isDrawn = false;
    client.on("data", (chunk) => {
      // Draws once for each request, which may come in several chunks.
      if (!isDrawn) fate = this.fate();
      isDrawn = true;
      server.write(chunk);
      if (fate === "cut-request") setTimeout(() => this.#lose(client), CUT_MS);
    });
    server.on("data", (chunk) => {
      isDrawn = false;
      if (fate === "pass") client.write(chunk);
      else if (fate === "cut") this.#lose(client);
      else if (fate === "silence") this.lost++;
    });
  }

  #lose(client: Socket): void {
    if (client.destroyed) return;
    this.lost++;
    client.resetAndDestroy();
  }
}
