/**
 * Incarnation: detects whether the data file of a store is still the one that this store wrote.
 *
 * A history and a site belong to one incarnation of one store (engine, store/identity.ts). A copied
 * folder, or an older data file put in place, would continue under the same two names. So
 * `life.json` beside the data file records where the incarnation was last seen: the file itself
 * (its inode and creation time, which every copy changes and no restart does), its history, and a
 * transaction that it has reached, below which it cannot fall.
 *
 * The record follows the store: it is written when what it says is durable. A crash in between
 * causes one more new incarnation, never two stores with one. Only for a new store the file alone
 * is recorded first, so that a crash in between does not make it look like a copy.
 * docs/decisions/0003-copied-folders.md states the cost.
 */

import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isObject, type ValueObject } from "@bigpeer/protocol";
import { syncFolder } from "./disk.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import { DATA_FILE } from "./lmdb/lmdb-file.ts";

/** Position of a store: its history and last transaction. */
export interface Standing {
  readonly historyId: string;
  readonly txnId: number;
}

const LIFE_FILE = "life.json";

interface FileMark {
  /** As text: file systems use all 64 bits. */
  readonly inode: string;
  readonly birthNs: string;
  /** False if the kernel knows no creation time: Node then gives the time of the last change. */
  readonly hasBirth: boolean;
}

/** Why the store in `folder` cannot continue its incarnation; undefined when it can. */
export function findLostIncarnation(folder: string, standing: Standing): string | undefined {
  const recorded = readIncarnation(folder);
  if (recorded === undefined) return "nothing tells that its data file was written here";
  const { inode, birthNs, historyId, txnId } = recorded;
  const mark = readMark(folder);
  if (inode !== mark.inode || (mark.hasBirth && birthNs !== mark.birthNs)) {
    return "its data file is not the one that was written here";
  }
  // The store was created in this very file, and its process ended before it recorded more.
  if (isBegun(recorded)) return undefined;
  if (historyId !== standing.historyId) return "its data file is of another history";
  if (typeof txnId !== "number" || txnId > standing.txnId) {
    return `its data file is an older one, of transaction ${standing.txnId}`;
  }
  return undefined;
}

/** Records that a store is about to be created in the data file of `folder`. */
export function beginIncarnation(folder: string): void {
  const { inode, birthNs } = readMark(folder);
  writeJsonFile(join(folder, LIFE_FILE), { inode, birthNs });
}

/** Records that the store in `folder` has reached `standing`, which must be durable. */
export function recordIncarnation(folder: string, standing: Standing): void {
  const { inode, birthNs } = readMark(folder);
  const { historyId, txnId } = standing;
  writeJsonFile(join(folder, LIFE_FILE), { inode, birthNs, historyId, txnId });
}

/**
 * Removes the record, durably: the history of the store in `folder` belongs to the log of a cluster
 * from now on. If the store is opened without the log, it starts a new incarnation.
 */
export function forgetIncarnation(folder: string): void {
  rmSync(join(folder, LIFE_FILE), { force: true });
  syncFolder(folder);
}

/** Time of the last record, by the clock of the file system; undefined where there is none. */
export function lastSeenMs(folder: string): number | undefined {
  return statSync(join(folder, LIFE_FILE), { throwIfNoEntry: false })?.mtimeMs;
}

/** Whether a store was ever completely created in `folder`, or its record cannot be read. */
export function hasIncarnation(folder: string): boolean {
  const recorded = readIncarnation(folder);
  return recorded === undefined ? lastSeenMs(folder) !== undefined : !isBegun(recorded);
}

function isBegun({ historyId, txnId }: ValueObject): boolean {
  return historyId === undefined && txnId === undefined;
}

function readIncarnation(folder: string): ValueObject | undefined {
  try {
    const content = readJsonFile(join(folder, LIFE_FILE));
    return isObject(content) ? content : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function readMark(folder: string): FileMark {
  const { ino, birthtimeNs, ctimeNs } = statSync(join(folder, DATA_FILE), { bigint: true });
  const hasBirth = birthtimeNs !== 0n && birthtimeNs !== ctimeNs;
  return { inode: String(ino), birthNs: String(birthtimeNs), hasBirth };
}
