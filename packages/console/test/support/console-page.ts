/**
 * The console in a real Chromium, served by a real server: what a person does, by the names and roles
 * that a screen reader has, and what is shown.
 */
import { onTestFinished, vi } from "vitest";
import { axeScript, type OpenPage } from "../../../../scripts/open-browser.mjs";
import { browsers, sharedBrowsers } from "../../../peer/test/support/real-browsers.ts";
import { type RealServer, startRealServer } from "../../../peer/test/support/real-server.ts";
import type { Config } from "../../../server/src/config/config.ts";

const chromium = browsers.find(({ name }) => name === "chromium");

/** Why there is no Chromium; undefined if there is one. */
export const browserAbsence: string | undefined = chromium?.absence;

/** For `test.runIf`. */
export const hasBrowser: boolean = browserAbsence === undefined;

const POLL_MS = 20;
/** When axe looks at a page. */
const SETTLED_MS = 700;
const TABS_MAX = 150;

export type Role =
  | "button"
  | "link"
  | "textbox"
  | "searchbox"
  | "combobox"
  | "heading"
  | "checkbox"
  | "radio"
  | "option";

/** Call it once in a file: its tests share a browser. Each console has a server of its own. */
export function consoles(): (change?: Partial<Config>) => Promise<ConsolePage> {
  const sharedBrowser = sharedBrowsers();
  const openAt = async (server: RealServer, consoleUrl: string): Promise<ConsolePage> => {
    const browser = await sharedBrowser("chromium");
    const page = await browser.openPrivatePage("about:blank");
    onTestFinished(() => page.close());
    await page.setViewport({ width: 1280, height: 800 });
    const opened = new ConsolePage(page, server, consoleUrl, openAt);
    await page.goto(consoleUrl);
    return opened;
  };
  return async (change = {}) => {
    const server = await startRealServer({ managementPort: 0, ...change });
    const { consoleUrl } = server.content as unknown as { readonly consoleUrl: string };
    return openAt(server, consoleUrl);
  };
}

type OpenAt = (server: RealServer, consoleUrl: string) => Promise<ConsolePage>;

interface AxeViolation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

export class ConsolePage {
  readonly page: OpenPage;
  readonly server: RealServer;
  /** With the token in its fragment. */
  readonly consoleUrl: string;

  readonly #openAt: OpenAt;

  constructor(page: OpenPage, server: RealServer, consoleUrl: string, openAt: OpenAt) {
    this.page = page;
    this.server = server;
    this.consoleUrl = consoleUrl;
    this.#openAt = openAt;
  }

  /** The same link in another browser, with a session of its own. */
  another(): Promise<ConsolePage> {
    return this.#openAt(this.server, this.consoleUrl);
  }

  /** Without a path. */
  get origin(): string {
    return new URL(this.consoleUrl).origin;
  }

  /** Loads an address of the console, such as `/data?app=default`. */
  async open(path: string): Promise<void> {
    await this.page.goto(this.origin + path);
    await this.sees("main");
  }

  /** The rows of a statement, as the server has them. */
  async atServer(statement: string, args: object = {}): Promise<unknown> {
    const { running, content } = this.server;
    const response = await fetch(`${running.url}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ statement, args }),
    });
    const { items, error } = (await response.json()) as { items: unknown; error: object };
    if (!response.ok) throw new Error(JSON.stringify(error));
    return items;
  }

  /** What the management API has at a path, such as `/app/default/apiKey`. */
  async managed(path: string): Promise<unknown> {
    const root = `${this.server.running.managementUrl}/namespace/default/bigPeer/big-peer`;
    return (await fetch(root + path)).json();
  }

  async click(role: Role, name: string): Promise<void> {
    await this.page.locator(aria(role, name)).click();
  }

  /** Puts a text in the place of that of a text box. */
  async fill(name: string, text: string): Promise<void> {
    await this.page.locator(aria("textbox", name)).fill(text);
  }

  async choose(name: string, value: string): Promise<void> {
    await this.page.locator(aria("combobox", name)).fill(value);
  }

  /** Waits until a selector finds something. */
  async sees(selector: string): Promise<void> {
    await this.page.locator(selector).wait();
  }

  /** Waits until the page shows a text. */
  async reads(text: string): Promise<void> {
    await this.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  }

  /** Waits until an expression in the page has the value. */
  async until(expression: string, value: unknown = true): Promise<void> {
    const expected = JSON.stringify(value);
    const check = async (): Promise<void> => {
      const found = JSON.stringify(await this.page.evaluate(expression));
      if (found !== expected)
        throw new Error(`${expression}: expected ${expected}, found ${found}`);
    };
    await vi.waitFor(check, { interval: POLL_MS });
  }

  /** The texts of what a selector finds. */
  async texts(selector: string): Promise<readonly string[]> {
    const found = await this.page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => each.innerText.trim())`,
    );
    return found as readonly string[];
  }

  /** Presses a key, or several at once as in `Control+k`. */
  async press(keys: string): Promise<void> {
    const all = keys.split("+");
    for (const key of all.slice(0, -1)) await this.page.keyboard.down(key);
    await this.page.keyboard.press(all.at(-1) ?? "");
    for (const key of all.slice(0, -1)) await this.page.keyboard.up(key);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Presses the tab key until the focus is on something with the name. */
  async tabTo(name: string): Promise<void> {
    const seen: unknown[] = [];
    for (let i = 0; i < TABS_MAX; i++) {
      const found = await this.page.evaluate(FOCUSED_NAME);
      if (found === name) return;
      seen.push(found);
      await this.press("Tab");
    }
    throw new Error(`no stop of the tab key is called ${name}: ${seen.join(", ")}`);
  }

  async setTheme(theme: "dark" | "light"): Promise<void> {
    const text = JSON.stringify(JSON.stringify(theme));
    await this.page.evaluate(`localStorage.setItem("bigpeer.console.theme", ${text})`);
  }

  /** What axe finds with its default rules, 700 ms after the page was opened. */
  async faults(path: string): Promise<readonly string[]> {
    await this.page.goto(this.origin + path);
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    return (await this.faultsNow()).map((fault) => `${path}: ${fault}`);
  }

  /** What axe finds in what is shown. */
  async faultsNow(): Promise<readonly string[]> {
    await this.page.evaluate(await axeScript());
    const { violations } = (await this.page.evaluate("axe.run()")) as {
      readonly violations: readonly AxeViolation[];
    };
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  }
}

function aria(role: Role, name: string): string {
  return `::-p-aria([name="${name}"][role="${role}"])`;
}

/** The label of what has the focus, otherwise its text. */
const FOCUSED_NAME = `(() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const label = at.labels?.[0]?.innerText || at.labels?.[0]?.textContent;
  return (at.getAttribute("aria-label") ?? label ?? at.innerText ?? "").trim();
})()`;
