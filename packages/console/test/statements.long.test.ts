/**
 * The page Statements as a person uses it, with the keyboard alone unless a test says otherwise.
 */
import { expect, test } from "vitest";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";
import {
  acceptCompletion,
  completionIsClosed,
  completionOffers,
  editorHas,
  editorReady,
  editorText,
  insertCars,
  openStatements,
  underlines,
  writeStatement,
} from "./support/statement-page.ts";

const openConsole = consoles();

async function signedIn(cars: number): Promise<ConsolePage> {
  const shown = await openConsole();
  await shown.sees("main h1");
  await insertCars(shown, cars);
  await openStatements(shown);
  return shown;
}

test.runIf(hasBrowser)("a statement runs, and its text and the page survive a reload", async () => {
  const shown = await signedIn(10);
  const text = "SELECT make, count(*) AS n FROM cars GROUP BY make ORDER BY make";
  await writeStatement(shown, text);
  await shown.press("Control+Enter");
  await shown.reads("5 rows in");
  expect(await shown.texts(".statement-result tbody tr:first-child td")).toEqual([
    "1",
    "Audi",
    "2",
  ]);
  await shown.until(`new URLSearchParams(location.search).get("statement")`, text);
  await shown.page.reload();
  await editorReady(shown);
  await editorHas(shown, text);
  expect(await shown.page.evaluate("location.pathname")).toBe("/statements");
  // From the storage of the browser, without the address.
  await shown.open("/statements?app=default");
  await editorReady(shown);
  await editorHas(shown, text);
});

test.runIf(hasBrowser)("a reload while typing keeps what was typed last", async () => {
  const shown = await signedIn(1);
  const text = "SELECT make FROM cars";
  await writeStatement(shown, text);
  await shown.until(`new URLSearchParams(location.search).get("statement")`, text);
  await shown.type(" LIMIT 1");
  await shown.page.reload();
  await editorReady(shown);
  await editorHas(shown, `${text} LIMIT 1`);
  // Of two texts, that of the address: another tab may have changed the draft.
  const linked = "/statements?app=default&statement=SELECT+1&args=%7B%22a%22%3A1%7D";
  await shown.open(linked);
  await editorReady(shown);
  await editorHas(shown, "SELECT 1");
  expect(await shown.page.evaluate("location.pathname + location.search")).toBe(linked);
});

test.runIf(hasBrowser)("completion offers collections, fields and functions", async () => {
  const shown = await signedIn(3);
  await shown.type("SELECT ");
  await shown.type("coal");
  await acceptCompletion(shown, "coalesce()");
  await shown.type("make");
  await shown.press("End");
  await shown.type(" FROM ");
  await acceptCompletion(shown, "cars");
  await shown.type(" WHERE ow");
  await acceptCompletion(shown, "owner");
  await shown.type(".");
  await acceptCompletion(shown, "city");
  const text = "SELECT coalesce(make) FROM cars WHERE owner.city";
  await expect.poll(() => editorText(shown)).toBe(text);
});

test.runIf(hasBrowser)("Ctrl-Enter runs while the completion is open", async () => {
  const shown = await signedIn(3);
  await shown.type("SELECT * FROM cars");
  await completionOffers(shown, "cars");
  await shown.press("Control+Enter");
  await shown.reads("3 rows in");
  await completionIsClosed(shown);
  expect(await editorText(shown)).toBe("SELECT * FROM cars");
});

test.runIf(hasBrowser)("mistakes are underlined while typing, and after a run", async () => {
  const shown = await signedIn(3);
  await writeStatement(shown, "SELECT make FROM cars c d");
  await underlines(shown, "d");
  await shown.reads("Line 1, column 25: expected");
  await writeStatement(shown, "SELECT make,\nyers(year) FROM cars");
  await underlines(shown, "yers");
  await shown.reads("unknown function 'yers'");
  await shown.press("Control+Enter");
  await shown.reads("Failed after");
  await underlines(shown, "yers");
  const [message] = await shown.texts(".error-text");
  expect(message).toContain("at line 2, column 1");
});

