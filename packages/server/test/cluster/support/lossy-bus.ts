/**
 * A bus in memory that loses and reorders messages as a test says.
 */

import { decodeCbor, encodeCbor, type Value } from "@bigpeer/protocol";
import type { Bus } from "../../../src/cluster/bus.ts";

export class LossyBus implements Bus {
  readonly #random: () => number;
  readonly #listeners = new Map<string, Set<(value: Value) => void>>();
  readonly #waiting: (() => void)[] = [];
  /** The part of messages that is lost, and of those that come late, for each receiver. */
  lost = 0;
  late = 0;
  /** Bytes of the largest message. */
  largest = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  publish(topic: string, value: Value): void {
    const bytes = encodeCbor(value);
    this.largest = Math.max(this.largest, bytes.length);
    for (const listener of this.#listeners.get(topic) ?? []) {
      if (this.#random() < this.lost) continue;
      const deliver = (): void => listener(decodeCbor(bytes));
      if (this.#random() < this.late) this.#waiting.push(deliver);
      else deliver();
    }
  }

  subscribe(topic: string, listener: (value: Value) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Delivers what came late, in any order. */
  deliverLate(): void {
    while (this.#waiting.length > 0) {
      const at = Math.floor(this.#random() * this.#waiting.length);
      for (const deliver of this.#waiting.splice(at, 1)) deliver();
    }
  }
}
