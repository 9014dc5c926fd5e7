/**
 * The shell of the console in Chromium: signing in, the navigation, the address, narrow windows, and
 * what a page costs that is hidden.
 */
import { expect, test } from "vitest";
import { consoles, hasBrowser } from "./support/console-page.ts";
import { editorReady } from "./support/statement-page.ts";

const openConsole = consoles();

const PAGES = [
  "Overview",
  "Data",
  "Statements",
  "Live",
  "Devices",
  "Access",
  "Replication",
  "Operations",
];

test.runIf(hasBrowser)(
  "a link signs in, and its token is gone from the address and the history",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    expect(shown.page.url()).not.toContain("bpc_");
    expect(await shown.page.evaluate("document.cookie")).toBe("");
    await shown.page.reload();
    await shown.sees("nav");
    await shown.click("button", "Sign out");
    await shown.reads("Sign in to Big Peer");
    await shown.page.reload();
    await shown.reads("Sign in to Big Peer");
    await shown.page.locator("input[type=password]").fill("wrong");
    await shown.press("Enter");
    await shown.sees("[role=alert]");
    // A pasted link is as good as its token.
    await shown.page.locator("input[type=password]").fill(shown.consoleUrl);
    await shown.press("Enter");
    await shown.sees("nav");
  },
);

test.runIf(hasBrowser)("signing out says so when the server does not answer", async () => {
  const shown = await openConsole();
  await shown.sees("nav");
  await shown.page.evaluate(
    `void (window.fetch = () => Promise.reject(new TypeError("failed to fetch")))`,
  );
  await shown.click("button", "Sign out");
  await shown.reads("failed to sign out: failed to reach the server");
  expect(await shown.texts("nav a")).toEqual(PAGES);
});

test.runIf(hasBrowser)(
  "one navigation landmark has a link to each page, and the title names it",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    expect(
      await shown.page.evaluate("document.querySelectorAll('nav, [role=navigation]').length"),
    ).toBe(1);
    expect(await shown.texts("nav a")).toEqual(PAGES);
    for (const name of PAGES) {
      await shown.click("link", name);
      await shown.until("document.querySelector('main h1')?.innerText", name);
      await shown.until(`document.title`, `${name} · default · Big Peer`);
      expect(await shown.texts("nav a[aria-current=page]")).toEqual([name]);
    }
    await shown.page.goBack();
    await shown.until("document.querySelector('main h1').innerText", "Replication");
    for (const [key, name] of [
      ["d", "Data"],
      ["o", "Overview"],
    ] as const) {
      await shown.press("g");
      await shown.press(key);
      await shown.until("document.querySelector('main h1').innerText", name);
    }
  },
);

test.runIf(hasBrowser)(
  "the navigation is visible from 1024 px, and behind a button at 360 px",
  async () => {
    const shown = await openConsole();
    await shown.sees("nav");
    const isVisible = "document.querySelector('nav').checkVisibility()";
    const width = "document.documentElement.scrollWidth";
    await shown.page.setViewport({ width: 1024, height: 700 });
    await shown.until(isVisible);
    await shown.page.setViewport({ width: 360, height: 700 });
    await shown.until(isVisible, false);
    for (const path of [
      "/",
      "/data",
      "/statements",
      "/live",
      "/devices",
      "/access",
      "/replication",
      "/operations",
    ]) {
      await shown.open(path);
      await shown.until(width, 360);
    }
    await shown.click("button", "Open the menu");
    await shown.until(isVisible);
    await shown.click("link", "Data");
    await shown.until("document.querySelector('main h1').innerText", "Data");
    expect(await shown.page.evaluate(isVisible)).toBe(false);
  },
);

test.runIf(hasBrowser)(
  "pages with content scroll it inside of themselves at 360 px, and show the chosen tab",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    await shown.open("/data?app=default");
    await shown.click("button", "Add sample data");
    await shown.reads("Added 265 documents");
    await shown.atServer("SELECT * FROM orders WHERE customer = 'c3' AND state = 'open'");
    const peer = await shown.server.peer({ deviceName: "A device with a long name" });
    peer.sync.registerSubscription("SELECT * FROM orders");
    peer.sync.start();
    await shown.page.setViewport({ width: 360, height: 700 });
    const width = "document.documentElement.scrollWidth";
    for (const [path, text] of [
      ["/data?app=default&collection=orders", "o0001"],
      ["/data?app=default&collection=orders&tab=indexes", "Create this index"],
      ["/devices?app=default", "A device with a long name"],
      ["/access?app=default&tab=audit", "console.signIn"],
      ["/operations?app=default&tab=metrics", "bigpeer_http_requests_total"],
    ] as const) {
      await shown.open(path);
      await shown.reads(text);
      await shown.until(width, 360);
    }
    await shown.open("/live?app=default");
    await shown.reads("Following");
    await shown.atServer("UPDATE orders SET state = 'lost' WHERE total > 30");
    await shown.sees(".change-table tbody tr");
    await shown.until(width, 360);

    await shown.open("/access?app=default&tab=audit");
    await shown.until(`(() => {
      const { left, right } = document.querySelector(".tabs [aria-current]").getBoundingClientRect();
      return left >= 0 && right <= innerWidth;
    })()`);
    expect(await shown.texts(".tabs [aria-current]")).toEqual(["Audit log"]);
  },
);

test.runIf(hasBrowser)(
  "no page asks another host, and its policy refuses none of its own parts",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    const hosts =
      "[...new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin))]";
    for (const path of [
      "/",
      "/data",
      "/statements",
      "/live",
      "/devices",
      "/access",
      "/replication",
      "/operations",
    ]) {
      await shown.open(path);
      // The code of a page comes later than its heading, and that of charts and the editor later still.
      await shown.until(`document.querySelector("main > h1 ~ *") !== null`);
      if (path === "/") await shown.until(`document.querySelector(".plot canvas") !== null`);
      if (path === "/statements") await editorReady(shown);
      expect(await shown.page.evaluate(hosts), path).toEqual([shown.origin]);
    }
    expect(shown.page.console).toEqual([]);
  },
);

test.runIf(hasBrowser)(
  "a hidden page asks for nothing, and goes on when it is shown again",
  async () => {
    const shown = await openConsole();
    await shown.open("/data?app=default");
    await shown.reads("This app has no documents yet");
    const hide = (isHidden: boolean): Promise<unknown> =>
      shown.page.evaluate(`
      Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
      document.dispatchEvent(new Event("visibilitychange"));
      performance.clearResourceTimings();
    `);
    const requests = "performance.getEntriesByType('resource').length";
    await hide(true);
    // Longer than the page waits between two requests.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    expect(await shown.page.evaluate(requests)).toBe(0);
    await hide(false);
    await shown.until(`${requests} > 0`);
  },
);
