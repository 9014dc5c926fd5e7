/**
 * API keys: who may ask for what, by a secret that is never kept (api-key.ts).
 *
 * Each change is one transaction of the registry's store, its entry in the audit log included. To
 * find a key by its text is part of every request, so what was found is remembered while the
 * registry does not change. When a key was used last is noted in memory and written now and then:
 * a crash may lose the last minute of it.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform, View } from "@bigpeer/engine";
import { permissionsValue, readPermissions } from "@bigpeer/engine";
import {
  type Operation,
  PeerError,
  type UpdateOperation,
  type ValueObject,
} from "@bigpeer/protocol";
import { API_KEYS_MAX, DESCRIPTION_LENGTH_MAX, KEY_GRACE_SECONDS_MAX } from "../limits.ts";
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
import { checkName, isName } from "./name.ts";
import { checked, checkRoom, checkSize, RegistryFault, shown } from "./registry-fault.ts";
import { API_KEYS, countBy, documentsBy, KEYS_BY_NAME } from "./registry-index.ts";
import { type Change, noChange, type RegistryStore } from "./registry-store.ts";

/** A key that was found by its text: `id` names it without giving it away. */
export interface KnownKey extends Pick<ApiKey, "id" | "appId" | "permissions"> {
  /** When the text stops to open something, in milliseconds since 1970; Infinity for never. */
  readonly until: number;
}

export interface Rotation {
  /** How long the text of before works on. */
  readonly graceSeconds?: number;
}

/** Texts that are remembered; hashing one costs more than all else before an operation. */
const KNOWN_MAX = 10_000;

/** What an unknown text is compared with, so that it takes the time of a known one. */
const NO_HASH = new Uint8Array(32);

/** The record in the catalog that says that there were keys once. */
const EVER_ADDED = { section: "registry", name: "has_had_keys" };

export class ApiKeys {
  readonly #store: RegistryStore;
  readonly #platform: Platform;
  /** By text, as of one state of the registry. */
  readonly #known = new Map<string, KnownKey>();
  #version = -1;
  /** When each key was used last, by id, as far as it is not written yet. */
  readonly #uses = new Map<string, number>();

  constructor(store: RegistryStore, platform: Platform) {
    this.#store = store;
    this.#platform = platform;
  }

  /** The keys of an app in the order of their names. */
  list(appId: string): readonly ApiKey[] {
    const documents = this.#store.read((view) => documentsBy(view, KEYS_BY_NAME, appId));
    return documents.map((document) => this.#shown(keyOf(document)));
  }

  /** Throws ApiKeyNotFound. */
  get(appId: string, name: string): ApiKey {
    return this.#shown(this.#store.read((view) => keyNamed(view, appId, name)));
  }

  /** Whether no key was ever added, not even one that was removed since. */
  get isUnused(): boolean {
    return this.#store.read((view) => view.count(API_KEYS) === 0 && !hasHadKeys(view));
  }

  /** Returns the text, which nobody can read again. */
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

  /** Replaces all but the name and the text; what is left out is gone. */
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
      const deed = { action: "apiKey.replace", target: targetOf(view, after), detail };
      return { operations: [putOperation(after)], deeds: [deed], result: after };
    });
    return this.#shown(key);
  }

  /** The same key with a new text, which is returned. An earlier text that still worked does not. */
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
      const deed = { action: "apiKey.rotate", target: targetOf(view, key), detail };
      return { operations: [putOperation(key)], deeds: [deed], result: text };
    });
  }

  remove(appId: string, name: string, author: Author): Promise<void> {
    return this.#store.change(author, (view) => {
      const { id } = keyNamed(view, appId, name);
      const deed = { action: "apiKey.delete", target: targetOf(view, { appId, name }) };
      const operation: Operation = { kind: "delete", collection: API_KEYS, id };
      return { operations: [operation], deeds: [deed], result: undefined };
    });
  }

  /** The text of a key that nobody has yet. It opens nothing before it is added. */
  draw(): string {
    return this.#store.read((view) => drawKeyText(this.#platform, view));
  }

  /** Makes a text that was drawn a key: for whoever writes it down before it opens something. */
  add(
    text: string,
    given: ApiKeyContent & { readonly appId: string; readonly name?: string },
    author: Author = SERVER,
  ): Promise<void> {
    return this.#store.change(author, (view, nowMs) => this.#insertion(view, text, given, nowMs));
  }

  /** The key with this text; undefined when there is none, or no longer. Notes the use. */
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

  /** Whether a text opens something. That is no use of it. */
  opens(text: string): boolean {
    return this.#platform.now() < (this.#lookUp(text)?.until ?? 0);
  }

  /** Writes when keys were used last, as far as find noted it. */
  async flushUses(): Promise<void> {
    const uses = [...this.#uses];
    if (uses.length === 0) return;
    const operations = uses.map(([id, at]) => useOperation(id, at));
    // No key opens anything else after it.
    await this.#store.note(() => ({ operations, result: undefined }));
    // Not before: until it is written, it is known from here alone.
    for (const [id, at] of uses) if (this.#uses.get(id) === at) this.#uses.delete(id);
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
      deeds: [{ action: "apiKey.create", target: targetOf(view, key), detail: `id ${id}` }],
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
    const { appId, permissions, expiresAt = Number.POSITIVE_INFINITY, previous } = stored;
    const until = isCurrent ? expiresAt : Math.min(expiresAt, previous?.until ?? 0);
    return { id, appId, permissions, until };
  }

  #shown(stored: StoredKey): ApiKey {
    const { hash: _hash, previous: _previous, ...key } = stored;
    const usedAt = this.#uses.get(key.id);
    return usedAt === undefined ? key : { ...key, lastUsedAt: usedAt };
  }
}

/** Does nothing where the key is gone. */
function useOperation(id: string, at: number): UpdateOperation {
  const edits = [{ kind: "set" as const, path: ["lastUsedAt"], value: at }];
  return { kind: "update", collection: API_KEYS, id, edits };
}

/** Replaces all of the document. */
function putOperation(key: StoredKey): Operation {
  return {
    kind: "insert",
    collection: API_KEYS,
    id: key.id,
    fields: fieldsOfKey(key),
    clean: true,
  };
}

/** What may be replaced, to be compared. */
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

/** How the audit log calls a key. */
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

/** Only what can be read again is kept: a key that cannot would fail at every request. */
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
