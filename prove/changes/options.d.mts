/** Types of options.mjs, for tests. */

export const USAGE: string;

export interface ChangesProofOptions {
  readonly help: boolean;
  readonly json: string | undefined;
  readonly changes: number;
  /** How long to write at most. */
  readonly writeMs: number;
  readonly readers: number;
  /** How many of them do not read. */
  readonly deaf: number;
  readonly killMs: number;
  readonly seed: number;
}

export function parseOptions(args: readonly string[]): ChangesProofOptions;
