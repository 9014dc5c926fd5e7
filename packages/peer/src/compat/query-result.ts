/**
 * Query result: the rows of a statement, and what it changed.
 */

import { encodeCbor, type Value } from "@bigpeer/protocol";
import { plainCopy } from "../plain-value.ts";
import type { AnyValue } from "./any-value.ts";
import { jsonText } from "./json-text.ts";

/** The row of an item, which stays as it was when an app changes `value`. */
export let rowOf: (item: QueryResultItem) => Value;

/** A row. `value` is made when it is first read, and is yours: a change of it is not stored. */
export class QueryResultItem<T = AnyValue> {
  readonly #row: Value;
  #value: T | undefined;

  static {
    rowOf = (item) => item.#row;
  }

  constructor(row: unknown) {
    this.#row = row as Value;
  }

  get value(): T {
    this.materialize();
    return this.#value as T;
  }

  /** Whether `value` was made, and takes memory. */
  get isMaterialized(): boolean {
    return this.#value !== undefined;
  }

  /** Makes `value` now. */
  materialize(): void {
    this.#value ??= plainCopy(this.#row) as T;
  }

  /** Drops `value`; the next read makes it again. */
  dematerialize(): void {
    this.#value = undefined;
  }

  cborData(): Uint8Array {
    return encodeCbor(this.#row);
  }

  jsonString(): string {
    return jsonText(this.#row);
  }
}

/** What `console.log` of Node shows. */
Object.defineProperty(QueryResultItem.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(
    this: QueryResultItem,
    _depth: number,
    _options: unknown,
    inspect: (of: unknown) => string,
  ) {
    return `QueryResultItem { value: ${inspect(plainCopy(rowOf(this)))} }`;
  },
});

/** What the peer said about a statement. */
export interface PeerResult {
  readonly items: readonly unknown[];
  readonly mutatedDocumentIds?: readonly unknown[];
  readonly commitId?: number | undefined;
}

export class QueryResult<T = AnyValue> {
  readonly items: QueryResultItem<T>[];
  readonly #mutated: readonly Value[];
  readonly #commitId: number | undefined;

  constructor({ items, mutatedDocumentIds = [], commitId }: PeerResult) {
    this.items = items.map((row) => new QueryResultItem<T>(row));
    this.#mutated = mutatedDocumentIds as readonly Value[];
    this.#commitId = commitId;
  }

  /** Ids of the documents that the statement changed. A new array each time. */
  mutatedDocumentIDs(): AnyValue[] {
    return this.#mutated.map(plainCopy);
  }

  /** The same, by its name in the reference SDK 5.1. */
  mutatedDocumentIDsV2(): AnyValue[] {
    return this.mutatedDocumentIDs();
  }

  /**
   * Of a write: its local commit, as in `system:data_sync_info`. Null for a statement that only
   * reads, and inside of a transaction.
   */
  get commitID(): bigint | null {
    return this.#commitId === undefined ? null : BigInt(this.#commitId);
  }
}
