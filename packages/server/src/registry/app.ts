/**
 * An app as the registry knows it, and the document that it keeps of it in the collection `apps`.
 * The id of the document is the id of the app.
 */

import type { Platform, StoredDocument, View } from "@bigpeer/engine";
import { isArray, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { type AuthProviders, providersOfStore, storedProviders } from "./auth-provider.ts";
import { APPS, APPS_BY_NAME, DELETED_APPS, namesBy } from "./registry-index.ts";

export interface App {
  readonly id: string;
  readonly name: string;
  readonly settings: AppSettings;
  readonly authProviders: AuthProviders;
  /** The first signs sessions, all verify them. */
  readonly sessionKeys: readonly SessionKey[];
  /** In milliseconds since 1970; 0 where it was not noted yet. */
  readonly createdAt: number;
}

/** How an app answers where clients expect different things. */
export interface AppSettings {
  /** Whether statements under `/api/v4` run in strict mode. */
  readonly isV4Strict: boolean;
  /** Whether an unknown collection counts as empty instead of as a mistake. */
  readonly isUnknownEmpty: boolean;
}

export interface SessionKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** What an app is called, by people and by all else. */
export type AppName = Pick<App, "id" | "name">;

/** An app that is gone, while its data is still there. */
export interface DeletedApp extends AppName {
  readonly deletedAt: number;
  /** From then on it cannot be brought back. */
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

/** The apps in one state of the registry's store, in the order of their names. */
export function readAppNames(view: View): AppName[] {
  const names: AppName[] = [];
  for (const { id, name } of namesBy(view, APPS_BY_NAME)) {
    // The id becomes the name of a folder: nothing else may.
    if (isAppId(id)) names.push({ id, name: typeof name === "string" ? name : id });
  }
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Why the documents of apps cannot be read, one by one; nothing when all can. */
export function* unreadableApps(view: View): Iterable<{ id: Value; error: unknown }> {
  for (const document of view.scan(APPS)) {
    try {
      appOf(document);
    } catch (error) {
      yield { id: document.id, error };
    }
  }
}

/** The apps whose data is still there. What cannot be read is nobody's: it stays as it is. */
export function readDeletedApps(view: View): DeletedApp[] {
  return [...view.scan(DELETED_APPS)].flatMap(({ id, fields }) => {
    const { name, deletedAt, isBeingRemoved } = fields;
    if (!isAppId(id) || typeof name !== "string" || typeof deletedAt !== "number") return [];
    return [{ id, name, deletedAt, ...(isBeingRemoved === true && { isBeingRemoved }) }];
  });
}

export function appOf({ id, fields }: StoredDocument): App {
  const { name, settings = {}, authProviders = {}, sessionKeys = [], createdAt } = fields;
  // The id becomes the name of a folder: nothing else may.
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

/** The fields of the document. */
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
