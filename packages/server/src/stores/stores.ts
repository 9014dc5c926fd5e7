/**
 * Stores: opens the stores of a server: in folders of this machine alone, or as replicas of the
 * logs of a cluster.
 */

import type { Store } from "@bigpeer/engine/store";
import { createStore, openStore, type StoreHost } from "@bigpeer/node";

/** The name of the registry among the stores; those of apps have the ids of the apps. */
export const REGISTRY_STORE = "registry";

/** A store that is open, in its folder. */
export interface OpenedStore {
  readonly store: Store;
  readonly folder: string;
  /** See StoreFolder of @bigpeer/node. */
  recordIncarnation(): void;
  protect(): Promise<void>;
  close(): Promise<void>;
}

export interface Stores {
  /** Opens an existing store. `name` is the id of its app, or REGISTRY_STORE. */
  open(name: string, folder: string): Promise<OpenedStore>;
  /** As `open`, and creates it if it does not exist. */
  create(name: string, folder: string): Promise<OpenedStore>;
}

export interface StoresHost extends StoreHost {
  /** Left out, stores are in folders of this machine alone. */
  readonly stores?: Stores;
}

export function openNamed(name: string, folder: string, host: StoresHost): Promise<OpenedStore> {
  return host.stores?.open(name, folder) ?? openStore(folder, host);
}

export function createNamed(name: string, folder: string, host: StoresHost): Promise<OpenedStore> {
  return host.stores?.create(name, folder) ?? createStore(folder, host);
}
