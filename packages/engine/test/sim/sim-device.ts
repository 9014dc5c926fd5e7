/**
 * A device of a run: what the app on a peer says of itself, whether it wants to know who else is
 * there, and how it answers statements of its server: at once, late, in pieces, wrongly or never.
 */

import {
  encodeCbor,
  type RunEnd,
  type RunMessage,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { PeerSync } from "../../src/peer/peer-sync.ts";
import type { RunReply } from "../../src/peer/running-statements.ts";
import type { Presence } from "../../src/peer/session-state.ts";
import type { StatementRunner } from "../../src/query/statement-runner.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { View } from "../../src/store/view.ts";
import { valueText } from "../support/dump.ts";
import type { Random } from "../support/test-platform.ts";
import type { Life, SimNode } from "./sim-node.ts";
import type { Wish } from "./sim-rules.ts";

/** One statement of the server, as the device has run it. */
export interface DeviceStatement {
  /** All that it replied before it was cancelled. */
  readonly items: Value[];
  /** Undefined when it has not come to an end. */
  end: RunEnd | undefined;
}

/** A statement that has not come to its end. */
interface Active {
  /** Of the run. */
  readonly number: number;
  readonly wish: Wish;
  /** What it selects, each time that something else showed since it began. */
  readonly shown: Set<string>;
  readonly statement: DeviceStatement;
  readonly reply: RunReply;
  isOver: boolean;
}

/** How a device takes a statement. */
interface Manner {
  readonly kind: "honest" | "refusing" | "failing" | "silent" | "boundless" | "throwing";
  readonly delayMs: number;
  /** Rows come one by one, with this between them; 0 for all at once. */
  readonly paceMs: number;
  /** It goes on when it was told to stop. */
  readonly isRude: boolean;
}

/** In peace all that is asked is answered. */
const PROMPT: Manner = { kind: "honest", delayMs: 0, paceMs: 0, isRude: false };

const RUNS_AT_ONCE = 16;

export class SimDevice {
  readonly #node: SimNode;
  /** What a run asks for. */
  readonly #wishOf: (run: number) => Wish;
  readonly #active = new Set<Active>();
  /** Those of all its lives, by the number of the run. */
  readonly statements = new Map<number, DeviceStatement>();
  /** Copies of a store may say that they are the same. */
  key: string;
  metadata: ValueObject = {};
  isWatching = false;
  isPrompt = false;
  /** What the app was told last; undefined when it does not watch. */
  reported: Presence | undefined;
  #sync: PeerSync | undefined;
  #unwatch: (() => void) | undefined;
  #runner: StatementRunner | undefined;

  constructor(node: SimNode, wishOf: (run: number) => Wish) {
    this.#node = node;
    this.#wishOf = wishOf;
    this.key = node.name;
    node.onDurable = () => this.#look();
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** A process of the peer begins; what the one before it was doing is gone. */
  begin(sync: PeerSync, runner: StatementRunner): void {
    this.#active.clear();
    this.#sync = sync;
    this.#runner = runner;
    this.#unwatch = undefined;
    if (this.isWatching) this.#watch(sync);
  }

  setMetadata(metadata: ValueObject): void {
    this.#node.note(`says ${valueText(metadata).slice(0, 60)}`);
    this.metadata = metadata;
    this.#sync?.setMetadata(metadata);
  }

  setWatching(isWatching: boolean): void {
    if (this.isWatching === isWatching) return;
    this.#node.note(isWatching ? "watches" : "watches no more");
    this.isWatching = isWatching;
    this.reported = undefined;
    if (isWatching && this.#sync !== undefined) this.#watch(this.#sync);
    if (isWatching) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #watch(sync: PeerSync): void {
    this.reported = undefined;
    this.#unwatch = sync.watch((presence) => {
      this.reported = presence;
    });
  }

  /** The server asks; the machine of the session has let it through. */
  run(message: RunMessage, reply: RunReply): { cancel(): void } {
    const { random, life, scheduler } = this.#node;
    const number = message.args["run"] as number;
    if (this.statements.has(number)) {
      scheduler.fail("[S44] a run comes to a peer once", `${this.#node.name}: run ${number}`);
    }
    if (this.#active.size >= RUNS_AT_ONCE) {
      scheduler.fail("[S44] a peer runs few statements at a time", this.#node.name);
    }
    const manner = this.isPrompt ? PROMPT : randomManner(random);
    this.#node.note(`runs ${number}, ${manner.kind}`);
    const statement: DeviceStatement = { items: [], end: undefined };
    this.statements.set(number, statement);
    if (manner.kind === "throwing") {
      const error = { code: "query.store", message: `${this.#node.name} threw` };
      statement.end = { elapsedMs: 0, warnings: [], totalWarnings: 0, error };
      throw new Error(error.message);
    }
    const active: Active = {
      number,
      wish: this.#wishOf(number),
      shown: new Set(),
      statement,
      reply,
      isOver: false,
    };
    this.#active.add(active);
    this.#lookFor(active);
    life.after(manner.delayMs, () => void this.#begin(message, manner, active));
    if (manner.kind === "honest") life.after(message.ms, () => this.#timeOut(active));
    return {
      cancel: () => {
        this.#over(active);
        // Nothing of this may arrive anywhere.
        if (manner.isRude)
          life.after(1, () => reply({ items: ["rude"], end: endOf(number, "rude") }));
      },
    };
  }

  async #begin(message: RunMessage, manner: Manner, active: Active): Promise<void> {
    if (active.isOver) return;
    const { name } = this.#node;
    switch (manner.kind) {
      case "silent":
        return;
      case "refusing":
        return this.#finish(active, [], endOf(active.number, "remote.refused", `${name} says no`));
      case "failing":
        return this.#finish(
          active,
          ["lost"],
          endOf(active.number, "query.invalid", `${name} cannot`),
        );
      case "boundless":
        // More than was asked for ends the connection.
        return active.reply({ items: Array.from({ length: message.rows + 1 }, () => "more") });
      default:
        return this.#answer(message, manner, active);
    }
  }

  async #answer(message: RunMessage, manner: Manner, active: Active): Promise<void> {
    const { life } = this.#node;
    const { statement, args } = message;
    const rows = await this.#runner
      ?.execute({ statement, args })
      .then(({ items }) => items)
      .catch(() => undefined);
    if (!life.isAlive || active.isOver) return;
    if (rows === undefined) return this.#finish(active, [], endOf(active.number, "query.store"));
    this.#lookFor(active);
    if (!active.shown.has(rowsText(rows))) {
      const shown = [...active.shown].join("\n  ");
      const detail = `${this.#node.name}: ${rowsText(rows)}\nshown were\n  ${shown}`;
      this.#node.scheduler.fail("[S45] the rows of a run are what showed during it", detail);
    }
    const items = [`${active.number} on ${this.#node.name}`, ...rows];
    const isTooMuch = items.length > message.rows || encodeCbor(items).length > message.bytes;
    if (isTooMuch)
      return this.#finish(active, [], endOf(active.number, "query.too_large", "too much"));
    if (manner.paceMs === 0) return this.#finish(active, items, endOf(active.number));
    this.#send(active, items, manner.paceMs, life);
  }

  /** One row after the other. */
  #send(active: Active, items: readonly Value[], paceMs: number, life: Life): void {
    if (active.isOver) return;
    const [first, ...rest] = items;
    if (first === undefined) return this.#finish(active, [], endOf(active.number));
    active.statement.items.push(first);
    active.reply({ items: [first] });
    life.after(paceMs, () => this.#send(active, rest, paceMs, life));
  }

  #finish(active: Active, items: readonly Value[], end: RunEnd): void {
    const { statement } = active;
    this.#over(active);
    for (const item of items) statement.items.push(item);
    statement.end = end;
    active.reply({ items, end });
  }

  #timeOut(active: Active): void {
    if (active.isOver) return;
    this.#finish(active, [], endOf(active.number, "query.timeout", `${this.#node.name} is slow`));
  }

  #over(active: Active): void {
    active.isOver = true;
    this.#active.delete(active);
  }

  #look(): void {
    for (const active of this.#active) this.#lookFor(active);
  }

  /** Read from the disk, and chosen without the engine. */
  #lookFor({ wish, shown }: Active): void {
    const view = new View(new MemoryKeyValue(this.#node.disk).snapshot());
    const rows: Value[] = [];
    for (const { id, fields } of view.scan(wish.collection)) {
      if (wish.test(fields)) rows.push({ _id: id, ...fields });
    }
    shown.add(rowsText(rows));
  }
}

function randomManner(random: Random): Manner {
  return {
    kind: random.pick([
      ...Array.from({ length: 10 }, () => "honest" as const),
      "refusing",
      "failing",
      "silent",
      "silent",
      "boundless",
      "throwing",
    ]),
    delayMs: random.below(random.pick([1, 1, 300, 8000])),
    paceMs: random.pick([0, 0, 0.5, 40, 900]),
    isRude: random.chance(0.5),
  };
}

function rowsText(rows: readonly Value[]): string {
  return rows
    .map((row) => valueText(row))
    .sort()
    .join(" ");
}

/** Each has something in it by which it is known. */
function endOf(number: number, code?: string, message = ""): RunEnd {
  const error = code === undefined ? {} : { error: { code, message } };
  const warnings = [{ description: `of run ${number}` }];
  return { elapsedMs: number, warnings, totalWarnings: number, ...error };
}
