/**
 * A store on the memory storage, with what tests need to reach around it: its disk, its platform,
 * and all its keys.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key } from "../../src/platform.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store, type StoreOptions } from "../../src/store/store.ts";
import { verify } from "../../src/store/verify.ts";
import { type TestPlatform, testPlatform } from "./test-platform.ts";

export interface OpenStore {
  readonly store: Store;
  readonly storage: MemoryKeyValue;
  readonly disk: MemoryDisk;
  readonly platform: TestPlatform;
}

export async function openStore(
  options: StoreOptions = {},
  platform: TestPlatform = testPlatform(),
  disk: MemoryDisk = new MemoryDisk(),
): Promise<OpenStore> {
  const storage = new MemoryKeyValue(disk);
  return { store: await Store.open(storage, platform, options), storage, disk, platform };
}

export function dump(storage: MemoryKeyValue): Map<Key, Value> {
  const snapshot = storage.snapshot();
  const all = new Map<Key, Value>();
  for (const { key, value } of snapshot.entries({ from: "\x00", to: "\xff" })) all.set(key, value);
  snapshot.close();
  return all;
}

/** The problems that verify finds, as text; empty for a sound store. */
export function problems(storage: MemoryKeyValue): string[] {
  const snapshot = storage.snapshot();
  const report = verify(snapshot);
  snapshot.close();
  return report.problems.map(({ key, message }) => `${key} ${message}`);
}

/** The fields of a document as a reader sees them now. */
export function fieldsOf(store: Store, collection: string, id: Value): Value | undefined {
  return store.read((snapshot) => snapshot.get(collection, id)?.fields);
}
