export interface Case {
  readonly rule: string;
  readonly statements: readonly string[];
  /** The first statement that is compared. */
  readonly compared: number;
  readonly isOrdered: boolean;
}

export declare class Generator {
  constructor(seed: number);
  readonly used: ReadonlyMap<string, number>;
  next(): Case;
}

export declare const RULE_NAMES: readonly string[];
export declare const STATEMENT_ARGUMENTS: Readonly<Record<string, unknown>>;
