/**
 * `peer.storage` of a page: figures of the browser, and its promise to keep the data, which the first
 * write asks for.
 */

import { expect, test, vi } from "vitest";
import { PageStorage } from "../../src/web/page/page-storage.ts";
import type { WebStorage } from "../../src/web/web-globals.ts";

class BrowserStorage implements WebStorage {
  readonly asked: string[] = [];
  isPersistent = false;

  async estimate(): Promise<{ usage: number; quota: number }> {
    return { usage: 100, quota: 1000 };
  }

  async persist(): Promise<boolean> {
    this.asked.push("persist");
    this.isPersistent = true;
    return true;
  }

  async persisted(): Promise<boolean> {
    return this.isPersistent;
  }
}

test("has the figures of the last update", async () => {
  const storage = new PageStorage(true, new BrowserStorage());
  expect(storage).toMatchObject({ use: 0, quota: 0, isPersistent: false });
  expect(await storage.update()).toEqual({ use: 100, quota: 1000, isPersistent: false });
  expect(storage).toMatchObject({ use: 100, quota: 1000, isPersistent: false });
});

test("asks the browser once to keep the data", async () => {
  const browser = new BrowserStorage();
  const storage = new PageStorage(true, browser);
  storage.askToKeep();
  storage.askToKeep();
  await vi.waitFor(() => expect(storage.isPersistent).toBe(true));
  storage.askToKeep();
  expect(browser.asked).toEqual(["persist"]);
});

test("does not ask for what the browser has promised before", async () => {
  const browser = new BrowserStorage();
  browser.isPersistent = true;
  const storage = new PageStorage(true, browser);
  storage.askToKeep();
  await storage.update();
  expect(browser.asked).toEqual([]);
});

test("does not ask for documents in memory", async () => {
  const browser = new BrowserStorage();
  const storage = new PageStorage(false, browser);
  storage.askToKeep();
  await storage.update();
  expect(browser.asked).toEqual([]);
});

test("a page without a storage manager has no figures, and a refusal is no error", async () => {
  const none = new PageStorage(true, undefined);
  none.askToKeep();
  expect(await none.update()).toEqual({ use: 0, quota: 0, isPersistent: false });
  const refusing = new BrowserStorage();
  refusing.persist = () => Promise.reject(new Error("not allowed"));
  const storage = new PageStorage(true, refusing);
  storage.askToKeep();
  expect((await storage.update()).isPersistent).toBe(false);
});
