/**
 * The engine's store on LMDB: the same history gives the same keys and values as in memory, before
 * and after the folder is opened again.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyValue } from "@bigpeer/engine";
import { MemoryKeyValue, Store, verify } from "@bigpeer/engine/store";
import { timeOfMs, type Value } from "@bigpeer/protocol";
import { afterAll, expect, test } from "vitest";
import { seededRandom, testPlatform } from "../../../engine/test/support/test-platform.ts";
import {
  randomAttachmentOperation,
  randomMerge,
  randomOperation,
} from "../../../engine/test/support/workload.ts";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";

const root = mkdtempSync(join(tmpdir(), "bigpeer-store-"));
afterAll(() => rmSync(root, { recursive: true }));

function dump(storage: KeyValue): [string, Value][] {
  const snapshot = storage.snapshot();
  const all: [string, Value][] = [];
  for (const { key, value } of snapshot.entries({ from: "\x00", to: "\xff" }))
    all.push([key, value]);
  snapshot.close();
  return all;
}

async function liveThrough(storage: KeyValue, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const platform = testPlatform(seed);
  const store = await Store.open(storage, platform);
  for (let i = 0; i < 40; i++) {
    platform.nowMs += random.below(50);
    const time = timeOfMs(platform.nowMs) - random.below(1000);
    const operations = Array.from({ length: 1 + random.below(4) }, () => {
      if (random.chance(0.2)) return randomAttachmentOperation(random);
      if (random.chance(0.2)) return randomMerge(random, "00000000000000ee", time);
      return randomOperation(random);
    });
    await store.transact((transaction) => operations.map((each) => transaction.apply([each])));
  }
  await store.close();
}

test("[K4] [K20] a history on LMDB gives the same as in memory, also after reopening", async () => {
  for (let seed = 1; seed <= histories(25); seed++) {
    const folder = join(root, String(seed));
    const memory = new MemoryKeyValue();
    const lmdb = openLmdb(folder);
    await liveThrough(memory, seed);
    await liveThrough(lmdb, seed);
    const expected = dump(memory);
    expect(dump(lmdb), `seed ${seed}`).toEqual(expected);
    await lmdb.close();
    const again = openLmdb(folder);
    expect(dump(again), `seed ${seed}, opened again`).toEqual(expected);
    const snapshot = again.snapshot();
    expect(verify(snapshot).problems, `seed ${seed}`).toEqual([]);
    snapshot.close();
    await again.close();
  }
});
