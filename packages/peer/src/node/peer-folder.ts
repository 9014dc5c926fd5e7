/**
 * Peer folder: opens the folder of a peer, locks it against a second process and detects a copy.
 *
 * A copied folder would write under the site of the original. So it begins a new incarnation.
 * Unsent writes that both have are uploaded once, by whichever connects first (S31).
 */

import { join } from "node:path";
import type { FolderLock, StoreFolder, StoreLog } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { PeerPlace, PlaceOptions } from "../host/peer-host.ts";
import { contentHash } from "./content-hash.ts";
import { loadNodePackage, type NodePackage } from "./node-package.ts";

/**
 * Names that do not make a folder foreign: locks and the probe for space, which a killed process
 * leaves, and what a new disk has.
 */
const IGNORED_NAMES = /^(lock(\..+)?|room\.probe|lost\+found)$/;

/** Folder of the contents of attachments. */
const CONTENTS = "attachments";

/**
 * Throws PeerError `store.in_use` if another process uses the folder, and `config.invalid` if the
 * package that a folder needs is not installed.
 */
export async function openFolder(folder: string, options: PlaceOptions): Promise<PeerPlace> {
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
    node.finishErasing(folder);
    const opened = await node.createStore(folder, { platform, log, options: {}, open });
    opened.protect().catch((error: unknown) => onWarning(`${folder}: ${messageOf(error)}`));
    const contents = await node.ContentFiles.open(join(folder, CONTENTS), contentHash);
    return {
      contents,
      close: () => closeBoth(opened, lock),
      erase: () => closeBoth(opened, lock, () => node.eraseStore(folder)),
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** `between` runs when the store is closed, under the lock. */
async function closeBoth(
  opened: StoreFolder,
  lock: FolderLock,
  between?: () => void,
): Promise<void> {
  try {
    await opened.close();
    between?.();
  } finally {
    await lock.release();
  }
}

function refuseForeign({ namesIn, isErasing, DATA_FILE }: NodePackage, folder: string): void {
  if (isErasing(folder)) return;
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
