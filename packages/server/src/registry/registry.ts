/**
 * Registry: the configuration of a server beside the data of its apps: apps, API keys, replications,
 * webhooks, sinks and audit logs.
 *
 * All of it is in an engine store of its own. Each change is one transaction, so a crash leaves the
 * state before or after it.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@bigpeer/engine";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import type { Transaction } from "@bigpeer/engine/store";
import { DATA_FILE } from "@bigpeer/node";
import { type Operation, PeerError } from "@bigpeer/protocol";
import { appIdsInFolder, registryFolder } from "../config/data-folder.ts";
import { createNamed, type OpenedStore, REGISTRY_STORE } from "../stores/stores.ts";
import { nameOfUnnamed } from "./api-key.ts";
import { ApiKeys } from "./api-keys.ts";
import { drawSessionKey } from "./app.ts";
import { Apps, type RegistryHost } from "./apps.ts";
import {
  type AuditAction,
  type AuditedKind,
  AuditLog,
  type Author,
  isUntouched,
  SERVER,
} from "./audit-log.ts";
import { type AuthProviders, drawProviderId } from "./auth-provider.ts";
import { ConsoleAccess } from "./console-access.ts";
import { Destinations } from "./destinations.ts";
import { KnownNodes } from "./known-nodes.ts";
import {
  API_KEYS,
  APPS,
  CONSOLE_SESSIONS,
  CONSOLE_TOKENS,
  hasIndexes,
  makeIndexes,
  REPLICATION_SECRETS,
  REPLICATIONS,
  SINKS,
  WEBHOOKS,
} from "./registry-index.ts";
import { RegistryStore } from "./registry-store.ts";
import { ReplicationSecrets } from "./replication-secrets.ts";
import { Replications } from "./replications.ts";
import { SINK_KIND, type Sink, type SinkChange } from "./sinks.ts";
import { WEBHOOK_KIND, type Webhook, type WebhookChange } from "./webhooks.ts";

export const DEFAULT_APP_NAME = "default";

/** Auth provider of the app that the first start creates. */
export const DEVELOPMENT_PROVIDER = "development";

/** A week, in seconds. */
const DEVELOPMENT_SESSION_LENGTH = 604_800;
const DEVELOPMENT_TOKEN_SIZE = 32;

/** Ids that a change affected. */
export interface RegistryChange {
  readonly appIds: ReadonlySet<string>;
  readonly keyIds: ReadonlySet<string>;
  /** Whether replications or their secrets changed. */
  readonly isOfLinks: boolean;
  /** Whether webhooks or sinks changed. */
  readonly isOfDestinations: boolean;
  /** Whether the console token or sessions of the console changed. */
  readonly isOfConsole: boolean;
}

export class Registry {
  readonly storeFolder: OpenedStore;
  readonly apps: Apps;
  readonly keys: ApiKeys;
  readonly replications: Replications;
  readonly replicationSecrets: ReplicationSecrets;
  readonly webhooks: Destinations<Webhook, WebhookChange>;
  readonly sinks: Destinations<Sink, SinkChange>;
  readonly console: ConsoleAccess;
  readonly audit: AuditLog;
  /** Audit log of statements run on connected peers. */
  readonly runs: AuditLog;
  /** Audit log of statements and other access to the data of apps by the console. */
  readonly statements: AuditLog;
  /** Nodes of the cluster; empty without one. */
  readonly nodes: KnownNodes;
  readonly #store: RegistryStore;

  private constructor(dataDir: string, host: RegistryHost, opened: OpenedStore) {
    const store = new RegistryStore(opened.store);
    this.#store = store;
    this.storeFolder = opened;
    this.apps = new Apps(store, { ...host, dataDir });
    this.keys = new ApiKeys(store, host.platform);
    this.replications = new Replications(store);
    this.replicationSecrets = new ReplicationSecrets(store);
    const random = (size: number): Uint8Array => host.platform.random(size);
    this.webhooks = new Destinations(store, WEBHOOK_KIND, random);
    this.sinks = new Destinations(store, SINK_KIND, random);
    this.console = new ConsoleAccess(store, host.platform);
    this.audit = new AuditLog(opened.store, "changes");
    this.runs = new AuditLog(opened.store, "runs");
    this.statements = new AuditLog(opened.store, "statements");
    this.nodes = new KnownNodes(store);
  }

  /** Opens the registry of a data folder; the first time, creates the app `default`. */
  static async open(dataDir: string, host: RegistryHost): Promise<Registry> {
    const folder = registryFolder(dataDir);
    refuseLostRegistry(dataDir, folder);
    const opened = await createNamed(REGISTRY_STORE, folder, host);
    const registry = new Registry(dataDir, host, opened);
    try {
      // In a cluster, one node prepares it.
      if (!opened.store.isFollowing) await registry.prepare(host.platform);
    } catch (error) {
      await registry.close();
      throw error;
    }
    return registry;
  }

