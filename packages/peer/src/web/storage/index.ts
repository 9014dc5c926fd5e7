/**
 * Entry of the package in a browser: its storage.
 */

export type { ConnectionEnd } from "./indexed-connection.ts";
export { deleteAll } from "./indexed-database.ts";
export type { IndexedDb } from "./indexed-db.ts";
export {
  type IndexedKeyValue,
  type IndexedStorageOptions,
  type OpenedStorage,
  openIndexedKeyValue,
} from "./indexed-key-value.ts";
export { PagedMemory } from "./paged-memory.ts";
