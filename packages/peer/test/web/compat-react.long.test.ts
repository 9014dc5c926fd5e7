/**
 * The entry `@bigpeer/peer/compat/react` in real Chromium, with React 18 and 19 in strict mode.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { bundlePage, servePage } from "../../../../scripts/open-browser.mjs";
import { findReactRuntimes, RUNTIMES } from "../../../../scripts/react-runtimes.mjs";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";
import { startRealServer } from "../support/real-server.ts";

const SDK = new URL("../../dist/sdk/", import.meta.url);
const PAGE = fileURLToPath(new URL("../support/compat-react-page.ts", import.meta.url));

const sharedBrowser = sharedBrowsers();
const isHere = browsers.some(({ name, absence }) => name === "chromium" && absence === undefined);

/** Brings the renderer of one version to the page. */
const ENTRY = `import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { run } from ${JSON.stringify(PAGE)};
const root = () => createRoot(document.body.appendChild(document.createElement("div")));
const wrap = (node) => createElement(StrictMode, undefined, node);
globalThis.compatReact = { run: (server) => run(root, wrap, server) };
`;

test.runIf(isHere).each(["React 18", "React 19"] as const)(
  "%s: the components and hooks of the React library of the reference SDK",
  async (name) => {
    const { modules, reason } = await findReactRuntimes();
    expect(reason).toBeUndefined();
    const { running, content } = await startRealServer();
    const entry = join(temporaryFolder(), "entry.ts");
    writeFileSync(entry, ENTRY);
    const script = await bundlePage(entry, { alias: RUNTIMES[name], modules: modules ?? "" });
    const files = readdirSync(SDK).map((file) => {
      const text = readFileSync(new URL(file, SDK), "utf8");
      return [`/sdk/${file}`, ["text/javascript", text]] as const;
    });
    const site = await servePage(script, { files: Object.fromEntries(files) });
    onTestFinished(() => site.close());
    const page = await (await sharedBrowser("chromium")).openPage(site.url);
    onTestFinished(() => page.close());
    const { appId, developmentToken: token } = content;
    const server = JSON.stringify({ url: running.url, appId, token });
    expect(await page.evaluate(`compatReact.run(${server})`)).toEqual({
      titles: ["Tea"],
      isLoading: false,
      error: null,
      isSubscribed: [false, true],
      wrong: "query/unsupported",
      inserted: 1,
      failure: "query/invalid",
      remoteCount: 0,
      isConnected: true,
      hasBluetooth: false,
      hasDitto: true,
      setups: 2,
      states: ["true", "false"],
    });
  },
);
