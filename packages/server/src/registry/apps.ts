/**
 * The apps of a server: made, changed, deleted.
 *
 * Each change is one transaction of the registry's store, its entry in the audit log included. The
 * store of an app is made before its document, so an app that the registry knows has a store; where
 * it has none, it was lost. A crash between the two leaves an empty store that no document names,
 * and that the next app with this id takes over. Of a deleted app a document in `deleted_apps` stays
 * until its data is gone.
 */

import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import type { Store, Transaction, View } from "@bigpeer/engine";
import { type ErrorCode, PeerError } from "@bigpeer/protocol";
import type { AuthProviders } from "../auth/auth-provider.ts";
import { appAttachmentsFolder, appFolder, appStoreFolder } from "../data-folder.ts";
import { APPS_MAX, PROVIDERS_MAX } from "../limits.ts";
import { createStore, type StoreHost } from "../store-folder.ts";
import {
  type App,
  type AppSettings,
  appOf,
  DEFAULT_APP_SETTINGS,
  type DeletedApp,
  drawSessionKey,
  fieldsOfApp,
  isAppId,
  readApps,
  readDeletedApps,
} from "./app.ts";
import { type Author, recordDeed, SERVER } from "./audit-log.ts";
import { checkName, isName } from "./name.ts";
import { checkRoom, RegistryFault, shown } from "./registry-fault.ts";
import {
  API_KEYS,
  APPS,
  APPS_BY_NAME,
  DELETED_APPS,
  documentsBy,
  idsBy,
  KEYS_BY_NAME,
  REPLICATIONS,
  REPLICATIONS_BY_APP,
} from "./registry-index.ts";
import type { RegistryState } from "./registry-state.ts";

export interface NewApp {
  readonly name: string;
  readonly id?: string;
  readonly authProviders?: AuthProviders;
}

export interface AppsHost extends StoreHost {
  readonly dataDir: string;
  readonly state: RegistryState;
}

/** What a change makes of an app, and how the audit log calls it. */
interface AppChange {
  readonly action: string;
  readonly detail?: string;
  readonly changed: Partial<App>;
}

/** Session keys that verify: the newest and the one before. */
const SESSION_KEYS_MAX = 2;

/** What a store refuses before it writes. */
const EARLY_CODES = new Set<ErrorCode>(["clock.ahead", "store.busy", "store.closed"]);

export class Apps {
  readonly #store: Store;
  readonly #host: AppsHost;
  /** Ids whose stores are being made: two at once would open one file twice. */
  readonly #making = new Set<string>();
  /** What was read of one state of the registry. */
  readonly #known = new Map<string, App>();
  #list: readonly App[] | undefined;
  #version = -1;

  constructor(store: Store, host: AppsHost) {
    this.#store = store;
    this.#host = host;
  }

  /** In the order of their names. */
  list(): readonly App[] {
    this.#forgetOld();
    this.#list ??= this.#store.read(readApps).toSorted(byName);
    return this.#list;
  }

  /** Remembered while the registry does not change. */
  get(id: string): App | undefined {
    this.#forgetOld();
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const document = isAppId(id) ? this.#store.read((view) => view.get(APPS, id)) : undefined;
    if (document === undefined) return undefined;
    const app = appOf(document);
    this.#known.set(id, app);
    return app;
  }

  /** Throws AppNotFound. */
  named(name: string): App {
    return this.#store.read((view) => appNamed(view, name));
  }

