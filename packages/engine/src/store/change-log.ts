/**
 * Change log: reads transactions after a cursor, fields before a change, and deltas for replicas.
 *
 * A cursor is (historyId, txnId). The log is bounded, so a cursor may be too old to serve. Then the
 * answer names the reason; it is never an empty list (K25).
 */

import {
  assert,
  beforeStamp,
  type DocumentOperation,
  documentId,
  getField,
  isDocumentOperation,
  type MutableObject,
  type Operation,
  type Site,
  type Stamp,
  setField,
  type Value,
  type ValueObject,
  ZERO,
} from "@bigpeer/protocol";
import { restrict } from "../crdt/delta.ts";
import { type DocumentState, eachStateStamp } from "../crdt/state.ts";
import { stateOfMerge } from "../crdt/state-parts.ts";
import type { KeyRange } from "../platform.ts";
import type { Steps } from "../steps.ts";
import { transactionKey, transactionRange, txnIdOfKey } from "./keys.ts";
import type { Before, Change, Identity, TransactionRecord } from "./records.ts";
import type { View } from "./view.ts";

export interface Cursor {
  readonly historyId: string;
  readonly txnId: number;
}

export interface LoggedTransaction {
  readonly txnId: number;
  readonly record: TransactionRecord;
}

/** `history`: another history; `floor`: the log starts later; `ahead`: not reached yet. */
export type CursorFault = "history" | "floor" | "ahead";

export type ChangesSince =
  | { readonly kind: "changes"; readonly transactions: Iterable<LoggedTransaction> }
  | { readonly kind: "rebase"; readonly reason: CursorFault; readonly logStart: number };

export function changesSince(view: View, identity: Identity, cursor: Cursor): ChangesSince {
  const { floor: logStart, txnId } = view.head;
  const fault = cursorFault(identity, cursor, logStart, txnId);
  if (fault !== undefined) return { kind: "rebase", reason: fault, logStart };
  return { kind: "changes", transactions: transactionsAfter(view, cursor.txnId) };
}

function cursorFault(
  identity: Identity,
  cursor: Cursor,
  logStart: number,
  last: number,
): CursorFault | undefined {
  if (cursor.historyId !== identity.historyId) return "history";
  if (cursor.txnId > last) return "ahead";
  return cursor.txnId < logStart ? "floor" : undefined;
}

function* transactionsAfter(view: View, txnId: number): Iterable<LoggedTransaction> {
  const range = transactionRange(txnId, view.head.txnId);
  for (const { key, value } of view.reader.entries(range)) {
    yield { txnId: txnIdOfKey(key), record: value as unknown as TransactionRecord };
  }
}

export function findTransaction(view: View, txnId: number): TransactionRecord | undefined {
  return view.reader.get(transactionKey(txnId)) as TransactionRecord | undefined;
}

/** The ids of the transactions in a range of the log, in order. */
export function* loggedIds({ reader }: View, range: KeyRange): Iterable<number> {
  for (const key of reader.keys(range)) yield txnIdOfKey(key);
}

/** As findTransaction, with pauses: a transaction may have hundreds of thousands of operations. */
export function* readTransaction(
  { reader }: View,
  txnId: number,
): Steps<TransactionRecord | undefined> {
  const key = transactionKey(txnId);
  const record = reader.getInSteps === undefined ? reader.get(key) : yield* reader.getInSteps(key);
  return record as TransactionRecord | undefined;
}

/** The operation that a change belongs to; it names the document. */
export function operationOfChange(record: TransactionRecord, change: Change): DocumentOperation {
  const operation = operationsOf(record.steps)[change[0]];
  assert(
    operation !== undefined && isDocumentOperation(operation),
    "a change names an operation of its transaction",
  );
  return operation;
}

/** The shown fields before a change, from those after it; undefined when nothing showed. */
export function imageBefore(
  before: Before | null,
  after: ValueObject | undefined,
): ValueObject | undefined {
  if (before === null) return undefined;
  const fields: MutableObject = {};
  for (const name of Object.keys(after ?? {})) {
    if (!before.added.includes(name)) setField(fields, name, getField(after ?? {}, name) as Value);
  }
  for (const name of Object.keys(before.fields)) {
    setField(fields, name, before.fields[name] as Value);
  }
  return fields;
}

