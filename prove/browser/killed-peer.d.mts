/** Types of killed-peer.mjs, for tests. */

import type { BrowserName } from "../../scripts/browser.mjs";

export interface KilledPeer {
  readonly kills: number;
  /** Writes that the peer has at the end. */
  readonly steps: number;
  /** Writes that the peer had acknowledged before a kill. */
  readonly acknowledged: number;
  /** Writes that were on the server before the last start. */
  readonly uploaded: number;
  readonly failures: readonly string[];
}

export function killPeer(
  name: BrowserName,
  options: {
    readonly kills: number;
    /** From 0 to below 1. */
    readonly random: () => number;
    readonly report?: (line: string) => void;
  },
): Promise<KilledPeer>;
