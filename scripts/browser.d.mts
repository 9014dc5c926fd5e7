/** Types of browser.mjs, for tests. */

export interface FoundBrowser {
  /** Path of an executable; undefined when there is none. */
  readonly path?: string;
  /** Why there is none. */
  readonly reason?: string;
}

export type BrowserName = "chromium" | "firefox";

export function findChromium(env?: NodeJS.ProcessEnv): Promise<FoundBrowser>;
export function findBrowser(name: BrowserName, env?: NodeJS.ProcessEnv): Promise<FoundBrowser>;
