/**
 * The entry `@bigpeer/peer/compat` on a page of a real browser: the same calls of the reference SDK
 * as on Node, with the bundle that bundlers and `/sdk/` give to a page.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { bundlePage, servePage } from "../../../../scripts/open-browser.mjs";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";
import { startRealServer } from "../support/real-server.ts";

const SDK = new URL("../../dist/sdk/", import.meta.url);

const supportFile = (name: string): string =>
  fileURLToPath(new URL(`../support/${name}`, import.meta.url));

const sharedBrowser = sharedBrowsers();

/** The files of the SDK, as a server has them at /sdk/. */
function sdkFiles(): Record<string, readonly [string, string]> {
  const names = readdirSync(SDK).filter((name) => name.endsWith(".js"));
  const files = names.map((name) => {
    const text = readFileSync(new URL(name, SDK), "utf8");
    return [`/sdk/${name}`, ["text/javascript", text]] as const;
  });
  return Object.fromEntries(files);
}

const chromium = browsers.find(({ name }) => name === "chromium");

test.runIf(chromium?.absence === undefined)(
  "chromium: the calls of the reference SDK do on a page what they do on Node",
  async () => {
    const { running, content } = await startRealServer();
    const alias = { vitest: supportFile("vitest-in-page.ts") };
    const script = await bundlePage(supportFile("compat-page.ts"), { alias });
    const site = await servePage(script, { files: sdkFiles() });
    onTestFinished(() => site.close());
    const page = await (await sharedBrowser("chromium")).openPage(site.url);
    onTestFinished(() => page.close());
    const { appId, developmentToken: token } = content;
    const server = JSON.stringify({ url: running.url, appId, token });
    const result = await page.evaluate(`compatPage.run(${server})`);
    const { count, failures } = result as { count: number; failures: string[] };
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(45);
  },
);