test.runIf(hasBrowser)("of several statements, the one at the cursor runs", async () => {
  const shown = await signedIn(3);
  await writeStatement(shown, "SELECT make FROM cars LIMIT 1;SELECT year FROM cars LIMIT 2");
  await shown.reads("Statement 2 of 2");
  await shown.press("Control+Enter");
  await shown.reads("2 rows in");
  await shown.press("Home");
  await shown.reads("Statement 1 of 2");
  await shown.press("Control+Enter");
  await shown.reads("1 row in");
  expect(await shown.texts(".statement-result td:last-child")).toEqual(["Fiat"]);
});

test.runIf(hasBrowser)("the editor is the first text box of the page", async () => {
  const shown = await signedIn(1);
  await writeStatement(shown, "SELECT * FROM cars WHERE make = :make");
  await shown.sees(".statement-arguments textarea");
  // Also inside of open shadow roots, as tools for tests look for roles.
  const boxes = await shown.page.evaluate(`(function boxes(root) {
    return [...root.querySelectorAll("*")].flatMap((each) => [
      ...(each.matches("textarea, input, [role=textbox]") ? [each.getAttribute("aria-label")] : []),
      ...(each.shadowRoot === null ? [] : boxes(each.shadowRoot)),
    ]);
  })(document)`);
  expect(boxes).toEqual(["Statement", null]);
});

test.runIf(hasBrowser)("parameters have a field, and missing ones are added", async () => {
  const shown = await signedIn(10);
  await writeStatement(shown, "SELECT _id FROM cars WHERE make = :make");
  await shown.reads("Without a value: make");
  await shown.tabTo("Add make");
  await shown.press("Enter");
  await shown.fill("Parameters, a JSON object", '{"make": "Fiat"}');
  await shown.press("Control+Enter");
  await shown.reads("2 rows in");
  await shown.page.reload();
  const written = `document.querySelector("textarea")?.value`;
  await expect.poll(() => shown.page.evaluate(written)).toBe('{"make": "Fiat"}');
});

test.runIf(hasBrowser)("a running statement is cancelled, here and at the server", async () => {
  const shown = await signedIn(4000);
  // Sixteen million pairs.
  const slow = "SELECT count(*) FROM cars a JOIN cars b ON a.year + b.year < 0";
  await writeStatement(shown, slow);
  await shown.press("Control+Enter");
  await shown.reads("Running");
  await shown.tabTo("Cancel");
  await shown.press("Enter");
  await shown.reads("Cancelled after");
  const running = `SELECT _id FROM system:active_requests WHERE text = '${slow}'`;
  await expect.poll(() => shown.atServer(running)).toEqual([]);
  await shown.tabTo("Run");
});

test.runIf(hasBrowser)(
  "a slow statement gets its index: profile, advise, create, profile",
  async () => {
    const shown = await signedIn(5000);
    await writeStatement(
      shown,
      "SELECT make, year FROM cars WHERE make = 'Fiat' AND owner.city = 'Oslo' AND year > 2015",
    );
    await shown.tabTo("Profile");
    await shown.press("Enter");
    await shown.reads("Reads every document of cars");
    const [hot = ""] = await shown.texts(".plan-row.is-hot");
    expect(hot).toContain("slowest");
    expect((await shown.texts(".plan-title"))[0]).toContain("Full scan");
    expect(await shown.faultsNow()).toEqual([]);
    await shown.tabTo("Advise");
    await shown.press("Enter");
    await shown.reads("CREATE INDEX adv_cars_");
    expect(await shown.faultsNow()).toEqual([]);
    await shown.tabTo("Create this index");
    await shown.press("Enter");
    await shown.reads("The index is ready");
    await shown.tabTo("Profile again");
    await shown.press("Enter");
    await shown.reads("Index scan");
    await shown.reads("times faster than before");
    expect(await shown.texts(".plan .note")).toEqual([]);
  },
);

test.runIf(hasBrowser)(
  "a write without WHERE asks first, with the number of documents",
  async () => {
    const shown = await signedIn(12);
    await writeStatement(shown, "DELETE FROM cars");
    await shown.press("Control+Enter");
    await shown.reads("This deletes all 12 documents of cars.");
    expect(await shown.faultsNow()).toEqual([]);
    await shown.press("Escape");
    expect(await shown.atServer("SELECT count(*) AS n FROM cars")).toEqual([{ n: 12 }]);
    await shown.tabTo("Statement");
    await shown.press("Control+Enter");
    await shown.reads("DELETE 12 documents");
    await shown.tabTo("DELETE 12 documents");
    await shown.press("Enter");
    await shown.reads("12 documents changed in");
    expect(await shown.atServer("SELECT count(*) AS n FROM cars")).toEqual([{ n: 0 }]);
  },
);

