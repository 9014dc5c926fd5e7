/**
 * A server that says what the test tells it to, over the real bytes of the protocol; and time that
 * passes when the test says so. For a peer that is real in everything else.
 */

import { setImmediate } from "node:timers/promises";
import {
  decodePeerMessage,
  encodeMessage,
  type PeerMessage,
  type ServerMessage,
  SYNC_VERSION,
  type Value,
  type ValueObject,
  type Welcome,
  type WholeState,
} from "@bigpeer/protocol";
import { deltaOf } from "../../src/crdt/edit.ts";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { partsOf } from "../../src/crdt/state-parts.ts";
import type { DialHandle, DialHandlers } from "../../src/peer/peer-sync.ts";
import { START_MS } from "./test-platform.ts";

/** One connection, seen from the server. */
export class ScriptedConnection implements DialHandle {
  readonly received: PeerMessage[] = [];
  isPaused = false;
  isOver = false;
  readonly #handlers: DialHandlers;

  constructor(handlers: DialHandlers) {
    this.#handlers = handlers;
  }

  open(): void {
    this.#handlers.opened({
      send: (bytes) => {
        if (!this.isOver) this.received.push(decodePeerMessage(bytes));
      },
      queuedBytes: 0,
      close: () => this.close(),
    });
  }

  say(...messages: ServerMessage[]): void {
    for (const message of messages) this.sayBytes(encodeMessage(message));
  }

  sayBytes(bytes: Uint8Array): void {
    if (!this.isOver) this.#handlers.message(bytes);
  }

  /** The network takes the connection away. */
  cut(): void {
    this.isOver = true;
    this.#handlers.closed("reset");
  }

  close(): void {
    this.isOver = true;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  /** What was received of one kind. */
  of<T extends PeerMessage["t"]>(t: T): Extract<PeerMessage, { t: T }>[] {
    return this.received.filter(
      (message): message is Extract<PeerMessage, { t: T }> => message.t === t,
    );
  }
}

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

export class ScriptedServer {
  readonly connections: ScriptedConnection[] = [];
  elapsed = 0;
  #timers = new Set<Timer>();

  readonly dial = (handlers: DialHandlers): DialHandle => {
    const connection = new ScriptedConnection(handlers);
    this.connections.push(connection);
    return connection;
  };

  readonly wakeIn = (ms: number, wake: () => void): (() => void) => {
    const timer = { at: this.elapsed + ms, wake };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** Lets time pass; timers that are due go off in order. */
  pass(ms: number): void {
    this.elapsed += ms;
    const due = [...this.#timers].filter(({ at }) => at <= this.elapsed);
    for (const timer of due.sort((a, b) => a.at - b.at)) {
      if (this.#timers.delete(timer)) timer.wake();
    }
  }

  /** Timers that wait. */
  get timerCount(): number {
    return this.#timers.size;
  }

  get last(): ScriptedConnection {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("expected a connection, found none");
    return last;
  }

  /** Waits for the next connection, opens it and welcomes the peer. */
  async accept(welcome: Partial<Welcome> = {}): Promise<ScriptedConnection> {
    const count = this.connections.filter(({ isOver }) => isOver).length;
    await until(() => this.connections.length > count);
    const connection = this.last;
    connection.open();
    await until(() => connection.of("hello").length === 1);
    connection.say({ ...WELCOME, ...welcome });
    return connection;
  }
}

export const FILTER: Uint8Array = new Uint8Array(16).fill(1);

const WELCOME: Welcome = {
  t: "welcome",
  version: SYNC_VERSION,
  history: "h1",
  app: "app",
  txn: 100,
  now: START_MS,
  known: 0,
  rights: new Uint8Array(16).fill(9),
  bounds: { messageBytes: 1_000_000, uploads: 64, subscriptions: 10 },
};

/** The whole state of a document, as a server sends it. */
export function wholeOf(id: Value, fields: ValueObject, time = 1): WholeState {
  const operation = { kind: "insert", collection: "tasks", id, fields } as const;
  const state = deltaOf(EMPTY_STATE, operation, { time, site: "00000000000000cc" });
  return partsOf(state ?? EMPTY_STATE);
}

/** Goes on when it is so. What is never so fails, and says what was waited for. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (condition()) return;
    await setImmediate();
  }
  throw new Error(`expected to come about: ${condition.toString()}`);
}
