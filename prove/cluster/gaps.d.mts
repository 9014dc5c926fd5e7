/** Types of gaps.mjs, for its test. */

export interface Episode {
  readonly faults: readonly {
    readonly kind: string;
    readonly startMs: number;
    readonly endMs: number;
  }[];
  readonly startMs: number;
  readonly endMs: number;
}

export interface Gap {
  readonly kind: string;
  readonly gapMs: number;
  readonly boundMs: number;
  readonly startMs: number;
}

export const BOUNDS_MS: { readonly [kind: string]: number };
export function gapsOf(acknowledgedMs: readonly number[], episodes: readonly Episode[]): Gap[];
export function longestGap(timesMs: readonly number[], fromMs: number, toMs: number): number;
export function checkGaps(gaps: readonly Gap[]): string[];
export function gapTable(gaps: readonly Gap[]): string;
