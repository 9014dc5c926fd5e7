/**
 * Tabs of a real browser with a peer, and the server that they sync with.
 *
 * Each test has a site on a port of its own, so an origin of its own: its storage, locks and workers
 * are not those of another test in the same browser.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { type OpenPage, servePage } from "../../../../scripts/open-browser.mjs";
import { bundleForBrowser } from "./browser-bundle.ts";
import { type RealServer, startRealServer } from "./real-server.ts";

const SDK = new URL("../../dist/sdk/", import.meta.url);
const FILES = [
  "bigpeer.js",
  "bigpeer-loader.js",
  "bigpeer-worker.js",
  "bigpeer-patterns.js",
  "bigpeer-explain.js",
  "bigpeer-attachments.js",
];

/** The version that a second build of the SDK says it has. */
export const NEWER_VERSION = "9.0.0";

const POLL_MS = 20;

/**
 * `newer` says that it has another version; `foreign` speaks another protocol, too. `elsewhere` is
 * the SDK of the server, so of another origin. `unstored` has no IndexedDB. `engineless` lacks the
 * file that the loader of the worker imports.
 */
export type Build = "usual" | "newer" | "foreign" | "elsewhere" | "unstored" | "engineless";

export interface TabOptions {
  readonly build?: Build;
  /** Changes of the options of the peer. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** The source of its login function, which takes the place of the token. */
  readonly login?: string;
}

export class PeerTabs {
  readonly server: RealServer;
  readonly siteUrl: string;
  readonly #openPage: (url: string) => Promise<OpenPage>;

  private constructor(
    openPage: (url: string) => Promise<OpenPage>,
    server: RealServer,
    siteUrl: string,
  ) {
    this.#openPage = openPage;
    this.server = server;
    this.siteUrl = siteUrl;
  }

  /** `openPage` opens a page in a browser. `scripts` are on the site, too, by their paths. */
  static async open(
    openPage: (url: string) => Promise<OpenPage>,
    scripts: Readonly<Record<string, string>> = {},
  ): Promise<PeerTabs> {
    const server = await startRealServer();
    const files = await filesOf(server.running.url);
    for (const [path, text] of Object.entries(scripts)) files[path] = script(text);
    const site = await servePage("", { files });
    onTestFinished(() => site.close());
    return new PeerTabs(openPage, server, site.url);
  }

  get database(): string {
    return `bigpeer:${this.server.content.appId}:default`;
  }

  /** A tab with the SDK, without a peer. */
  async newTab(build: Build = "usual"): Promise<PeerTab> {
    const page = await this.#openPage(`${this.siteUrl}${build}/`);
    onTestFinished(() => page.close().catch(() => {}));
    return new PeerTab(page, this.server);
  }

  /** A tab with an open peer. */
  async openTab(options: TabOptions = {}): Promise<PeerTab> {
    const tab = await this.newTab(options.build);
    await tab.openOrThrow(options);
    return tab;
  }

