/** Types of peer-history.mjs, for tests. */

export const ROW_EVERY: number;

export interface PeerContent {
  readonly steps: Readonly<Record<string, number>>;
  readonly rows: readonly string[];
}

export class PeerHistory {
  readonly failures: readonly string[];
  readonly steps: number;
  readonly acknowledged: number;
  readonly last: number;
  countOf(steps: Readonly<Record<string, number>>): number;
  reported(report: {
    readonly tab: string;
    readonly attempted?: number;
    readonly acknowledged?: number;
  }): void;
  compare(found: PeerContent & { readonly pendingCount: number }): void;
  compareServer(stored: PeerContent): void;
  compareNews(ids: readonly string[], count: number): void;
}
