/**
 * What the crash runs of storages share: random commits, the content that they lead to, and promises
 * whose outcome is looked at while the disk goes step by step.
 */

import type { Key, KeyValue, Writes } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import { expect } from "vitest";
import type { Random } from "../../../engine/test/support/test-platform.ts";
import type { JournalLimits } from "../../src/journal/journal-limits.ts";

/** So small that segments and layers change all the time. */
export const CRASH_LIMITS: Partial<JournalLimits> = {
  segmentBytesMin: 1024,
  segmentBytesMax: 4096,
  payloadBytesMax: 2048,
  layerBytes: 8192,
  layerKeys: 24,
  layerMs: 1_000_000,
};

export type Content = ReadonlyMap<Key, Value>;

/** The writes of a commit, and the content after it. */
export interface RandomCommit {
  readonly writes: Writes;
  readonly content: Content;
}

export class RandomWrites {
  readonly #random: Random;
  #value = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(before: Content): RandomCommit {
    const writes = new Map<Key, Value | undefined>();
    const content = new Map(before);
    const count = this.#random.chance(0.05) ? 40 : 1 + this.#random.below(5);
    for (let i = 0; i < count; i++) {
      const key = `${"abc"[this.#random.below(3)]}${this.#random.below(30)}`;
      const isRemoval = this.#random.chance(0.2);
      // Large ones go to the tree directly. Shapes recur, and get numbers.
      const text = "x".repeat(this.#random.chance(0.05) ? 2500 : this.#random.below(80));
      const value = { [`field ${this.#random.below(4)}`]: ++this.#value, text };
      writes.set(key, isRemoval ? undefined : value);
      if (isRemoval) content.delete(key);
      else content.set(key, value);
    }
    return { writes, content };
  }
}

export function contentOf(storage: Pick<KeyValue, "snapshot">): Content {
  const snapshot = storage.snapshot();
  try {
    const entries = snapshot.entries({ from: "\0", to: "\xff" });
    return new Map(Array.from(entries, ({ key, value }) => [key, value]));
  } finally {
    snapshot.close();
  }
}

export function expectEqual(found: unknown, expected: unknown, where: string): void {
  expect(found, where).toEqual(expected);
}

export function expectContent(found: Content, expected: Content, where: string): void {
  expectEqual(found, sorted(expected), where);
}

export function isSame(a: Content, b: Content): boolean {
  return JSON.stringify([...sorted(a)]) === JSON.stringify([...sorted(b)]);
}

function sorted(content: Content): Content {
  return new Map([...content].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export interface Outcome<T> {
  isSettled: boolean;
  value: T | undefined;
  error: unknown;
}

export function outcomeOf<T>(work: Promise<T>): Outcome<T> {
  const outcome: Outcome<T> = { isSettled: false, value: undefined, error: undefined };
  work
    .then(
      (value) => {
        outcome.value = value;
      },
      (error: unknown) => {
        outcome.error = error;
      },
    )
    .finally(() => {
      outcome.isSettled = true;
    });
  return outcome;
}

/** Resolves when everything that can go on has gone on. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
