/**
 * The storage of a browser in memory: the contract of every KeyValue, except that it ends with its
 * object. For the contract, the content is carried over.
 */

import type { Writes } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { keyValueContract } from "../../../../engine/test/contract/key-value-contract.ts";
import { PagedMemory } from "../../../src/web/storage/paged-memory.ts";

function contentOf(storage: PagedMemory): Writes {
  const snapshot = storage.snapshot();
  try {
    const entries = [...snapshot.entries({ from: "\0", to: "\xff" })];
    return new Map(entries.map(({ key, value }) => [key, value]));
  } finally {
    snapshot.close();
  }
}

keyValueContract("a browser's memory", () => {
  const content = new Map<string, Value>();
  class Carried extends PagedMemory {
    override async commit(writes: Writes): Promise<void> {
      await super.commit(writes);
      for (const [key, value] of writes) {
        if (value === undefined) content.delete(key);
        else content.set(key, value);
      }
    }
  }
  return {
    open: async () => {
      const storage = new Carried();
      await storage.commit(new Map(content));
      return storage;
    },
    remove: () => undefined,
  };
});

test("a commit is visible after it has resolved, and two at a time are refused", async () => {
  const storage = new PagedMemory();
  const first = storage.commit(new Map([["a", 1]]));
  expect(storage.snapshot().has("a")).toBe(false);
  await expect(storage.commit(new Map([["b", 1]]))).rejects.toThrow("one commit at a time");
  await first;
  await storage.commit(new Map([["b", 1]]));
  expect([...contentOf(storage)]).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
});

test("a closed storage refuses commits and reads", async () => {
  const storage = new PagedMemory();
  await storage.close();
  expect(() => storage.snapshot()).toThrow("expected an open storage");
  await expect(storage.commit(new Map())).rejects.toMatchObject({ code: "store.closed" });
});
