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
  makeFolder,
  namesIn,
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

/** Documents are for the owner of the process alone. */
const FOLDER_MODE = 0o700;

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
  const { platform, open, onWarning } = options;
  makeFolder(folder, FOLDER_MODE);
  refuseForeign(folder);
  const lock = await acquireFolderLock(folder);
  try {
    const log = (_: "warn", message: string): void => onWarning(message);
    const opened = await createStore(folder, { platform, log, options: {}, open });
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
