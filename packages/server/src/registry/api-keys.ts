/**
 * API keys: creates, changes, rotates and deletes the API keys of apps, and finds a key by its
 * text.
 *
 * Each change is one transaction of the registry's store, with its audit entry. Every request looks
 * up a key, so results are cached until the registry changes. The time of the last use is kept in
 * memory and written periodically: a crash may lose the last minute of it.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform } from "@bigpeer/engine";
import { permissionsValue, readPermissions } from "@bigpeer/engine/query";
import type { View } from "@bigpeer/engine/store";
import {
  type Operation,
  PeerError,
  type UpdateOperation,
  type ValueObject,
} from "@bigpeer/protocol";
import { API_KEYS_MAX, DESCRIPTION_LENGTH_MAX, KEY_GRACE_SECONDS_MAX } from "../limits/limits.ts";
import { isName } from "../validation/name.ts";
import {
  type ApiKey,
  type ApiKeyContent,
  drawKeyText,
  fieldsOfKey,
  hashOfKeyText,
  idOfKeyText,
  keyOf,
  keyText,
  nameOfUnnamed,
  type StoredKey,
} from "./api-key.ts";
import { checkApp, nameOfApp, targetOfApp } from "./apps.ts";
import { type Author, changedFields, SERVER } from "./audit-log.ts";
import { checkName } from "./name-check.ts";
import { checked, checkRoom, checkSize, RegistryFault, shown } from "./registry-fault.ts";
import { API_KEYS, countBy, documentsBy, KEYS_BY_NAME } from "./registry-index.ts";
import { type Change, noChange, type RegistryStore } from "./registry-store.ts";

/** Result of a lookup by text; `id` identifies the key without revealing its text. */
export interface KnownKey extends Pick<ApiKey, "id" | "name" | "appId" | "permissions"> {
  /** When the text stops working, in milliseconds since 1970; Infinity for never. */
  readonly until: number;
}

export interface Rotation {
  /** How long the previous text still works. */
  readonly graceSeconds?: number;
}

/** Number of cached texts; hashing one costs more than all else before an operation. */
const KNOWN_MAX = 10_000;

/** Hash that an unknown text is compared with, so that it takes as long as a known one. */
const NO_HASH = new Uint8Array(32);

/** Catalog record that says that a key once existed. */
const EVER_ADDED = { section: "registry", name: "has_had_keys" };

/** Ids of keys with the time of their last use. */
export type Uses = readonly (readonly [string, number])[];

export class ApiKeys {
  readonly #store: RegistryStore;
  readonly #platform: Platform;
  /** Cache by text, for one version of the registry. */
  readonly #known = new Map<string, KnownKey>();
  #version = -1;
  /** Last use of each key by id, as far as it is not written yet. */
  readonly #uses = new Map<string, number>();

  constructor(store: RegistryStore, platform: Platform) {
    this.#store = store;
    this.#platform = platform;
  }

