/**
 * A proxy between peers and a server that cuts connections, each at once, with whatever is on its way;
 * or lets nothing pass any more, of which nobody hears. The server behind it may come and go.
 */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

interface Pair {
  readonly inner: Socket;
  readonly outer: Socket;
}

/** The longest word that may be looked for in what a server says. */
const WORD_MAX = 64;

export class CuttingProxy {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #port: number;
  cuts = 0;
  silences = 0;
  /** Told of all that the server says, one character for a byte, so that no short word is missed. */
  onSaid: ((text: string) => void) | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on("connection", (outer) => this.#join(outer));
  }

  /** `port` is where the server listens. */
  static async open(port: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, port);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connectionCount(): number {
    return this.#pairs.size;
  }

  /** The server listens somewhere else now. */
  moveTo(port: number): void {
    this.#port = port;
  }

  cutOne(): void {
    const pairs = [...this.#pairs];
    const pair = pairs[Math.floor(Math.random() * pairs.length)];
    if (pair === undefined) return;
    this.cuts++;
    cut(pair);
  }

  /** Nothing passes any more, in either direction; nobody is told. */
  swallow(): void {
    this.silences++;
    for (const { inner, outer } of this.#pairs) {
      outer.unpipe(inner).resume();
      inner.unpipe(outer).resume();
    }
  }

  cutAll(): void {
    for (const pair of this.#pairs) cut(pair);
  }

  close(): void {
    this.#server.close();
    this.cutAll();
  }

  #join(outer: Socket): void {
    const inner = connect({ host: "127.0.0.1", port: this.#port });
    const pair = { inner, outer };
    this.#pairs.add(pair);
    for (const socket of [inner, outer]) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#pairs.delete(pair);
        cut(pair);
      });
    }
    outer.pipe(inner);
    inner.pipe(outer);
    let before = "";
    inner.on("data", (chunk) => {
      if (this.onSaid === undefined) return;
      const text = before + chunk.toString("latin1");
      this.onSaid(text);
      before = text.slice(-WORD_MAX);
    });
  }
}

function cut({ inner, outer }: Pair): void {
  inner.destroy();
  outer.destroy();
}