  /** The rows of a statement on the server. */
  async atServer(statement: string): Promise<unknown> {
    const { running, content } = this.server;
    const response = await fetch(`${running.url}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ statement }),
    });
    return ((await response.json()) as { items: unknown }).items;
  }
}

/** In the page, `peer` is its peer, and `events` has the errors and warnings of it. */
export class PeerTab {
  readonly page: OpenPage;
  readonly #server: RealServer;

  constructor(page: OpenPage, server: RealServer) {
    this.page = page;
    this.#server = server;
  }

  /** `opened`, or the error as a text that begins with its code. */
  async openPeer({ options = {}, login }: TabOptions = {}): Promise<unknown> {
    const { running, content } = this.#server;
    const credential = login === undefined ? { token: content.apiKey } : {};
    const all = { appId: content.appId, url: running.url, ...credential, ...options };
    const given = login === undefined ? "{}" : `{ login: ${login} }`;
    return this.run(`(async () => {
      window.events = [];
      try {
        window.peer = await openPeer({ ...${JSON.stringify(all)}, ...${given} });
      } catch (error) {
        return error.code + ": " + error.message;
      }
      peer.on("error", (error) => events.push((error.code ?? "error") + ": " + error.message));
      peer.on("warning", (message) => events.push("warning: " + message));
      return "opened";
    })()`);
  }

  async openOrThrow(options?: TabOptions): Promise<void> {
    const outcome = await this.openPeer(options);
    if (outcome !== "opened") throw new Error(String(outcome));
  }

  run(expression: string): Promise<unknown> {
    return this.page.evaluate(expression);
  }

  /** The rows of a statement in the peer. */
  rows(statement: string): Promise<unknown> {
    return this.run(`peer.store.execute(${JSON.stringify(statement)}).then(({ items }) => items)`);
  }

  /** Waits until an expression has the value. It asks from outside: a hidden tab has slow timers. */
  async until(expression: string, value: unknown = true): Promise<void> {
    const expected = JSON.stringify(value);
    const check = async (): Promise<void> => {
      const found = JSON.stringify(await this.run(expression));
      if (found !== expected)
        throw new Error(`${expression}: expected ${expected}, found ${found}`);
    };
    await vi.waitFor(check, { interval: POLL_MS });
  }

  /** Begins a transaction that inserts a document, and waits for ever. `ended` has its error. */
  async beginTransaction(id: string): Promise<void> {
    await this.run(`new Promise((begun) => {
      window.ended = peer.store.transaction(async (tx) => {
        await tx.execute("INSERT INTO t DOCUMENTS (:document)", { document: { _id: "${id}" } });
        begun();
        await new Promise(() => {});
      }).catch(({ code }) => code);
    })`);
  }

  async reload(options?: TabOptions): Promise<void> {
    await this.page.reload();
    await this.openOrThrow(options);
  }
}

type Files = Record<string, readonly [type: string, text: string]>;

/** Bundled once for all tests of a file. */
let foreign: Promise<Files> | undefined;

async function filesOf(serverUrl: string): Promise<Files> {
  foreign ??= foreignFiles();
  const files: Files = { ...(await foreign), "/blank/": html("") };
  for (const name of FILES) {
    const text = readFileSync(new URL(name, SDK), "utf8");
    files[`/usual/${name}`] = script(text);
    files[`/newer/${name}`] = script(text.replaceAll("0.1.0", NEWER_VERSION));
    files[`/unstored/${name}`] = script(WITHOUT_STORAGE + text);
    if (name !== "bigpeer-worker.js") files[`/engineless/${name}`] = script(text);
  }
  for (const build of ["usual", "newer", "foreign", "unstored", "engineless"]) {
    files[`/${build}/`] = html(PAGE.replace("SDK", "./bigpeer.js"));
  }
  files["/elsewhere/"] = html(PAGE.replace("SDK", `${serverUrl}/sdk/bigpeer.js`));
  return files;
}

const PAGE =
  '<script type="module">import { openPeer } from "SDK"; window.openPeer = openPeer;</script>';

/** As in a browser that forbids it, before the code of the worker. */
const WITHOUT_STORAGE = `IDBFactory.prototype.open = () => {
  throw new DOMException("storage is forbidden", "SecurityError");
};`;

async function foreignFiles(): Promise<Files> {
  const change = (code: string): string =>
    code.replace("PAGE_PROTOCOL = 1", "PAGE_PROTOCOL = 2").replace('"0.1.0"', `"${NEWER_VERSION}"`);
  const bundle = async (path: string): Promise<string> => {
    const entry = fileURLToPath(new URL(`../../src/web/${path}`, import.meta.url));
    return (await bundleForBrowser(entry, change)).code;
  };
  return {
    "/foreign/bigpeer.js": script(await bundle("page/index.ts")),
    "/foreign/bigpeer-loader.js": script(await bundle("worker/loader.ts")),
    "/foreign/bigpeer-worker.js": script(await bundle("worker/worker.ts")),
  };
}

function script(text: string): readonly [string, string] {
  return ["text/javascript", text];
}

function html(content: string): readonly [string, string] {
  return ["text/html", `<!doctype html><title>page</title>${content}`];
}
