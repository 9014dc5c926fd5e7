/**
 * The page Replication in a real browser with a second server: a link is created, changed and removed.
 */
import { expect, test, vi } from "vitest";
import { LINK_SECRET, LINKED_APP, LinkedServer } from "../../server/test/support/linked-server.ts";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const PATIENCE = { timeout: 45_000, interval: 100 };

async function openWithApp(): Promise<ConsolePage> {
  const shown = await openConsole({ replicationPort: 0 });
  await shown.sees("main h1");
  await shown.open("/access?app=default");
  await shown.click("button", "New app");
  await shown.fill("Name", "shop");
  await shown.fill("App ID (a UUID, optional)", LINKED_APP);
  await shown.click("button", "Create");
  await shown.reads("The app shop is created.");
  await shown.open("/replication?app=shop");
  await shown.reads(LINKED_APP);
  return shown;
}

/** The first rows of the table of links. */
async function firstLink(shown: ConsolePage): Promise<string> {
  const [row = ""] = await shown.texts(`table[aria-label="Links of from-north"] tbody tr`);
  return row;
}

test.runIf(hasBrowser)(
  "a person creates a link, sees its error, repairs it, changes it and removes it",
  async () => {
    const north = await LinkedServer.start();
    await north.replicate("POST", {}, "to-south");
    await north.put("cars", { _id: "c1", color: "blue" }, { _id: "c2", color: "red" });
    const shown = await openWithApp();

    await shown.click("button", "New link");
    await shown.fill("Name", "from-north");
    await shown.fill("Addresses to call, one in each line", `http://${north.address}`);
    await shown.reads(`expected host:port, found http://${north.address}`);
    await shown.fill("Addresses to call, one in each line", north.address);
    await shown.choose("Pull 1: collection", "cars");
    await shown.fill("Pull 1: query", "color == 'blue'");
    await shown.click("button", "Create");
    await vi.waitFor(async () => expect(await firstLink(shown)).toContain("no secret"), PATIENCE);

    await shown.click("button", "Replication secret");
    await shown.fill("New secret", LINK_SECRET);
    await shown.click("button", "Set the secret");
    await vi.waitFor(async () => expect(await firstLink(shown)).toContain("linked"), PATIENCE);
    await vi.waitFor(async () => {
      const [query = ""] = await shown.texts(`table[aria-label="Pulled queries"] tbody tr`);
      expect(query).toContain("live");
    }, PATIENCE);
    expect(await firstLink(shown)).toContain(`to ${north.address}`);
    // A query is live when all has arrived; then what arrived is merged.
    await vi.waitFor(async () => expect(await carIds(shown)).toEqual(["c1"]), PATIENCE);

    await shown.click("button", "Edit from-north");
    await shown.fill("Pull 1: query", "true");
    await shown.click("button", "Save");
    await shown.reads("The link from-north is saved.");
    await vi.waitFor(async () => expect(await carIds(shown)).toEqual(["c1", "c2"]), PATIENCE);

    await shown.click("button", "Remove from-north");
    await shown.reads("The documents that it pulled stay.");
    await shown.click("button", "Remove");
    await shown.reads("The app has no link to another Big Peer.");
    expect(await carIds(shown)).toEqual(["c1", "c2"]);
  },
);

/** Of the app that the console shows, read as the console reads it. */
async function carIds(shown: ConsolePage): Promise<unknown> {
  return shown.page.evaluate(`(async () => {
    const { prefix } = await (await fetch("/console/session")).json();
    const response = await fetch(prefix + "/app/shop/store/execute", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ statement: "SELECT _id FROM cars ORDER BY _id" }),
    });
    return (await response.json()).items.map(({ _id }) => _id);
  })()`);
}

test.runIf(hasBrowser)("a link is created by keyboard alone", async () => {
  const shown = await openWithApp();
  await shown.press("n");
  await shown.sees("dialog[open]");
  await shown.type("waiting");
  await shown.tabTo("Pull 1: collection");
  await shown.type("cars");
  await shown.tabTo("Pull 1: query");
  await shown.type("true");
  await shown.press("Enter");
  await shown.reads("no address; it waits until the other side calls");
  await shown.reads("No Big Peer is linked yet.");
  expect(await shown.managed("/app/shop/bigPeerReplication/waiting")).toMatchObject({
    connections: [],
    queriesByCollection: { cars: ["true"] },
  });
});
