/**
 * Log mark: the record in the tree that says up to which entry of the log of a cluster the tree has
 * the writes. It is written in the same LMDB commit as they are.
 *
 * A tree that is written without the log must never be taken for a replica again. So a storage that
 * is opened without it first replaces the mark by one that names no entry.
 */

import type { LogPosition } from "@bigpeer/engine/cluster";
import { encodeCbor, isObject, PeerError } from "@bigpeer/protocol";
import type { JournalTree } from "../journal/journal-tree.ts";
import { contentBeside, recordBeside, type ShapeRecord } from "../lmdb/shape-records.ts";

const MARK_KEY = "log";

const NO_ENTRY = null;

export function encodeLogMark({ sequence, digest, epoch, writer }: LogPosition): ShapeRecord {
  return recordBeside(MARK_KEY, encodeCbor({ sequence, digest, epoch, writer }));
}

/** The position of a tree; undefined when it follows no log. Throws `store.corrupt`. */
export function logPositionOf(tree: JournalTree): LogPosition | undefined {
  const view = tree.view();
  try {
    const record = view.recordBeside(MARK_KEY);
    return record && decodeLogMark(record);
  } finally {
    view.release();
  }
}

/** Makes a tree follow no log any more, durably. No commit may be under way. */
export async function leaveLog(tree: JournalTree): Promise<void> {
  if (logPositionOf(tree) === undefined) return;
  const beside = [recordBeside(MARK_KEY, encodeCbor(NO_ENTRY))];
  await tree.write({ values: [], beside });
}

function decodeLogMark(record: Uint8Array): LogPosition | undefined {
  try {
    const value = contentBeside({ key: MARK_KEY, value: record });
    if (value === NO_ENTRY) return undefined;
    if (!isObject(value)) throw new Error("expected an object");
    const { sequence, digest, epoch, writer } = value;
    if (
      typeof sequence !== "number" ||
      !(digest instanceof Uint8Array) ||
      typeof epoch !== "number" ||
      typeof writer !== "string"
    ) {
      throw new Error("expected the sequence, digest, epoch and writer of an entry");
    }
    return { sequence, digest, epoch, writer };
  } catch (cause) {
    const message = "expected the mark of the log of the cluster that was stored";
    throw new PeerError("store.corrupt", message, { cause });
  }
}
