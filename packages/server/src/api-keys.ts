/**
 * API keys: who may ask for what, by a secret that is never kept.
 *
 * A key is the text `bp_<id>_<secret>`: 8 hexadecimal digits by which it is found, and 256 random
 * bits. The registry keeps the SHA-256 of the text, in one document for each key in the collection
 * `api_keys`: so whoever reads the folder or a backup of it does not learn a key.
 */

import { timingSafeEqual } from "node:crypto";
import type { Platform, Store } from "@bigpeer/engine";
import {
  encodeText,
  getField,
  isObject,
  PeerError,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";

export interface ApiKey {
  readonly appId: string;
  readonly permissions: ValueObject;
}

/** A key that was found: `id` names it without giving it away. */
export interface KnownKey extends ApiKey {
  readonly id: string;
}

/** Everything: what the key of the quick start has. */
export const FULL_PERMISSIONS: ValueObject = {
  read: { everything: true },
  write: { everything: true },
  remoteQuery: true,
};

const API_KEYS = "api_keys";
const KEY_TEXT = /^bp_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/;
const ID_SIZE = 4;
const SECRET_SIZE = 32;

/** Keys that are remembered; hashing and reading one costs more than all else before an operation. */
const KNOWN_MAX = 10_000;

/** What an unknown key is compared with, so that it takes the time of a known one. */
const NO_HASH = new Uint8Array(32);

export class ApiKeys {
  readonly #store: Store;
  readonly #platform: Platform;
  /** By text, as of one state of the registry: a change there forgets them all. */
  readonly #known = new Map<string, KnownKey>();
  #knownTxnId = -1;

  constructor(store: Store, platform: Platform) {
    this.#store = store;
    this.#platform = platform;
  }

  count(): number {
    return this.#store.read((snapshot) => snapshot.count(API_KEYS));
  }

  /** The text of a key that nobody has yet. It opens nothing before it is added. */
  draw(): string {
    for (;;) {
      const id = Buffer.from(this.#platform.random(ID_SIZE)).toString("hex");
      const secret = Buffer.from(this.#platform.random(SECRET_SIZE)).toString("base64url");
      if (this.#read(id) === undefined) return `bp_${id}_${secret}`;
    }
  }

  /** Makes a text that was drawn a key. Durable when it resolves. */
  async add(text: string, { appId, permissions }: ApiKey): Promise<void> {
    const id = idOf(text);
    if (id === undefined) throw new PeerError("value.invalid", "expected the text of an API key");
    const fields = {
      appId,
      hash: this.#hash(text),
      permissions,
      createdAt: this.#platform.now(),
    };
    await this.#store.transact((transaction) => {
      if (transaction.get(API_KEYS, id) !== undefined) {
        throw new PeerError("operation.refused", `the API key ${id} is there already`);
      }
      transaction.apply([{ kind: "insert", collection: API_KEYS, id, fields }]);
    });
  }

  /** The key with this text; undefined when there is none. */
  find(text: string): KnownKey | undefined {
    const { txnId } = this.#store;
    if (txnId !== this.#knownTxnId || this.#known.size >= KNOWN_MAX) {
      this.#known.clear();
      this.#knownTxnId = txnId;
    }
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const found = this.#lookUp(text);
    if (found !== undefined) this.#known.set(text, found);
    return found;
  }

  #lookUp(text: string): KnownKey | undefined {
    const id = idOf(text);
    if (id === undefined) return undefined;
    const fields = this.#read(id);
    const { appId, hash, permissions } = fields ?? {};
    const isSame = timingSafeEqual(this.#hash(text), isHash(hash) ? hash : NO_HASH);
    if (fields === undefined || !isSame) return undefined;
    if (typeof appId !== "string" || !isObject(permissions)) throw corrupt(id);
    return { id, appId, permissions };
  }

  #read(id: string): ValueObject | undefined {
    return this.#store.read((snapshot) => snapshot.get(API_KEYS, id))?.fields;
  }

  #hash(text: string): Uint8Array {
    return this.#platform.sha256(encodeText(text));
  }
}

/** Whether these permissions let everything be read and written. */
export function isEverything({ read, write }: ValueObject): boolean {
  return isWhole(read) && isWhole(write);
}

function isWhole(part: Value | undefined): boolean {
  return isObject(part) && getField(part, "everything") === true;
}

function idOf(text: string): string | undefined {
  return KEY_TEXT.exec(text)?.[1];
}

function isHash(value: Value | undefined): value is Uint8Array {
  return value instanceof Uint8Array && value.length === NO_HASH.length;
}

function corrupt(id: string): PeerError {
  return new PeerError("store.corrupt", `expected an app and permissions of the API key ${id}`);
}