  async create(given: NewApp, author: Author): Promise<App> {
    const { name, authProviders = {} } = given;
    checkName(name, "an app");
    const id = checkId(given.id);
    checkProviders(authProviders);
    this.#store.read((view) => checkNew(view, id, name));
    return this.#withStore(id, async () => {
      const sessionKeys = [drawSessionKey(this.#host.platform)];
      const fixed = { id, name, settings: DEFAULT_APP_SETTINGS, authProviders, sessionKeys };
      return this.#change(author, (transaction) => {
        checkNew(transaction.view, id, name);
        const app = { ...fixed, createdAt: transaction.nowMs };
        putApp(transaction, app);
        const deed = { action: "app.create", target: targetOfApp(name), detail: `id ${id}` };
        recordDeed(transaction, author, deed);
        return app;
      });
    });
  }

  /** `change` is given the providers as they are then, may throw, and may be called again. */
  setProviders(
    name: string,
    change: (before: AuthProviders) => AuthProviders,
    author: Author,
  ): Promise<App> {
    return this.#changeApp(name, author, (app) => {
      const authProviders = change(app.authProviders);
      checkProviders(authProviders);
      const names = Object.keys(authProviders).join(", ");
      const detail = names === "" ? "no providers" : `providers ${names}`;
      return { action: "app.setProviders", detail, changed: { authProviders } };
    });
  }

  async setSettings(
    name: string,
    given: Partial<AppSettings>,
    author: Author,
  ): Promise<AppSettings> {
    const app = await this.#changeApp(name, author, (before) => {
      const settings = { ...before.settings, ...given };
      const { isV4Strict, isUnknownEmpty } = settings;
      const detail = `isV4Strict ${isV4Strict}, isUnknownEmpty ${isUnknownEmpty}`;
      return { action: "app.setSettings", detail, changed: { settings } };
    });
    return app.settings;
  }

  /** The key of before verifies until the next time. */
  async rotateSessionKey(name: string, author: Author): Promise<void> {
    const key = drawSessionKey(this.#host.platform);
    await this.#changeApp(name, author, ({ sessionKeys: before }) => {
      const sessionKeys = [key, ...before].slice(0, SESSION_KEYS_MAX);
      return { action: "app.rotateSessionKey", changed: { sessionKeys } };
    });
  }

  /** The app, its keys and its replications are gone at once; its data is removed by others. */
  remove(name: string, author: Author): Promise<App> {
    return this.#change(author, (transaction) => {
      const { view } = transaction;
      const app = appNamed(view, name);
      const keys = [...idsBy(view, KEYS_BY_NAME, app.id)];
      const replications = [...idsBy(view, REPLICATIONS_BY_APP, app.id)];
      const fields = { name, deletedAt: transaction.nowMs };
      transaction.apply([
        { kind: "delete", collection: APPS, id: app.id },
        ...keys.map((id) => ({ kind: "delete" as const, collection: API_KEYS, id })),
        ...replications.map((id) => ({ kind: "delete" as const, collection: REPLICATIONS, id })),
        { kind: "insert", collection: DELETED_APPS, id: app.id, fields },
      ]);
      const detail = `id ${app.id}, keys ${keys.length}, replications ${replications.length}`;
      recordDeed(transaction, author, { action: "app.delete", target: targetOfApp(name), detail });
      return app;
    });
  }

  /** Those whose data is not yet gone. */
  deleted(): readonly DeletedApp[] {
    return this.#store.read(readDeletedApps);
  }

  /** Tells that the data of a deleted app is gone. Its id may be used again from then on. */
  async forget(id: string): Promise<void> {
    await this.#change(SERVER, (transaction) => {
      const { name } = transaction.view.get(DELETED_APPS, id)?.fields ?? {};
      if (typeof name !== "string") return;
      transaction.apply([{ kind: "delete", collection: DELETED_APPS, id }]);
      const target = targetOfApp(name);
      recordDeed(transaction, SERVER, { action: "app.purge", target, detail: `id ${id}` });
    });
  }

  #changeApp(name: string, author: Author, evaluate: (before: App) => AppChange): Promise<App> {
    return this.#change(author, (transaction) => {
      const before = appNamed(transaction.view, name);
      const { action, detail, changed } = evaluate(before);
      const app = { ...before, ...changed };
      putApp(transaction, app);
      const target = targetOfApp(name);
      recordDeed(transaction, author, { action, target, ...(detail && { detail }) });
      return app;
    });
  }

  async #change<T>({ requestId }: Author, work: (transaction: Transaction) => T): Promise<T> {
    const { result } = await this.#store.transact(work, requestId);
    return result;
  }

  /** Makes the store of an app and then does `work`; if that is refused, the store goes again. */
  async #withStore(id: string, work: () => Promise<App>): Promise<App> {
    if (this.#making.has(id)) throw idTaken(id);
    this.#making.add(id);
    try {
      const folder = appFolder(this.#host.dataDir, id);
      const isNew = !existsSync(folder);
      await this.#makeStore(id);
      try {
        return await work();
      } catch (error) {
        if (isNew && isRefusal(error)) rmSync(folder, { recursive: true, force: true });
        throw error;
      }
    } finally {
      this.#making.delete(id);
    }
  }

  async #makeStore(id: string): Promise<void> {
    const { dataDir } = this.#host;
    if (existsSync(appAttachmentsFolder(dataDir, id))) throw idTaken(id);
    const made = await createStore(appStoreFolder(dataDir, id), this.#host);
    const isUsed = made.store.txnId > 0;
    await made.close();
    if (isUsed) throw idTaken(id);
  }

  #forgetOld(): void {
    const { version } = this.#host.state;
    if (version === this.#version) return;
    this.#version = version;
    this.#known.clear();
    this.#list = undefined;
  }
}

