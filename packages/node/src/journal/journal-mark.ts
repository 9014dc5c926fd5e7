/**
 * Journal mark: the record in the tree that joins it to its journal. It is written in the same LMDB
 * commit as the entries up to its position.
 */

import { encodeCbor, isObject, PeerError } from "@bigpeer/protocol";
import { contentBeside, recordBeside, type ShapeRecord } from "../lmdb/shape-records.ts";
import { JOURNAL_ID_SIZE } from "./segment-format.ts";

export interface JournalMark {
  readonly journalId: Uint8Array;
  /** The last entry that is in the tree. */
  readonly position: number;
  /** The first segment that is needed for what comes after. */
  readonly segment: number;
  /** Whether the journal may have entries that are not in the tree. */
  readonly isOpen: boolean;
}

export const MARK_KEY = "journal";

export function encodeMark({ journalId, position, segment, isOpen }: JournalMark): ShapeRecord {
  return recordBeside(MARK_KEY, encodeCbor({ id: journalId, position, segment, open: isOpen }));
}

/** `record` is that of a tree; undefined when it has none. Throws `store.corrupt`. */
export function decodeMark(record: Uint8Array | undefined): JournalMark | undefined {
  if (record === undefined) return undefined;
  try {
    const value = contentBeside({ key: MARK_KEY, value: record });
    if (!isObject(value)) throw new Error("expected an object");
    const { id, position, segment, open } = value;
    if (
      !(id instanceof Uint8Array) ||
      id.length !== JOURNAL_ID_SIZE ||
      typeof position !== "number" ||
      typeof segment !== "number" ||
      typeof open !== "boolean"
    ) {
      throw new Error("expected the id, position and segment of a journal");
    }
    return { journalId: id, position, segment, isOpen: open };
  } catch (cause) {
    throw new PeerError("store.corrupt", "expected the mark of the journal that was stored", {
      cause,
    });
  }
}
