/** Types of react-runtimes.mjs, for tests. */

export type RuntimeName = "React 18" | "React 19" | "Preact";

export const RUNTIMES: Readonly<Record<RuntimeName, Readonly<Record<string, string>>>>;

export interface FoundRuntimes {
  /** A folder node_modules with all of them. */
  readonly modules?: string;
  /** Why there are none. */
  readonly reason?: string;
}

export function findReactRuntimes(): Promise<FoundRuntimes>;