  /** Calls `listener` when a change is durable. Returns a function that removes it. */
  onChange(listener: (change: RegistryChange) => void): () => void {
    return this.#store.onChange((operations) => {
      const appIds = idsIn(operations, APPS);
      const keyIds = idsIn(operations, API_KEYS);
      const isOfLinks =
        idsIn(operations, REPLICATIONS).size + idsIn(operations, REPLICATION_SECRETS).size > 0;
      const isOfDestinations = idsIn(operations, WEBHOOKS).size + idsIn(operations, SINKS).size > 0;
      const isOfConsole =
        idsIn(operations, CONSOLE_TOKENS).size + idsIn(operations, CONSOLE_SESSIONS).size > 0;
      const isOfOthers = isOfLinks || isOfDestinations || isOfConsole;
      if (appIds.size === 0 && keyIds.size === 0 && !isOfOthers) return;
      listener({ appIds, keyIds, isOfLinks, isOfDestinations, isOfConsole });
    });
  }

  /** Adds an entry to an audit log. Resolves when it is durable. */
  record(author: Author, audited: AuditAction, kind: AuditedKind): Promise<void> {
    return this.storeFolder.store.answered(this.#store.record(author, audited, kind));
  }

  close(): Promise<void> {
    return this.storeFolder.close();
  }

  /** Whether it is complete: with its indexes, and an app if it is new. */
  get isPrepared(): boolean {
    const { store } = this.storeFolder;
    return store.read((view) => hasIndexes(view) && !(isUntouched(view) && view.count(APPS) === 0));
  }

  /** Called with the operations of changes that another node of the cluster has made. */
  applied(operations: readonly Operation[]): void {
    this.#store.applied(operations);
  }

  /** Makes what a new registry lacks, and what one of an older version lacks. */
  async prepare(platform: Platform): Promise<void> {
    const { store } = this.storeFolder;
    if (!store.read(hasIndexes)) await this.#upgrade(platform);
    const isFirst = store.read((view) => isUntouched(view) && view.count(APPS) === 0);
    if (!isFirst) return;
    const authProviders = developmentProviders(platform);
    await this.apps.create({ name: DEFAULT_APP_NAME, authProviders }, SERVER);
  }

  async #upgrade(platform: Platform): Promise<void> {
    try {
      await this.storeFolder.store.transact((transaction) => {
        makeIndexes(transaction);
        completeOld(transaction, platform);
      });
    } catch (error) {
      // With a clock that is ahead, writes are refused until an operator confirms it; reads are
      // not.
      if (!(error instanceof PeerError && error.code === "clock.ahead")) throw error;
    }
  }
}

function idsIn(operations: readonly Operation[], collection: string): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const operation of operations) {
    if (!("collection" in operation && "id" in operation)) continue;
    const { id } = operation;
    if (operation.collection === collection && typeof id === "string") ids.add(id);
  }
  return ids;
}

/** Migrates documents of the first version: adds session keys, and names of API keys. */
function completeOld(transaction: Transaction, platform: Platform): void {
  const apps = [...transaction.view.scan(APPS)];
  for (const { id, fields } of apps) {
    if (fields["sessionKeys"] !== undefined) continue;
    const value = [{ ...drawSessionKey(platform) }];
    const edits = [{ kind: "set" as const, path: ["sessionKeys"], value }];
    transaction.apply([{ kind: "update", collection: APPS, id, edits }]);
  }
  const keys = [...transaction.view.scan(API_KEYS)];
  for (const { id, fields } of keys) {
    if (fields["name"] !== undefined || typeof id !== "string") continue;
    const edits = [{ kind: "set" as const, path: ["name"], value: nameOfUnnamed(id) }];
    transaction.apply([{ kind: "update", collection: API_KEYS, id, edits }]);
  }
}

/** Provider for development: a token with all permissions, accepted from this machine only. */
function developmentProviders(platform: Platform): AuthProviders {
  const sharedToken = Buffer.from(platform.random(DEVELOPMENT_TOKEN_SIZE)).toString("base64url");
  return {
    [DEVELOPMENT_PROVIDER]: {
      id: drawProviderId((size) => platform.random(size)),
      type: "anonymous",
      permission: FULL_PERMISSIONS,
      sessionLength: DEVELOPMENT_SESSION_LENGTH,
      sharedToken,
      isLoopbackOnly: true,
    },
  };
}

function refuseLostRegistry(dataDir: string, folder: string): void {
  if (existsSync(join(folder, DATA_FILE)) || appIdsInFolder(dataDir).length === 0) return;
  throw new PeerError(
    "store.corrupt",
    `expected the registry of the apps in ${folder}, found none`,
  );
}
