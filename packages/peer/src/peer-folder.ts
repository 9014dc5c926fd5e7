/**
 * The folder of a peer: locked against a second process, and noticed when it is a copy.
 *
 * A copied folder would write under the name of the one that it was copied from. So it begins a new
 * life, and what the first has not uploaded yet is uploaded by whichever comes first, once.
 */

import { type KeyValue, MemoryKeyValue, type Platform, type Store } from "@bigpeer/engine";
import {
  acquireFolderLock,
  createStore,
  DATA_FILE,
  type FolderLock,
  isFullError,
  makeFolder,
  namesIn,
  openToOthers,
  type StoreFolder,
} from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";

/** Where a peer keeps its documents. */
export interface PeerPlace {
  /** After whatever uses the store: finishes its writes, then gives everything back. */
  close(): Promise<void>;
}

export interface PlaceOptions {
  /** Undefined: in memory. */
  readonly folder: string | undefined;
  readonly platform: Platform;
  /** May be called twice: the second time on the same storage, which has begun a new life. */
  readonly open: (storage: KeyValue) => Promise<Store>;
  readonly onWarning: (message: string) => void;
}

/**
 * Names that do not make a folder somebody else's: the locks and the probe for room, which a process
 * leaves that was killed while it made the folder, and what a fresh disk has.
 */
const IGNORED_NAMES = /^(lock(\..+)?|room\.probe|lost\+found)$/;

/** Throws PeerError `store.in_use` when another process has the folder. */
export function openPlace(options: PlaceOptions): Promise<PeerPlace> {
  const { folder } = options;
  return folder === undefined ? openMemory(options) : openFolder(folder, options);
}

async function openMemory({ open }: PlaceOptions): Promise<PeerPlace> {
  const storage = new MemoryKeyValue();
  const store = await open(storage);
  return {
    close: async () => {
      await store.close();
      await storage.close();
    },
  };
}

async function openFolder(folder: string, options: PlaceOptions): Promise<PeerPlace> {
  try {
    make(folder);
    refuseForeign(folder);
    return await openLocked(folder, options);
  } catch (error) {
    throw told(folder, error);
  }
}

async function openLocked(folder: string, options: PlaceOptions): Promise<PeerPlace> {
  const { platform, open, onWarning } = options;
  const lock = await acquireFolderLock(folder);
  try {
    const log = (_: "warn", message: string): void => onWarning(message);
    const warning = openToOthers(folder);
    if (warning !== undefined) onWarning(warning);
    const opened = await createStore(folder, { platform, log, options: {}, open });
    opened.protect().catch((error: unknown) => onWarning(`${folder}: ${messageOf(error)}`));
    return { close: () => closeBoth(opened, lock) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function closeBoth(opened: StoreFolder, lock: FolderLock): Promise<void> {
  try {
    await opened.close();
  } finally {
    await lock.release();
  }
}

function refuseForeign(folder: string): void {
  const names = namesIn(folder) ?? [];
  const other = names.find((name) => !IGNORED_NAMES.test(name));
  if (other === undefined || names.includes(DATA_FILE)) return;
  const message = `expected an empty folder or one of a peer at ${folder}, found ${other}`;
  throw new PeerError("store.foreign", message);
}

function make(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    const expected = `expected a folder for the documents at ${folder}`;
    throw new PeerError("config.invalid", `${expected}, found ${foundInstead(cause)}`, { cause });
  }
}

function foundInstead(cause: unknown): string {
  switch (systemCode(cause)) {
    case "EEXIST":
      return "a file in its place";
    case "ENOTDIR":
      return "a file in its way";
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `no permission to make it: ${messageOf(cause)}`;
    default:
      return `no way to make it: ${messageOf(cause)}`;
  }
}

/** What the system says of a file of ours names neither the folder nor what it is for. */
function told(folder: string, error: unknown): unknown {
  if (error instanceof PeerError || systemCode(error) === undefined) return error;
  const message = `failed to use the folder ${folder}: ${messageOf(error)}`;
  const code = isFullError(error) ? "store.full" : "config.invalid";
  return new PeerError(code, message, { cause: error });
}

function systemCode(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^E[A-Z]+$/.test(code) ? code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
