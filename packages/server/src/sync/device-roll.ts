/**
 * Device roll: which devices are recorded, of whom, and who of them has been gone the longest. It says
 * whose record goes when there are too many: never that of a device that is connected, and first one of
 * the credential that has the most, so that nobody's made-up devices push out those of others.
 */

import type { DeviceName } from "./device-name.ts";

/** The recorded devices of a credential. */
interface Share {
  count: number;
  /** Those that left, in the order in which they did. */
  readonly gone: Set<string>;
}

/** Whether the record of a device is to stay, or went already. */
type IsTaken = (name: DeviceName) => boolean;

/** How often the largest share is taken from before it is looked for again. */
const TAKEN_AT_ONCE = 100;

export class DeviceRoll {
  readonly #shares = new Map<string, Share>();
  #largest: string | undefined;
  #uses = 0;

  /** How many are recorded of a credential. */
  countOf(credential: string): number {
    return this.#shares.get(credential)?.count ?? 0;
  }

  /** A device has a record now. */
  add({ credential }: DeviceName): void {
    this.#shareOf(credential).count++;
  }

  /** Its record is no more. */
  remove({ key, credential }: DeviceName): void {
    const share = this.#shareOf(credential);
    share.count--;
    share.gone.delete(key);
    if (share.count === 0) this.#shares.delete(credential);
  }

  /** A device that has a record is connected, or is not any more. */
  mark({ key, credential }: DeviceName, isConnected: boolean): void {
    const { gone } = this.#shareOf(credential);
    gone.delete(key);
    if (!isConnected) gone.add(key);
  }

  /** The one of a credential that has been gone the longest, of those that are not taken. */
  longestGoneOf(credential: string, isTaken: IsTaken): DeviceName | undefined {
    for (const key of this.#shares.get(credential)?.gone ?? []) {
      const name = { key, credential };
      if (!isTaken(name)) return name;
    }
    return undefined;
  }

  /** The same of the credential that has the most who are gone, about. */
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

  /** Those that have somebody who is gone, the largest first. */
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
