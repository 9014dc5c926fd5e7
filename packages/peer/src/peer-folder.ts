/**
 * Peer folder: opens the folder of a peer, locks it against a second process and detects a copy.
 *
 * A copied folder would write under the site of the original. So it begins a new incarnation.
 * Unsent writes that both have are uploaded once, by whichever connects first (S31).
 */

import type { KeyValue, Platform } from "@bigpeer/engine";
import { MemoryKeyValue, type Store } from "@bigpeer/engine/store";
import type { FolderLock, StoreFolder, StoreLog } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { loadNodePackage, type NodePackage } from "./node-package.ts";

/** Where a peer keeps its documents. */
export interface PeerPlace {
  /** Finishes the writes, then releases everything. Called after all that uses the store. */
  close(): Promise<void>;
}

export interface PlaceOptions {
  /** Undefined for a store in memory. */
  readonly folder: string | undefined;
  readonly platform: Platform;
  /** May be called twice: the second time on the same storage, in a new incarnation. */
  readonly open: (storage: KeyValue) => Promise<Store>;
  readonly onWarning: (message: string) => void;
}

/**
 * Names that do not make a folder foreign: locks and the probe for space, which a killed process
 * leaves, and what a new disk has.
 */
const IGNORED_NAMES = /^(lock(\..+)?|room\.probe|lost\+found)$/;

/**
 * Throws PeerError `store.in_use` if another process uses the folder, and `config.invalid` if the
 * package that a folder needs is not installed.
 */
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
  const node = await loadNodePackage();
  try {
    make(node, folder);
    refuseForeign(node, folder);
    return await openLocked(node, folder, options);
  } catch (error) {
    throw explained(node, folder, error);
  }
}

async function openLocked(
  node: NodePackage,
  folder: string,
  options: PlaceOptions,
): Promise<PeerPlace> {
  const { platform, open, onWarning } = options;
  const lock = await node.acquireFolderLock(folder);
  try {
    // Apps are often ended without a close: that a journal was applied is no warning.
    const log: StoreLog = (level, message) => {
      if (level === "warn") onWarning(message);
    };
    const warning = node.openToOthers(folder);
    if (warning !== undefined) onWarning(warning);
    const opened = await node.createStore(folder, { platform, log, options: {}, open });
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

function refuseForeign({ namesIn, DATA_FILE }: NodePackage, folder: string): void {
  const names = namesIn(folder) ?? [];
  const other = names.find((name) => !IGNORED_NAMES.test(name));
  if (other === undefined || names.includes(DATA_FILE)) return;
  const message = `expected an empty folder or one of a peer at ${folder}, found ${other}`;
  throw new PeerError("store.foreign", message);
}

function make({ makeFolder }: NodePackage, folder: string): void {
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

/** Adds the folder to an error of the system, which names neither the folder nor its purpose. */
function explained({ isFullError }: NodePackage, folder: string, error: unknown): unknown {
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
