/** Types of options.mjs, for its test. */

export interface Options {
  readonly only?: string[];
  readonly seconds: number;
}

export interface Attack {
  readonly name: string;
}

export function parseOptions(args: readonly string[]): Options;
export function chooseAttacks(attacks: readonly Attack[], only?: readonly string[]): Attack[];
