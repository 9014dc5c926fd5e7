import { expect, test } from "vitest";
import { COLLECTIONS_REMEMBERED } from "../../src/limits.ts";
import type { KeyValue } from "../../src/platform.ts";
import { BaseReader } from "../../src/store/base-reader.ts";
import { collectionKey, documentKey } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";

test("the cache of collections is bounded, and evicted ones are read again", async () => {
  const storage = new MemoryKeyValue();
  const names = Array.from({ length: 2 * COLLECTIONS_REMEMBERED + 5 }, (_, i) => `c${i}`);
  await storage.commit(new Map(names.map((name, i) => [collectionKey(name), i + 1])));
  const reader = new BaseReader(storage);
  reader.begin();
  for (const [i, name] of names.entries()) expect(reader.get(collectionKey(name))).toBe(i + 1);
  expect(reader.count).toBeLessThanOrEqual(COLLECTIONS_REMEMBERED);
  expect(reader.get(collectionKey("c0"))).toBe(1);
  reader.end();
});

test("a document that is read twice in a transaction is decoded once, and anew in the next one", async () => {
  const storage = new MemoryKeyValue();
  const key = documentKey(1, "a");
  await storage.commit(new Map([[key, { n: 1, other: 2 }]]));
  let reads = 0;
  const counted: KeyValue = {
    commit: (writes) => storage.commit(writes),
    close: () => storage.close(),
    snapshot: () => {
      const snapshot = storage.snapshot();
      const get = snapshot.get.bind(snapshot);
      return Object.assign(snapshot, {
        get: (each: string, fields?: readonly string[]) => {
          reads++;
          return get(each, fields);
        },
      });
    },
  };
  const reader = new BaseReader(counted);
  reader.begin();
  expect(reader.get(key, ["n"])).toMatchObject({ n: 1 });
  expect(reader.get(key)).toEqual({ n: 1, other: 2 });
  expect(reader.get(key)).toEqual({ n: 1, other: 2 });
  expect(reads).toBe(2);
  expect(reader.get(documentKey(1, "b"))).toBeUndefined();
  reader.end();
  expect(() => reader.get(documentKey(1, "b"))).toThrow("the transaction has ended");
  await storage.commit(new Map([[key, { n: 2 }]]));
  reader.begin();
  expect(reader.get(key)).toEqual({ n: 2 });
  reader.end();
});
