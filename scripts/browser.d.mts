/** Types of browser.mjs, for tests. */

export interface FoundChromium {
  /** Path of an executable; undefined when there is none. */
  readonly path?: string;
  /** Why there is none. */
  readonly reason?: string;
}

export function findChromium(env?: NodeJS.ProcessEnv): Promise<FoundChromium>;
