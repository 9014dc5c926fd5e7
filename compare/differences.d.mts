export interface Difference {
  readonly name: string;
  readonly reason: string;
}

export declare const DIFFERENCES: readonly Difference[];
export declare function findDifference(given: object): Difference | undefined;
