/** Types of open-browser.mjs, for tests. */

import type { BrowserName } from "./browser.mjs";

export interface OpenBrowser {
  readonly name: BrowserName;
  version(): Promise<string>;
  openPage(url: string): Promise<OpenPage>;
  /** In a new private window; in Chromium alone. */
  openPrivatePage(url: string): Promise<OpenPage>;
  /** The shared workers that run; in Chromium alone. */
  sharedWorkers(): readonly { createCDPSession(): Promise<CdpSession> }[];
  close(): Promise<void>;
  /** SIGKILL for the browser and all processes that it started. */
  kill(): Promise<void>;
}

/** What tests use of puppeteer's Page. */
export interface OpenPage {
  /** Lines that the page printed, and its uncaught errors. */
  readonly console: readonly string[];
  evaluate(expression: string): Promise<unknown>;
  goto(url: string): Promise<unknown>;
  goBack(): Promise<unknown>;
  reload(): Promise<unknown>;
  close(): Promise<void>;
  waitForFunction(expression: string, options?: { readonly timeout: number }): Promise<unknown>;
  /** In Chromium alone. */
  createCDPSession(): Promise<CdpSession>;
}

export interface CdpSession {
  send(method: string, parameters?: object): Promise<unknown>;
}

export interface BrowserOptions {
  readonly profile?: string;
  readonly prefs?: Readonly<Record<string, boolean | number | string>>;
}

export interface ServedPage {
  readonly url: string;
  close(): Promise<void>;
}

export function openBrowser(name: BrowserName, options?: BrowserOptions): Promise<OpenBrowser>;
export function bundlePage(
  file: string,
  options?: {
    readonly alias?: Readonly<Record<string, string>>;
    readonly minify?: boolean;
    /** A folder node_modules with further packages. */
    readonly modules?: string;
  },
): Promise<string>;
export function servePage(
  script: string,
  options?: {
    readonly files?: Readonly<Record<string, readonly [type: string, text: string]>>;
    readonly onMessage?: (text: string) => void;
    readonly cacheControl?: string;
  },
): Promise<ServedPage>;