/** How the audit log calls an app. */
export function targetOfApp(name: string): string {
  return `app/${name}`;
}

/** Throws AppNotFound. */
export function appNamed(view: View, name: string): App {
  const [document] = isName(name) ? documentsBy(view, APPS_BY_NAME, name) : [];
  if (document !== undefined) return appOf(document);
  throw new RegistryFault("AppNotFound", `expected the name of an app, found ${shown(name)}`);
}

/** Undefined when there is no such app. */
export function nameOfApp(view: View, id: string): string | undefined {
  const { name } = view.get(APPS, id)?.fields ?? {};
  return typeof name === "string" ? name : undefined;
}

/** Throws AppNotFound: an app may go at any moment before something is added to it. */
export function checkApp(view: View, id: string): void {
  if (nameOfApp(view, id) !== undefined) return;
  throw new RegistryFault("AppNotFound", `expected the id of an app, found ${shown(id)}`);
}

/** Replaces all of the document. */
function putApp(transaction: Transaction, app: App): void {
  const fields = fieldsOfApp(app);
  transaction.apply([{ kind: "insert", collection: APPS, id: app.id, fields, clean: true }]);
}

function checkId(given: string | undefined): string {
  if (given === undefined) return randomUUID();
  const id = given.toLowerCase();
  if (isAppId(id)) return id;
  throw new RegistryFault("InvalidRequest", `expected a UUID, found ${shown(given)} at appId`);
}

function checkProviders(providers: AuthProviders): void {
  checkRoom(Object.keys(providers).length, PROVIDERS_MAX, "auth providers of an app");
}

function checkNew(view: View, id: string, name: string): void {
  if (documentsBy(view, APPS_BY_NAME, name).length > 0) {
    throw new RegistryFault("AppNameNotUnique", `there is an app with the name ${shown(name)}`);
  }
  if (view.get(APPS, id) !== undefined || view.get(DELETED_APPS, id) !== undefined) {
    throw idTaken(id);
  }
  checkRoom(view.count(APPS) + 1, APPS_MAX, "apps");
}

/** Whether an error says for sure that nothing was written. */
function isRefusal(error: unknown): boolean {
  const isEarly = error instanceof PeerError && EARLY_CODES.has(error.code);
  return isEarly || error instanceof RegistryFault;
}

function idTaken(id: string): RegistryFault {
  const message = `there is an app with the id ${id}, or data of one that was deleted`;
  return new RegistryFault("AppIdNotUnique", message);
}

function byName(a: App, b: App): number {
  return a.name < b.name ? -1 : 1;
}
