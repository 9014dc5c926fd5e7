/**
 * The page Data in Chromium, as a person uses it: find a document, edit it, see it on a peer.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../peer/test/support/turns.ts";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const PATIENCE = { timeout: 20_000, interval: 50 };

const IDS = ".document-table td:first-child";

async function withSampleData(): Promise<ConsolePage> {
  const shown = await openConsole();
  await shown.sees("main h1");
  await shown.open("/data");
  await shown.click("button", "Add sample data");
  await shown.reads("Added 265 documents");
  await shown.reads("about ");
  return shown;
}

test.runIf(hasBrowser)("a document is found, edited, and seen on a peer", async () => {
  const shown = await withSampleData();
  const peer = await shown.server.peer();
  const subscription = peer.sync.registerSubscription("SELECT * FROM products");
  peer.sync.start();
  await subscription.whenReady();
  const priceThere = async (): Promise<unknown> => {
    const { items } = await peer.store.execute(
      "SELECT price, stock FROM products WHERE _id = 'p3'",
    );
    return items[0];
  };

  await shown.click("link", "products");
  await shown.click("button", "Filter");
  await shown.fill("Value", "Lemonade");
  await shown.page.locator("input[placeholder=field]").fill("name");
  await shown.click("button", "Apply");
  await shown.until(`document.querySelectorAll(${JSON.stringify(IDS)}).length`, 1);
  await shown.click("link", "p3");
  await shown.click("button", "Edit price");
  await shown.fill("Value of price", "3.75");
  await shown.click("button", "Save");
  await shown.reads("Changed price");
  const [{ stock }] = (await shown.atServer("SELECT stock FROM products WHERE _id = 'p3'")) as [
    { stock: number },
  ];
  await shown.fill("Step of stock", "5");
  await shown.click("button", "Subtract from stock");
  await shown.reads("Changed stock by -5");
  const expected = JSON.stringify({ price: 3.75, stock: stock - 5 });
  await until(async () => JSON.stringify(await priceThere()) === expected);

  // What a peer writes is there when the list is read again.
  await peer.store.execute("UPDATE products APPLY stock INCREMENT BY 100 WHERE _id = 'p3'");
  await until(async () => {
    const rows = await shown.atServer("SELECT stock FROM products WHERE _id = 'p3'");
    return JSON.stringify(rows) === JSON.stringify([{ stock: stock + 95 }]);
  });
  await shown.click("button", "Read again");
  await shown.reads(String(stock + 95));
  expect(await priceThere()).toEqual({ price: 3.75, stock: stock + 95 });
});

test.runIf(hasBrowser)(
  "a document is found with a filter, edited, and seen on a peer, by keyboard alone",
  async () => {
    const shown = await withSampleData();
    const peer = await shown.server.peer();
    const subscription = peer.sync.registerSubscription("SELECT * FROM products");
    peer.sync.start();
    await subscription.whenReady();
    await shown.press("Control+k");
    await shown.sees("dialog[open] input");
    await shown.type("products");
    await shown.press("Enter");
    await shown.sees(IDS);
    await shown.tabTo("Filter");
    await shown.press("Enter");
    await shown.tabTo("Field");
    await shown.type("name");
    await shown.tabTo("Value");
    await shown.type("Lemonade");
    await shown.press("Enter");
    await shown.until(`document.querySelectorAll(${JSON.stringify(IDS)}).length`, 1);
    await shown.tabTo("p3");
    await shown.press("Enter");
    await shown.sees(".document-panel .fields");
    await shown.tabTo("Edit price");
    await shown.press("Enter");
    await shown.tabTo("Value of price");
    await shown.press("Control+a");
    await shown.type("3.75");
    await shown.press("Enter");
    await shown.reads("Changed price");
    await expect
      .poll(async () => {
        const { items } = await peer.store.execute("SELECT price FROM products WHERE _id = 'p3'");
        return items;
      }, PATIENCE)
      .toEqual([{ price: 3.75 }]);
  },
);

test.runIf(hasBrowser)("a page behind the last document leads back to the first", async () => {
  const shown = await withSampleData();
  await shown.open("/data?app=default&collection=products&after=%22zzz%22");
  await shown.reads("No documents on this page");
  await shown.click("button", "First page");
  await shown.sees(IDS);
  expect(await shown.texts(IDS)).toHaveLength(10);
});

test.runIf(hasBrowser)(
  "the list stays where it was when a document is edited, and undo undoes",
  async () => {
    const shown = await withSampleData();
    await shown.open("/data?app=default&collection=orders&sort=total+desc");
    await shown.sees(IDS);
    const before = await shown.texts(IDS);
    await shown.click("button", "Next page");
    await shown.until(`location.search.includes("offset=50")`);
    await shown.until(
      `document.querySelector(${JSON.stringify(IDS)}).innerText !== ${JSON.stringify(before[0])}`,
    );
    const second = await shown.texts(IDS);
    expect(second).toHaveLength(50);
    expect(second.filter((id) => before.includes(id))).toEqual([]);
    await shown.page.evaluate("scrollTo(0, 600)");
    const top = `Math.round(document.querySelectorAll(${JSON.stringify(IDS)})[20].getBoundingClientRect().top)`;
    const topBefore = await shown.page.evaluate(top);
    const id = second[20] ?? "";
    await shown.page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(`${IDS} a`)})][20].click()`,
    );
    await shown.click("button", "Edit state");
    await shown.fill("Value of state", "lost");
    await shown.click("button", "Save");
    await shown.reads("Changed state");
    expect(await shown.page.evaluate(top)).toBe(topBefore);
    expect(await shown.texts(IDS)).toEqual(second);
    const state = (): Promise<unknown> =>
      shown.atServer("SELECT state FROM orders WHERE _id = :id", { id });
    expect(await state()).toEqual([{ state: "lost" }]);
    await shown.page.locator(".toast .button.quiet").click();
    await until(async () => JSON.stringify(await state()) !== '[{"state":"lost"}]');
    await shown.click("button", "Close the document");
    await shown.until(`location.search.includes("id=")`, false);
    expect(await shown.page.evaluate(top)).toBe(topBefore);
  },
);

test.runIf(hasBrowser)("a document is inserted, cloned and deleted by keyboard alone", async () => {
  const shown = await withSampleData();
  await shown.press("Control+k");
  await shown.sees("dialog[open] input");
  await shown.type("products");
  await shown.press("Enter");
  await shown.sees(IDS);
  await shown.press("n");
  await shown.sees("dialog[open] textarea");
  await shown.press("Control+a");
  await shown.type('{"_id": "p11", "name": "Tea"}');
  await shown.press("Control+Enter");
  await shown.reads("Inserted p11");
  await shown.until(`document.activeElement.innerText`, "p11");

  await shown.tabTo("Clone");
  await shown.press("Enter");
  await shown.sees("dialog[open] textarea");
  await shown.press("Control+a");
  await shown.type('{"_id": "p12", "name": "Green tea"}');
  await shown.press("Control+Enter");
  await shown.reads("Inserted p12");
  await shown.until(`document.activeElement.innerText`, "p12");

  await shown.tabTo("Edit name");
  await shown.press("Enter");
  await shown.until(`document.activeElement.value`, "Green tea");
  await shown.press("Control+a");
  await shown.type("White tea");
  await shown.press("Enter");
  await shown.reads("Changed name");
  const names = "SELECT name FROM products WHERE _id IN ['p11', 'p12'] ORDER BY _id";
  expect(await shown.atServer(names)).toEqual([{ name: "Tea" }, { name: "White tea" }]);

  await shown.tabTo("Delete");
  await shown.press("Enter");
  await shown.reads("Delete the document?");
  await shown.tabTo("Delete");
  await shown.press("Enter");
  await shown.reads("Deleted p12");
  expect(await shown.atServer(names)).toEqual([{ name: "Tea" }]);
  await shown.press("z");
  await shown.reads("Undid: Deleted p12");
  expect(await shown.atServer(names)).toEqual([{ name: "Tea" }, { name: "White tea" }]);
});

test.runIf(hasBrowser)(
  "NDJSON and CSV are imported with progress, and exported again",
  async () => {
    const shown = await openConsole();
    await shown.sees("main h1");
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-console-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const lines = Array.from({ length: 1200 }, (_, i) => JSON.stringify({ _id: i, text: `t${i}` }));
    const ndjson = join(folder, "readings.ndjson");
    const csv = join(folder, "people.csv");
    writeFileSync(ndjson, lines.join("\n"));
    writeFileSync(csv, '_id,name,tags\na,"Hopper, G.","[""x""]"\nb,Ada,\n');
    for (const [path, count] of [
      [ndjson, "1,200"],
      [csv, "2"],
    ] as const) {
      await shown.open("/data?app=default");
      await shown.click("button", "Import");
      await shown.sees("input[type=file]");
      await (await shown.page.$("input[type=file]"))?.uploadFile(path);
      await shown.page.locator("dialog footer .primary").click();
      await shown.reads(`Imported ${count} documents`);
    }
    expect(await shown.atServer("SELECT COUNT(*) AS n FROM readings")).toEqual([{ n: 1200 }]);
    expect(await shown.atServer("SELECT * FROM people ORDER BY _id")).toEqual([
      { _id: "a", name: "Hopper, G.", tags: ["x"] },
      { _id: "b", name: "Ada" },
    ]);
    await shown.open("/data?app=default&collection=readings");
    await shown.page.evaluate(`void (window.saved = new Promise((resolve) => {
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => { resolve(blob.text()); return make.call(URL, blob); };
  }))`);
    await shown.click("button", "Export");
    await shown.sees("dialog[open]");
    await shown.page.locator("dialog footer .primary").click();
    await shown.reads("Exported 1,200 documents");
    const saved = (await shown.page.evaluate("saved")) as string;
    expect(saved.trim().split("\n").toSorted()).toEqual(lines.toSorted());
  },
);

test.runIf(hasBrowser)(
  "an index is created from the advice on a slow statement, its use is counted, and it is dropped",
  async () => {
    const shown = await withSampleData();
    await shown.atServer("SELECT * FROM orders WHERE customer = 'c3'");
    await shown.open("/data?app=default&collection=orders&tab=indexes");
    await shown.reads("CREATE INDEX adv_orders_customer ON orders (customer)");
    await shown.click("button", "Create this index");
    await shown.reads("adv_orders_customer");
    const indexes = "SELECT _id FROM system:indexes";
    await until(async () => JSON.stringify(await shown.atServer(indexes)) !== "[]");
    expect(await shown.atServer(indexes)).toEqual([{ _id: "orders.adv_orders_customer" }]);
    await shown.reads("never used since the start");
    await shown.atServer("SELECT * FROM orders WHERE customer = 'c3'");
    await shown.open("/data?app=default&collection=orders&tab=indexes");
    await shown.reads("used 1 time, last");
    await shown.click("button", "Drop adv_orders_customer");
    await shown.page.locator("dialog footer .danger").click();
    await shown.reads("This collection has no index");
    expect(await shown.atServer(indexes)).toEqual([]);
  },
);

/** One red pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  "base64",
);

test.runIf(hasBrowser)("an attachment has its type, a preview and a download", async () => {
  const shown = await openConsole();
  await shown.sees("main h1");
  const { running, content } = shown.server;
  const authorization = `Bearer ${content.apiKey}`;
  const upload = async (bytes: Uint8Array<ArrayBuffer>, name: string): Promise<object> => {
    const form = new FormData();
    form.append("file", new Blob([bytes]), name);
    const uploaded = await fetch(`${running.url}/api/v4/attachments/upload`, {
      method: "POST",
      headers: { authorization },
      body: form,
    });
    return { ...((await uploaded.json()) as object), metadata: { name } };
  };
  const photo = await upload(new Uint8Array(PNG), "red.png");
  const insert = "INSERT INTO COLLECTION cars (photo ATTACHMENT, log ATTACHMENT) DOCUMENTS (:car)";
  await shown.atServer(insert, { car: { _id: "c1", photo } });
  await shown.open("/data?app=default&collection=cars&id=%22c1%22");
  await shown.sees(".type-badge.attachment");
  await shown.click("button", "Preview");
  await shown.until(`document.querySelector(".attachment-image")?.naturalWidth`, 1);
  const size = `fetch(document.querySelector(".attachment-view a[download]").href)
    .then((answer) => answer.arrayBuffer()).then(({ byteLength }) => byteLength)`;
  expect(await shown.page.evaluate(size)).toBe(PNG.length);

  // Of a long text the beginning alone is loaded; the euro sign at its end is cut.
  const text = new TextEncoder().encode(`${"a".repeat(3998)}€${"b".repeat(100_000)}`);
  await shown.atServer(insert, { car: { _id: "c2", log: await upload(text, "all.log") } });
  await shown.open("/data?app=default&collection=cars&id=%22c2%22");
  await shown.click("button", "Preview");
  await shown.until(`document.querySelector(".attachment-text")?.textContent`, "a".repeat(3998));
  const loaded = `performance.getEntriesByType("resource")
    .find(({ name }) => name.includes("/attachments/"))?.encodedBodySize`;
  expect(await shown.page.evaluate(loaded)).toBe(4000);
  expect(shown.page.console).toEqual([]);
});

test.runIf(hasBrowser)(
  "a clone keeps the types of fields, a new field begins at its name, and both are undone",
  async () => {
    const shown = await withSampleData();
    await shown.open("/data?app=default&collection=products&id=%22p3%22");
    await shown.click("button", "Clone");
    await shown.reads("Clone the document");
    await shown.page.locator("dialog footer .primary").click();
    await shown.reads("Inserted ");
    await shown.until(`document.querySelectorAll(".type-badge.counter").length`, 1);
    await shown.click("button", "Undo");
    await shown.reads("Undid: Inserted");
    const count = "SELECT COUNT(*) AS n FROM products";
    expect(await shown.atServer(count)).toEqual([{ n: 10 }]);

    await shown.open("/data?app=default&collection=products&id=%22p3%22");
    await shown.click("button", "Add field");
    await shown.until(`document.activeElement.labels?.[0]?.innerText`, "Name");
    await shown.type("sold");
    await shown.choose("Type", "counter");
    await shown.fill("Value of the new field", "3");
    await shown.press("Enter");
    await shown.reads("Added sold");
    const sold = "SELECT sold FROM products WHERE _id = 'p3'";
    expect(await shown.atServer(sold)).toEqual([{ sold: 3 }]);
    await shown.press("z");
    await shown.reads("Undid: Added sold");
    expect(await shown.atServer(sold)).toEqual([{}]);
  },
);

test.runIf(hasBrowser)(
  "a filter that cannot be used says why: a value in its row, a condition with its place",
  async () => {
    const shown = await withSampleData();
    const rows = encodeURIComponent(JSON.stringify([["total", ">", "number", "much"]]));
    await shown.open(`/data?app=default&collection=orders&filter=${rows}`);
    await shown.reads("expected a number");
    await shown.open(`/data?app=default&collection=orders&where=${encodeURIComponent("total >")}`);
    await shown.reads("expected an expression, found the end of the condition");
    await shown.fill("Condition", "total = = 1");
    await shown.press("Enter");
    await shown.reads("at character 9 of the condition");
    expect(await shown.texts(IDS)).toEqual([]);
  },
);
