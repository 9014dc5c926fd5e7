/**
 * Cursor: the position of a reader of changes, as text.
 *
 *   <historyId>.<txnId>            everything up to this transaction
 *   <historyId>.<txnId>.<index>    everything before it, and its changes up to this one
 *   <historyId>.<txnId>.r<row>     the rows of this state up to this one, while they are sent first
 *
 * The nodes of a cluster have one history and the same transactions, so a cursor holds on each.
 */

import { PeerError } from "@bigpeer/protocol";
import type { CursorFault } from "../store/change-log.ts";

/** The last row that was sent. Rows come by collection, then by the key of their id. */
export interface RowPlace {
  readonly collection: string;
  readonly idKey: string;
}

export interface Position {
  readonly txnId: number;
  /** Index of the last change of the transaction that was sent; absent for all of them. */
  readonly index?: number | undefined;
  /** Present while the rows of the state after the transaction are sent. */
  readonly row?: RowPlace | undefined;
}

/** The log does not have a position: it was trimmed, or is that of another history. */
export class ChangesGone extends PeerError {
  readonly goneReason: CursorFault;
  /** Cursor of the oldest position that the log still has. */
  readonly oldest: string;

  /** PeerError is recognised by its name, so this one is by its code. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof PeerError && value.code === "changes.gone";
  }

  constructor(reason: CursorFault, oldest: string) {
    super("changes.gone", MESSAGES[reason]);
    this.goneReason = reason;
    this.oldest = oldest;
  }
}

const MESSAGES: { readonly [reason in CursorFault]: string } = {
  floor: "the log no longer has this position; read the rows again, or continue from `oldest`",
  history:
    "the cursor is of another history, because the app was restored or copied; read the rows again",
  ahead: "the cursor is ahead of the log",
};

export function cursorText(historyId: string, { txnId, index, row }: Position): string {
  const text = `${historyId}.${txnId}`;
  if (row !== undefined) return `${text}.r${rowText(row)}`;
  return index === undefined ? text : `${text}.${index}`;
}

const CURSOR =
  /^([0-9a-f]{32})\.(\d{1,16})(?:\.(?:(\d{1,9})|r((?:[0-9a-f]{4})*)-((?:[0-9a-f]{2})*)))?$/;

/** The history and the position in a cursor. Throws `changes.cursor`. */
export function readCursor(text: string): { readonly historyId: string; readonly at: Position } {
  const [whole, historyId = "", txn, index, collection, idKey] = CURSOR.exec(text) ?? [];
  const txnId = Number(txn);
  if (whole === undefined || !Number.isSafeInteger(txnId)) throw noCursor();
  if (collection !== undefined && idKey !== undefined) {
    const row = {
      collection: fromHex(collection, UNIT_DIGITS),
      idKey: fromHex(idKey, BYTE_DIGITS),
    };
    return { historyId, at: { txnId, row } };
  }
  return { historyId, at: index === undefined ? { txnId } : { txnId, index: Number(index) } };
}

/** Negative if `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  if (a.txnId !== b.txnId) return a.txnId - b.txnId;
  const { index: left = Number.POSITIVE_INFINITY } = a;
  const { index: right = Number.POSITIVE_INFINITY } = b;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Whether a row comes after another one. */
export function isAfter(a: RowPlace, b: RowPlace): boolean {
  return a.collection === b.collection ? a.idKey > b.idKey : a.collection > b.collection;
}

function noCursor(): PeerError {
  const message = "expected a cursor that a line of changes had, or 0 for the oldest position";
  return new PeerError("changes.cursor", message, { at: "since" });
}

/** Digits of a character: the key of an id is bytes, the name of a collection any text. */
const BYTE_DIGITS = 2;
const UNIT_DIGITS = 4;

/** Hexadecimal: it needs no escape in a URL, a header or JSON. */
function rowText({ collection, idKey }: RowPlace): string {
  return `${toHex(collection, UNIT_DIGITS)}-${toHex(idKey, BYTE_DIGITS)}`;
}

function toHex(text: string, digits: number): string {
  let hex = "";
  for (let i = 0; i < text.length; i++) {
    hex += text.charCodeAt(i).toString(16).padStart(digits, "0");
  }
  return hex;
}

function fromHex(hex: string, digits: number): string {
  let text = "";
  for (let i = 0; i < hex.length; i += digits) {
    text += String.fromCharCode(Number.parseInt(hex.slice(i, i + digits), 16));
  }
  return text;
}
