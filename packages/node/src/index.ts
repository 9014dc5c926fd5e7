/**
 * The engine's platform on Node: storage in a folder with its lock, clock, random bytes, hashes and
 * patterns. The server and the small peer build on it.
 */

export { ContentFiles } from "./contents/content-files.ts";
export { isFullError, makeFolder, namesIn, notFolder, openToOthers, syncFolder } from "./disk.ts";
export { eraseStore, finishErasing, isErasing } from "./erased-store.ts";
export { forgetIncarnation, lastSeenMs } from "./incarnation.ts";
export { type JournaledLmdb, openStorage } from "./journal/journaled-key-value.ts";
export { type JournaledReader, readJournaled } from "./journal/journaled-reader.ts";
export type { TableOptions } from "./journal/table-key-value.ts";
export { PARTIAL_ENDING, readJsonFile, writeJsonFile } from "./json-file.ts";
export { DATA_FILE } from "./lmdb/lmdb-file.ts";
export { acquireFolderLock } from "./lock/folder-lock.ts";
export type { FolderLock } from "./lock/lock-holder.ts";
export { nodePlatform } from "./node-platform.ts";
export { type LoggedLmdb, openLogged } from "./replica/logged-key-value.ts";
export {
  createStore,
  openReplicaStorage,
  openStore,
  readStore,
  type StoreFolder,
  type StoreHost,
  type StoreLog,
  type VerifyHost,
  verifyStore,
} from "./store-folder.ts";
