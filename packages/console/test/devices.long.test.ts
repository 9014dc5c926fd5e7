/**
 * The page Devices in a real browser with real small peers: who is connected, why a document has not
 * arrived, and statements on devices.
 */
import { expect, test, vi } from "vitest";
import { consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const INSERT = `INSERT INTO orders DOCUMENTS
  ({'_id': 'o1', 'isOpen': true}), ({'_id': 'o2', 'isOpen': false}), ({'_id': '1.5'}), ({'_id': 7, 'isOpen': true})`;

const PATIENCE = { timeout: 45_000, interval: 50 };

test.runIf(hasBrowser)(
  "a person finds out why a document has not arrived on a device, and follows the advice",
  async () => {
    const shown = await openConsole();
    await shown.atServer(INSERT);
    const peer = await shown.server.peer({ deviceName: "till 1" });
    const open = peer.sync.registerSubscription("SELECT * FROM orders WHERE isOpen = true");
    peer.sync.start();
    await open.whenReady();
    const ids = async (): Promise<unknown[]> => {
      const { items } = await peer.store.execute("SELECT _id FROM orders ORDER BY _id");
      return items.map(({ _id }) => _id);
    };
    expect(await ids()).toEqual([7, "o1"]);

    await shown.open("/devices?app=default");
    await shown.click("link", "till 1");
    await shown.reads("SELECT * FROM orders WHERE isOpen = true");
    await shown.click("link", "Why is a document not there?");
    await shown.choose("Collection", "orders");
    await shown.fill("Id of the document", "o2");
    await shown.click("button", "Find out");
    await shown.reads("The document o2 of orders is not meant for till 1");
    await shown.reads("Change the fields of the document that the subscription compares");
    expect(await shown.texts("table code")).toEqual(["SELECT * FROM orders WHERE isOpen = true"]);

    await shown.click("link", "Open the document");
    await shown.sees(".document-panel .fields");
    await shown.click("link", "Why is it not on a device?");
    await shown.until(`document.querySelector("main input.code").value`, "o2");
    await shown.page.goBack();
    await shown.page.goBack();
    await shown.reads("The document o2 of orders is not meant for till 1");

    // The question is in the address.
    await shown.page.reload();
    await shown.reads("The document o2 of orders is not meant for till 1");

    // An id that looks like a number stays a text, and the way it is shown is in the address.
    await shown.open("/data?app=default&collection=orders&id=%221.5%22");
    await shown.page.locator(".document-panel .toolbar button:nth-of-type(2)").click();
    await shown.until(`new URLSearchParams(location.search).get("panel")`, "json");
    await shown.page.reload();
    await shown.sees(".document-panel .json-view");
    await shown.click("button", "Fields");
    await shown.click("link", "Why is it not on a device?");
    await shown.until(`document.querySelector("main input.code").value`, '"1.5"');
    const key = `[...document.querySelectorAll("main option")]
      .find(({ text }) => text.startsWith("till 1"))?.value`;
    await shown.until(`${key} !== undefined`);
    await shown.choose("Device", String(await shown.page.evaluate(key)));
    await shown.click("button", "Find out");
    await shown.reads("1.5 of orders is not meant for till 1");
    await shown.fill("Id of the document", "o2");

    await shown.atServer("UPDATE orders SET isOpen = true WHERE _id = 'o2'");
    await vi.waitFor(async () => expect(await ids()).toEqual([7, "o1", "o2"]), PATIENCE);
    await shown.click("button", "Find out");
    await shown.until(
      "/The document o2 of orders (is on|was sent to) till 1/.test(document.body.innerText)",
    );
  },
);

test.runIf(hasBrowser)(
  "the answer is found by keyboard alone, also for an id that is a number",
  async () => {
    const shown = await openConsole();
    await shown.atServer(INSERT);
    const peer = await shown.server.peer({ deviceName: "phone" });
    peer.sync.start();
    await vi.waitFor(() => expect(peer.sync.status.state).toBe("connected"), PATIENCE);
    await shown.sees("main h1");
    await shown.press("g");
    await shown.press("e");
    await shown.reads("phone");
    await shown.tabTo("phone");
    await shown.press("Enter");
    await shown.tabTo("Why is a document not there?");
    await shown.press("Enter");
    await shown.tabTo("Collection");
    await shown.type("orders");
    await shown.tabTo("Id of the document");
    await shown.type("7");
    await shown.press("Enter");
    await shown.reads("phone has no subscription to the collection orders");
    await shown.reads('peer.sync.registerSubscription("SELECT * FROM orders")');
  },
);

test.runIf(hasBrowser)("a statement on devices has one result for each of them", async () => {
  const shown = await openConsole();
  for (const deviceName of ["till 1", "till 2"]) {
    const remote = deviceName === "till 1" ? ("read" as const) : ("off" as const);
    const peer = await shown.server.peer({ deviceName, remote });
    await peer.store.execute("INSERT INTO notes DOCUMENTS ({'_id': 'n1', 'text': 'only here'})");
    peer.sync.start();
    await vi.waitFor(() => expect(peer.sync.status.state).toBe("connected"), PATIENCE);
  }
  await shown.open("/devices?app=default&tab=remote");
  await shown.fill("Statement", "SELECT text FROM notes WHERE _id = :id");
  await shown.fill("Parameters (JSON)", '{"id": "n1"}');
  await shown.click("button", "Run");
  await shown.reads("2 devices, 1 failed");
  const [first, second] = await shown.texts("details");
  expect(first).toContain("till 1");
  expect(first).toContain("only here");
  expect(second).toContain("till 2");
  expect(second).toContain("remote.refused");
  expect(second).toContain("The app on the device decides which statements it runs.");

  // Broken parameters never leave the page; what was typed stays.
  await shown.fill("Parameters (JSON)", "{");
  await shown.click("button", "Run");
  await shown.reads("expected parameters in JSON");
  await shown.page.reload();
  await shown.until(
    `document.querySelector("textarea").value`,
    "SELECT text FROM notes WHERE _id = :id",
  );

  const condition = "deviceName = 'till 1'";
  await shown.choose("Devices", "condition");
  await shown.fill("Condition", condition);
  await shown.until(`new URLSearchParams(location.search).get("condition")`, condition);
  await shown.page.reload();
  await shown.until(`document.querySelector("main select").value`, "condition");
  await shown.until(`document.querySelector("main input").value`, condition);

  await shown.open("/access?app=default&tab=audit&log=remote");
  await shown.reads("SYNC CONTEXT ( PEERS ) SELECT text FROM notes");
});

test.runIf(hasBrowser)("devices that have left are known", async () => {
  const shown = await openConsole();
  const peer = await shown.server.peer({ deviceName: "till 1" });
  peer.sync.start();
  await vi.waitFor(() => expect(peer.sync.status.state).toBe("connected"), PATIENCE);
  await shown.open("/devices?app=default");
  await shown.reads("no subscription");
  await peer.close();
  await shown.reads("No device is connected.");
  await vi.waitFor(async () => {
    await shown.open("/devices?app=default&tab=known");
    await shown.reads("left");
  }, PATIENCE);
  await shown.page.locator("input[type=search]").fill("no such device");
  await shown.reads("No device matches.");
  await shown.page.reload();
  await shown.reads("No device matches.");
  await shown.page.locator("input[type=search]").fill("TILL");
  await shown.click("link", "till 1");
  await shown.choose("Collection", "orders");
  await shown.fill("Id of the document", "o1");
  await shown.click("button", "Find out");
  await shown.reads("till 1 is not connected; it was seen");
});
