/**
 * What differs from Node on a page of a real browser, as the table of docs/sdk.md says; and the examples
 * in the doc comments of pages, which do not run on Node.
 */

import { transformWithOxc } from "vite";
import { expect, test } from "vitest";
import { type Example, findExamples } from "../support/doc-examples.ts";
import { PeerTabs } from "../support/peer-tab.ts";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";

const sharedBrowser = sharedBrowsers();

/** Each of them throws on Node. */
const CALLS_AFTER_CLOSE = [
  "peer.sync.start()",
  `peer.store.registerObserver("SELECT * FROM t", () => {})`,
  `peer.sync.registerSubscription("SELECT * FROM t")`,
  "peer.presence.setPeerMetadata({})",
  "peer.presence.observe(() => {})",
];

for (const { name, absence } of browsers) {
  test.runIf(absence === undefined)(
    `${name}: a page differs from Node as the guide says`,
    async () => {
      const browser = await sharedBrowser(name);
      const tabs = await PeerTabs.open((url) => browser.openPage(url));
      const tab = await tabs.openTab();
      const ended = tab.run(`(async () => {
      const nested = () => peer.store.transaction(async () => {});
      return peer.store.transaction(nested).catch(({ code, message }) => [code, message]);
    })()`);
      // Refused queries.
      const later = await tab.run(`(async () => {
      const observer = peer.store.registerObserver("DELETE FROM t", () => {});
      const subscription = peer.sync.registerSubscription("SELECT a FROM t");
      const code = await subscription.whenReady().catch(({ code }) => code);
      peer.presence.setPeerMetadata({ at: new Date() });
      await peer.store.execute("SELECT * FROM t");
      return [observer.isCancelled, subscription.status, code];
    })()`);
      expect(later).toEqual([true, "refused", "query.semantic"]);
      expect(await tab.run("events.map((text) => text.split(':')[0]).toSorted()")).toEqual([
        "query.semantic",
        "query.semantic",
        "value.invalid",
      ]);
      expect(await tab.run("peer.store.refused() instanceof Promise")).toBe(true);
      // Values of arguments.
      expect(
        await tab.run(`(async () => {
        class Task { title = "Tea"; }
        await peer.store.execute("INSERT INTO t DOCUMENTS (:task)", { task: new Task() });
        return (await peer.store.execute("SELECT title FROM t")).items;
      })()`),
      ).toEqual([{ title: "Tea" }]);
      // A callback that reads no pending ids.
      await tab.run(`(() => {
      window.calls = 0;
      peer.store.registerObserver("SELECT * FROM t", () => void calls++);
    })()`);
      await tab.until("calls", 1);
      await tab.run("peer.sync.start()");
      await tab.until("calls", 2);
      expect(await ended).toEqual(["store.busy", expect.stringContaining("another transaction")]);
      await tab.run("peer.close()");
      // After the end of the peer.
      const status = "[peer.sync.isActive, peer.sync.status.state]";
      expect(await tab.run(status)).toEqual([false, "stopped"]);
      for (const call of CALLS_AFTER_CLOSE) {
        await tab.run(`void (events.length = 0, ${call})`);
        await tab.until("events.map((text) => text.split(':')[0])", ["store.closed"]);
      }
      expect(
        await tab.run(`new Promise((resolve) => {
        peer.store.registerObserver("SELECT * FROM t", {}, () => {}, ({ code }) => resolve(code));
      })`),
      ).toBe("store.closed");
      await tab.run("peer.sync.stop()");
    },
  );

  test.runIf(absence === undefined)(`${name}: the examples for pages run`, async () => {
    const examples = findExamples("browser");
    expect(examples.length).toBeGreaterThan(3);
    const browser = await sharedBrowser(name);
    const tabs = await PeerTabs.open((url) => browser.openPage(url));
    const { appId, apiKey, dataUrl } = tabs.server.content;
    for (const example of examples) {
      const tab = await tabs.openTab();
      await tab.run(`Object.assign(window, ${JSON.stringify({ appId, apiKey, dataUrl })})`);
      expect(await tab.run(await scriptOf(example)), example.place).toBe("ended");
      expect(await tab.run("events"), example.place).toEqual([]);
    }
  });
}

/** An example without its types. */
async function scriptOf({ code, place }: Example): Promise<string> {
  const body = code.replaceAll(/^import .*$/gm, "");
  const typed = `export const run = async () => {\n${body}\nreturn "ended";\n};`;
  const { code: plain } = await transformWithOxc(typed, `${place}.ts`);
  return `(${plain
    .replace("export const run =", "")
    .trim()
    .replace(/;\s*(\/\/.*)?$/s, "")})()`;
}
