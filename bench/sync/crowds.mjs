/**
 * Several processes of raw clients, used as one crowd.
 */
import { start } from "./process.mjs";

export class Crowds {
  constructor(processes) {
    this.crowds = Array.from({ length: processes }, () => ({
      child: start("crowd.mjs"),
      all: 0,
      clients: 0,
    }));
    this.clients = 0;
    this.waiting = [];
    for (const crowd of this.crowds) {
      crowd.child.onNotice = ({ all }) => {
        crowd.all = all;
        this.#wake();
      };
    }
  }

  #wake() {
    const all = this.reached;
    this.waiting = this.waiting.filter(({ turn, resolve }) => {
      if (turn > all) return true;
      resolve();
      return false;
    });
  }

  /** Number of writes that all clients have. */
  get reached() {
    return Math.min(...this.crowds.map(({ all, clients }) => (clients > 0 ? all : Infinity)));
  }

  /** Resolves when all clients have that number of writes. */
  reach(turn, timeoutMs) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`after ${timeoutMs} ms not all clients had write ${turn}`)),
        timeoutMs,
      );
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.waiting.push({ turn, resolve: done });
      this.#wake();
    });
  }

  /** Adds clients, up to `count`. `follows`: "same", or "own" if each follows another document. */
  async grow(count, { name, port, path, given }, follows) {
    const joins = [];
    for (const [i, crowd] of this.crowds.entries()) {
      const missing = Math.floor((count + i) / this.crowds.length) - crowd.clients;
      if (missing <= 0) continue;
      const from = this.clients;
      crowd.clients += missing;
      this.clients += missing;
      const asked = { port, path, name, given: { ...given, follows }, from, count: missing };
      joins.push(crowd.child.ask("connect", asked));
    }
    await Promise.all(joins);
  }

  /** Writes that arrived at all clients. Rejects if a client failed. */
  async counted() {
    const counts = [];
    for (const { child, clients } of this.crowds) {
      if (clients > 0) counts.push(await child.ask("counted"));
    }
    const sum = (pick) => counts.map(pick).reduce((a, b) => a + b, 0);
    return {
      writes: sum(({ writes }) => writes),
      messages: sum(({ messages }) => messages),
      bytes: sum(({ bytes }) => bytes),
      least: Math.min(...counts.map(({ least }) => least)),
      most: Math.max(...counts.map(({ most }) => most)),
    };
  }

  async leave() {
    await Promise.all(this.crowds.map(({ child }) => child.ask("leave")));
    this.clients = 0;
    for (const crowd of this.crowds) {
      crowd.clients = 0;
      crowd.all = 0;
    }
  }

  async stop() {
    await Promise.all(this.crowds.map(({ child }) => child.stop()));
  }
}
