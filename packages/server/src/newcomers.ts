/**
 * Newcomers: connections that have not shown a credential yet, bounded for each address and for all.
 *
 * Anybody can open connections and say nothing. When an address has as many as it may, one of them
 * that was silent for long enough gives way, or else the new one is refused; when there are too many
 * of all, the one that came first gives way: a client that knows what to say has said it by then.
 * Connections whose credential was accepted do not count: many clients may share one address.
 */

import { networkOf } from "./http/client-address.ts";

export interface NewcomerBounds {
  readonly max: number;
  readonly perAddressMax: number;
  /** How long one of a full address stays without a word; for ever when it is left out. */
  readonly silentMsMax?: number;
}

export interface NewcomersOptions extends NewcomerBounds {
  /** Milliseconds, on a clock that never goes back. */
  readonly elapsed: () => number;
  /** Told of each that gave way or was refused. */
  readonly onRefused?: (() => void) | undefined;
}

interface Newcomer {
  readonly network: string;
  readonly sinceMs: number;
  readonly cut: () => void;
  /** It does not give way now. */
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

  /** Whether another one of `address` may come; those that have to give way for it are cut. */
  makeRoom(address: string): boolean {
    const { max, perAddressMax } = this.#options;
    const ofNetwork = this.#ofNetworks.get(networkOf(address));
    if (ofNetwork !== undefined && ofNetwork.size >= perAddressMax) {
      if (!this.#cutSilent(ofNetwork)) return this.#refuse();
    }
    if (this.#newcomers.size >= max && !this.#cutFirst()) return this.#refuse();
    return true;
  }

  /** Cuts one that was silent for too long, whatever its address. False when there is none. */
  cutSilent(): boolean {
    return this.#cutSilent(this.#newcomers);
  }

  has(key: Key): boolean {
    return this.#newcomers.has(key);
  }

  /** `cut` ends the connection at once. */
  add(key: Key, address: string, cut: () => void): void {
    this.remove(key);
    const network = networkOf(address);
    const newcomer = { network, sinceMs: this.#options.elapsed(), cut, isHeld: false };
    this.#newcomers.set(key, newcomer);
    const ofNetwork = this.#ofNetworks.get(network);
    if (ofNetwork === undefined) this.#ofNetworks.set(network, new Map([[key, newcomer]]));
    else ofNetwork.set(key, newcomer);
  }

  /** Its credential is being checked, or is no longer: meanwhile it does not give way. */
  hold(key: Key, isHeld: boolean): void {
    const newcomer = this.#newcomers.get(key);
    if (newcomer !== undefined) newcomer.isHeld = isHeld;
  }

  /** It is known now, or gone. */
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
