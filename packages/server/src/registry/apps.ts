/**
 * Apps: creates, changes, deletes and restores the apps of a server.
 *
 * Each change is one transaction of the registry's store, with its audit entry. The store of an app
 * is created before its document, so every registered app has a store unless it was lost. A crash
 * between the two leaves an empty store, which the next app with this id takes over. The document
 * of a deleted app moves to `deleted_apps`, from where it can be restored, until its data is
 * removed.
 */

import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { View } from "@bigpeer/engine/store";
import { DATA_FILE } from "@bigpeer/node";
import { type ErrorCode, type Operation, PeerError } from "@bigpeer/protocol";
import { appAttachmentsFolder, appFolder, appStoreFolder } from "../config/data-folder.ts";
import { APPS_MAX, PROVIDERS_MAX } from "../limits/limits.ts";
import { describeError, type Log } from "../observability/log.ts";
import { createNamed, type StoresHost } from "../stores/stores.ts";
import { isName } from "../validation/name.ts";
import {
  type App,
  type AppName,
  type AppSettings,
  appOf,
  DEFAULT_APP_SETTINGS,
  type DeletedApp,
  drawSessionKey,
  fieldsOfApp,
  isAppId,
  readAppNames,
  readDeletedApps,
} from "./app.ts";
import { type AuditAction, type Author, changedFields, SERVER } from "./audit-log.ts";
import type { AuthProviders } from "./auth-provider.ts";
import { checkName } from "./name-check.ts";
import { providerActions } from "./provider-actions.ts";
import { checkRoom, RegistryFault, shown } from "./registry-fault.ts";
import {
  API_KEYS,
  APPS,
  APPS_BY_NAME,
  countBy,
  DELETED_APPS,
  idsBy,
  KEYS_BY_NAME,
  REPLICATION_SECRETS,
  REPLICATIONS,
  REPLICATIONS_BY_APP,
  SINKS_BY_NAME,
  WEBHOOKS_BY_NAME,
} from "./registry-index.ts";
import { noChange, type RegistryStore } from "./registry-store.ts";

export interface NewApp {
  readonly name: string;
  readonly id?: string;
  readonly authProviders?: AuthProviders;
}

/** Host with a log. */
export interface RegistryHost extends StoresHost {
  readonly log: Log;
}

export interface AppsHost extends RegistryHost {
  readonly dataDir: string;
}

/** Changed fields of an app, with their audit actions. */
interface AppChange {
  readonly changed: Partial<App>;
  /** Empty when nothing changes. */
  readonly actions: readonly AuditAction[];
}

/** Session keys that verify: the newest and the previous one. */
const SESSION_KEYS_MAX = 2;

/** Errors that a store throws before it writes anything. */
const EARLY_CODES = new Set<ErrorCode>([
  "clock.ahead",
  "store.busy",
  "store.closed",
  "cluster.elsewhere",
]);

export class Apps {
  readonly #store: RegistryStore;
  readonly #host: AppsHost;
  /** Ids whose stores are being created: two at once would open one file twice. */
  readonly #making = new Set<string>();
  /** Cache, for one version of the registry. */
  readonly #known = new Map<string, App>();
  #names: readonly AppName[] | undefined;
  #version = -1;

  constructor(store: RegistryStore, host: AppsHost) {
    this.#store = store;
    this.#host = host;
  }

  get count(): number {
    return this.#store.read((view) => view.count(APPS));
  }

  /** In the order of their names. */
  names(): readonly AppName[] {
    this.#forgetOld();
    this.#names ??= this.#store.read(readAppNames);
    return this.#names;
  }

  /** Reads all apps, which may take long. One that cannot be read is logged and skipped. */
  list(): readonly App[] {
    return this.names().flatMap(({ id }) => {
      try {
        return this.get(id) ?? [];
      } catch (error) {
        const what = `failed to read the app ${id} (run bigpeer verify)`;
        this.#host.log("error", `${what}: ${describeError(error)}`);
        return [];
      }
    });
  }

  /** Cached until the registry changes. */
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

  /** Returns the app with this name, as `get` does. */
  find(name: string): App | undefined {
    const id = this.#store.read((view) => idOfApp(view, name));
    return id === undefined ? undefined : this.get(id);
  }

  /** As `find`; throws AppNotFound. */
  named(name: string): App {
    return this.find(name) ?? this.#store.read((view) => refuseName(view, name));
  }

