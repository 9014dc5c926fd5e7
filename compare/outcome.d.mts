export interface Outcome {
  readonly items?: readonly unknown[];
  readonly ids?: readonly unknown[];
  readonly error?: string;
}

export declare function textOf(value: unknown): string;
export declare function describe(
  outcome: Outcome | undefined,
  options?: { readonly isOrdered?: boolean; readonly onlyKeys?: boolean },
): string;
