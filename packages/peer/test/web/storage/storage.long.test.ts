/**
 * The storage of a browser in real Chromium and real Firefox: the contract of every KeyValue, kills
 * and reloads in the middle of writes, and the faults that browsers have.
 */

import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { Random } from "../../../../../compare/random.mjs";
import { killStorage } from "../../../../../prove/browser/killed-storage.mjs";
import {
  bundlePage,
  type OpenBrowser,
  type OpenPage,
  servePage,
} from "../../../../../scripts/open-browser.mjs";
import { browsers, openForTest, sharedBrowsers } from "../../support/real-browsers.ts";

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`../../support/${name}`, import.meta.url));

/** Bytes that a page may store in the test of the quota. Firefox gives one origin a fifth of it. */
const QUOTA = 30_000_000;

const sharedBrowser = sharedBrowsers();

/** Bundled once for all tests. */
let script: Promise<string> | undefined;

/** The page of the tests, with an origin of its own, so that it has a storage of its own. */
async function openStoragePage(browser: OpenBrowser): Promise<OpenPage> {
  const alias = { vitest: fileOf("vitest-in-page.ts") };
  script ??= bundlePage(fileOf("storage-page.ts"), { alias });
  const served = await servePage(await script);
  onTestFinished(() => served.close());
  const page = await browser.openPage(served.url);
  onTestFinished(() => page.close());
  return page;
}

for (const { name, absence } of browsers) {
  const isHere = absence === undefined;
  const because = isHere ? "" : ` (left out: ${absence})`;

  test.runIf(isHere)(
    `${name}: the storage keeps the contract of a KeyValue${because}`,
    async () => {
      const page = await openStoragePage(await sharedBrowser(name));
      const { count, failures } = (await page.evaluate("storagePage.runTests()")) as {
        count: number;
        failures: string[];
      };
      expect(failures).toEqual([]);
      expect(count).toBeGreaterThan(30);
    },
  );

  test.runIf(isHere)(
    `${name}: [K89] a killed browser loses no acknowledged commit${because}`,
    async () => {
      const seed = Math.floor(Math.random() * 1e6);
      const random = new Random(seed);
      const result = await killStorage(name, {
        kills: 1,
        random: () => random.next(),
      });
      expect(result.failures, `seed ${seed}`).toEqual([]);
      expect(result.commits).toBeGreaterThan(0);
    },
  );

  test.runIf(isHere)(
    `${name}: [K91] a reload during a commit or a checkpoint leaves a whole state${because}`,
    async () => {
      const page = await openStoragePage(await sharedBrowser(name));
      let last = 0;
      for (const [store, time] of [
        ["log", 5],
        ["log", 1],
        ["page", 1],
        ["page", 3],
        ["meta", 1],
        ["page", 7],
      ] as const) {
        await page.evaluate("void (globalThis.isOld = true)");
        await page.evaluate(`storagePage.reloadAt("${store}", ${time})`);
        await page.evaluate('void storagePage.countUp("reloaded")');
        await page.waitForFunction("!globalThis.isOld && globalThis.storagePage !== undefined");
        const counted = await page.evaluate('storagePage.counted("reloaded")');
        expect(typeof counted, String(counted)).toBe("number");
        expect(counted).toBeGreaterThanOrEqual(last);
        last = counted as number;
        await page.evaluate("storagePage.close()");
      }
      expect(last).toBeGreaterThan(5);
    },
  );

  test.runIf(isHere)(
    `${name}: [K93] a database that is deleted while it is open is reported${because}`,
    async () => {
      const page = await openStoragePage(await sharedBrowser(name));
      expect(await page.evaluate('storagePage.put("gone", { a: 1 })')).toBe("committed");
      await page.evaluate('storagePage.deleteAll("gone")');
      expect(await page.evaluate("storagePage.ends")).toEqual(["deleted"]);
      expect(await page.evaluate('storagePage.put("gone", { b: 1 })')).toBe("store.closed");
      expect(await page.evaluate('storagePage.read("gone")')).toEqual({ a: 1 });
      await page.evaluate("storagePage.close()");
      expect(await page.evaluate('storagePage.read("gone")')).toEqual({});
    },
  );

  test.runIf(isHere)(
    `${name}: errors of transactions are retried or reported, and end${because}`,
    async () => {
      const page = await openStoragePage(await sharedBrowser(name));
      const put = async (entries: string): Promise<unknown> =>
        page.evaluate(`storagePage.put("faults", ${entries})`);
      expect(await put("{ a: 1 }")).toBe("committed");
      await page.evaluate('storagePage.failNext("UnknownError", 2)');
      expect(await put("{ b: 1 }")).toBe("committed");
      await page.evaluate('storagePage.failNext("UnknownError", 20)');
      expect(await put("{ c: 1 }")).toBe("store.write_failed");
      await page.reload();
      expect(await put("{ d: 1 }")).toBe("committed");
      await page.evaluate('storagePage.failNext("abort", 1)');
      // As when the browser closes the connection, which it says later.
      expect(await put("{ e: 1 }")).toBe("committed");
      await page.evaluate('storagePage.failNext("abort", 20)');
      expect(await put("{ x: 1 }")).toBe("store.write_failed");
      await page.reload();
      expect(await put("{ f: 1 }")).toBe("committed");
      await page.evaluate('storagePage.failNext("QuotaExceededError", 1)');
      expect(await put("{ g: 1 }")).toBe("store.full");
      expect(await put("{ h: 1 }")).toBe("committed");
      await page.reload();
      expect(await page.evaluate('storagePage.read("faults")')).toEqual({
        a: 1,
        b: 1,
        d: 1,
        e: 1,
        f: 1,
        h: 1,
      });
    },
  );

  test.runIf(isHere)(
    `${name}: the browser's own quota is store.full, and the rest is kept${because}`,
    async () => {
      const prefs = { "dom.quotaManager.temporaryStorage.fixedLimit": QUOTA / 1000 };
      const page = await openStoragePage(await openForTest(name, { prefs }));
      if (name === "chromium") {
        const session = await page.createCDPSession();
        const origin = await page.evaluate("location.origin");
        await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: QUOTA });
      }
      const filled = (await page.evaluate('storagePage.fill("full", 500_000)')) as {
        count: number;
        code: string;
      };
      expect(filled.code).toBe("store.full");
      expect(filled.count).toBeGreaterThan(3);
      expect(await page.evaluate('storagePage.keyCount("full")')).toBe(filled.count);
      await page.reload();
      expect(await page.evaluate('storagePage.keyCount("full")')).toBe(filled.count);
    },
  );

  test.runIf(isHere)(
    `${name}: [K1] a newer and an older format are refused, and left unchanged${because}`,
    async () => {
      const page = await openStoragePage(await sharedBrowser(name));
      await page.evaluate('storagePage.put("format", { a: 1 })');
      await page.evaluate("storagePage.close()");
      for (const [format, code] of [
        [2, "store.format_newer"],
        [0, "store.corrupt"],
      ] as const) {
        await page.evaluate(`storagePage.setFormat("format", ${format})`);
        expect(await page.evaluate('storagePage.openCode("format")')).toBe(code);
      }
      await page.evaluate('storagePage.setFormat("format", 1)');
      expect(await page.evaluate('storagePage.read("format")')).toEqual({ a: 1 });
    },
  );
}
