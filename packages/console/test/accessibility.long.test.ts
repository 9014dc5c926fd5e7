/**
 * Accessibility of every page in both themes: axe with its default rules finds nothing.
 */
import { expect, test } from "vitest";
import { consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const PATHS = [
  "/",
  "/data",
  "/data?app=default&collection=products&id=%22p3%22",
  "/data?app=default&collection=orders&view=json&filter=%5B%5B%22state%22%2C%22%3D%22%2C%22text%22%2C%22open%22%5D%5D",
  "/data?app=default&collection=orders&tab=indexes",
  "/statements",
  "/live",
  "/devices",
  "/access",
  "/replication",
  "/operations",
];

test.runIf(hasBrowser).each(["light", "dark"] as const)(
  "axe finds no fault on any page in the %s theme",
  async (theme) => {
    const shown = await openConsole();
    await shown.sees("main h1");
    await shown.setTheme(theme);
    await shown.open("/data");
    await shown.click("button", "Add sample data");
    await shown.reads("Added 265 documents");
    await shown.atServer("CREATE INDEX by_state ON orders (state)");
    const faults: string[] = [];
    for (const path of PATHS) faults.push(...(await shown.faults(path)));
    expect(faults).toEqual([]);
  },
);

test.runIf(hasBrowser)(
  "axe finds no fault in the form to sign in, the palette and the dialogs",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    const check = async (): Promise<void> => {
      expect(await shown.faultsNow()).toEqual([]);
    };
    // A check that finds nothing would pass as well.
    const planted = `document.querySelector("main").insertAdjacentHTML("beforeend", "<img>")`;
    await shown.page.evaluate(planted);
    expect((await shown.faultsNow()).map((fault) => fault.split(":")[0])).toContain("image-alt");
    await shown.open("/");
    await shown.press("Control+k");
    await shown.sees("dialog[open]");
    await check();
    await shown.press("Escape");
    await shown.press("?");
    await shown.reads("Keyboard shortcuts");
    await check();
    await shown.press("Escape");
    await shown.open("/data");
    await shown.click("button", "Insert document");
    await shown.sees("dialog[open]");
    await check();
    await shown.press("Escape");
    await shown.click("button", "Sign out");
    await shown.reads("Sign in to Big Peer");
    await check();
  },
);
