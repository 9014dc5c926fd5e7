/**
 * Record budget: makes space for new records of devices in one transaction. At a limit, the record
 * of an absent device is removed (W11).
 */

import type { Transaction } from "@bigpeer/engine/store";
import { DEVICE_RECORDS_MAX, DEVICE_RECORDS_OF_ONE_MAX } from "../limits/limits.ts";
import type { DeviceEvictionList } from "./device-eviction-list.ts";
import { DEVICE_RECORDS, type DeviceName, idOf, textOf } from "./device-name.ts";

/** How many records there may be, and how many of one credential. */
export interface RecordLimits {
  readonly recordsMax?: number;
  readonly recordsOfOneMax?: number;
}

export class RecordBudget {
  readonly #transaction: Transaction;
  readonly #roll: DeviceEvictionList;
  readonly #max: number;
  readonly #ofOneMax: number;
  /** Records that this transaction has written or removed. */
  readonly #touched = new Set<string>();
  /** By credential: how many records this transaction has added. */
  readonly #more = new Map<string, number>();

  constructor(transaction: Transaction, roll: DeviceEvictionList, limits: RecordLimits) {
    this.#transaction = transaction;
    this.#roll = roll;
    this.#max = limits.recordsMax ?? DEVICE_RECORDS_MAX;
    this.#ofOneMax = limits.recordsOfOneMax ?? DEVICE_RECORDS_OF_ONE_MAX;
  }

  touch(name: DeviceName): void {
    this.#touched.add(textOf(name));
  }

  /** Devices whose records it removed for one more of a credential; undefined if none can be. */
  make(credential: string): DeviceName[] | undefined {
    const removed: DeviceName[] = [];
    for (;;) {
      const isOver = this.#roll.countOf(credential) + this.#moreOf(credential) >= this.#ofOneMax;
      if (!isOver && this.#transaction.view.count(DEVICE_RECORDS) < this.#max) break;
      const isTaken = (name: DeviceName): boolean => this.#touched.has(textOf(name));
      const longest = isOver
        ? this.#roll.longestGoneOf(credential, isTaken)
        : this.#roll.longestGone(isTaken);
      if (longest === undefined) return undefined;
      this.#remove(longest);
      removed.push(longest);
    }
    this.#more.set(credential, this.#moreOf(credential) + 1);
    return removed;
  }

  #moreOf(credential: string): number {
    return this.#more.get(credential) ?? 0;
  }

  /** Others may have removed the record already. */
  #remove(name: DeviceName): void {
    const id = idOf(name);
    this.touch(name);
    this.#more.set(name.credential, this.#moreOf(name.credential) - 1);
    if (this.#transaction.view.get(DEVICE_RECORDS, id) === undefined) return;
    this.#transaction.apply([{ kind: "delete", collection: DEVICE_RECORDS, id }]);
  }
}