test.runIf(hasBrowser)(
  "a result of a statement without LIMIT is cut, and can be read whole",
  async () => {
    const shown = await signedIn(1200);
    await writeStatement(shown, "SELECT _id FROM cars");
    await shown.press("Control+Enter");
    await shown.reads("The first 1,000 rows in");
    await shown.tabTo("Read all rows");
    await shown.press("Enter");
    await shown.reads("1,200 rows in");
    expect(await shown.texts(".statement-result tbody tr")).toHaveLength(100);
  },
);

test.runIf(hasBrowser)("history and favourites bring a statement back after a reload", async () => {
  const shown = await signedIn(3);
  await writeStatement(shown, "SELECT year FROM cars");
  await shown.press("Control+Enter");
  await shown.reads("3 rows in");
  await shown.press("Control+s");
  await shown.fill("Name", "All years");
  await shown.press("Enter");
  await shown.reads("Saved the favourite All years");
  await openStatements(shown);
  await writeStatement(shown, "SELECT 1 AS one FROM system:dual");
  await shown.press("Control+Enter");
  await shown.reads("1 row in");
  await shown.page.reload();
  await editorReady(shown);
  await shown.tabTo("History");
  await shown.press("Enter");
  await shown.reads("History and favourites");
  expect(await shown.texts(".kept-item .kept-text")).toEqual([
    "SELECT year FROM cars",
    "SELECT 1 AS one FROM system:dual",
    "SELECT year FROM cars",
  ]);
  expect(await shown.faultsNow()).toEqual([]);
  // The field of the search has the focus.
  await shown.type("all years");
  await shown.until(`document.querySelectorAll(".kept-item").length`, 1);
  await shown.press("Tab");
  await shown.press("Enter");
  await editorHas(shown, "SELECT year FROM cars");
});

test.runIf(hasBrowser)("see as a key shows exactly what the key may see", async () => {
  const shown = await signedIn(10);
  const { managementUrl } = shown.server.running;
  const read = { everything: false, queriesByCollection: { cars: ["make == 'Fiat'"] } };
  const permissions = { read, write: { everything: false, queriesByCollection: {} } };
  const response = await fetch(
    `${managementUrl}/namespace/default/bigPeer/big-peer/app/default/apiKey`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "till", permissions }),
    },
  );
  expect(response.ok).toBe(true);
  await writeStatement(shown, "SELECT make FROM cars");
  await shown.tabTo("See as: everything");
  await shown.press("Enter");
  await shown.sees('dialog option[value="key till"]');
  expect(await shown.faultsNow()).toEqual([]);
  await shown.choose("Who", "key till");
  await shown.tabTo("Choose");
  await shown.press("Enter");
  await shown.reads("See as: key till");
  await shown.tabTo("Run");
  await shown.press("Enter");
  await shown.reads("2 rows in");
  expect(new Set(await shown.texts(".statement-result td:last-child"))).toEqual(new Set(["Fiat"]));
  await shown.tabTo("Statement");
  await writeStatement(shown, "UPDATE cars SET year = 1 WHERE make = 'Fiat'");
  await shown.press("Control+Enter");
  await shown.reads("nothing is written with the permissions of others");
});

test.runIf(hasBrowser).each(["light", "dark"] as const)(
  "axe finds no fault in a result and with the completion open, in the %s theme",
  async (theme) => {
    const shown = await signedIn(10);
    await shown.setTheme(theme);
    await openStatements(shown);
    await writeStatement(shown, "SELECT * FROM cars WHERE a b c -- why\n");
    await underlines(shown, "b");
    expect(await shown.faultsNow()).toEqual([]);
    await writeStatement(shown, "SELECT *, :a AS a FROM cars");
    await shown.press("Control+Enter");
    await shown.reads("Without a value: a");
    expect(await shown.faultsNow()).toEqual([]);
    await writeStatement(shown, "SELECT * FROM cars");
    await shown.press("Control+Enter");
    await shown.reads("10 rows in");
    await shown.type(" whe");
    await completionOffers(shown, "where");
    expect(await shown.faultsNow()).toEqual([]);
  },
);
