/**
 * Registry indexes: secondary indexes of the registry's store, and lookups by name and app.
 *
 * They are created when the registry is opened (registry.ts), so a lookup need not scan all apps or
 * keys. Until they exist, lookups do scan. A transaction sees the indexes with its own changes.
 */

import type { StoredDocument, Transaction, View } from "@bigpeer/engine/store";
import { getField, type Value, type ValueObject } from "@bigpeer/protocol";

export interface RegistryIndex {
  readonly collection: string;
  readonly name: string;
  readonly fields: readonly string[];
}

export const APPS = "apps";
export const DELETED_APPS = "deleted_apps";
export const API_KEYS = "api_keys";
export const REPLICATIONS = "replications";
export const REPLICATION_SECRETS = "replication_secrets";
export const WEBHOOKS = "webhooks";
export const SINKS = "sinks";
export const CONSOLE_TOKENS = "console_tokens";
export const CONSOLE_SESSIONS = "console_sessions";

export const APPS_BY_NAME: RegistryIndex = {
  collection: APPS,
  name: "by_name",
  fields: ["name"],
};

export const KEYS_BY_NAME: RegistryIndex = {
  collection: API_KEYS,
  name: "by_app_and_name",
  fields: ["appId", "name"],
};

export const REPLICATIONS_BY_APP: RegistryIndex = {
  collection: REPLICATIONS,
  name: "by_app",
  fields: ["appId"],
};

export const WEBHOOKS_BY_NAME: RegistryIndex = {
  collection: WEBHOOKS,
  name: "by_app_and_name",
  fields: ["appId", "name"],
};

export const SINKS_BY_NAME: RegistryIndex = {
  collection: SINKS,
  name: "by_app_and_name",
  fields: ["appId", "name"],
};

const INDEXES = [APPS_BY_NAME, KEYS_BY_NAME, REPLICATIONS_BY_APP, WEBHOOKS_BY_NAME, SINKS_BY_NAME];

/** Whether the store has all of them. */
export function hasIndexes(view: View): boolean {
  return INDEXES.every(({ collection, name }) => view.index(collection, name) !== undefined);
}

export function makeIndexes(transaction: Transaction): void {
  for (const { collection, name, fields } of INDEXES) {
    const keys = fields.map((field) => ({ path: [field], isDescending: false }));
    transaction.apply([{ kind: "create_index", collection, name, keys }]);
  }
}

/** Ids of the documents whose first indexed fields equal these, in the order of the index. */
export function* idsBy(view: View, by: RegistryIndex, ...equal: string[]): Iterable<Value> {
  const index = view.index(by.collection, by.name);
  if (index !== undefined) {
    for (const { id } of view.scanIndex(index, { equal })) yield id;
    return;
  }
  for (const { id, fields } of view.scan(by.collection)) {
    if (equal.every((value, i) => fields[by.fields[i] ?? ""] === value)) yield id;
  }
}

/** Id and first indexed field of each document, from the index alone if possible. */
export function* namesBy(
  view: View,
  by: RegistryIndex,
): Iterable<{ readonly id: Value; readonly name: Value | undefined }> {
  const index = view.index(by.collection, by.name);
  const nameOf = (fields: ValueObject | undefined): Value | undefined =>
    fields && getField(fields, by.fields[0] ?? "");
  if (index === undefined) {
    for (const { id, fields } of view.scan(by.collection)) yield { id, name: nameOf(fields) };
    return;
  }
  for (const entry of view.scanIndex(index)) {
    const { id } = entry;
    const [name] = entry.values() ?? [nameOf(view.get(by.collection, id)?.fields)];
    yield { id, name };
  }
}

/** As `idsBy`, with the documents. */
export function documentsBy(view: View, by: RegistryIndex, ...equal: string[]): StoredDocument[] {
  return [...idsBy(view, by, ...equal)].flatMap((id) => view.get(by.collection, id) ?? []);
}

/** Number of documents whose first indexed fields equal these. */
export function countBy(view: View, by: RegistryIndex, ...equal: string[]): number {
  return [...idsBy(view, by, ...equal)].length;
}
