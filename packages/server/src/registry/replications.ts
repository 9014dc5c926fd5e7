/**
 * Replications: creates, changes and deletes the replications of apps: to which Big Peers the
 * server connects, and which documents it requests.
 *
 * Each one is a document in the collection `replications`. Its id is its name, which is unique in
 * the Big Peer. Each change is one transaction of the registry's store, with its audit entry.
 */

import { checkFilter } from "@bigpeer/engine/query";
import type { View } from "@bigpeer/engine/store";
import {
  checkCollection,
  getField,
  isArray,
  isObject,
  type Operation,
  PeerError,
  setField,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import {
  REPLICATION_ADDRESSES_MAX,
  REPLICATION_QUERIES_MAX,
  REPLICATIONS_MAX,
} from "../limits/limits.ts";
import { isName } from "../validation/name.ts";
import { checkAddress } from "./address.ts";
import { checkApp, nameOfApp, targetOfApp } from "./apps.ts";
import { type Author, changedFields } from "./audit-log.ts";
import { checkName } from "./name-check.ts";
import { checked, checkRoom, checkSize, RegistryFault, shown } from "./registry-fault.ts";
import { countBy, documentsBy, REPLICATIONS, REPLICATIONS_BY_APP } from "./registry-index.ts";
import { noChange, type RegistryStore } from "./registry-store.ts";

/** Virtual collections of the server, which no other Big Peer has. */
const SYSTEM = /^system:/;

export interface Replication {
  readonly name: string;
  readonly appId: string;
  /** `host:port`, without duplicates. If empty, the other Big Peers must connect. */
  readonly connections: readonly string[];
  readonly queriesByCollection: QueriesByCollection;
  /** `eager`: contents of attachments arrive with their documents; absent: on demand (M36). */
  readonly attachments?: "eager";
}

export interface QueriesByCollection {
  readonly [collection: string]: readonly string[];
}

/** An absent field stays as it is; null clears it (M25). */
export interface ReplicationChange {
  readonly connections?: readonly string[] | null;
  readonly queriesByCollection?: QueriesByCollection | null;
  readonly attachments?: "onDemand" | "eager" | null;
}

export class Replications {
  readonly #store: RegistryStore;

  constructor(store: RegistryStore) {
    this.#store = store;
  }

  /** Replications of an app in the order of their names. */
  list(appId: string): readonly Replication[] {
    const documents = this.#store.read((view) => documentsBy(view, REPLICATIONS_BY_APP, appId));
    return documents.map(({ id, fields }) => replicationOf(id, fields));
  }

  /** Replications of all apps in the order of their names. */
  all(): readonly Replication[] {
    const documents = this.#store.read((view) => [...view.scan(REPLICATIONS)]);
    return documents.map(({ id, fields }) => replicationOf(id, fields));
  }

  /** Throws BigPeerReplicationNotFound, or AppNameMismatch when it belongs to another app (M26). */
  get(appId: string, name: string): Replication {
    return this.#store.read((view) => replicationNamed(view, appId, name));
  }

  create(
    appId: string,
    given: ReplicationChange & { readonly name: string },
    author: Author,
  ): Promise<Replication> {
    const { name } = given;
    return this.#store.change(author, (view) => {
      checkApp(view, appId);
      checkNew(view, appId, name);
      const none = { name, appId, connections: [], queriesByCollection: {} };
      const replication = changed(none, given);
      const target = targetOf(view, replication);
      return {
        operations: [putOperation(replication)],
        actions: [{ action: "bigPeerReplication.create", target }],
        result: replication,
      };
    });
  }

  update(
    appId: string,
    name: string,
    change: ReplicationChange,
    author: Author,
  ): Promise<Replication> {
    return this.#store.change(author, (view) => {
      const before = replicationNamed(view, appId, name);
      const replication = changed(before, change);
      const fields = changedFields(fieldsOf(before), fieldsOf(replication));
      if (fields.length === 0) return noChange(before);
      const target = targetOf(view, replication);
      const detail = fields.join(", ");
      return {
        operations: [putOperation(replication)],
        actions: [{ action: "bigPeerReplication.update", target, detail }],
        result: replication,
      };
    });
  }

  remove(appId: string, name: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      const target = targetOf(view, replicationNamed(view, appId, name));
      return {
        operations: [{ kind: "delete", collection: REPLICATIONS, id: name }],
        actions: [{ action: "bigPeerReplication.delete", target }],
        result: undefined,
      };
    });
  }
}

/** Name of a replication in the audit log. */
function targetOf(view: View, { appId, name }: Replication): string {
  return `${targetOfApp(nameOfApp(view, appId) ?? appId)}/bigPeerReplication/${name}`;
}

