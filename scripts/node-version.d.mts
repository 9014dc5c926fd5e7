/** Types of node-version.mjs, for tests. */

export interface FoundNode {
  /** Path of an executable; undefined when there is none. */
  readonly path?: string;
  /** Such as `v22.12.0`. */
  readonly version?: string;
  /** Why there is none. */
  readonly reason?: string;
}

export const NODE_MAJORS: readonly number[];

export function findNode(major: number, env?: NodeJS.ProcessEnv): Promise<FoundNode>;
