/**
 * Data folder: the layout of the folder that holds all data of a server, and the check of its
 * format.
 *
 *   format.json                  the number of this layout; written first, so in every data folder
 *   lock/                        while a server runs (node, folder-lock.ts)
 *   quickstart.json              the key that the first start created (registry/quickstart.ts)
 *   cluster.json                 the name of a node of a cluster (cluster/node-name.ts)
 *   copies/                      copies of stores on their way between nodes (cluster/copies-folder.ts)
 *   registry/                    the store of the registry
 *   apps/<appId>/store/          the documents of an app
 *   apps/<appId>/attachments/    the contents of its attachments (attachments/attachment-files.ts)
 *
 * A store is a folder with data.mdb, lock.mdb (LMDB's own) and life.json (node, incarnation.ts),
 * while it is open also with the segments of its journal (node, journal/folder-segments.ts). On a
 * node of a cluster it has neither, and position.json instead (cluster/store-positions.ts). A folder
 * of a newer layout, or of another program, is refused and left as it is (K1).
 */

import { join } from "node:path";
import {
  makeFolder,
  namesIn,
  notFolder,
  PARTIAL_ENDING,
  readJsonFile,
  writeJsonFile,
} from "@bigpeer/node";
import { isObject, PeerError, type Value } from "@bigpeer/protocol";

/**
 * Layout that this version writes, and the newest that it reads. It also increases with the format
 * of the stores, so that an older server reports at once what it cannot read.
 */
export const FOLDER_FORMAT = 4;

export const QUICKSTART_FILE = "quickstart.json";

const FORMAT_FILE = "format.json";

/** Names that an empty folder may have: the lock, and what a fresh disk has. */
const IGNORED_NAMES = /^(lock(\..+)?|lost\+found)$/;

export function registryFolder(dataDir: string): string {
  return join(dataDir, "registry");
}

/** Folder of all data of an app. */
export function appFolder(dataDir: string, appId: string): string {
  return join(dataDir, "apps", appId);
}

export function appStoreFolder(dataDir: string, appId: string): string {
  return join(appFolder(dataDir, appId), "store");
}

/** Absent until the first upload. */
export function appAttachmentsFolder(dataDir: string, appId: string): string {
  return join(appFolder(dataDir, appId), "attachments");
}

/** Ids of the apps that have a folder, registered or not. */
export function appIdsInFolder(dataDir: string): string[] {
  return (namesIn(join(dataDir, "apps")) ?? []).toSorted();
}

/**
 * Creates the folder if it is absent. Throws PeerError `store.foreign` or `store.format_newer` if
 * this version must not use it. Writes nothing into it: the lock must be acquired first.
 */
export function prepareDataFolder(dataDir: string): void {
  try {
    makeFolder(dataDir);
  } catch (cause) {
    if (isErrorOf(cause, "EEXIST", "ENOTDIR")) throw notFolder(dataDir);
    throw new PeerError("store.write_failed", `failed to make the folder ${dataDir}`, { cause });
  }
  if (readFormat(dataDir) === undefined) refuseForeign(dataDir);
}

/** Writes the format into an empty or older folder. The caller must hold the lock. */
export function markDataFolder(dataDir: string): void {
  const format = readFormat(dataDir);
  if (format === undefined) refuseForeign(dataDir);
  if (format !== FOLDER_FORMAT) writeFormat(dataDir);
}

export function writeFormat(folder: string): void {
  writeJsonFile(join(folder, FORMAT_FILE), { format: FOLDER_FORMAT });
}

/**
 * For commands that only read: throws unless `dataDir` is a data folder that this version reads.
 */
export function checkDataFolder(dataDir: string): void {
  if (readFormat(dataDir) !== undefined) return;
  const message = `expected a data folder of Big Peer at ${dataDir}, found no ${FORMAT_FILE}`;
  throw new PeerError("store.foreign", message);
}

function readFormat(dataDir: string): number | undefined {
  const path = join(dataDir, FORMAT_FILE);
  const content = readFormatFile(path);
  if (content === undefined) return undefined;
  const format = isObject(content) ? content["format"] : undefined;
  if (typeof format !== "number" || !Number.isInteger(format) || format < 1) {
    throw new PeerError("store.corrupt", `expected {"format": number} in ${path}`);
  }
  if (format > FOLDER_FORMAT) {
    const message =
      `the folder ${dataDir} has format ${format}, this version reads up to ${FOLDER_FORMAT}; ` +
      "use the version that wrote it, or a newer one";
    throw new PeerError("store.format_newer", message);
  }
  return format;
}

function readFormatFile(path: string): Value | undefined {
  try {
    return readJsonFile(path);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new PeerError("store.corrupt", `expected {"format": number} in ${path}`, { cause });
  }
}

function refuseForeign(dataDir: string): void {
  const partial = FORMAT_FILE + PARTIAL_ENDING;
  const names = namesIn(dataDir) ?? [];
  // Another server may have written it since it was read.
  if (names.includes(FORMAT_FILE) && readFormat(dataDir) !== undefined) return;
  const other = names.find((name) => name !== partial && !IGNORED_NAMES.test(name));
  if (other === undefined) return;
  const message =
    `expected an empty folder or a data folder of Big Peer at ${dataDir}, ` +
    `found ${other} and no ${FORMAT_FILE}`;
  throw new PeerError("store.foreign", message);
}

function isErrorOf(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
