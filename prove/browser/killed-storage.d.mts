/** Types of killed-storage.mjs, for tests. */

import type { BrowserName } from "../../scripts/browser.mjs";

export interface KilledStorage {
  readonly kills: number;
  /** Commits that the store has at the end. */
  readonly commits: number;
  /** Commits that a kill left although they were not acknowledged. */
  readonly unacknowledged: number;
  readonly failures: readonly string[];
}

export function killStorage(
  name: BrowserName,
  options: {
    readonly kills: number;
    /** From 0 to below 1. */
    readonly random: () => number;
    readonly report?: (line: string) => void;
  },
): Promise<KilledStorage>;
