/**
 * Indexes on LMDB: the same history gives the same entries as in memory, and every scan is right, both
 * ways, after each turn and after the folder is opened again.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyValue } from "@bigpeer/engine";
import { MemoryKeyValue, Store, verify } from "@bigpeer/engine/store";
import type { Value } from "@bigpeer/protocol";
import { afterAll, expect, test } from "vitest";
import { checkIndexes, indexHistory } from "../../../engine/test/support/index-history.ts";
import { seededRandom, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";

const root = mkdtempSync(join(tmpdir(), "bigpeer-index-"));
afterAll(() => rmSync(root, { recursive: true }));

function dump(storage: KeyValue): [string, Value][] {
  const snapshot = storage.snapshot();
  const range = { from: "\x00", to: "\xff" };
  const all = Array.from(snapshot.entries(range), ({ key, value }): [string, Value] => [
    key,
    value,
  ]);
  snapshot.close();
  return all;
}

test("[K4] [K41] [K42] indexes on LMDB match the documents, also after reopening", async () => {
  for (let seed = 1; seed <= sized(2, 12); seed++) {
    const folder = join(root, String(seed));
    const memory = new MemoryKeyValue();
    const lmdb = openLmdb(folder);
    // Both draw the same ranges, so that both live the same history.
    for (const storage of [memory, lmdb]) {
      const store = await indexHistory(storage, {
        seed,
        turns: 25,
        onTurn: (view, random) => checkIndexes(view, random, `seed ${seed}`),
      });
      await store.close();
    }
    expect(dump(lmdb), `seed ${seed}`).toEqual(dump(memory));
    await lmdb.close();
    const again = openLmdb(folder);
    const store = await Store.open(again, testPlatform());
    store.read((snapshot) => checkIndexes(snapshot, seededRandom(seed), `seed ${seed}, again`));
    await store.whenIndexesReady();
    store.read((snapshot) => {
      expect(verify(snapshot.reader).problems, `seed ${seed}`).toEqual([]);
      expect(snapshot.indexes().filter(({ building }) => building !== undefined)).toEqual([]);
      checkIndexes(snapshot, seededRandom(seed), `seed ${seed}, built`);
    });
    await store.close();
    await again.close();
  }
});
