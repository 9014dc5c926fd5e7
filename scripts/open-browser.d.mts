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
  url(): string;
  setViewport(size: { readonly width: number; readonly height: number }): Promise<void>;
  screenshot(options: { readonly path: string }): Promise<unknown>;
  /** What a selector finds, waited for; `::-p-aria(…)` finds by name and role. */
  locator(selector: string): OpenLocator;
  readonly keyboard: {
    press(key: string): Promise<void>;
    type(text: string): Promise<void>;
    down(key: string): Promise<void>;
    up(key: string): Promise<void>;
  };
  /** Null if there is none. */
  $(selector: string): Promise<OpenElement | null>;
  waitForFunction(expression: string, options?: { readonly timeout: number }): Promise<unknown>;
  /** In Chromium alone. */
  createCDPSession(): Promise<CdpSession>;
}

export interface OpenLocator {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  wait(): Promise<unknown>;
}

export interface OpenElement {
  uploadFile(...paths: readonly string[]): Promise<void>;
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
export function axeScript(): Promise<string>;
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
