/** Types of options.mjs, for tests. */

export const USAGE: string;

export interface BrowserProofOptions {
  readonly help: boolean;
  readonly browsers: readonly ("chromium" | "firefox")[];
  /** Whether only the storage is proved. */
  readonly isStorage: boolean;
  readonly kills: number;
  readonly seed: number;
}

export function parseOptions(args: readonly string[]): BrowserProofOptions;
