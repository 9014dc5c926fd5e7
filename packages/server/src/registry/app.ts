/**
 * App: an app as the registry holds it, and its document in the collection `apps`. The id of the
 * document is the id of the app.
 */

import type { Platform } from "@bigpeer/engine";
import type { StoredDocument, View } from "@bigpeer/engine/store";
import { isArray, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { type AuthProviders, providersOfStore, storedProviders } from "./auth-provider.ts";
import { APPS, APPS_BY_NAME, DELETED_APPS, namesBy } from "./registry-index.ts";

export interface App {
  readonly id: string;
  readonly name: string;
  readonly settings: AppSettings;
  readonly authProviders: AuthProviders;
  /** The first key signs sessions; all of them verify. */
  readonly sessionKeys: readonly SessionKey[];
  /** In milliseconds since 1970; 0 if it was not recorded. */
  readonly createdAt: number;
}

/** Settings that select the behaviour that clients of different versions expect. */
export interface AppSettings {
  /** Whether statements under `/api/v4` run in strict mode. */
  readonly isV4Strict: boolean;
  /** Whether an unknown collection counts as empty instead of as an error. */
  readonly isUnknownEmpty: boolean;
}

export interface SessionKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** Id and name of an app. */
export type AppName = Pick<App, "id" | "name">;

/** Deleted app whose data still exists. */
export interface DeletedApp extends AppName {
  readonly deletedAt: number;
  /** From then on it cannot be restored. */
  readonly isBeingRemoved?: true;
}

export const DEFAULT_APP_SETTINGS: AppSettings = { isV4Strict: false, isUnknownEmpty: false };

const SESSION_KEY_ID_SIZE = 8;
const SESSION_SECRET_SIZE = 32;
const APP_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isAppId(id: Value): id is string {
  return typeof id === "string" && APP_ID.test(id);
}

export function drawSessionKey(platform: Platform): SessionKey {
  const id = Buffer.from(platform.random(SESSION_KEY_ID_SIZE)).toString("hex");
  return { id, secret: platform.random(SESSION_SECRET_SIZE) };
}

/** The apps in one state of the registry, in the order of their names. */
export function readAppNames(view: View): AppName[] {
  const names: AppName[] = [];
  for (const { id, name } of namesBy(view, APPS_BY_NAME)) {
    // The id becomes the name of a folder, so it must be a UUID.
    if (isAppId(id)) names.push({ id, name: typeof name === "string" ? name : id });
  }
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Apps whose document cannot be read, each with its error. */
export function* unreadableApps(view: View): Iterable<{ id: Value; error: unknown }> {
  for (const document of view.scan(APPS)) {
    try {
      appOf(document);
    } catch (error) {
      yield { id: document.id, error };
    }
  }
}

/** Deleted apps whose data still exists. Invalid documents are skipped and stay as they are. */
export function readDeletedApps(view: View): DeletedApp[] {
  return [...view.scan(DELETED_APPS)].flatMap(({ id, fields }) => {
    const { name, deletedAt, isBeingRemoved } = fields;
    if (!isAppId(id) || typeof name !== "string" || typeof deletedAt !== "number") return [];
    return [{ id, name, deletedAt, ...(isBeingRemoved === true && { isBeingRemoved }) }];
  });
}

export function appOf({ id, fields }: StoredDocument): App {
  const { name, settings = {}, authProviders = {}, sessionKeys = [], createdAt } = fields;
  // The id becomes the name of a folder, so it must be a UUID.
  if (!isAppId(id) || typeof name !== "string") {
    throw new PeerError("store.corrupt", "expected apps with a UUID and a name in the registry");
  }
  return {
    id,
    name,
    settings: settingsOf(settings),
    authProviders: providersOfStore(authProviders),
    sessionKeys: isArray(sessionKeys) ? sessionKeys.map(sessionKeyOf) : [],
    createdAt: typeof createdAt === "number" ? createdAt : 0,
  };
}

/** Encodes an app as the fields of its document. */
export function fieldsOfApp(app: App): ValueObject {
  return {
    name: app.name,
    settings: { ...app.settings },
    authProviders: storedProviders(app.authProviders),
    sessionKeys: app.sessionKeys.map(({ id, secret }) => ({ id, secret })),
    createdAt: app.createdAt,
  };
}

function settingsOf(settings: Value): AppSettings {
  const { isV4Strict, isUnknownEmpty } = isObject(settings) ? settings : {};
  return { isV4Strict: isV4Strict === true, isUnknownEmpty: isUnknownEmpty === true };
}

function sessionKeyOf(value: Value): SessionKey {
  const { id, secret } = isObject(value) ? value : {};
  if (typeof id === "string" && secret instanceof Uint8Array) return { id, secret };
  throw new PeerError("store.corrupt", "expected session keys of an app in the registry");
}
