/**
 * Real Chromium and real Firefox for long tests. Where one cannot be had, its tests are left out and
 * say so; in CI that is a failure.
 */

import { afterAll, onTestFinished } from "vitest";
import { type BrowserName, findBrowser } from "../../../../scripts/browser.mjs";
import {
  type BrowserOptions,
  type OpenBrowser,
  openBrowser,
} from "../../../../scripts/open-browser.mjs";

export interface AvailableBrowser {
  readonly name: BrowserName;
  /** Why there is none; undefined when there is one. */
  readonly absence: string | undefined;
}

export const browsers: readonly AvailableBrowser[] = await Promise.all(
  (["chromium", "firefox"] as const).map(async (name) => {
    const found = await findBrowser(name);
    const absence = found.path === undefined ? (found.reason ?? `there is no ${name}`) : undefined;
    if (absence !== undefined) {
      process.stderr.write(`tests in ${name} are left out: ${absence}\n`);
      if (process.env["CI"] !== undefined) throw new Error(absence);
    }
    return { name, absence };
  }),
);

/** One browser of each name for all tests of a file that do not kill it or set it up in another way. */
export function sharedBrowsers(): (name: BrowserName) => Promise<OpenBrowser> {
  const opened = new Map<BrowserName, Promise<OpenBrowser>>();
  afterAll(async () => {
    for (const browser of opened.values()) await (await browser).close();
  });
  return (name) => {
    const browser = opened.get(name) ?? openBrowser(name);
    opened.set(name, browser);
    return browser;
  };
}

/** Closed when the test ends. */
export async function openForTest(
  name: BrowserName,
  options: BrowserOptions = {},
): Promise<OpenBrowser> {
  const browser = await openBrowser(name, options);
  onTestFinished(() => browser.close());
  return browser;
}
