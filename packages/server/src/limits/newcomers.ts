/**
 * Newcomers: limits the connections without an accepted credential, per address and in total (H45).
 *
 * Any client can open connections and send nothing. When an address is at its limit, one of its
 * connections that was open for long enough gives way; otherwise the new one is refused. When the
 * total is at its limit, the oldest gives way, because a regular client has authenticated by then.
 * Connections with an accepted credential do not count: many clients may share one address.
 */

import { networkOf } from "../address/client-address.ts";

export interface NewcomerBounds {
  readonly max: number;
  readonly perAddressMax: number;
  /** How long a newcomer of an address at its limit is safe; for ever if absent. */
  readonly silentMsMax?: number;
}

export interface NewcomersOptions extends NewcomerBounds {
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  /** Called for each one that gave way or was refused. */
  readonly onRefused?: (() => void) | undefined;
}

interface Newcomer {
  readonly network: string;
  readonly sinceMs: number;
  readonly cut: () => void;
  /** Whether it must not give way now. */
  isHeld: boolean;
}

export class Newcomers<Key> {
  readonly #options: NewcomersOptions;
  /** In the order in which they came. */
  readonly #newcomers = new Map<Key, Newcomer>();
  /** By network, in the same order. */
  readonly #ofNetworks = new Map<string, Map<Key, Newcomer>>();

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#newcomers.size;
  }

  /** Whether another one of `address` may come; closes those that must give way to it. */
  makeRoom(address: string): boolean {
    const { max, perAddressMax } = this.#options;
    const ofNetwork = this.#ofNetworks.get(networkOf(address));
    if (ofNetwork !== undefined && ofNetwork.size >= perAddressMax) {
      if (!this.#cutSilent(ofNetwork)) return this.#refuse();
    }
    if (this.#newcomers.size >= max && !this.#cutFirst()) return this.#refuse();
    return true;
  }

  /** Closes one that is older than `silentMsMax`, of any address; false when there is none. */
  cutSilent(): boolean {
    return this.#cutSilent(this.#newcomers);
  }

  has(key: Key): boolean {
    return this.#newcomers.has(key);
  }

  /** `cut` closes the connection at once. */
  add(key: Key, address: string, cut: () => void): void {
    this.remove(key);
    const network = networkOf(address);
    const newcomer = { network, sinceMs: this.#options.elapsed(), cut, isHeld: false };
    this.#newcomers.set(key, newcomer);
    const ofNetwork = this.#ofNetworks.get(network);
    if (ofNetwork === undefined) this.#ofNetworks.set(network, new Map([[key, newcomer]]));
    else ofNetwork.set(key, newcomer);
  }

  /** While its credential is being checked, it does not give way. */
  hold(key: Key, isHeld: boolean): void {
    const newcomer = this.#newcomers.get(key);
    if (newcomer !== undefined) newcomer.isHeld = isHeld;
  }

  /** Call it when the credential was accepted or the connection is closed. */
  remove(key: Key): void {
    const newcomer = this.#newcomers.get(key);
    if (newcomer === undefined) return;
    this.#newcomers.delete(key);
    const ofNetwork = this.#ofNetworks.get(newcomer.network);
    ofNetwork?.delete(key);
    if (ofNetwork?.size === 0) this.#ofNetworks.delete(newcomer.network);
  }

  #cutSilent(among: ReadonlyMap<Key, Newcomer>): boolean {
    const { silentMsMax = Number.POSITIVE_INFINITY, elapsed } = this.#options;
    const latestMs = elapsed() - silentMsMax;
    for (const [key, newcomer] of among) {
      if (newcomer.sinceMs > latestMs) return false;
      if (!newcomer.isHeld) return this.#cut(key, newcomer);
    }
    return false;
  }

  #cutFirst(): boolean {
    for (const [key, newcomer] of this.#newcomers) {
      if (!newcomer.isHeld) return this.#cut(key, newcomer);
    }
    return false;
  }

  #cut(key: Key, { cut }: Newcomer): true {
    this.remove(key);
    this.#options.onRefused?.();
    cut();
    return true;
  }

  #refuse(): false {
    this.#options.onRefused?.();
    return false;
  }
}
