/**
 * Device eviction list: selects the device record to remove when there are too many (W11). A
 * connected device keeps its record. The credential with the most absent devices loses the one that
 * left longest ago, so that made-up devices of one credential do not evict those of others.
 */

import type { DeviceName } from "./device-name.ts";

/** The recorded devices of a credential. */
interface Share {
  count: number;
  /** Keys of devices that left, in that order. */
  readonly gone: Set<string>;
}

/** Whether the record of a device must stay, or is already removed. */
type IsTaken = (name: DeviceName) => boolean;

/** Evictions from the largest share before it is determined again. */
const TAKEN_AT_ONCE = 100;

export class DeviceEvictionList {
  readonly #shares = new Map<string, Share>();
  #largest: string | undefined;
  #uses = 0;

  /** Number of records of a credential. */
  countOf(credential: string): number {
    return this.#shares.get(credential)?.count ?? 0;
  }

  /** A device has got a record. */
  add({ credential }: DeviceName): void {
    this.#shareOf(credential).count++;
  }

  /** The record of a device was removed. */
  remove({ key, credential }: DeviceName): void {
    const share = this.#shareOf(credential);
    share.count--;
    share.gone.delete(key);
    if (share.count === 0) this.#shares.delete(credential);
  }

  /** A device with a record has connected or left. */
  mark({ key, credential }: DeviceName, isConnected: boolean): void {
    const { gone } = this.#shareOf(credential);
    gone.delete(key);
    if (!isConnected) gone.add(key);
  }

  /** The device of a credential that left longest ago and is not taken. */
  longestGoneOf(credential: string, isTaken: IsTaken): DeviceName | undefined {
    for (const key of this.#shares.get(credential)?.gone ?? []) {
      const name = { key, credential };
      if (!isTaken(name)) return name;
    }
    return undefined;
  }

  /** The same of the credential with the most absent devices, approximately. */
  longestGone(isTaken: IsTaken): DeviceName | undefined {
    const known =
      this.#largest === undefined ? undefined : this.longestGoneOf(this.#largest, isTaken);
    if (known !== undefined && ++this.#uses < TAKEN_AT_ONCE) return known;
    this.#uses = 0;
    for (const credential of this.#bySize()) {
      const found = this.longestGoneOf(credential, isTaken);
      if (found === undefined) continue;
      this.#largest = credential;
      return found;
    }
    return undefined;
  }

  /** Credentials with absent devices, the ones with the most first. */
  #bySize(): string[] {
    const sizes = Array.from(this.#shares, ([credential, { gone }]) => ({
      credential,
      size: gone.size,
    }));
    const some = sizes.filter(({ size }) => size > 0).sort((one, other) => other.size - one.size);
    return some.map(({ credential }) => credential);
  }

  #shareOf(credential: string): Share {
    const known = this.#shares.get(credential);
    if (known !== undefined) return known;
    const made: Share = { count: 0, gone: new Set() };
    this.#shares.set(credential, made);
    return made;
  }
}
