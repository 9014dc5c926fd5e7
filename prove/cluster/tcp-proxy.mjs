/**
 * TcpProxy: forwards connections to a port of this machine, and breaks them as a network does: cut
 * (connections are reset, new ones refused) or stalled (nothing arrives, and no side learns it).
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";

const HOST = "127.0.0.1";

export class TcpProxy {
  #listener;
  #target;
  #pairs = new Set();
  #state = "open";

  constructor(listener, target) {
    this.#listener = listener;
    this.#target = target;
    listener.on("connection", (client) => this.#accept(client));
  }

  /** `target` returns the port of the server, or undefined while there is none. */
  static async open(target) {
    const listener = createServer({ allowHalfOpen: true });
    await once(listener.listen(0, HOST), "listening");
    return new TcpProxy(listener, target);
  }

  get port() {
    return this.#listener.address().port;
  }

  get state() {
    return this.#state;
  }

  /** Resets all connections and refuses new ones. */
  cut() {
    this.#state = "cut";
    for (const pair of this.#pairs) pair.end();
  }

  /** Holds everything back, in both directions, and new connections as well. */
  stall() {
    this.#state = "stalled";
    for (const pair of this.#pairs) pair.update(true);
  }

  /** Forwards again, beginning with what was held back. */
  resume() {
    this.#state = "open";
    for (const pair of this.#pairs) pair.update(false);
  }

  async close() {
    this.cut();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #accept(client) {
    if (this.#state === "cut") {
      client.on("error", () => {});
      reset(client);
      return;
    }
    const pair = new Pair(client, this.#target, () => this.#pairs.delete(pair));
    this.#pairs.add(pair);
    pair.update(this.#state === "stalled");
  }
}

/** A socket that is being ended cannot be reset: it would never be closed. */
function reset(socket) {
  if (socket === undefined || socket.destroyed) return;
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** A connection of a client and, when nothing is stalled any more, the one to the server. */
class Pair {
  #client;
  #server;
  #target;
  #onEnd;
  #isStalled = true;

  constructor(client, target, onEnd) {
    this.#client = client;
    this.#target = target;
    this.#onEnd = onEnd;
    client.pause();
    client.setNoDelay(true);
    this.#watch(client);
  }

  update(isStalled) {
    this.#isStalled = isStalled;
    if (isStalled) {
      this.#client.pause();
      this.#server?.pause();
      return;
    }
    if (this.#server === undefined) this.#connect();
    this.#flow(this.#client, this.#server);
    this.#flow(this.#server, this.#client);
  }

  end() {
    for (const socket of [this.#client, this.#server]) reset(socket);
    this.#onEnd();
  }

  #connect() {
    const port = this.#target();
    if (port === undefined) {
      this.end();
      return;
    }
    const server = connect({ host: HOST, port, noDelay: true, allowHalfOpen: true });
    this.#server = server;
    this.#watch(server);
    this.#forward(this.#client, server);
    this.#forward(server, this.#client);
  }

  #forward(from, to) {
    from.on("data", (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => this.#flow(from, to));
    from.on("end", () => to.end());
  }

  /** Reads on, unless the other side does not keep up. */
  #flow(from, to) {
    if (from === undefined || to === undefined) return;
    if (!this.#isStalled && !to.writableNeedDrain) from.resume();
  }

  /** What was received before a regular end is still delivered. */
  #watch(socket) {
    socket.on("error", () => {});
    socket.on("close", (hadError) => {
      const other = socket === this.#client ? this.#server : this.#client;
      const isOver = hadError || this.#isStalled || (other?.destroyed ?? true);
      if (isOver) this.end();
      else other.end();
    });
  }
}
