/**
 * The history that a log of a cluster tells: what its entries make of an empty store, whatever the
 * nodes have of it. The entries are one chain, and no transaction id is given twice.
 */

import { LogChain } from "../../src/cluster/log-chain.ts";
import type { SharedTransaction } from "../../src/cluster/log-entry.ts";
import { replay } from "../../src/cluster/replay.ts";
import type { SharedEntry } from "../../src/cluster/shared-log.ts";
import { finish } from "../../src/steps.ts";
import { FORMAT_VERSION, firstWrites, readIdentity } from "../../src/store/identity.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Overlay } from "../../src/store/overlay.ts";
import { testPlatform } from "../support/test-platform.ts";
import type { Scheduler } from "./scheduler.ts";

export class LogHistory {
  readonly disk = new MemoryDisk();
  readonly #scheduler: Scheduler;
  readonly #chain = new LogChain(testPlatform());
  #txnId = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Resolves when the disk has the entry: before anyone else has an answer. */
  async take({ sequence, bytes }: SharedEntry): Promise<void> {
    try {
      const { history, transactions } = finish(this.#chain.take(sequence, bytes));
      if (history !== undefined) {
        const { historyId, site } = history;
        await this.#write(firstWrites({ format: FORMAT_VERSION, historyId, site }));
      }
      if (transactions.length > 0) await this.#write(this.#apply(transactions).writes);
    } catch (error) {
      this.#scheduler.fail("the entries of the log are one history", String(error));
    }
  }

  #apply(transactions: readonly SharedTransaction[]): Overlay {
    const storage = new MemoryKeyValue(this.disk);
    const site = readIdentity(storage)?.site ?? "";
    const group = new Overlay(storage.snapshot());
    for (const transaction of transactions) {
      const { txnId } = transaction;
      if (txnId <= this.#txnId) {
        const detail = `${txnId} after ${this.#txnId}`;
        this.#scheduler.fail("no transaction id is given twice", detail);
      }
      this.#txnId = txnId;
      group.absorb(finish(replay(group, transaction, site)).overlay);
    }
    return group;
  }

  #write(writes: Overlay["writes"]): Promise<void> {
    return this.disk.write(this.disk.mount(), writes);
  }
}
