/**
 * A real Chromium without a window, for tests of pages. The library that drives it is one of the
 * tools of the site, which `npm test` does not install. openBrowser() loads it.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { findChromium } from "../../scripts/browser.mjs";
import { ROOT } from "./repository.ts";

/** What tests use of Playwright's Browser. */
export interface Browser {
  newContext(options: { readonly colorScheme: "light" | "dark" }): Promise<BrowserContext>;
  close(): Promise<void>;
}

export interface BrowserContext {
  newPage(): Promise<Page>;
  on(event: "request", listener: (request: { url(): string }) => void): void;
  close(): Promise<void>;
}

export interface Page {
  goto(url: string): Promise<{ status(): number } | null>;
  waitForLoadState(state: "networkidle"): Promise<void>;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  evaluate(expression: string): Promise<unknown>;
  url(): string;
  on(event: "console", listener: (message: ConsoleMessage) => void): void;
  on(event: "pageerror", listener: (error: Error) => void): void;
}

export interface ConsoleMessage {
  type(): string;
  text(): string;
}

interface Playwright {
  readonly chromium: {
    launch(options: {
      readonly executablePath: string;
      readonly args: readonly string[];
    }): Promise<Browser>;
  };
}

const found = await findChromium();

/** Undefined when there is a browser; says so on standard error otherwise. */
export const browserAbsence: string | undefined =
  found.path === undefined ? (found.reason ?? "there is no Chromium") : undefined;
if (browserAbsence !== undefined) {
  process.stderr.write(`tests in a browser are left out: ${browserAbsence}\n`);
}

/** Closed when the test ends. The tools of the site must be installed. */
export async function openBrowser(): Promise<Browser> {
  const require = createRequire(join(ROOT, "site/package.json"));
  const { chromium } = require("playwright-core") as Playwright;
  // The pages are our own; the sandbox of Chromium does not work for root and in containers.
  const options = { executablePath: found.path ?? "", args: ["--no-sandbox"] };
  const browser = await chromium.launch(options);
  onTestFinished(() => browser.close());
  return browser;
}
