/**
 * System collections: virtual collections of the namespace `system` that describe a store.
 *
 * Their documents are generated on read. They are read-only, with two exceptions: DELETE from
 * `active_requests` cancels requests, and DELETE from `request_history` removes finished ones.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { IndexDefinition } from "../../store/index-entry.ts";
import { IDENTITY_KEY } from "../../store/keys.ts";
import type { Identity } from "../../store/records.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import type { DocumentView, Found } from "../frame/document-view.ts";
import type { Steps } from "../frame/steps.ts";
import type { Requests } from "./requests.ts";
import type { Settings } from "./settings.ts";
import { systemDocument } from "./system-document.ts";
import { visibleSettings } from "./visible-settings.ts";

export interface SystemContext {
  /** The documents that the caller may read. */
  readonly view: DocumentView;
  /** The whole store; undefined for a caller who may not read all of it. */
  readonly store: View | undefined;
  /** Whether the caller has full access. */
  readonly isFull: boolean;
  /** Shows only the requests of this credential. Default: those of all callers. */
  readonly credential?: string | undefined;
  readonly settings: Settings;
  readonly requests: Requests;
  readonly appId: string;
  /** Wall clock in milliseconds since 1970. */
  readonly nowMs: number;
  readonly systemData?: SystemData;
}

/** Data that only the host of the engine has, such as the server. */
export interface SystemData {
  /** More rows for `system:system_info`. */
  info?(): Iterable<InfoFact>;
  /** Rows of the collections that `HOSTED` lists. */
  rows?(collection: string): Iterable<SystemRow>;
  /** Explains why a document is on a peer or not, in steps; undefined where no peers sync. */
  explainSync?(request: ExplainSyncRequest): Steps<readonly ValueObject[]>;
}

export interface ExplainSyncRequest {
  readonly collection: string;
  /** Id in canonical form. */
  readonly id: Value;
  readonly peerKey: string;
}

export interface InfoFact {
  readonly namespace: string;
  readonly key: string;
  readonly value: Value;
}

export interface SystemRow {
  readonly id: Value;
  /** Fields without `_id`. */
  readonly fields: ValueObject;
}

export interface SystemCollection {
  /** Name without the namespace. */
  readonly name: string;
  readonly rows: (context: SystemContext) => Found<StoredDocument>;
  /** Deletes documents and returns the ids of those that existed. Undefined if read-only. */
  readonly remove?: (context: SystemContext, ids: Iterable<Value>) => readonly Value[];
}

const DUAL: StoredDocument = systemDocument("1", { dummy: "X" });

/** Collections whose rows come from the host. */
const HOSTED = [
  "data_sync_info",
  "metrics",
  "peers",
  "refused_writes",
  "shared_statements",
] as const;

const COLLECTIONS: readonly SystemCollection[] = [
  { name: "dual", rows: () => [DUAL] },
  { name: "collections", rows: collectionRows },
  { name: "all_collections", rows: allCollectionRows },
  { name: "indexes", rows: indexRows },
  { name: "system_info", rows: infoRows },
  { name: "vitals", rows: vitalRows },
  {
    name: "active_requests",
    rows: ({ requests, credential }) => requests.activeRows(credential),
    remove: ({ requests, credential }, ids) => requests.cancelAll(ids, credential),
  },
  {
    name: "request_history",
    rows: ({ requests, credential }) => requests.historyRows(credential),
    remove: ({ requests, credential }, ids) => requests.remove(ids, credential),
  },
  ...HOSTED.map((name) => ({
    name,
    rows: (context: SystemContext) => hostedRows(context, name),
  })),
];

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["actives", "active_requests"],
  ["completed_requests", "request_history"],
]);

const BY_NAME: ReadonlyMap<string, SystemCollection> = new Map(
  COLLECTIONS.map((collection) => [collection.name, collection]),
);

/** Finds a system collection by its name without the namespace. */
export function systemCollection(name: string): SystemCollection | undefined {
  return BY_NAME.get(ALIASES.get(name) ?? name);
}

/** Names of all system collections, without the namespace and without aliases. */
export function systemCollectionNames(): readonly string[] {
  return COLLECTIONS.map(({ name }) => name);
}

function* collectionRows({ view }: SystemContext): Found<StoredDocument> {
  for (const name of view.collections()) {
    yield name === undefined ? undefined : systemDocument(name, { name });
  }
}

function* allCollectionRows({ view }: SystemContext): Found<StoredDocument> {
  for (const name of view.collections()) {
    yield name === undefined ? undefined : namespaceRow("default", name);
  }
  for (const name of [...BY_NAME.keys()].sort()) yield namespaceRow("system", name);
}