  /** Keys of an app in the order of their names. */
  list(appId: string): readonly ApiKey[] {
    const documents = this.#store.read((view) => documentsBy(view, KEYS_BY_NAME, appId));
    return documents.map((document) => this.#shown(keyOf(document)));
  }

  /** Throws ApiKeyNotFound. */
  get(appId: string, name: string): ApiKey {
    return this.#shown(this.#store.read((view) => keyNamed(view, appId, name)));
  }

  isExpired({ expiresAt = Number.POSITIVE_INFINITY }: ApiKey): boolean {
    return this.#platform.now() >= expiresAt;
  }

  /** Whether no key was ever added, not even one that was deleted since. */
  get isUnused(): boolean {
    return this.#store.read((view) => view.count(API_KEYS) === 0 && !hasHadKeys(view));
  }

  /** Creates a key. Returns its text, which cannot be read again (M15). */
  create(
    appId: string,
    given: ApiKeyContent & { readonly name: string },
    author: Author,
  ): Promise<string> {
    return this.#store.change(author, (view, nowMs) => {
      checkApp(view, appId);
      const text = drawKeyText(this.#platform, view);
      return { ...this.#insertion(view, text, { ...given, appId }, nowMs), result: text };
    });
  }

  /** Replaces all but the name and the text; an absent field is removed (M17). */
  async replace(
    appId: string,
    name: string,
    content: ApiKeyContent,
    author: Author,
  ): Promise<ApiKey> {
    const key = await this.#store.change(author, (view, nowMs) => {
      const before = keyNamed(view, appId, name);
      const { permissions: _permissions, expiresAt: _until, description: _text, ...rest } = before;
      const after: StoredKey = { ...rest, ...checkedContent(content, nowMs) };
      const fields = changedFields(contentValue(before), contentValue(after));
      if (fields.length === 0) return noChange(before);
      const detail = fields.join(", ");
      const audited = { action: "apiKey.replace", target: targetOf(view, after), detail };
      return { operations: [putOperation(after)], actions: [audited], result: after };
    });
    return this.#shown(key);
  }

  /** Gives a key a new text and returns it (M18). Ends the grace period of an earlier rotation. */
  rotate(
    appId: string,
    name: string,
    { graceSeconds = 0 }: Rotation,
    author: Author,
  ): Promise<string> {
    return this.#store.change(author, (view, nowMs) => {
      checkGrace(graceSeconds);
      const { previous: _previous, ...before } = keyNamed(view, appId, name);
      const text = keyText(this.#platform, before.id);
      const until = nowMs + graceSeconds * 1000;
      const key: StoredKey = {
        ...before,
        hash: hashOfKeyText(this.#platform, text),
        ...(graceSeconds > 0 && { previous: { hash: before.hash, until } }),
      };
      const detail = `grace ${graceSeconds} s`;
      const audited = { action: "apiKey.rotate", target: targetOf(view, key), detail };
      return { operations: [putOperation(key)], actions: [audited], result: text };
    });
  }

  remove(appId: string, name: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      const { id } = keyNamed(view, appId, name);
      const audited = { action: "apiKey.delete", target: targetOf(view, { appId, name }) };
      const operation: Operation = { kind: "delete", collection: API_KEYS, id };
      return { operations: [operation], actions: [audited], result: undefined };
    });
  }

  /** Creates a text for a key. It does not work until it is added. */
  draw(): string {
    return this.#store.read((view) => drawKeyText(this.#platform, view));
  }

  /** Adds a key with a text of `draw`, so that the text can be saved before it works. */
  add(
    text: string,
    given: ApiKeyContent & { readonly appId: string; readonly name?: string },
    author: Author = SERVER,
  ): Promise<void> {
    return this.#store.change(author, (view, nowMs) => this.#insertion(view, text, given, nowMs));
  }

  /** Returns the key with this text; undefined when it is unknown or expired. Records the use. */
  find(text: string): KnownKey | undefined {
    const { version } = this.#store;
    if (version !== this.#version || this.#known.size >= KNOWN_MAX) {
      this.#known.clear();
      this.#version = version;
    }
    let known = this.#known.get(text);
    if (known === undefined) {
      known = this.#lookUp(text);
      if (known === undefined) return undefined;
      this.#known.set(text, known);
    }
    const now = this.#platform.now();
    if (now >= known.until) return undefined;
    this.#uses.set(known.id, now);
    return known;
  }

  /** Whether a text works. Does not count as a use. */
  opens(text: string): boolean {
    return this.#platform.now() < (this.#lookUp(text)?.until ?? 0);
  }

  /** Writes the times of last use that `find` recorded. */
  async flushUses(
    write: (uses: Uses) => Promise<void> = (uses) => this.writeUses(uses),
  ): Promise<void> {
    const uses = [...this.#uses];
    if (uses.length === 0) return;
    await write(uses);
    // Only now: until it is written, this map alone has it.
    for (const [id, at] of uses) if (this.#uses.get(id) === at) this.#uses.delete(id);
  }

  /** Writes the times of last use of these keys. */
  async writeUses(uses: Uses): Promise<void> {
    const operations = uses.map(([id, at]) => useOperation(id, at));
    // It changes nothing that caches hold.
    await this.#store.note(() => ({ operations, result: undefined }));
  }

  #insertion(
    view: View,
    text: string,
    given: ApiKeyContent & { readonly appId: string; readonly name?: string },
    nowMs: number,
  ): Change<void> {
    const id = idOfKeyText(text);
    if (id === undefined) throw new PeerError("value.invalid", "expected the text of an API key");
    if (view.get(API_KEYS, id) !== undefined) {
      throw new PeerError("operation.refused", `the API key ${id} is there already`);
    }
    const { appId, name = nameOfUnnamed(id) } = given;
    checkNew(view, appId, name);
    const content = checkedContent(given, nowMs);
    const hash = hashOfKeyText(this.#platform, text);
    const key = { ...content, id, appId, name, hash, createdAt: nowMs };
    const everAdded: Operation = { kind: "catalog", ...EVER_ADDED, value: true };
    return {
      operations: [putOperation(key), ...(hasHadKeys(view) ? [] : [everAdded])],
      actions: [{ action: "apiKey.create", target: targetOf(view, key), detail: `id ${id}` }],
      result: undefined,
    };
  }

  #lookUp(text: string): KnownKey | undefined {
    const id = idOfKeyText(text);
    if (id === undefined) return undefined;
    const document = this.#store.read((view) => view.get(API_KEYS, id));
    const stored = document && keyOf(document);
    const given = hashOfKeyText(this.#platform, text);
    const isCurrent = timingSafeEqual(given, stored?.hash ?? NO_HASH);
    const isPrevious = timingSafeEqual(given, stored?.previous?.hash ?? NO_HASH);
    if (stored === undefined || !(isCurrent || isPrevious)) return undefined;
    const { name, appId, permissions, expiresAt = Number.POSITIVE_INFINITY, previous } = stored;
    const until = isCurrent ? expiresAt : Math.min(expiresAt, previous?.until ?? 0);
    return { id, name, appId, permissions, until };
  }

  #shown(stored: StoredKey): ApiKey {
    const { hash: _hash, previous: _previous, ...key } = stored;
    const usedAt = this.#uses.get(key.id);
    return usedAt === undefined ? key : { ...key, lastUsedAt: usedAt };
  }
}

