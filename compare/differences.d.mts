export interface Outcome {
  readonly items?: readonly unknown[];
  readonly ids?: readonly unknown[];
  readonly error?: string;
  readonly message?: string;
}

/** A statement and its two outcomes. */
export interface Found {
  readonly rule: string;
  readonly text: string;
  readonly ours: Outcome;
  readonly reference: Outcome;
  /** Ids that the condition selects, and ids for which it is true as a column of the reference. */
  readonly filter?: {
    readonly ours: string | undefined;
    readonly reference: string | undefined;
    readonly column: string | undefined;
  };
}

export interface Difference {
  readonly name: string;
  readonly reason: string;
}

export declare const DIFFERENCES: readonly Difference[];
export declare function findDifference(given: Found): Difference | undefined;
