/**
 * Somebody who writes to one server of a ring over HTTP. Each request has a key and is sent again
 * until it is acknowledged, so at the end it is known what the server must have.
 *
 * Of each team there is a total, which is one more for each mark of the team. Orders move from region
 * to region and are deleted; an order is written only where it was made. Letters and drafts stay as
 * they are. What no other server asks for has a word in it that must not be heard on any link.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { RingServer } from "./ring-server.ts";

/** In the text of what nobody asks for, and of what somebody does. */
export const HIDDEN = "for-nobody-else";
export const SHOWN = "for-somebody-else";

/** Of orders; the last one is asked for by nobody. */
export const REGIONS = 7;
export const HIDDEN_REGION: number = REGIONS - 1;

export const TEAMS = 6;

/** What a server must have of an order, and where it has been. */
export interface Order {
  readonly home: string;
  readonly regions: Set<number>;
  /** Counts its changes. */
  rev: number;
  isDeleted: boolean;
}

export interface RingWriterOptions {
  readonly server: RingServer;
  readonly number: number;
  /** To whom letters may go, and whether anybody asks for one of this server to him. */
  readonly addressees: readonly string[];
  readonly isAskedFor: (to: string) => boolean;
}

interface Work {
  readonly path: string;
  readonly body: object;
  /** Throws when the answer is not that of a request that did what it should. */
  readonly check: (answer: unknown) => void;
}

const PAUSE_MS_MAX = 120;
const RETRY_MS = 200;

export class RingWriter {
  readonly #options: RingWriterOptions;
  readonly #name: string;
  readonly orders: Map<string, Order> = new Map();
  readonly marks: Set<string> = new Set();
  readonly letters: Map<string, string> = new Map();
  readonly drafts: Set<string> = new Set();
  #number = 0;
  #isOver = false;
  /** Requests that were sent again. */
  resent = 0;

  constructor(options: RingWriterOptions) {
    this.#options = options;
    this.#name = `${options.server.name}-${options.number}`;
  }

  get home(): string {
    return this.#options.server.name;
  }

  /** Writes until it is stopped. What was sent last is acknowledged then. */
  async write(): Promise<void> {
    while (!this.#isOver) {
      await this.#step();
      await wait(Math.random() * PAUSE_MS_MAX);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #step(): Promise<void> {
    const id = `${this.#name}-${this.#number++}`;
    const chance = Math.random();
    if (chance < 0.3) return this.#mark(id);
    if (chance < 0.45) return this.#make(id);
    if (chance < 0.8) return this.#move();
    if (chance < 0.85) return this.#delete();
    return chance < 0.93 ? this.#letter(id) : this.#draft(id);
  }

  /** One more in the total, and the mark that says so: both or none. */
  async #mark(id: string): Promise<void> {
    const team = Math.floor(Math.random() * TEAMS);
    const commands = [
      { method: "upsert", collection: "marks", id, value: { team, text: SHOWN } },
      {
        method: "update",
        collection: "totals",
        query: "_id == :team",
        args: { team },
        commands: [{ method: "increment", path: "n", value: 1 }],
      },
    ];
    await this.#send({
      path: "/store/write",
      body: { commands },
      check: (answer) => {
        const { results } = answer as { readonly results: readonly { updated?: number }[] };
        if (results[1]?.updated !== 1) throw new Error(`expected one more in the total of ${team}`);
      },
    });
    this.marks.add(id);
  }

  async #make(id: string): Promise<void> {
    const region = Math.floor(Math.random() * REGIONS);
    const text = region === HIDDEN_REGION ? HIDDEN : SHOWN;
    const order = { _id: id, home: this.home, region, rev: 0, text };
    await this.#execute("INSERT INTO orders DOCUMENTS (:order)", { order });
    const made = { home: this.home, regions: new Set([region]), rev: 0, isDeleted: false };
    this.orders.set(id, made);
  }

  /** Half of the time into another region. What is hidden stays so. */
  async #move(): Promise<void> {
    const found = this.#anyOrder();
    if (found === undefined) return;
    const [id, order] = found;
    const isHidden = order.regions.has(HIDDEN_REGION);
    const isMoved = Math.random() < 0.5 && !isHidden;
    const region = Math.floor(Math.random() * HIDDEN_REGION);
    const rev = order.rev + 1;
    const set = isMoved ? "rev = :rev, region = :region" : "rev = :rev";
    // From now on it may have been there, whether the answer comes or not.
    if (isMoved) order.regions.add(region);
    await this.#execute(`UPDATE orders SET ${set} WHERE _id = :id`, { id, rev, region });
    order.rev = rev;
  }

  async #delete(): Promise<void> {
    const found = this.#anyOrder();
    if (found === undefined) return;
    const [id, order] = found;
    await this.#execute("DELETE FROM orders WHERE _id = :id", { id });
    order.isDeleted = true;
  }

  async #letter(id: string): Promise<void> {
    const { addressees, isAskedFor } = this.#options;
    const to = addressees[Math.floor(Math.random() * addressees.length)] ?? "";
    const text = isAskedFor(to) ? SHOWN : HIDDEN;
    const letter = { _id: id, home: this.home, to, text };
    await this.#execute("INSERT INTO letters DOCUMENTS (:letter)", { letter });
    this.letters.set(id, to);
  }

  async #draft(id: string): Promise<void> {
    const draft = { _id: id, home: this.home, text: HIDDEN };
    await this.#execute("INSERT INTO drafts DOCUMENTS (:draft)", { draft });
    this.drafts.add(id);
  }

  #anyOrder(): [id: string, order: Order] | undefined {
    const living = [...this.orders].filter(([, { isDeleted }]) => !isDeleted);
    return living[Math.floor(Math.random() * living.length)];
  }

  async #execute(statement: string, args: object): Promise<void> {
    await this.#send({
      path: "/store/execute",
      body: { statement, args },
      check: (answer) => {
        const { mutatedDocumentIds: ids } = answer as { readonly mutatedDocumentIds: string[] };
        if (ids.length !== 1) throw new Error(`expected one document of ${statement}`);
      },
    });
  }

  /** Again and again, with the same key. A server that is there and refuses is a fault. */
  async #send({ path, body, check }: Work): Promise<void> {
    const { server } = this.#options;
    const headers = { "idempotency-key": `${this.#name}-${this.#number++}` };
    for (let isFirst = true; ; isFirst = false) {
      const answer = await this.#ask(() => server.call(path, body, headers));
      if (answer !== undefined) return check(answer);
      if (isFirst) this.resent++;
      await wait(RETRY_MS);
    }
  }

  /** Undefined when nobody answered. */
  async #ask(call: () => Promise<unknown>): Promise<unknown> {
    try {
      return await call();
    } catch (error) {
      if (!this.#options.server.isUp || isLost(error)) return undefined;
      throw error;
    }
  }
}

/** `fetch` fails with a TypeError when there is no answer. */
function isLost(error: unknown): boolean {
  return error instanceof TypeError;
}
