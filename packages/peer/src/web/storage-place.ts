/**
 * Storage place: keeps the documents of a peer in IndexedDB; in memory where the browser has none to
 * give, as in some private windows.
 */

import type { Store } from "@bigpeer/engine/store";
import { openMemory } from "../host/memory-place.ts";
import type { PeerPlace, PlaceOptions } from "../host/peer-host.ts";
import {
  type ConnectionEnd,
  deleteAll,
  type IndexedDb,
  type IndexedKeyValue,
  openIndexedKeyValue,
  PagedMemory,
} from "./storage/index.ts";

export interface StoragePlaceOptions extends PlaceOptions {
  readonly database: string;
  readonly db: IndexedDb;
  /** The database was deleted, or taken over: the peer must be opened again. */
  readonly onEnd: (end: ConnectionEnd) => void;
}

export async function openStoragePlace(options: StoragePlaceOptions): Promise<PeerPlace> {
  const { database, db, onEnd, onWarning, open } = options;
  const opened = await openIndexedKeyValue({ name: database, db, id: crypto.randomUUID(), onEnd });
  if (opened.kind === "unavailable") {
    onWarning(`the documents are kept in memory only: ${messageOf(opened.cause)}`);
    return openMemory(new PagedMemory(), { open });
  }
  const { storage } = opened;
  let store: Store;
  try {
    store = await open(storage);
  } catch (error) {
    await storage.close();
    throw error;
  }
  const close = (): Promise<void> => closeBoth(store, storage);
  const contentDatabase = `${database}:contents`;
  return {
    contentDatabase,
    close,
    erase: async () => {
      await close();
      await deleteAll(db, database);
      await deleteAll(db, contentDatabase);
    },
  };
}

async function closeBoth(store: Store, storage: IndexedKeyValue): Promise<void> {
  await store.close();
  await storage.close();
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