function namespaceRow(namespace: string, name: string): StoredDocument {
  return systemDocument(`${namespace}:${name}`, { namespace, name });
}

function* indexRows({ view }: SystemContext): Found<StoredDocument> {
  for (const index of view.indexes()) yield index && indexRow(index, view);
}

function indexRow(index: IndexDefinition, view: DocumentView): StoredDocument {
  const { collection, name, keys } = index;
  const fields = keys.map(({ path, isDescending }) => ({
    direction: isDescending ? "desc" : "asc",
    key: path,
  }));
  const row = { collection, fields, ...buildFields(index, view) };
  return systemDocument(`${collection}.${name}`, row);
}

/** Progress of an index build. It shows the size, so it needs full read access. */
function buildFields({ collection, building }: IndexDefinition, view: DocumentView): ValueObject {
  const total = building === undefined ? undefined : view.count(collection);
  if (building === undefined || total === undefined) return {};
  // Some of the finished documents may be deleted since.
  return { state: "building", progress: { done: Math.min(building.done, total), total } };
}

function* infoRows(context: SystemContext): Found<StoredDocument> {
  for (const fact of ownFacts(context)) yield fact && infoRow(fact, context.nowMs);
  for (const fact of context.systemData?.info?.() ?? []) {
    // Other facts of the host may concern documents that the caller must not see.
    const isVisible = context.store !== undefined || fact.namespace === "core";
    if (isVisible) yield infoRow(fact, context.nowMs);
  }
}

function infoRow({ namespace, key, value }: InfoFact, timestamp: number): StoredDocument {
  return systemDocument(`${namespace}:${key}`, { namespace, key, value, timestamp });
}

function* ownFacts(context: SystemContext): Found<InfoFact> {
  const { view, store, settings, appId } = context;
  yield { namespace: "core", key: "app_id", value: appId };
  const changed = Object.fromEntries(settings.changed());
  for (const [name, value] of Object.entries(visibleSettings(changed, context))) {
    yield { namespace: "core", key: `non_default_system_parameter[${name}]`, value };
  }
  for (const [key, value] of storeFacts(store)) yield { namespace: "store", key, value };
  for (const name of view.collections()) {
    if (name === undefined) yield undefined;
    else yield* countFact(view, name);
  }
  const parameter = "user_collection_sync_scopes";
  const scopes = visibleSettings(settings.show(parameter), context)[parameter] as ValueObject;
  for (const [collection, value] of Object.entries(scopes)) {
    yield { namespace: "sync_scopes", key: collection, value };
  }
}

function* countFact(view: DocumentView, name: string): Found<InfoFact> {
  let value = view.count(name);
  if (value === undefined) {
    value = 0;
    for (const document of view.scan(name)) {
      if (document === undefined) yield undefined;
      else value++;
    }
  }
  yield { namespace: "store", key: `collection_num_docs[${name}]`, value };
}

function storeFacts(store: View | undefined): readonly (readonly [key: string, value: Value])[] {
  if (store === undefined) return [];
  const { txnId, floor, logCount, logBytes } = store.head;
  const identity = store.reader.get(IDENTITY_KEY) as Identity;
  return [
    ["format_version", identity.format],
    ["history_id", identity.historyId],
    ["site", identity.site],
    ["transaction_id", txnId],
    ["change_log_floor", floor],
    ["change_log_transactions", logCount],
    ["change_log_bytes", logBytes],
    ["collections", store.collections().length],
  ];
}

/** Some statistics, one row each, followed by those of the host. */
function* vitalRows(context: SystemContext): Iterable<StoredDocument> {
  const { store, requests, nowMs } = context;
  if (store === undefined) return;
  const { active, completed, failed, remembered } = requests.totals;
  const numbers: ValueObject = {
    transaction_id: store.head.txnId,
    requests_active: active,
    requests_completed: completed,
    requests_failed: failed,
    requests_remembered: remembered,
  };
  for (const [name, value] of Object.entries(numbers)) {
    yield systemDocument(name, { value, timestamp: nowMs });
  }
  yield* hostedRows(context, "vitals");
}

/** Rows of the host, about all requests and peers; statement texts also reveal written data. */
function* hostedRows(context: SystemContext, name: string): Iterable<StoredDocument> {
  const { systemData, store, isFull } = context;
  if (store === undefined || (name === "shared_statements" && !isFull)) return;
  for (const { id, fields } of systemData?.rows?.(name) ?? []) yield systemDocument(id, fields);
}
