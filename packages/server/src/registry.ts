/**
 * Registry: which apps a server has, and which API keys (api-keys.ts).
 *
 * An engine store of its own, with one document for each app in the collection `apps`: the id is
 * the id of the app, the fields are its settings. The store of an app is made before its document
 * is written, so an app that the registry knows has a store; where it has none, it was lost, and
 * the server says so instead of making an empty one. A crash between the two leaves a folder that
 * no document names, which is never used.
 */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store, View } from "@bigpeer/engine";
import { isObject, PeerError, type ValueObject } from "@bigpeer/protocol";
import { ApiKeys } from "./api-keys.ts";
import { appIdsInFolder, appStoreFolder, DATA_FILE, registryFolder } from "./data-folder.ts";
import { createStore, openStore, type StoreFolder, type StoreHost } from "./store-folder.ts";

export interface App {
  readonly id: string;
  readonly name: string;
  readonly settings: AppSettings;
}

/** How an app answers where clients expect different things. */
export interface AppSettings {
  /** Whether statements under `/api/v4` run in strict mode. */
  readonly isV4Strict: boolean;
  /** Whether an unknown collection counts as empty instead of as a mistake. */
  readonly isUnknownEmpty: boolean;
}

export const DEFAULT_APP_SETTINGS: AppSettings = { isV4Strict: false, isUnknownEmpty: false };

export const DEFAULT_APP_NAME = "default";

const APPS = "apps";
const APP_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class Registry {
  readonly #dataDir: string;
  readonly #host: StoreHost;
  readonly #opened: StoreFolder;
  readonly keys: ApiKeys;

  private constructor(dataDir: string, host: StoreHost, opened: StoreFolder) {
    this.#dataDir = dataDir;
    this.#host = host;
    this.#opened = opened;
    this.keys = new ApiKeys(opened.store, host.platform);
  }

  /** Opens the registry of a data folder; the first time, it makes the app `default`. */
  static async open(dataDir: string, host: StoreHost): Promise<Registry> {
    const folder = registryFolder(dataDir);
    refuseLostRegistry(dataDir, folder);
    const registry = new Registry(dataDir, host, await createStore(folder, host));
    try {
      if (registry.apps().length === 0) await registry.createApp(DEFAULT_APP_NAME);
    } catch (error) {
      await registry.close();
      throw error;
    }
    return registry;
  }

  get storeFolder(): StoreFolder {
    return this.#opened;
  }

  apps(): App[] {
    return this.#store.read(readApps);
  }

  async createApp(name: string): Promise<App> {
    const app: App = { id: randomUUID(), name, settings: DEFAULT_APP_SETTINGS };
    const made = await createStore(appStoreFolder(this.#dataDir, app.id), this.#host);
    await made.close();
    await this.#store.transact((transaction) => {
      transaction.apply([{ kind: "insert", collection: APPS, id: app.id, fields: { name } }]);
    });
    return app;
  }

  /** Durable when it resolves; an app that is open takes it with its next start. */
  async setAppSettings(id: string, settings: Partial<AppSettings>): Promise<void> {
    await this.#store.transact((transaction) => {
      const edits = [{ kind: "set" as const, path: ["settings"], value: { ...settings } }];
      transaction.apply([{ kind: "update", collection: APPS, id, edits }]);
    });
  }

  /** Opens the store of an app. Whoever opens it closes it. */
  openAppStore(app: App): Promise<StoreFolder> {
    return openStore(appStoreFolder(this.#dataDir, app.id), this.#host);
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  get #store(): Store {
    return this.#opened.store;
  }
}

/** The apps in one state of the registry's store, in the order of their ids. */
export function readApps(view: View): App[] {
  return [...view.scan(APPS)].map(({ id, fields }) => {
    const { name } = fields;
    // The id becomes the name of a folder: nothing else may.
    if (typeof id !== "string" || !APP_ID.test(id) || typeof name !== "string") {
      throw new PeerError("store.corrupt", "expected apps with a UUID and a name in the registry");
    }
    return { id, name, settings: readSettings(fields) };
  });
}

function readSettings({ settings = {} }: ValueObject): AppSettings {
  const { isV4Strict, isUnknownEmpty } = isObject(settings) ? settings : {};
  return { isV4Strict: isV4Strict === true, isUnknownEmpty: isUnknownEmpty === true };
}

function refuseLostRegistry(dataDir: string, folder: string): void {
  if (existsSync(join(folder, DATA_FILE)) || appIdsInFolder(dataDir).length === 0) return;
  throw new PeerError(
    "store.corrupt",
    `expected the registry of the apps in ${folder}, found none`,
  );
}
