/**
 * Page transactions: transactions whose function runs on a page, while their statements run in the
 * worker.
 *
 * Others wait while one is open. So a page that the browser freezes in the middle of its transaction
 * loses it.
 */

import { PeerError } from "@bigpeer/protocol";
import type { StoreTransaction, TransactionResult } from "../../local-store.ts";
import type { Peer } from "../../peer.ts";
import { type PageQuestions, SILENT_MS_MAX, SilentPage } from "./page-questions.ts";

/** How often a transaction that waits is checked. */
const CHECK_MS = 1_000;

const NESTED_HINT = "use execute of the open transaction, or begin the other one after it";

export interface PageTransactionsOptions {
  readonly store: Peer["store"];
  readonly questions: PageQuestions;
  readonly elapsed: () => number;
}

interface Open {
  readonly transaction: StoreTransaction;
  /** When the page last ran a statement in it. */
  usedMs: number;
}

export class PageTransactions {
  readonly #options: PageTransactionsOptions;
  readonly #open = new Map<number, Open>();

  constructor(options: PageTransactionsOptions) {
    this.#options = options;
  }

  /** Resolves when the transaction is committed. */
  async run(id: number): Promise<void> {
    const { store, elapsed, questions } = this.#options;
    const startMs = elapsed();
    let isRefused = false;
    let hasBegun = false;
    const committed = store.transaction(async (transaction) => {
      if (isRefused) throw nested();
      hasBegun = true;
      await this.#runScope(id, transaction);
    });
    let timer: ReturnType<typeof setInterval> | undefined;
    const refused = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        if (this.#open.has(id) || !this.#isBlocked(startMs)) return;
        isRefused = true;
        reject(nested());
      }, CHECK_MS);
    });
    try {
      await Promise.race([committed, refused]);
    } catch (error) {
      // One that waited for others finds the store closed, when the page goes to another worker.
      throw (hasBegun ? undefined : questions.end) ?? error;
    } finally {
      clearInterval(timer);
    }
  }

  async executeIn(id: number, statement: unknown, args: unknown): Promise<TransactionResult> {
    const open = this.#open.get(id);
    if (open === undefined) throw new PeerError("store.closed", "the transaction has ended");
    open.usedMs = this.#options.elapsed();
    try {
      return await open.transaction.execute(statement as string, args as Record<string, unknown>);
    } finally {
      open.usedMs = this.#options.elapsed();
    }
  }

  /** Has the page run the function. */
  async #runScope(id: number, transaction: StoreTransaction): Promise<void> {
    const { questions, elapsed } = this.#options;
    this.#open.set(id, { transaction, usedMs: elapsed() });
    try {
      await questions.ask({ kind: "transaction", transaction: id });
    } catch (error) {
      throw error instanceof SilentPage ? frozen(error) : error;
    } finally {
      this.#open.delete(id);
    }
  }

  /**
   * Whether a transaction of this page that waits since `startMs` waits for another one of the same
   * page, which does nothing: it probably waits for this one.
   */
  #isBlocked(startMs: number): boolean {
    const now = this.#options.elapsed();
    const isIdle = ({ usedMs }: Open): boolean => now - usedMs > SILENT_MS_MAX;
    return now - startMs > SILENT_MS_MAX && [...this.#open.values()].some(isIdle);
  }
}

function nested(): PeerError {
  const message = "expected statements inside of a transaction, found another transaction";
  return new PeerError("store.busy", message, { hint: NESTED_HINT });
}

function frozen(cause: SilentPage): PeerError {
  const message = `${cause.message}; nothing of its transaction was applied`;
  return new PeerError("query.timeout", message, { cause });
}
