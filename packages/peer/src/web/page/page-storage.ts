/**
 * Page storage: `peer.storage`, how much of its storage the browser gives to the origin of the page,
 * and whether it may take that back.
 *
 * A browser may delete the data of an origin when it runs out of space, unless it has promised not
 * to. The first write asks for that promise: then there is something to lose, and Firefox, which
 * asks its user, does not do it at every visit.
 */

import type { WebStorage } from "../web-globals.ts";

/**
 * Use of the storage of this origin, by all its pages and databases.
 *
 * @example
 * const { use, quota }: StorageUse = await peer.storage.update();
 * if (use > 0.8 * quota) console.warn("the storage of this browser is nearly full");
 */
export interface StorageUse {
  /** Bytes in use, as the browser estimates them. */
  readonly use: number;
  /** Bytes that the origin may use. */
  readonly quota: number;
  /** Whether the browser has promised not to delete the data by itself. */
  readonly isPersistent: boolean;
}

/** `peer.storage` of a page: the figures of the last update. */
export interface PeerStorage extends StorageUse {
  /** Asks the browser again. */
  update(): Promise<StorageUse>;
}

export class PageStorage implements PeerStorage {
  readonly #storage: WebStorage | undefined;
  #known: StorageUse = { use: 0, quota: 0, isPersistent: false };
  #isAsked: boolean;

  /** `isLasting` is false for documents in memory, for which there is nothing to ask. */
  constructor(isLasting: boolean, storage: WebStorage | undefined) {
    this.#isAsked = !isLasting;
    this.#storage = storage;
  }

  get use(): number {
    return this.#known.use;
  }

  get quota(): number {
    return this.#known.quota;
  }

  get isPersistent(): boolean {
    return this.#known.isPersistent;
  }

  async update(): Promise<StorageUse> {
    const storage = this.#storage;
    if (storage === undefined) return this.#known;
    const [estimate, isPersistent] = await Promise.all([storage.estimate(), storage.persisted()]);
    const { usage = 0, quota = 0 } = estimate;
    this.#known = { use: usage, quota, isPersistent };
    return this.#known;
  }

  /** Asks the browser once to keep the data. It may refuse, which changes nothing for the app. */
  askToKeep(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    void this.#askToKeep().catch(() => {});
  }

  async #askToKeep(): Promise<void> {
    if ((await this.#storage?.persisted()) === true) return;
    await this.#storage?.persist();
    await this.update();
  }
}