/** Replaces the whole document. */
function putOperation(replication: Replication): Operation {
  const fields = fieldsOf(replication);
  return { kind: "insert", collection: REPLICATIONS, id: replication.name, fields, clean: true };
}

function fieldsOf(replication: Replication): ValueObject {
  const { appId, connections, queriesByCollection, attachments } = replication;
  const fields = { appId, connections, queriesByCollection };
  return attachments === undefined ? fields : { ...fields, attachments };
}

function replicationNamed(view: View, appId: string, name: string): Replication {
  const document = isName(name) ? view.get(REPLICATIONS, name) : undefined;
  if (document === undefined) {
    const message = `there is no replication named ${shown(name)}`;
    throw new RegistryFault("BigPeerReplicationNotFound", message);
  }
  const replication = replicationOf(document.id, document.fields);
  if (replication.appId === appId) return replication;
  const message = `the replication ${shown(name)} is one of another app`;
  throw new RegistryFault("AppNameMismatch", message);
}

function checkNew(view: View, appId: string, name: string): void {
  checkName(name, "a replication");
  if (view.get(REPLICATIONS, name) !== undefined) {
    const message = `the Big Peer has a replication with the name ${shown(name)}`;
    throw new RegistryFault("BigPeerReplicationNameNotUnique", message);
  }
  const count = countBy(view, REPLICATIONS_BY_APP, appId);
  checkRoom(count + 1, REPLICATIONS_MAX, "replications of an app");
}

function changed(before: Replication, change: ReplicationChange): Replication {
  const { connections, queriesByCollection } = change;
  const { attachments: attachmentsBefore = null, ...rest } = before;
  const { attachments = attachmentsBefore } = change;
  return {
    ...rest,
    ...(attachments === "eager" && { attachments }),
    ...(connections !== undefined && { connections: checkedAddresses(connections ?? []) }),
    ...(queriesByCollection !== undefined && {
      queriesByCollection: checkedQueries(queriesByCollection ?? {}),
    }),
  };
}

/** Removes duplicates, keeping the first; host names are case-insensitive. */
function checkedAddresses(given: readonly string[]): readonly string[] {
  const addresses = new Map<string, string>();
  for (const [i, address] of given.entries()) {
    checkAddress(address, `connections[${i}]`);
    const key = address.toLowerCase();
    if (!addresses.has(key)) addresses.set(key, address);
  }
  checkSize(addresses.size, REPLICATION_ADDRESSES_MAX, "addresses at connections");
  return [...addresses.values()];
}

function checkedQueries(given: QueriesByCollection): QueriesByCollection {
  const queries = Object.values(given).flat();
  checkSize(queries.length, REPLICATION_QUERIES_MAX, "queries at queriesByCollection");
  for (const [collection, texts] of Object.entries(given)) {
    const at = `queriesByCollection${placeOf(collection)}`;
    checked(() => checkCollection(collection, at));
    if (SYSTEM.test(collection)) {
      const expected = "a collection of documents, found one of the system";
      throw new RegistryFault("InvalidRequest", `expected ${expected} at ${at}`);
    }
    for (const [i, text] of texts.entries()) checked(() => checkFilter(text, `${at}[${i}]`));
  }
  return given;
}

/** Path of a field in an error; quotes a name that is not a word. */
function placeOf(name: string): string {
  return /^\w+$/.test(name) ? `.${name}` : `[${shown(name)}]`;
}

function replicationOf(id: Value, fields: ValueObject): Replication {
  const { appId, connections, queriesByCollection, attachments } = fields;
  if (
    typeof id !== "string" ||
    typeof appId !== "string" ||
    !isTexts(connections) ||
    !isObject(queriesByCollection) ||
    (attachments !== undefined && attachments !== "eager")
  ) {
    throw corrupt(id);
  }
  const queries: { [collection: string]: readonly string[] } = {};
  for (const name of Object.keys(queriesByCollection)) {
    const texts = getField(queriesByCollection, name);
    if (!isTexts(texts)) throw corrupt(id);
    setField(queries, name, texts);
  }
  const replication = { name: id, appId, connections, queriesByCollection: queries };
  return attachments === undefined ? replication : { ...replication, attachments };
}

function isTexts(value: Value | undefined): value is readonly string[] {
  return isArray(value) && value.every((text) => typeof text === "string");
}

function corrupt(id: Value): PeerError {
  const message = `expected a replication with the id ${stringifyJson(id)} in the registry`;
  return new PeerError("store.corrupt", message);
}
