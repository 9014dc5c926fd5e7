/**
 * Audit logs: who changed what in the registry, and who ran which statement on connected peers,
 * without secrets.
 *
 * Each change adds a document to the collection `audit` in its own transaction, so neither exists
 * without the other (M29). Runs and the uses of data by the console have collections of their own
 * (M32, M57), so they never displace changes. Ids are consecutive numbers; beyond the limit the oldest entries are removed.
 */

import type { Store, StoredDocument, Transaction, View } from "@bigpeer/engine/store";
import {
  equalValues,
  getField,
  PeerError,
  stringifyJson,
  type ValueObject,
} from "@bigpeer/protocol";
import { AUDIT_ENTRIES_MAX } from "../limits/limits.ts";

/** Actor of a change, with its request. */
export interface Author {
  readonly actor: string;
  readonly requestId?: string;
  /** Address of the client. */
  readonly address?: string;
}

/** Author of changes that the server makes by itself. */
export const SERVER: Author = { actor: "server" };

export interface AuditEntry {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly actor: string;
  /** Such as `app.create`, `apiKey.rotate` or `provider.replace`. */
  readonly action: string;
  /** Such as `app/shop/apiKey/till`. */
  readonly target: string;
  readonly requestId?: string;
  readonly address?: string;
  readonly detail?: string;
}

/** Action as the code that changes something describes it. */
export type AuditAction = Pick<AuditEntry, "action" | "target" | "detail">;

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Number of entries on all pages. */
  readonly total: number;
}

const AUDIT = "audit";

/** Collections of the logs, by kind. */
export const AUDIT_LOGS: Readonly<Record<AuditedKind, string>> = {
  changes: AUDIT,
  runs: "remote_audit",
  statements: "statement_audit",
};

export type AuditedKind = "changes" | "runs" | "statements";

export class AuditLog {
  readonly #store: Store;
  readonly #collection: string;

  constructor(store: Store, kind: AuditedKind) {
    this.#store = store;
    this.#collection = AUDIT_LOGS[kind];
  }

  /** Newest first. The first page is 1. */
  list({ page, size }: { readonly page: number; readonly size: number }): AuditPage {
    return this.#store.read((view) => {
      const collection = this.#collection;
      const total = view.count(collection);
      const last = lastNumber(view, collection);
      const high = { value: last - (page - 1) * size, isIncluded: true };
      const entries: AuditEntry[] = [];
      for (const document of view.scan(collection, { high, reverse: true })) {
        if (entries.length >= size) break;
        entries.push(entryOf(document));
      }
      return { entries, total };
    });
  }
}

/** Whether nothing was ever changed, not even by the first start. */
export function isUntouched(view: View): boolean {
  return view.count(AUDIT) === 0;
}

/** Adds the entry of an action to its transaction. Only RegistryStore calls it. */
export function recordAction(
  transaction: Transaction,
  author: Author,
  audited: AuditAction,
  kind: AuditedKind = "changes",
): void {
  const collection = AUDIT_LOGS[kind];
  const id = lastNumber(transaction.view, collection) + 1;
  const { actor, requestId, address } = author;
  const { action, target, detail } = audited;
  const fields: ValueObject = {
    at: transaction.nowMs,
    actor,
    action,
    target,
    ...(requestId !== undefined && { requestId }),
    ...(address !== undefined && { address }),
    ...(detail !== undefined && { detail }),
  };
  const high = { value: id - AUDIT_ENTRIES_MAX, isIncluded: true };
  const forgotten = [...transaction.view.scanIds(collection, { high })];
  transaction.apply([
    { kind: "insert", collection, id, fields },
    // No other replica has a copy, so no tombstone is needed.
    ...forgotten.map((old) => ({ kind: "evict" as const, collection, id: old })),
  ]);
}

/** Names of the fields that differ, for the detail of an action. */
export function changedFields(before: ValueObject, after: ValueObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !equalValues(getField(before, name), getField(after, name)));
}

/** 0 when the log is empty. */
function lastNumber(view: View, collection: string): number {
  for (const id of view.scanIds(collection, { reverse: true })) return Number(id);
  return 0;
}

function entryOf({ id, fields }: StoredDocument): AuditEntry {
  const { at, actor, action, target, requestId, address, detail } = fields;
  if (
    typeof at !== "number" ||
    typeof actor !== "string" ||
    typeof action !== "string" ||
    typeof target !== "string"
  ) {
    const message = `expected an entry of the audit log with the id ${stringifyJson(id)}`;
    throw new PeerError("store.corrupt", message);
  }
  return {
    at,
    actor,
    action,
    target,
    ...(typeof requestId === "string" && { requestId }),
    ...(typeof address === "string" && { address }),
    ...(typeof detail === "string" && { detail }),
  };
}
