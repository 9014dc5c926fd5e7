/**
 * The page Live as a person uses it, while another client writes.
 */
import { expect, test } from "vitest";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

async function openLive(search = ""): Promise<ConsolePage> {
  const shown = await openConsole();
  await shown.sees("main h1");
  await shown.atServer("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'make': 'Fiat', 'year': 1960})");
  await shown.open(`/live?app=default${search}`);
  await shown.reads("Following");
  return shown;
}

const TYPES = ".change-table tbody td:nth-child(3)";

test.runIf(hasBrowser)("changes of another client appear, each kind with its sign", async () => {
  const shown = await openLive();
  await shown.atServer("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'make': 'Audi'})");
  await shown.atServer("UPDATE cars SET year = 1961 WHERE _id = 'a'");
  await shown.atServer("DELETE FROM cars WHERE _id = 'b'");
  await shown.atServer("EVICT FROM cars WHERE _id = 'a'");
  await shown.until(`document.querySelectorAll(".change-table tbody tr").length`, 4);
  const types = (await shown.texts(TYPES)).map((text) => text.replaceAll(/\s+/g, " "));
  expect(types).toEqual(["→ leave", "− delete", "~ update", "+ insert"]);
  const whats = await shown.texts(".change-what");
  expect(whats[2]?.replaceAll(/\s+/g, " ")).toContain("year 1960 →");
  const link = `document.querySelectorAll(".change-table tbody tr")[2].querySelector("a").href`;
  const { pathname, search } = new URL(String(await shown.page.evaluate(link)));
  expect([pathname, new URLSearchParams(search).get("id")]).toEqual(["/data", '"a"']);
  // For screen readers, a summary now and then.
  await shown.until(`[...document.querySelectorAll("[role=status]")].some((each) =>
    /\\d changes?: /.test(each.textContent))`);
});

test.runIf(hasBrowser)("a filter shows what enters and leaves it, by keyboard alone", async () => {
  const shown = await openLive();
  await shown.tabTo("Only documents where");
  await shown.type("make == 'Fiat'");
  await shown.press("Enter");
  await shown.until(`new URLSearchParams(location.search).get("filter")`, "make == 'Fiat'");
  await shown.reads("Following");
  await shown.atServer("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'make': 'Audi'})");
  await shown.atServer("UPDATE cars SET make = 'Audi' WHERE _id = 'a'");
  await shown.atServer("UPDATE cars SET make = 'Fiat' WHERE _id = 'b'");
  await shown.until(`document.querySelectorAll(".change-table tbody tr").length`, 2);
  expect((await shown.texts(TYPES)).map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
    "+ insert",
    "→ leave",
  ]);
  await shown.tabTo("Details of b");
  await shown.press("Enter");
  await shown.reads("Transaction");
  expect(await shown.faultsNow()).toEqual([]);
});

test.runIf(hasBrowser)("a mistake in the filter is shown with its place", async () => {
  const shown = await openConsole();
  await shown.sees("main h1");
  await shown.open("/live?app=default&filter=make+%3D");
  await shown.reads("at line 1, column");
  await shown.reads("Stopped");
  expect(await shown.texts(".change-table, .empty")).toEqual([]);
});

test.runIf(hasBrowser)("after a pause, the changes of that time appear", async () => {
  const shown = await openLive("&collection=cars");
  await shown.tabTo("Pause");
  await shown.press("Enter");
  await shown.reads("Paused");
  await shown.atServer("UPDATE cars SET year = 1 WHERE _id = 'a'");
  await shown.tabTo("Follow again");
  await shown.press("Enter");
  await shown.reads("Following");
  await shown.atServer("UPDATE cars SET year = 2 WHERE _id = 'a'");
  await shown.until(`document.querySelectorAll(".change-table tbody tr").length`, 2);
  const whats = await shown.texts(".change-what");
  expect(whats.map((text) => /\d+$/.exec(text)?.[0])).toEqual(["2", "1"]);
});

test.runIf(hasBrowser)("nothing is open while the page is hidden", async () => {
  const shown = await openLive("&collection=cars");
  const hide = (isHidden: boolean): Promise<unknown> => {
    return shown.page.evaluate(`{
      Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }`);
  };
  const streams = async (): Promise<number> => {
    const text = await (await fetch(`${shown.server.running.url}/metrics`)).text();
    return Number(/^bigpeer_changes_readers(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(streams).toBe(1);
  await hide(true);
  await expect.poll(streams).toBe(0);
  await shown.atServer("UPDATE cars SET year = 1 WHERE _id = 'a'");
  await hide(false);
  await shown.until(`document.querySelectorAll(".change-table tbody tr").length`, 1);
  await expect.poll(streams).toBe(1);
});

test.runIf(hasBrowser)("the list is bounded, and the counts are of all changes", async () => {
  const shown = await openLive("&collection=logs");
  const logs = Array.from({ length: 700 }, (_, i) => ({ _id: i, text: `line ${i}` }));
  await shown.atServer("INSERT INTO logs DOCUMENTS (:logs)", { logs });
  await shown.reads("The newest 500 changes are kept here.");
  await shown.until(`document.querySelector(".type-toggles").innerText.includes("700")`);
  expect(await shown.texts(".change-table tbody tr")).toHaveLength(500);
});

test.runIf(hasBrowser).each(["light", "dark"] as const)(
  "axe finds no fault in a list of changes in the %s theme",
  async (theme) => {
    const shown = await openLive();
    await shown.setTheme(theme);
    await shown.open("/live?app=default");
    await shown.reads("Following");
    await shown.atServer("UPDATE cars SET year = 1961, make = null WHERE _id = 'a'");
    await shown.atServer("INSERT INTO cars DOCUMENTS ({'_id': 'b', 'tags': ['x']})");
    await shown.atServer("EVICT FROM cars WHERE _id = 'b'");
    await shown.atServer("DELETE FROM cars WHERE _id = 'a'");
    await shown.until(`document.querySelectorAll(".change-table tbody tr").length`, 4);
    await shown.click("button", "Details of a");
    await shown.reads("Transaction");
    expect(await shown.faultsNow()).toEqual([]);
  },
);
