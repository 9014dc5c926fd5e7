/**
 * A local store in memory, without a peer around it, and what it told as errors.
 */

import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { onTestFinished } from "vitest";
import { LocalStore, type LocalStoreOptions } from "../../src/local-store.ts";
import { nodeHost } from "../../src/node/node-host.ts";

export interface OpenLocalStore {
  readonly local: LocalStore;
  readonly store: Store;
  readonly errors: unknown[];
}

export async function openLocalStore(
  change: Partial<LocalStoreOptions> = {},
): Promise<OpenLocalStore> {
  const storage = new MemoryKeyValue();
  const store = await Store.open(storage, nodePlatform);
  const errors: unknown[] = [];
  const onError = (error: unknown): void => {
    errors.push(error);
  };
  const refused = (): [] => [];
  const clearRefused = (): Promise<number> => Promise.resolve(0);
  const base = { store, platform: nodePlatform, host: nodeHost, appId: "test" };
  const options = { ...base, onError, refused, clearRefused };
  const local = new LocalStore({ ...options, ...change });
  onTestFinished(async () => {
    local.close();
    await store.close();
    await storage.close();
  });
  return { local, store, errors };
}
