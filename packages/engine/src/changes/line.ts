/**
 * Lines: the changes as readers get them, and their JSON text.
 *
 * The texts of a change are made once for all readers: a line of one reader is put together from
 * them.
 */

import {
  type MutableObject,
  setField,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { civilOf } from "../query/date/moment.ts";
import { wholeDocument } from "../query/frame/whole-document.ts";
import type { StoredDocument } from "../store/view.ts";
import { cursorText, type Position } from "./cursor.ts";
import type { LoggedChange, TransactionNames } from "./logged-changes.ts";
import type { ChangeLine, ChangeType, ChangeView, FeedLine } from "./reader.ts";

/** How a document matched before and after a change. */
export type MatchKind = "enter" | "stay" | "leave";

/** A change as it becomes the lines of readers. */
export interface ChangeTexts {
  readonly change: LoggedChange;
  /** By name of the part. */
  readonly parts: Map<string, string>;
}

export function textsOf(change: LoggedChange): ChangeTexts {
  return { change, parts: new Map() };
}

/** A line, or the end of a transaction, with its place in the feed. */
export class PlacedLine implements FeedLine {
  readonly at: Position;
  readonly change: ChangeLine | undefined;
  readonly json: string;
  readonly #historyId: string;
  #cursor: string | undefined;

  constructor(historyId: string, at: Position, change: ChangeLine | undefined, json: string) {
    this.#historyId = historyId;
    this.at = at;
    this.change = change;
    this.json = json;
  }

  get txnId(): number {
    return this.at.txnId;
  }

  get cursor(): string {
    return (this.#cursor ??= cursorText(this.#historyId, this.at));
  }
}

export interface LineOptions {
  readonly historyId: string;
  readonly view: ChangeView;
  readonly isNamingWriters: boolean;
}

export function changeLine(
  { change, parts }: ChangeTexts,
  kind: MatchKind,
  { historyId, view, isNamingWriters }: LineOptions,
): PlacedLine {
  const { transaction, index, collection, id } = change;
  const by = isNamingWriters ? (transaction.by ?? null) : null;
  const type = typeOf(kind, change);
  const document = documentOf(type, change, view);
  const before = beforeOf(type, change, view);
  const line: ChangeLine = {
    type,
    collection,
    id,
    txnId: transaction.txnId,
    at: timeOf(transaction),
    by,
    ...(document !== undefined && { document: document.value }),
    ...(before !== undefined && { before: before.value }),
  };
  const part = (name: string, make: () => Value): string => {
    const known = parts.get(name);
    if (known !== undefined) return known;
    const text = stringifyJson(make());
    parts.set(name, text);
    return text;
  };
  const names = part(`names ${by === null ? "" : "by"}`, () => {
    const { txnId, at } = line;
    return { collection, id, txnId, at, by };
  });
  let json = `{"type":"${type}",${names.slice(1, -1)}`;
  if (document !== undefined) json += `,"document":${part(document.name, () => document.value)}`;
  if (before !== undefined) json += `,"before":${part(before.name, () => before.value)}`;
  const at = { txnId: transaction.txnId, index };
  return new PlacedLine(historyId, at, line, `${json}}`);
}

/** A row of the state at a position: at the beginning, or because the permissions changed. */
export function rowLine(
  historyId: string,
  at: Position,
  row: {
    readonly type: "insert" | "leave";
    readonly collection: string;
    readonly document: StoredDocument;
    readonly isInitial: boolean;
    readonly nowMs: number;
  },
): PlacedLine {
  const { type, collection, document, isInitial, nowMs } = row;
  const line: ChangeLine = {
    type,
    collection,
    id: document.id,
    txnId: at.txnId,
    at: isoTime(nowMs),
    by: null,
    ...(type === "insert" && { document: wholeDocument(document) }),
    ...(isInitial && { initial: true }),
  };
  return new PlacedLine(historyId, at, line, stringifyJson(line as unknown as Value));
}

/** The marker behind the last line of a transaction. */
export function endLine(historyId: string, txnId: number): PlacedLine {
  return new PlacedLine(
    historyId,
    { txnId },
    undefined,
    `{"marker":"transaction","txnId":${txnId}}`,
  );
}

function typeOf(kind: MatchKind, { after, isEvicted }: LoggedChange): ChangeType {
  if (kind === "enter") return "insert";
  if (kind === "stay") return "update";
  return after === undefined && !isEvicted ? "delete" : "leave";
}

interface Part {
  readonly name: string;
  readonly value: ValueObject;
}

function documentOf(type: ChangeType, change: LoggedChange, view: ChangeView): Part | undefined {
  const { after } = change;
  if (after === undefined || type === "delete" || type === "leave") return undefined;
  if (type === "insert" || view === "document") {
    return { name: "document", value: wholeDocument(after) };
  }
  return { name: "changed", value: changedOf(after, change) };
}

/** A document that a reader had is known to it: so it may see what it was. */
function beforeOf(type: ChangeType, change: LoggedChange, view: ChangeView): Part | undefined {
  const { before } = change;
  if (before === undefined || type === "insert") return undefined;
  if (view === "document") return { name: "before", value: wholeDocument(before) };
  // Which fields changed is known of the new document, which the reader must not see.
  return type === "update" ? { name: "removed", value: changedOf(before, change) } : undefined;
}

/** The changed fields of a document. */
function changedOf({ fields }: StoredDocument, { removed }: LoggedChange): ValueObject {
  const changed: MutableObject = {};
  const names = [...Object.keys(removed?.fields ?? {}), ...(removed?.added ?? [])];
  for (const name of names) {
    if (Object.hasOwn(fields, name)) setField(changed, name, fields[name] as Value);
  }
  return changed;
}

const TIMES = new WeakMap<TransactionNames, string>();

function timeOf(transaction: TransactionNames): string {
  const known = TIMES.get(transaction);
  if (known !== undefined) return known;
  const text = isoTime(transaction.at);
  TIMES.set(transaction, text);
  return text;
}

/** As JavaScript writes a time: with milliseconds, in UTC. */
function isoTime(atMs: number): string {
  const time = civilOf({ ms: Math.floor(atMs), nanos: 0, offset: 0 });
  const { year, month, day, hour, minute, second, millisecond } = time;
  const date = `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
  return `${date}T${padded(hour, 2)}:${padded(minute, 2)}:${padded(second, 2)}.${padded(millisecond, 3)}Z`;
}

function padded(value: number, length: number): string {
  return String(value).padStart(length, "0");
}
