/**
 * StoreNames: names of collections and fields for completion, read from the server and kept for a
 * short time. A server that is away has no names, and the shell goes on.
 */

import type { BigPeerClient } from "@bigpeer/client";
import { readCollections } from "../connection/server-state.ts";
import { quoted } from "../transfer/typed-document.ts";
import type { KnownNames } from "./completion.ts";

const KEPT_MS = 10_000;

/** Documents whose fields stand for those of the collection. */
const SAMPLE = 20;

export class StoreNames implements KnownNames {
  readonly #client: BigPeerClient;
  readonly #kept = new Map<string, { readonly names: readonly string[]; readonly endMs: number }>();

  constructor(client: BigPeerClient) {
    this.#client = client;
  }

  collections(): Promise<readonly string[]> {
    return this.#read("", () => readCollections(this.#client));
  }

  fields(collection: string): Promise<readonly string[]> {
    return this.#read(collection, async () => {
      const statement = `SELECT * FROM ${quoted(collection)} LIMIT ${SAMPLE}`;
      const { items } = await this.#client.execute<object>(statement, {}, { retries: 0 });
      return [...new Set(items.flatMap((item) => Object.keys(item)))];
    });
  }

  async #read(key: string, read: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && performance.now() < kept.endMs) return kept.names;
    const names = await read().catch(() => []);
    this.#kept.set(key, { names, endMs: performance.now() + KEPT_MS });
    return names;
  }
}
