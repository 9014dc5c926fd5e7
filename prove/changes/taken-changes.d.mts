/** Types of taken-changes.mjs, for tests. */

export interface TakenChange {
  readonly cursor: string;
  readonly number: number;
}

export class TakenChanges {
  constructor(file: string);
  add(changes: readonly TakenChange[], delivery?: string): void;
  restore(): string | undefined;
}

export class TakenCheck {
  constructor(txnOf: Float64Array);
  readonly count: number;
  readonly repeats: number;
  readonly failure: string | undefined;
  read(text: string): void;
  checkTransactions(count: number): void;
}
