/**
 * An app as the registry knows it, and the document that it keeps of it in the collection `apps`.
 * The id of the document is the id of the app.
 */

import type { Platform, StoredDocument, View } from "@bigpeer/engine";
import { isArray, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { type AuthProviders, providersOfStore, storedProviders } from "../auth/auth-provider.ts";
import { APPS, DELETED_APPS } from "./registry-index.ts";

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

/** An app that is gone, while its data is still there. */
export interface DeletedApp {
  readonly id: string;
  readonly name: string;
  readonly deletedAt: number;
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

/** The apps in one state of the registry's store, in the order of their ids. */
export function readApps(view: View): App[] {
  return [...view.scan(APPS)].map(appOf);
}

/** The apps whose data is still to be removed. */
export function readDeletedApps(view: View): DeletedApp[] {
  return [...view.scan(DELETED_APPS)].map(({ id, fields: { name, deletedAt } }) => {
    if (!isAppId(id) || typeof name !== "string" || typeof deletedAt !== "number") {
      throw new PeerError("store.corrupt", "expected deleted apps with a UUID in the registry");
    }
    return { id, name, deletedAt };
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
