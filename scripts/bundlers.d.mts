/** Types of bundlers.mjs, for tests. */

export interface FoundBundlers {
  /** Paths of programs for Node; undefined when there are none. */
  readonly vite?: string;
  readonly esbuild?: string;
  /** Why there are none. */
  readonly reason?: string;
}

export function findBundlers(): Promise<FoundBundlers>;