/**
 * The delta that a replica at some version of a document must merge. If the log does not reach back
 * to that version, it is the whole state, which replaces the replica's.
 */
export interface DocumentDelta {
  readonly kind: "delta" | "full";
  /** The version that the delta starts from; 0 for a whole state. */
  readonly from: number;
  readonly version: number;
  readonly state: DocumentState;
}

export function deltaSince(
  view: View,
  site: Site,
  document: { readonly collection: string; readonly id: Value },
  from: number,
): DocumentDelta {
  const { state, version } = view.state(document.collection, document.id);
  const full: DocumentDelta = { kind: "full", from: 0, version, state };
  const stamps = from === 0 ? undefined : stampsSince(view, site, document, { from, version });
  if (stamps === undefined) return full;
  const delta = restrict(state, (stamp) => stamps.has(stampName(stamp)));
  return { kind: "delta", from, version, state: delta };
}

/** Follows a document back through the log; undefined when the log does not lead back to `from`. */
function stampsSince(
  view: View,
  site: Site,
  document: { readonly collection: string; readonly id: Value },
  span: { readonly from: number; readonly version: number },
): Map<string, Stamp> | undefined {
  const stamps = new Map<string, Stamp>();
  let version = span.version;
  while (version > span.from) {
    const record = findTransaction(view, version);
    const change = record?.changes.find((each) => isAbout(record, each, document));
    if (record === undefined || change === undefined) return undefined;
    if (!addStamps(record, site, document, stamps)) return undefined;
    version = change[1];
  }
  // Behind the horizon the state may have lost what a transaction wrote.
  const { horizon } = view.head;
  for (const { time } of stamps.values()) if (time > 0 && time <= horizon) return undefined;
  return version === span.from ? stamps : undefined;
}

function isAbout(
  record: TransactionRecord,
  change: Change,
  document: { readonly collection: string; readonly id: Value },
): boolean {
  return isOn(operationOfChange(record, change), document);
}

function isOn(
  operation: Operation,
  document: { readonly collection: string; readonly id: Value },
): boolean {
  if (!isDocumentOperation(operation) || operation.collection !== document.collection) return false;
  return sameId(operation.id, document.id);
}

function sameId(a: Value, b: Value): boolean {
  return a === b || documentId(a).key === documentId(b).key;
}

/** False when an operation leaves no stamps: then only the whole state will do. */
function addStamps(
  record: TransactionRecord,
  site: Site,
  document: { readonly collection: string; readonly id: Value },
  stamps: Map<string, Stamp>,
): boolean {
  const add = (stamp: Stamp): void => {
    stamps.set(stampName(stamp), stamp);
  };
  for (const step of record.steps) {
    const own: Stamp = { time: step.time, site: step.site ?? site };
    for (const operation of step.operations) {
      if (!isOn(operation, document)) continue;
      if (operation.kind === "evict" || operation.kind === "layer") return false;
      if (operation.kind === "merge") {
        eachStateStamp(stateOfMerge(operation.state), add);
      } else {
        const written = operation.kind === "initial" ? ZERO : own;
        add(written);
        add(beforeStamp(written));
      }
    }
  }
  return true;
}

function stampName(stamp: Stamp): string {
  return `${stamp.time}/${stamp.site}`;
}

/** The operations of records that have many steps. */
const allOperations = new WeakMap<TransactionRecord["steps"], readonly Operation[]>();

/** All operations of a transaction in order, which changes name by index. Concatenated once. */
export function operationsOf(steps: TransactionRecord["steps"]): readonly Operation[] {
  const [first] = steps;
  if (first !== undefined && steps.length === 1) return first.operations;
  let operations = allOperations.get(steps);
  if (operations === undefined) {
    operations = steps.flatMap((step) => step.operations);
    allOperations.set(steps, operations);
  }
  return operations;
}
