/**
 * Transaction: statements that take effect together.
 */

import type { StoreTransaction } from "../local-store.ts";
import type { AnyValue } from "./any-value.ts";
import { asDittoErrors, DittoError } from "./ditto-error.ts";
import { type DQLQueryArguments, peerArguments } from "./query-arguments.ts";
import { QueryResult } from "./query-result.ts";
import { isWrite } from "./statement-kind.ts";

export type TransactionCompletionAction = "commit" | "rollback";

export type TransactionOptions = {
  /** Whether statements that write are refused. */
  isReadOnly?: boolean;
  /** A name for the app itself. */
  hint?: string;
};

export class TransactionInfo {
  readonly id: string;
  readonly hint?: string | undefined;
  readonly isReadOnly: boolean;

  constructor(id: string, isReadOnly: boolean, hint?: string) {
    this.id = id;
    this.isReadOnly = isReadOnly;
    this.hint = hint;
  }
}

export interface QueryExecuting {
  execute<T = AnyValue, U extends DQLQueryArguments = DQLQueryArguments>(
    query: string,
    args?: U,
  ): Promise<QueryResult<T>>;
}

export class Transaction<S = object> implements QueryExecuting {
  readonly store: S;
  readonly info: TransactionInfo;
  readonly #open: StoreTransaction;

  constructor(store: S, info: TransactionInfo, open: StoreTransaction) {
    this.store = store;
    this.info = info;
    this.#open = open;
  }

  /** Runs a statement. It sees the earlier writes of the transaction. */
  async execute<T = AnyValue, U extends DQLQueryArguments = DQLQueryArguments>(
    query: string,
    queryArguments?: U,
  ): Promise<QueryResult<T>> {
    if (this.info.isReadOnly && isWrite(query)) {
      throw new DittoError("store/transaction-read-only");
    }
    const args = peerArguments(queryArguments);
    return asDittoErrors(async () => new QueryResult<T>(await this.#open.execute(query, args)));
  }
}
