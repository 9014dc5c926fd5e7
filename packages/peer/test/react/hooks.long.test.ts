/**
 * The React hooks in real browsers, with React 18 and 19 and with Preact.
 *
 * Where a browser or the runtimes cannot be had, the tests are left out and say so; in CI that is a
 * failure.
 */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type BrowserName } from "../../../../scripts/browser.mjs";
import { bundlePage } from "../../../../scripts/open-browser.mjs";
import {
  findReactRuntimes,
  RUNTIMES,
  type RuntimeName,
} from "../../../../scripts/react-runtimes.mjs";
import { type PeerTab, PeerTabs } from "../support/peer-tab.ts";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";

const { modules, reason } = await findReactRuntimes();
if (modules === undefined) {
  process.stderr.write(`tests of the hooks are left out: ${reason}\n`);
  if (process.env["CI"] !== undefined) throw new Error(reason);
}

const PAGE = fileURLToPath(new URL("../support/react-page.ts", import.meta.url));

const sharedBrowser = sharedBrowsers();
const bundled = new Map<RuntimeName, Promise<string>>();

/** In development mode, in which strict mode mounts everything twice. */
function bundleWith(runtime: RuntimeName): Promise<string> {
  const options = { alias: RUNTIMES[runtime], modules: modules ?? "" };
  const page = bundled.get(runtime) ?? bundlePage(PAGE, options);
  bundled.set(runtime, page);
  return page;
}

/** A tab with a peer and the hooks, beside a server. */
async function openTab(name: BrowserName, runtime: RuntimeName): Promise<ReactTab> {
  const browser = await sharedBrowser(name);
  const scripts = { "/react.js": await bundleWith(runtime) };
  const tabs = await PeerTabs.open((url) => browser.openPage(url), scripts);
  const tab = await tabs.openTab();
  await tab.run("import('/react.js').then(() => true)");
  return { tabs, tab };
}

interface ReactTab {
  readonly tabs: PeerTabs;
  readonly tab: PeerTab;
}

/** A PNG of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP438AAAAQBAYDFKhhdAAAAAElFTkSuQmCC";

const TEXT = "reactPage.text()";
const OBSERVERS = "peer.store.observers.length";

function mount(wish: object): string {
  return `reactPage.mount(${JSON.stringify(wish)})`;
}

/** Nothing was reported: not by the renderer, the peer or the browser. */
async function expectNoFaults(tab: PeerTab): Promise<void> {
  expect(await tab.run("[...events, ...reactPage.faults]")).toEqual([]);
  expect(tab.page.console.filter((line) => line.startsWith("uncaught"))).toEqual([]);
}

const CASES: readonly (readonly [BrowserName, RuntimeName])[] = [
  ["chromium", "React 18"],
  ["chromium", "React 19"],
  ["chromium", "Preact"],
  ["firefox", "React 19"],
];

