/**
 * Tools of an attack: the address and the keys, many requests at once, connections that stay open
 * until the attack is over, and a count of the answers.
 */
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { RawClient } from "../../bench/sync/raw-client.mjs";

export class Target {
  /** `facts` describe the prepared store. `onBegun` is called when the first bytes are sent. */
  constructor({ port, facts, seconds }, onBegun) {
    this.port = port;
    this.facts = facts;
    this.keys = facts.keys;
    this.appId = facts.appId;
    this.seconds = seconds;
    this.answers = {};
    this.isOver = false;
    this.onBegun = onBegun;
    this.open = new Set();
    this.agents = new Map();
  }

  tally(kind) {
    this.answers[kind] = (this.answers[kind] ?? 0) + 1;
  }

  begin() {
    this.onBegun();
    this.onBegun = () => {};
  }

  end() {
    this.isOver = true;
    for (const socket of this.open) socket.destroy();
    for (const agent of this.agents.values()) agent.destroy();
  }

  pause(ms) {
    return setTimeout(ms);
  }

  /** Repeats `act` until the attack is over, `count` at once. */
  async many(count, act) {
    const one = async (i) => {
      for (let round = 0; !this.isOver; round++) await act(i, round);
    };
    await Promise.all(Array.from({ length: count }, (_, i) => one(i)));
  }

  #agentOf(address) {
    let agent = this.agents.get(address);
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true });
      this.agents.set(address, agent);
    }
    return agent;
  }

  /** Sends a body and reads the answer. Resolves with the status, or 0 if the connection broke. */
  send({ method = "POST", path, key, body, type = "application/json", address, headers = {} }) {
    this.begin();
    return new Promise((resolve) => {
      const finish = (kind, status) => {
        this.tally(kind);
        resolve(status);
      };
      const sent = request({
        agent: this.#agentOf(address),
        port: this.port,
        host: "127.0.0.1",
        localAddress: address,
        method,
        path,
        headers: {
          "content-type": type,
          "content-length": body?.length ?? 0,
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...headers,
        },
      });
      let hasAnswer = false;
      sent.on("error", (error) => {
        if (hasAnswer) return;
        // Waits, so that immediate refusals do not let the attacker spin.
        void setTimeout(20).then(() => finish(this.isOver ? "unanswered" : error.code, 0));
      });
      sent.on("response", (response) => {
        hasAnswer = true;
        response.resume();
        response.on("close", () => finish(String(response.statusCode), response.statusCode));
      });
      sent.end(body);
    });
  }

  json(path, key, value) {
    return this.send({ path, key, body: Buffer.from(JSON.stringify(value)) });
  }

  execute(key, statement, args = {}) {
    return this.json("/api/v4/store/execute", key, { statement, args });
  }

  /** Opens a plain connection. Resolves with undefined if it is refused. */
  socket(address) {
    this.begin();
    return new Promise((resolve) => {
      const socket = connect({ port: this.port, host: "127.0.0.1", localAddress: address });
      this.open.add(socket);
      socket.on("connect", () => resolve(socket));
      socket.on("error", (error) => {
        this.tally(error.code);
        void setTimeout(100).then(() => resolve(undefined));
      });
      socket.on("close", () => this.open.delete(socket));
    });
  }

  /** Resolves with a WebSocket, or undefined if it was refused. `client.isClosed` shows its end. */
  async webSocket({ address, path = "/sync", onMessage = () => {} } = {}) {
    this.begin();
    try {
      let client;
      const onClose = () => {
        if (client === undefined || client.isClosed) return;
        client.isClosed = true;
        if (!this.isOver) this.tally("closed");
      };
      client = await RawClient.open({
        port: this.port,
        path,
        localAddress: address,
        onMessage: (bytes) => onMessage(bytes, client),
        onClose,
      });
      client.isClosed = false;
      this.open.add(client.socket);
      client.socket.on("close", () => this.open.delete(client.socket));
      if (this.isOver) client.close();
      return client;
    } catch (error) {
      this.tally(/HTTP\/1\.1 (\d+)/.exec(error.message)?.[1] ?? error.code ?? "refused");
      await setTimeout(50);
      return undefined;
    }
  }

  /** Writes all bytes as fast as the connection accepts them. False if the connection is closed. */
  async pour(socket, bytes) {
    if (socket.destroyed) return false;
    if (socket.write(bytes)) {
      // Lets other tasks of this process run.
      await setTimeout(0);
      return true;
    }
    return new Promise((resolve) => {
      const done = (isOpen) => {
        socket.off("drain", onDrain);
        socket.off("close", onClose);
        resolve(isOpen);
      };
      const onDrain = () => done(true);
      const onClose = () => done(false);
      socket.on("drain", onDrain);
      socket.on("close", onClose);
    });
  }
}