/** Has no effect when the key is deleted. */
function useOperation(id: string, at: number): UpdateOperation {
  const edits = [{ kind: "set" as const, path: ["lastUsedAt"], value: at }];
  return { kind: "update", collection: API_KEYS, id, edits };
}

/** Replaces the whole document. */
function putOperation(key: StoredKey): Operation {
  return {
    kind: "insert",
    collection: API_KEYS,
    id: key.id,
    fields: fieldsOfKey(key),
    clean: true,
  };
}

/** Fields that `replace` can change, for comparison. */
function contentValue({ permissions, expiresAt, description }: ApiKeyContent): ValueObject {
  return {
    permissions: permissionsValue(permissions),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(description !== undefined && { description }),
  };
}

function keyNamed(view: View, appId: string, name: string): StoredKey {
  const [document] = isName(name) ? documentsBy(view, KEYS_BY_NAME, appId, name) : [];
  if (document !== undefined) return keyOf(document);
  const app = shown(nameOfApp(view, appId) ?? appId);
  const message = `there is no API key named ${shown(name)} in the app ${app}`;
  throw new RegistryFault("ApiKeyNotFound", message);
}

function hasHadKeys(view: View): boolean {
  return view.catalog(EVER_ADDED.section, EVER_ADDED.name) !== undefined;
}

/** Name of a key in the audit log. */
function targetOf(view: View, { appId, name }: Pick<ApiKey, "appId" | "name">): string {
  return `${targetOfApp(nameOfApp(view, appId) ?? appId)}/apiKey/${name}`;
}

function checkNew(view: View, appId: string, name: string): void {
  checkName(name, "an API key");
  if (countBy(view, KEYS_BY_NAME, appId, name) > 0) {
    const message = `the app has an API key with the name ${shown(name)}`;
    throw new RegistryFault("ApiKeyNameNotUnique", message);
  }
  checkRoom(countBy(view, KEYS_BY_NAME, appId) + 1, API_KEYS_MAX, "API keys of an app");
}

/** Keeps only permissions that can be read again: others would fail every request. */
function checkedContent(content: ApiKeyContent, nowMs: number): ApiKeyContent {
  const { permissions: given, expiresAt, description } = content;
  const permissions = checked(() => readPermissions(permissionsValue(given), "permissions"));
  if (expiresAt !== undefined) checkExpiry(expiresAt, nowMs);
  if (description !== undefined) {
    const what = "characters at description";
    checkSize(description.length, DESCRIPTION_LENGTH_MAX, what);
  }
  return {
    permissions,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(description !== undefined && { description }),
  };
}

function checkExpiry(expiresAt: number, nowMs: number): void {
  if (Number.isSafeInteger(expiresAt) && expiresAt > nowMs) return;
  const message = "expected a time in the future at expiresAt";
  throw new RegistryFault("InvalidApiKeyExpiryDate", message);
}

function checkGrace(graceSeconds: number): void {
  if (!Number.isInteger(graceSeconds) || graceSeconds < 0) {
    const message = "expected a whole number of seconds, 0 or more, at graceSeconds";
    throw new RegistryFault("InvalidRequest", message);
  }
  checkSize(graceSeconds, KEY_GRACE_SECONDS_MAX, "seconds at graceSeconds");
}
