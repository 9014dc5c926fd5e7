/**
 * Work in the console that something interrupts: the end of the session, a dialog, a page without TLS.
 */
import { expect, test } from "vitest";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";
import { editorReady, openStatements, writeStatement } from "./support/statement-page.ts";

const openConsole = consoles();

async function withDocument(fields: string): Promise<ConsolePage> {
  const shown = await openConsole();
  await shown.sees("main h1");
  await shown.atServer(`INSERT INTO orders DOCUMENTS ({'_id': 'a', ${fields}})`);
  await shown.open("/data?app=default&collection=orders&id=%22a%22");
  await shown.sees(".document-panel .fields");
  return shown;
}

test.runIf(hasBrowser)(
  "when the session ends, the console asks to sign in, and what was typed stays",
  async () => {
    const shown = await withDocument("'total': 1");
    await shown.click("button", "Edit total");
    await shown.fill("Value of total", "12345");
    await shown.page.evaluate(`fetch("/console/session", { method: "DELETE" }).then(String)`);
    await shown.click("button", "Save");
    await shown.reads("Sign in to Big Peer");
    expect(await shown.faultsNow()).toEqual([]);
    await shown.page.locator("input[type=password]").fill(shown.consoleUrl);
    await shown.press("Enter");
    await shown.until(`document.querySelector("dialog") === null`);
    await shown.click("button", "Save");
    await shown.reads("Changed total");
    expect(await shown.atServer("SELECT total FROM orders")).toEqual([{ total: 12345 }]);
    // A statement has an answer of another form.
    await openStatements(shown);
    await writeStatement(shown, "SELECT total FROM orders");
    await shown.page.evaluate(`fetch("/console/session", { method: "DELETE" }).then(String)`);
    await shown.press("Control+Enter");
    await shown.reads("Sign in to Big Peer");
  },
);

test.runIf(hasBrowser)("the live page goes on after the person has signed in again", async () => {
  const shown = await withDocument("'total': 1");
  await shown.open("/live?app=default");
  await shown.reads("Following");
  await shown.page.evaluate(`fetch("/console/session", { method: "DELETE" }).then(String)`);
  await shown.click("button", "Pause");
  await shown.click("button", "Follow again");
  await shown.reads("Sign in to Big Peer");
  await shown.page.locator("input[type=password]").fill(shown.consoleUrl);
  await shown.press("Enter");
  await shown.atServer("UPDATE orders SET total = 765 WHERE _id = 'a'");
  await shown.until(`document.querySelector("table")?.innerText.includes("765")`);
  expect(await shown.texts(".error-message")).toEqual([]);
});

test.runIf(hasBrowser)("no shortcut works behind a dialog", async () => {
  const shown = await withDocument("'total': 1");
  await shown.click("button", "Export");
  await shown.sees("dialog");
  // The focus is on nothing, as after a click on the text of the dialog.
  await shown.page.evaluate("document.activeElement.blur()");
  await shown.press("n");
  await shown.press("g");
  await shown.press("l");
  await shown.press("j");
  expect(await shown.texts("dialog h2")).toEqual(["Export orders"]);
  await shown.press("Escape");
  await shown.until(`document.querySelector("dialog") === null`);
  await shown.sees(".document-panel .fields");
  expect(await shown.page.evaluate("location.pathname + location.search")).toBe(
    "/data?app=default&collection=orders&id=%22a%22",
  );
});

test.runIf(hasBrowser)("a page without TLS inserts and copies", async () => {
  const shown = await withDocument("'total': 1");
  await shown.page.evaluate(`
    delete Crypto.prototype.randomUUID;
    delete Navigator.prototype.clipboard;
    addEventListener("copy", () => { window.copied = getSelection().toString() || document.activeElement.value; });
  `);
  await shown.click("button", "Insert");
  await shown.until(`document.querySelector("dialog textarea").value.length > 40`);
  await shown.press("Control+Enter");
  await shown.reads("Inserted ");
  expect(await shown.atServer("SELECT COUNT(*) AS n FROM orders")).toEqual([{ n: 2 }]);
  await shown.click("link", "Statements");
  await editorReady(shown);
  await shown.tabTo("Statement");
  await writeStatement(shown, "SELECT 9007199254740993 AS big FROM orders LIMIT 1");
  await shown.press("Control+Enter");
  await shown.reads("9007199254740993");
  await shown.click("button", "Copy the rows as JSON");
  await shown.reads("Copied 1 row");
  expect(await shown.page.evaluate("window.copied")).toBe(
    '[\n  {\n    "big": 9007199254740993\n  }\n]',
  );
});

test.runIf(hasBrowser)(
  "a whole number beyond 2^53 is edited, cloned and undone exactly",
  async () => {
    const shown = await withDocument("'big': 9007199254740993, 'orders': 9007199254740995");
    const count = async (statement: string): Promise<unknown> => {
      const [row] = (await shown.atServer(
        `SELECT COUNT(*) AS n FROM orders WHERE ${statement}`,
      )) as [{ n: number }];
      return row.n;
    };
    await shown.reads("9007199254740993");
    await shown.click("button", "Edit big");
    await shown.fill("Value of big", "9007199254740997");
    await shown.click("button", "Save");
    await shown.reads("Changed big");
    expect(await count("big = 9007199254740997")).toBe(1);
    await shown.click("button", "Clone");
    await shown.page.locator("dialog textarea").wait();
    await shown.press("Control+Enter");
    await shown.reads("Inserted ");
    expect(await count("big = 9007199254740997 AND orders.orders = 9007199254740995")).toBe(2);
    // The message of the first edit undoes that one, although another came after it.
    await shown.page.evaluate(
      `[...document.querySelectorAll(".toast")].find((each) => each.innerText.includes("Changed big"))
      .querySelector("button").click()`,
    );
    await shown.reads("Undid: Changed big");
    expect(await count("big = 9007199254740993")).toBe(1);
    expect(await count("big = 9007199254740997")).toBe(1);
  },
);

test.runIf(hasBrowser)("undo gives what was there right before, also of others", async () => {
  const shown = await withDocument("'total': 1, 'note': 'x'");
  await shown.atServer("UPDATE orders SET note = 'newer' WHERE _id = 'a'");
  await shown.click("button", "Delete");
  await shown.reads("Delete the document?");
  await shown.tabTo("Delete");
  await shown.press("Enter");
  await shown.reads("Deleted a");
  await shown.press("z");
  await shown.reads("Undid: Deleted a");
  expect(await shown.atServer("SELECT * FROM orders")).toEqual([
    { _id: "a", total: 1, note: "newer" },
  ]);
});