for (const [name, runtime] of CASES) {
  const absence = reason ?? browsers.find((each) => each.name === name)?.absence;
  const isHere = absence === undefined;
  const head = `${runtime}, ${name}${isHere ? "" : ` (left out: ${absence})`}`;

  const size = runtime === "Preact" || name === "firefox" ? 1000 : 10_000;

  test.runIf(isHere)(`${head}: of ${size} rows one changes, and one renders again`, async () => {
    const { tab } = await openTab(name, runtime);
    await tab.run(`reactPage.fill(${size})`);
    await tab.run(mount({ app: "Rows" }));
    await tab.until("document.querySelectorAll('li').length", size);
    expect(await tab.run("reactPage.renders")).toEqual({ Rows: 2, Row: size });
    await tab.run(`peer.store.execute("UPDATE rows SET n = 7 WHERE _id = '000500'")`);
    await tab.until("document.querySelectorAll('li')[500].textContent", "000500 7");
    expect(await tab.run("reactPage.renders")).toEqual({ Rows: 3, Row: size + 1 });
    await tab.run(`peer.store.execute("INSERT INTO rows DOCUMENTS ({'_id': '000000a', 'n': 1})")`);
    await tab.until("document.querySelectorAll('li').length", size + 1);
    expect(await tab.run("reactPage.renders")).toEqual({ Rows: 4, Row: size + 2 });
    await expectNoFaults(tab);
  });

  test.runIf(isHere)(`${head}: subscription, status, presence, mutation, attachment`, async () => {
    const { tabs, tab } = await openTab(name, runtime);
    const other = await tabs.server.peer({ deviceName: "till" });
    other.sync.start();
    await other.store.execute("INSERT INTO rows DOCUMENTS ({'_id': 'theirs', 'n': 1})");
    await tab.run("peer.sync.start()");
    await tab.run(mount({ app: "Status", isStrict: true }));
    const state = {
      isReady: true,
      isConnected: true,
      pendingCount: 0,
      others: ["till"],
      hasLocalPeer: true,
      rows: ["theirs"],
      isLoading: false,
    };
    const shown = "JSON.parse(document.querySelector('pre').textContent)";
    await tab.until(shown, state);
    await tab.run("document.querySelector('button').click()");
    await tab.until(shown, { ...state, rows: ["mine", "theirs"] });
    await tab.run("document.querySelector('button').click()");
    await tab.until(shown, { ...state, rows: ["mine", "theirs"], failure: "query.evaluation" });
    await tab.run("reactPage.unmount()");
    await tab.until("peer.sync.subscriptions.length", 0);

    const png = Buffer.from(PIXEL, "base64");
    const photo = await other.attachments.create(png);
    await other.store.execute(
      "INSERT INTO COLLECTION photos (photo ATTACHMENT) DOCUMENTS (:document)",
      { document: { _id: "p", photo } },
    );
    await tab.run(mount({ app: "Photo" }));
    await tab.until("document.querySelector('img')?.naturalWidth", 1);
    expect(await tab.run("document.querySelector('img').alt")).toBe(
      `${png.length} of ${png.length}`,
    );
    const url: unknown = await tab.run("document.querySelector('img').src");
    await tab.run("reactPage.unmount()");
    await tab.until(`fetch("${String(url)}").then(() => "there", () => "gone")`, "gone");
    await expectNoFaults(tab);
  });

  if (name === "firefox") continue;

  test.runIf(isHere)(`${head}: strict mode opens one peer, and unmounting closes it`, async () => {
    const { tabs, tab } = await openTab(name, runtime);
    await tab.run("reactPage.fill(500)");
    const { appId, apiKey: token } = tabs.server.content;
    const options = { appId, token, url: tabs.server.running.url };
    await tab.run(mount({ app: "Own", isStrict: true, options }));
    await tab.until("document.querySelectorAll('li').length", 500);
    expect(await tab.run("document.querySelector('p').textContent")).toBe(appId);
    expect(await tab.run("reactPage.calls")).toEqual(["open"]);
    await tab.run("reactPage.unmount()");
    await tab.until("reactPage.isOwnClosed()");
    expect(await tab.run("reactPage.calls")).toEqual(["open", "close"]);
    await tab.run(mount({ app: "Rows", isStrict: true }));
    await tab.until("document.querySelectorAll('li').length", 500);
    expect(await tab.run(OBSERVERS)).toBe(1);
    await tab.run("reactPage.unmount()");
    await tab.until(OBSERVERS, 0);
    await expectNoFaults(tab);
  });

  test.runIf(isHere)(`${head}: unmounting ends a query and an opening that go on`, async () => {
    const { tabs, tab } = await openTab(name, runtime);
    await tab.run("reactPage.fill(5000)");
    await tab.run(`(async () => {
      ${mount({ app: "Rows" })};
      while (${OBSERVERS} === 0) await new Promise((resolve) => setTimeout(resolve));
      reactPage.unmount();
    })()`);
    await tab.until(OBSERVERS, 0);
    const { appId, apiKey: token } = tabs.server.content;
    const options = { appId, token, url: tabs.server.running.url };
    await tab.run(`(async () => {
      ${mount({ app: "Own", options })};
      while (reactPage.calls.length === 0) await new Promise((resolve) => setTimeout(resolve));
      reactPage.unmount();
    })()`);
    await tab.until("reactPage.isOwnClosed()");
    expect(await tab.run("reactPage.calls")).toEqual(["open", "close"]);
    expect(await tab.run(TEXT)).toBe("");
    await expectNoFaults(tab);
  });

  test.runIf(isHere)(
    `${head}: what a server rendered is taken over; a query that fails says why`,
    async () => {
      const { tab } = await openTab(name, runtime);
      await tab.run("reactPage.fill(500)");
      const wish = JSON.stringify({ app: "Rows", isStrict: true });
      expect(await tab.run(`reactPage.hydrate(${wish})`)).toBe("<p>loading</p>");
      await tab.until("document.querySelectorAll('li').length", 500);
      await tab.run("reactPage.unmount()");
      await tab.run(mount({ app: "Faulty" }));
      await tab.until(TEXT, "query.syntax 0 false");
      await expectNoFaults(tab);
    },
  );

  if (runtime === "Preact") continue;

  test.runIf(isHere)(`${head}: components never show different results at a time`, async () => {
    const { tab } = await openTab(name, runtime);
    await tab.run(`peer.store.execute("INSERT INTO rows DOCUMENTS ({'_id': 'a', 'n': 0})")`);
    await tab.run(mount({ app: "Torn" }));
    await tab.until(TEXT, "0".repeat(12));
    await tab.run("reactPage.tear(20)");
    await tab.until(TEXT, "20".repeat(12));
    expect(await tab.run("reactPage.tears")).toEqual([]);
    expect(await tab.run(OBSERVERS)).toBe(1);
    await expectNoFaults(tab);
  });
}
