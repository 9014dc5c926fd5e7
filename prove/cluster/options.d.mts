/** Types of options.mjs, for its test. */

export interface Options {
  readonly seed: number;
  readonly runs: number;
  readonly minutes: number;
  readonly peers: number;
  readonly plant?: "lost" | "double" | "reordered";
}

export function parseOptions(args: readonly string[]): Options;
