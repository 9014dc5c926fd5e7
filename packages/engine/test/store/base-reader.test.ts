import { expect, test } from "vitest";
import { COLLECTIONS_REMEMBERED } from "../../src/limits.ts";
import { BaseReader } from "../../src/store/base-reader.ts";
import { collectionKey } from "../../src/store/keys.ts";
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
