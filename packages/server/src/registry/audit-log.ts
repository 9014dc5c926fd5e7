/**
 * Audit logs: who changed what in the registry, and who ran what on connected peers. No secrets.
 *
 * One document for each change in the collection `audit`, written in the transaction of the change:
 * so there is no change without its entry and no entry without its change. Runs have a collection of
 * their own, so that however many there are, no change is forgotten because of them. The ids are
 * consecutive numbers; what is beyond the limit is forgotten from the oldest on.
 */

import type { Store, StoredDocument, Transaction, View } from "@bigpeer/engine";
import {
  equalValues,
  getField,
  PeerError,
  stringifyJson,
  type ValueObject,
} from "@bigpeer/protocol";
import { AUDIT_ENTRIES_MAX } from "../limits.ts";

/** Who changes something. */
export interface Author {
  readonly actor: string;
  readonly requestId?: string;
  /** Where the request came from. */
  readonly address?: string;
}

/** The author of what nobody asked for. */
export const SERVER: Author = { actor: "server" };

export interface AuditEntry {
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly actor: string;
  /** What was done: `app.create`, `apiKey.rotate`, `provider.replace`. */
  readonly action: string;
  /** To what: `app/shop/apiKey/till`. */
  readonly target: string;
  readonly requestId?: string;
  readonly address?: string;
  readonly detail?: string;
}

/** A change, as whoever makes it describes it. */
export type Deed = Pick<AuditEntry, "action" | "target" | "detail">;

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Over all pages. */
  readonly total: number;
}

const AUDIT = "audit";

/** The logs, by what they are about. */
export const AUDIT_LOGS: Readonly<Record<AuditedKind, string>> = {
  changes: AUDIT,
  runs: "remote_audit",
};

export type AuditedKind = "changes" | "runs";

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

/** Adds the entry of what `transaction` does. Only RegistryStore does. */
export function recordDeed(
  transaction: Transaction,
  author: Author,
  deed: Deed,
  kind: AuditedKind = "changes",
): void {
  const collection = AUDIT_LOGS[kind];
  const id = lastNumber(transaction.view, collection) + 1;
  const { actor, requestId, address } = author;
  const { action, target, detail } = deed;
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
    // Nobody else has a copy that would have to hear of it: no tombstones.
    ...forgotten.map((old) => ({ kind: "evict" as const, collection, id: old })),
  ]);
}

/** What a deed tells of a change: the names of the fields that one has and the other has not so. */
export function changedFields(before: ValueObject, after: ValueObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !equalValues(getField(before, name), getField(after, name)));
}

/** 0 before the first entry. */
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