  async create(given: NewApp, author: Author): Promise<App> {
    const { name, authProviders = {} } = given;
    checkName(name, "an app");
    const id = checkId(given.id);
    checkProviders(authProviders);
    this.#store.read((view) => checkNew(view, id, name));
    return this.#withStore(id, () => {
      const sessionKeys = [drawSessionKey(this.#host.platform)];
      const fixed = { id, name, settings: DEFAULT_APP_SETTINGS, authProviders, sessionKeys };
      return this.#store.change(author, (view, nowMs) => {
        checkNew(view, id, name);
        const app = { ...fixed, createdAt: nowMs };
        const target = targetOfApp(name);
        const created = { action: "app.create", target, detail: `id ${id}` };
        const actions = [created, ...providerActions(target, {}, authProviders)];
        return { operations: [putOperation(app)], actions, result: app };
      });
    });
  }

  /** `change` gets the current providers, may throw, and may be called again. */
  setProviders(
    name: string,
    change: (before: AuthProviders) => AuthProviders,
    author: Author,
  ): Promise<App> {
    return this.#changeApp(name, author, (app) => {
      const authProviders = change(app.authProviders);
      checkProviders(authProviders);
      const actions = providerActions(targetOfApp(name), app.authProviders, authProviders);
      return { changed: { authProviders }, actions };
    });
  }

  async setSettings(
    name: string,
    given: Partial<AppSettings>,
    author: Author,
  ): Promise<AppSettings> {
    const app = await this.#changeApp(name, author, (before) => {
      const settings = { ...before.settings, ...given };
      const detail = settingsDetail(before.settings, settings);
      const audited = { action: "app.setSettings", target: targetOfApp(name), detail };
      return { changed: { settings }, actions: detail === "" ? [] : [audited] };
    });
    return app.settings;
  }

  /** Adds a key that signs. The previous one verifies until the next rotation (M28). */
  async rotateSessionKey(name: string, author: Author): Promise<void> {
    const key = drawSessionKey(this.#host.platform);
    await this.#changeApp(name, author, ({ sessionKeys: before }) => {
      const sessionKeys = [key, ...before].slice(0, SESSION_KEYS_MAX);
      const audited = { action: "app.rotateSessionKey", target: targetOfApp(name) };
      return { changed: { sessionKeys }, actions: [audited] };
    });
  }

  /** Deletes the app with its keys and replications at once; its data is removed later (M14). */
  remove(name: string, author: Author): Promise<App> {
    return this.#store.change(author, (view, nowMs) => {
      const app = appNamed(view, name);
      const { id } = app;
      const keys = [...idsBy(view, KEYS_BY_NAME, id)];
      const replications = [...idsBy(view, REPLICATIONS_BY_APP, id)];
      const fields = { ...fieldsOfApp(app), deletedAt: nowMs };
      const hasSecret = view.get(REPLICATION_SECRETS, id) !== undefined;
      const detail = `id ${id}, keys ${keys.length}, replications ${replications.length}`;
      const destinations = [WEBHOOKS_BY_NAME, SINKS_BY_NAME].flatMap((index) => {
        return Array.from(idsBy(view, index, id), (each) => {
          return { kind: "delete" as const, collection: index.collection, id: each };
        });
      });
      return {
        operations: [
          { kind: "delete", collection: APPS, id },
          ...keys.map((key) => ({ kind: "delete" as const, collection: API_KEYS, id: key })),
          ...replications.map((each) => {
            return { kind: "delete" as const, collection: REPLICATIONS, id: each };
          }),
          ...destinations,
          ...(hasSecret ? [{ kind: "delete" as const, collection: REPLICATION_SECRETS, id }] : []),
          { kind: "insert", collection: DELETED_APPS, id, fields, clean: true },
        ],
        actions: [{ action: "app.delete", target: targetOfApp(name), detail }],
        result: app,
      };
    });
  }

  /** Deleted apps whose data still exists. */
  deleted(): readonly DeletedApp[] {
    return this.#store.read(readDeletedApps);
  }

  /**
   * Restores a deleted app with its providers, settings and sessions, without its keys and
   * replications (M30). Throws AppNotFound when it does not exist or its data is being removed.
   */
  restore(given: string, author: Author): Promise<App> {
    const id = given.toLowerCase();
    const freshKey = drawSessionKey(this.#host.platform);
    return this.#store.change(author, (view) => {
      const document = isAppId(id) ? view.get(DELETED_APPS, id) : undefined;
      const isLeft = document !== undefined && document.fields["isBeingRemoved"] !== true;
      // A copy of the data folder has the registry, but no data of deleted apps. In a cluster,
      // other nodes may have it.
      const hasData = this.#host.stores !== undefined || this.#hasStore(id);
      if (!isLeft || !hasData) {
        const message = `there is no deleted app with the id ${shown(given)} whose data is there`;
        throw new RegistryFault("AppNotFound", message);
      }
      const kept = appOf(document);
      const { name } = kept;
      checkNewName(view, name);
      // An earlier version kept only the name.
      const app = kept.sessionKeys.length > 0 ? kept : { ...kept, sessionKeys: [freshKey] };
      return {
        operations: [{ kind: "delete", collection: DELETED_APPS, id }, putOperation(app)],
        actions: [{ action: "app.restore", target: targetOfApp(name), detail: `id ${id}` }],
        result: app,
      };
    });
  }

  /**
   * Whether the data of an app deleted more than `graceMs` ago may be removed now. If so, the app
   * can no longer be restored. This decision is written with its time, so a wall clock that jumped
   * ahead is refused as for every write.
   */
  beginRemoval(id: string, graceMs: number): Promise<boolean> {
    return this.#store.note((view, nowMs) => {
      const { deletedAt, isBeingRemoved } = view.get(DELETED_APPS, id)?.fields ?? {};
      const isBegun = isBeingRemoved === true;
      const isDue = typeof deletedAt === "number" && nowMs - deletedAt >= graceMs;
      if (isBegun || !isDue) return { operations: [], result: isBegun };
      const edits = [{ kind: "set" as const, path: ["isBeingRemoved"], value: true }];
      return {
        operations: [{ kind: "update", collection: DELETED_APPS, id, edits }],
        result: true,
      };
    });
  }

  /** Records that the data of a deleted app is removed. Its id may be used again. */
  async forget(id: string): Promise<void> {
    await this.#store.change(SERVER, (view) => {
      const { name } = view.get(DELETED_APPS, id)?.fields ?? {};
      if (typeof name !== "string") return noChange(undefined);
      return {
        operations: [{ kind: "delete", collection: DELETED_APPS, id }],
        actions: [{ action: "app.purge", target: targetOfApp(name), detail: `id ${id}` }],
        result: undefined,
      };
    });
  }

  #changeApp(name: string, author: Author, evaluate: (before: App) => AppChange): Promise<App> {
    return this.#store.change(author, (view) => {
      const before = appNamed(view, name);
      const { changed, actions } = evaluate(before);
      if (actions.length === 0) return noChange(before);
      const app = { ...before, ...changed };
      return { operations: [putOperation(app)], actions, result: app };
    });
  }

  #hasStore(id: string): boolean {
    return existsSync(join(appStoreFolder(this.#host.dataDir, id), DATA_FILE));
  }

  /** Creates the store of an app, then runs `work`; removes the store if that is refused. */
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
    const made = await createNamed(id, appStoreFolder(dataDir, id), this.#host);
    const isUsed = made.store.txnId > 0;
    await made.close();
    if (isUsed) throw idTaken(id);
  }

  #forgetOld(): void {
    const { version } = this.#store;
    if (version === this.#version) return;
    this.#version = version;
    this.#known.clear();
    this.#names = undefined;
  }
}

/** Name of an app in the audit log. */
export function targetOfApp(name: string): string {
  return `app/${name}`;
}

/** Id of the app with this name; names are unique. */
function idOfApp(view: View, name: string): string | undefined {
  if (!isName(name)) return undefined;
  for (const id of idsBy(view, APPS_BY_NAME, name)) if (isAppId(id)) return id;
  return undefined;
}

/** Throws AppNotFound. */
function appNamed(view: View, name: string): App {
  const id = idOfApp(view, name);
  const document = id === undefined ? undefined : view.get(APPS, id);
  return document === undefined ? refuseName(view, name) : appOf(document);
}

/** Throws AppNotFound. If the path has an id in place of a name, the message says the name. */
function refuseName(view: View, name: string): never {
  const meant = isAppId(name) ? nameOfApp(view, name) : undefined;
  const hint = meant && `; the path takes the name: the app with this id is ${meant}`;
  throw new RegistryFault("AppNotFound", `there is no app named ${shown(name)}${hint ?? ""}`);
}

/** Undefined when the app does not exist. */
export function nameOfApp(view: View, id: string): string | undefined {
  const { name } = view.get(APPS, id)?.fields ?? {};
  return typeof name === "string" ? name : undefined;
}

/** Throws AppNotFound: an app may be deleted before something is added to it. */
export function checkApp(view: View, id: string): void {
  if (nameOfApp(view, id) !== undefined) return;
  throw new RegistryFault("AppNotFound", `there is no app with the id ${shown(id)}`);
}

/** Replaces the whole document. */
function putOperation(app: App): Operation {
  return { kind: "insert", collection: APPS, id: app.id, fields: fieldsOfApp(app), clean: true };
}

/** Changed settings, by their names in the management API. */
function settingsDetail(before: AppSettings, after: AppSettings): string {
  const [old, now] = [namedSettings(before), namedSettings(after)];
  return changedFields(old, now)
    .map((name) => `${name} ${String(now[name])}`)
    .join(", ");
}

function namedSettings({ isV4Strict, isUnknownEmpty }: AppSettings): { [name: string]: boolean } {
  return { strictV4: isV4Strict, unknownCollectionsAreEmpty: isUnknownEmpty };
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
  checkNewName(view, name);
  if (view.get(APPS, id) !== undefined || view.get(DELETED_APPS, id) !== undefined) {
    throw idTaken(id);
  }
}

function checkNewName(view: View, name: string): void {
  if (countBy(view, APPS_BY_NAME, name) > 0) {
    throw new RegistryFault("AppNameNotUnique", `there is an app with the name ${shown(name)}`);
  }
  checkRoom(view.count(APPS) + 1, APPS_MAX, "apps");
}

/** Whether an error guarantees that nothing was written. */
function isRefusal(error: unknown): boolean {
  const isEarly = error instanceof PeerError && EARLY_CODES.has(error.code);
  return isEarly || error instanceof RegistryFault;
}

function idTaken(id: string): RegistryFault {
  const message = `there is an app with the id ${id}, or data of one that was deleted`;
  return new RegistryFault("AppIdNotUnique", message);
}
