/**
 * Replications of apps to other Big Peers: which addresses are asked, and for what.
 *
 * One document for each in the collection `replications`. Its id is the name, which is unique in the
 * Big Peer. Each change is one transaction of the registry's store, its entry in the audit log
 * included.
 */

import { checkFilter, type Store, type Transaction, type View } from "@bigpeer/engine";
import {
  checkCollection,
  getField,
  isArray,
  isObject,
  PeerError,
  setField,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { REPLICATION_ADDRESSES_MAX, REPLICATION_QUERIES_MAX, REPLICATIONS_MAX } from "../limits.ts";
import { checkAddress } from "./address.ts";
import { checkApp, nameOfApp, targetOfApp } from "./apps.ts";
import { type Author, recordDeed } from "./audit-log.ts";
import { checkName, isName } from "./name.ts";
import { checked, checkRoom, RegistryFault, shown } from "./registry-fault.ts";
import { countBy, documentsBy, REPLICATIONS, REPLICATIONS_BY_APP } from "./registry-index.ts";

export interface Replication {
  readonly name: string;
  readonly appId: string;
  /** `host:port`, each once. Where there are none, the others must connect. */
  readonly connections: readonly string[];
  readonly queriesByCollection: QueriesByCollection;
}

export interface QueriesByCollection {
  readonly [collection: string]: readonly string[];
}

/** What is left out stays as it is, null clears it. */
export interface ReplicationChange {
  readonly connections?: readonly string[] | null;
  readonly queriesByCollection?: QueriesByCollection | null;
}

export class Replications {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Those of an app in the order of their names. */
  list(appId: string): readonly Replication[] {
    const documents = this.#store.read((view) => documentsBy(view, REPLICATIONS_BY_APP, appId));
    return documents.map(({ id, fields }) => replicationOf(id, fields));
  }

  /** Throws BigPeerReplicationNotFound, or AppNameMismatch when it is one of another app. */
  get(appId: string, name: string): Replication {
    return this.#store.read((view) => replicationNamed(view, appId, name));
  }

  create(
    appId: string,
    given: ReplicationChange & { readonly name: string },
    author: Author,
  ): Promise<Replication> {
    const { name } = given;
    return this.#change(author, (transaction) => {
      const { view } = transaction;
      checkApp(view, appId);
      checkNew(view, appId, name);
      const none = { name, appId, connections: [], queriesByCollection: {} };
      const replication = changed(none, given);
      putReplication(transaction, replication);
      const target = targetOf(view, replication);
      recordDeed(transaction, author, { action: "bigPeerReplication.create", target });
      return replication;
    });
  }

  update(
    appId: string,
    name: string,
    change: ReplicationChange,
    author: Author,
  ): Promise<Replication> {
    return this.#change(author, (transaction) => {
      const { view } = transaction;
      const replication = changed(replicationNamed(view, appId, name), change);
      putReplication(transaction, replication);
      const { connections, queriesByCollection } = change;
      const parts = Object.entries({ connections, queriesByCollection });
      const names = parts.flatMap(([part, value]) => (value === undefined ? [] : [part]));
      recordDeed(transaction, author, {
        action: "bigPeerReplication.update",
        target: targetOf(view, replication),
        detail: names.length === 0 ? "nothing" : names.join(", "),
      });
      return replication;
    });
  }

  remove(appId: string, name: string, author: Author): Promise<void> {
    return this.#change(author, (transaction) => {
      const { view } = transaction;
      const replication = replicationNamed(view, appId, name);
      transaction.apply([{ kind: "delete", collection: REPLICATIONS, id: name }]);
      const target = targetOf(view, replication);
      recordDeed(transaction, author, { action: "bigPeerReplication.delete", target });
    });
  }

  async #change<T>({ requestId }: Author, work: (transaction: Transaction) => T): Promise<T> {
    const { result } = await this.#store.transact(work, requestId);
    return result;
  }
}

/** How the audit log calls a replication. */
function targetOf(view: View, { appId, name }: Replication): string {
  return `${targetOfApp(nameOfApp(view, appId) ?? appId)}/bigPeerReplication/${name}`;
}

/** Replaces all of the document. */
function putReplication(transaction: Transaction, replication: Replication): void {
  const { name: id, appId, connections, queriesByCollection } = replication;
  const fields = { appId, connections, queriesByCollection };
  transaction.apply([{ kind: "insert", collection: REPLICATIONS, id, fields, clean: true }]);
}

function replicationNamed(view: View, appId: string, name: string): Replication {
  const document = isName(name) ? view.get(REPLICATIONS, name) : undefined;
  if (document === undefined) {
    const message = `expected the name of a replication, found ${shown(name)}`;
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
  return {
    ...before,
    ...(connections !== undefined && { connections: checkedAddresses(connections ?? []) }),
    ...(queriesByCollection !== undefined && {
      queriesByCollection: checkedQueries(queriesByCollection ?? {}),
    }),
  };
}

/** Each once, as it came first: names of hosts are the same in capitals. */
function checkedAddresses(given: readonly string[]): readonly string[] {
  const addresses = new Map<string, string>();
  for (const [i, address] of given.entries()) {
    checkAddress(address, `connections[${i}]`);
    const key = address.toLowerCase();
    if (!addresses.has(key)) addresses.set(key, address);
  }
  checkRoom(addresses.size, REPLICATION_ADDRESSES_MAX, "addresses at connections");
  return [...addresses.values()];
}

function checkedQueries(given: QueriesByCollection): QueriesByCollection {
  const queries = Object.values(given).flat();
  checkRoom(queries.length, REPLICATION_QUERIES_MAX, "queries at queriesByCollection");
  for (const [collection, texts] of Object.entries(given)) {
    const at = `queriesByCollection.${collection}`;
    checked(() => checkCollection(collection, at));
    for (const [i, text] of texts.entries()) checked(() => checkFilter(text, `${at}[${i}]`));
  }
  return given;
}

function replicationOf(id: Value, fields: ValueObject): Replication {
  const { appId, connections, queriesByCollection } = fields;
  if (
    typeof id !== "string" ||
    typeof appId !== "string" ||
    !isTexts(connections) ||
    !isObject(queriesByCollection)
  ) {
    throw corrupt(id);
  }
  const queries: { [collection: string]: readonly string[] } = {};
  for (const name of Object.keys(queriesByCollection)) {
    const texts = getField(queriesByCollection, name);
    if (!isTexts(texts)) throw corrupt(id);
    setField(queries, name, texts);
  }
  return { name: id, appId, connections, queriesByCollection: queries };
}

function isTexts(value: Value | undefined): value is readonly string[] {
  return isArray(value) && value.every((text) => typeof text === "string");
}

function corrupt(id: Value): PeerError {
  const message = `expected a replication with the id ${stringifyJson(id)} in the registry`;
  return new PeerError("store.corrupt", message);
}
