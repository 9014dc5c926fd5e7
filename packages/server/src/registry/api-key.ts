/**
 * API key: the format of its text, and its document in the collection `api_keys`.
 *
 * The text is `bp_<id>_<secret>`: 8 hexadecimal digits that identify it, and 256 random bits (H15).
 * The document holds the id and the SHA-256 of the text, so a copy of the data folder reveals no
 * key.
 */

import type { Platform } from "@bigpeer/engine";
import { type Permissions, permissionsValue, readPermissions } from "@bigpeer/engine/query";
import type { StoredDocument, View } from "@bigpeer/engine/store";
import {
  encodeText,
  PeerError,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { API_KEYS } from "./registry-index.ts";

/** Fields that `replace` can change. */
export interface ApiKeyContent {
  readonly permissions: Permissions;
  /** In milliseconds since 1970; without it the key never expires. */
  readonly expiresAt?: number;
  readonly description?: string;
}

export interface ApiKey extends ApiKeyContent {
  readonly id: string;
  /** Unique within the app. */
  readonly name: string;
  readonly appId: string;
  readonly createdAt: number;
  /** To about a minute. */
  readonly lastUsedAt?: number;
}

/** Key with the fields that only the document has. */
export interface StoredKey extends ApiKey {
  readonly hash: Uint8Array;
  /** Hash of the text before a rotation, while that still works. */
  readonly previous?: { readonly hash: Uint8Array; readonly until: number };
}

const KEY_TEXT = /^bp_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/;
const ID_SIZE = 4;
const SECRET_SIZE = 32;
const HASH_SIZE = 32;

/** Creates a text for a new key, with an id that is free in `view`. */
export function drawKeyText(platform: Platform, view: View): string {
  for (;;) {
    const id = Buffer.from(platform.random(ID_SIZE)).toString("hex");
    if (view.get(API_KEYS, id) === undefined) return keyText(platform, id);
  }
}

/** Creates a text with a new secret. */
export function keyText(platform: Platform, id: string): string {
  return `bp_${id}_${Buffer.from(platform.random(SECRET_SIZE)).toString("base64url")}`;
}

/** Undefined when `text` does not have the format of a key. */
export function idOfKeyText(text: string): string | undefined {
  return KEY_TEXT.exec(text)?.[1];
}

export function hashOfKeyText(platform: Platform, text: string): Uint8Array {
  return platform.sha256(encodeText(text));
}

/** Encodes a key as the fields of its document. */
export function fieldsOfKey(key: StoredKey): ValueObject {
  const { appId, name, hash, permissions, createdAt, ...others } = key;
  const { expiresAt, description, lastUsedAt, previous } = others;
  return {
    appId,
    name,
    hash,
    permissions: permissionsValue(permissions),
    createdAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(description !== undefined && { description }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    ...(previous && { previousHash: previous.hash, previousUntil: previous.until }),
  };
}

export function keyOf({ id, fields }: StoredDocument): StoredKey {
  const { appId, name, hash, createdAt, expiresAt, description, lastUsedAt } = fields;
  const { previousHash, previousUntil } = fields;
  if (
    typeof id !== "string" ||
    typeof appId !== "string" ||
    typeof createdAt !== "number" ||
    !isHash(hash)
  ) {
    const message = `expected an API key with the id ${stringifyJson(id)} in the registry`;
    throw new PeerError("store.corrupt", message);
  }
  const hasPrevious = isHash(previousHash) && typeof previousUntil === "number";
  return {
    id,
    appId,
    name: typeof name === "string" ? name : nameOfUnnamed(id),
    hash,
    permissions: permissionsOf(id, fields),
    createdAt,
    ...(typeof expiresAt === "number" && { expiresAt }),
    ...(typeof description === "string" && { description }),
    ...(typeof lastUsedAt === "number" && { lastUsedAt }),
    ...(hasPrevious && { previous: { hash: previousHash, until: previousUntil } }),
  };
}

/** Name of a key that was created without one. */
export function nameOfUnnamed(id: string): string {
  return `key-${id}`;
}

function permissionsOf(id: string, { permissions }: ValueObject): Permissions {
  try {
    return readPermissions(permissions);
  } catch (cause) {
    const message = `expected permissions of the API key ${id} in the registry`;
    throw new PeerError("store.corrupt", message, { cause });
  }
}

function isHash(value: Value | undefined): value is Uint8Array {
  return value instanceof Uint8Array && value.length === HASH_SIZE;
}
