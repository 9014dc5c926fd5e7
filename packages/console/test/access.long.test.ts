/**
 * The page Access in a real browser: apps, API keys whose permissions are tried before they are
 * saved, auth providers with a test login, webhooks with their dead letters, sessions and the audit
 * log.
 */
import { expect, test, vi } from "vitest";
import { secretToken } from "../../server/test/support/signed-token.ts";
import { WebhookReceiver } from "../../server/test/support/webhook-receiver.ts";
import { type ConsolePage, consoles, hasBrowser } from "./support/console-page.ts";

const openConsole = consoles();

const PATIENCE = { timeout: 45_000, interval: 100 };

const SECRET = "a secret of at least thirty-two bytes, for this test";

/** 40 orders, 12 of them open. */
async function addOrders(shown: ConsolePage): Promise<void> {
  const orders = Array.from({ length: 40 }, (_, i) => ({ _id: i, isOpen: i < 12, owner: "ada" }));
  const places = orders.map((_, i) => `(:d${i})`).join(", ");
  const args = Object.fromEntries(orders.map((order, i) => [`d${i}`, order]));
  await shown.atServer(`INSERT INTO orders DOCUMENTS ${places}`, args);
}

/** Runs a statement with a key, as a program does. */
async function readWith(shown: ConsolePage, key: string, statement: string): Promise<unknown> {
  const response = await fetch(`${shown.server.running.url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ statement }),
  });
  const { items } = (await response.json()) as { readonly items: unknown };
  return response.ok ? items : response.status;
}

/** The secret that the dialog shows. */
async function secretOf(shown: ConsolePage, what: string): Promise<string> {
  const field = `[...document.querySelectorAll("dialog[open] input")].find((each) => each.labels[0].innerText === "Text of ${what}")`;
  await shown.until(`${field} !== undefined`);
  return (await shown.page.evaluate(`${field}.value`)) as string;
}

/** The secret, and closes the dialog. */
async function takeSecret(shown: ConsolePage, what: string): Promise<string> {
  const secret = await secretOf(shown, what);
  await shown.click("button", "I have saved it");
  await shown.until(`document.querySelector("dialog[open]") === null`);
  return secret;
}

test.runIf(hasBrowser)(
  "a person creates a key by a query that is tried first, and uses it; the key is changed, rotated and deleted",
  async () => {
    const shown = await openConsole();
    await addOrders(shown);
    await shown.open("/access?app=default&tab=keys");
    await shown.click("button", "New key");
    await shown.fill("Name", "till");
    await shown.choose("Read 1: collection", "orders");
    await shown.fill("Read 1: query", "isOpen ==");
    await shown.sees("dialog[open] [role=alert]");
    await shown.fill("Read 1: query", "isOpen == true");
    await shown.reads("orders: 12 of 40 would be visible");
    await shown.click("button", "Create");
    const key = await takeSecret(shown, "the key");
    expect(key).toMatch(/^bp_/);
    const count = "SELECT COUNT(*) AS n FROM orders";
    expect(await readWith(shown, key, count)).toEqual([{ n: 12 }]);
    expect(await readWith(shown, key, "UPDATE orders SET isOpen = true")).toBe(401);
    await shown.reads("reads some of orders, writes nothing");
    expect(await shown.page.evaluate("document.documentElement.outerHTML")).not.toContain(key);

    await shown.click("button", "Edit till");
    await shown.fill("Read 1: query", "isOpen == 'true'");
    await shown.reads("orders: 0 of 40 would be visible");
    await shown.click("button", "Save");
    await shown.reads("A query may say something else than you mean");
    await shown.click("button", "Cancel");
    expect(await readWith(shown, key, count)).toEqual([{ n: 12 }]);
    await shown.fill("Read 1: query", "_id < 3");
    await shown.reads("orders: 3 of 40 would be visible");
    await shown.click("button", "Save");
    await shown.reads("The key till is saved.");
    expect(await readWith(shown, key, count)).toEqual([{ n: 3 }]);

    await shown.click("button", "Rotate till");
    await shown.choose("The old text", "0");
    await shown.click("button", "Make a new text");
    const next = await takeSecret(shown, "the key");
    expect(await readWith(shown, key, count)).toBe(401);
    expect(await readWith(shown, next, count)).toEqual([{ n: 3 }]);

    await shown.click("button", "Delete till");
    await shown.click("button", "Delete");
    await shown.reads("The key till is deleted.");
    expect(await readWith(shown, next, count)).toBe(401);
  },
);

test.runIf(hasBrowser)("a key is created by keyboard alone, and used", async () => {
  const shown = await openConsole();
  await addOrders(shown);
  await shown.sees("main h1");
  await shown.press("g");
  await shown.press("a");
  await shown.tabTo("API keys");
  await shown.press("Enter");
  await shown.reads("quickstart");
  await shown.press("n");
  await shown.sees("dialog[open]");
  await shown.type("reports");
  await shown.tabTo("Read 1: collection");
  await shown.type("orders");
  await shown.tabTo("Read 1: query");
  await shown.type("isOpen == true");
  await shown.reads("orders: 12 of 40 would be visible");
  await shown.press("Enter");
  await shown.reads("Copy the key now");
  const key = await secretOf(shown, "the key");
  await shown.tabTo("I have saved it");
  await shown.press("Enter");
  await shown.reads("reads some of orders, writes nothing");
  expect(await shown.managed("/app/default/apiKey/reports")).toMatchObject({
    permissions: { read: { queriesByCollection: { orders: ["isOpen == true"] } } },
  });
  const count = "SELECT COUNT(*) AS n FROM orders";
  expect(await readWith(shown, key, count)).toEqual([{ n: 12 }]);
  expect(await readWith(shown, key, "DELETE FROM orders")).toBe(401);
});

test.runIf(hasBrowser)(
  "a provider is created, and a login is tested without a session",
  async () => {
    const shown = await openConsole();
    await addOrders(shown);
    await shown.open("/access?app=default&tab=providers");
    await shown.click("button", "New provider");
    await shown.fill("Name", "users");
    await shown.choose("Keys that verify the tokens", "secret");
    await shown.fill("Secret", SECRET);
    await shown.fill("Try as the user", "ada");
    await shown.choose("Read 1: collection", "orders");
    await shown.fill("Read 1: query", "owner == :userId");
    await shown.reads("orders: 40 of 40 would be visible");
    await shown.fill("Try as the user", "bob");
    await shown.reads("orders: 0 of 40 would be visible");
    await shown.click("button", "Create");
    await shown.reads("A query may say something else than you mean");
    await shown.click("button", "Cancel");
    await shown.fill("Try as the user", "ada");
    await shown.reads("orders: 40 of 40 would be visible");
    await shown.click("button", "Create");
    await shown.reads("The provider users is saved.");
    expect(await shown.managed("/app/default/provider/users")).toMatchObject({
      config: {
        type: "jwt",
        permission: { read: { queriesByCollection: { orders: ["owner == :userId"] } } },
      },
    });

    const exp = Math.floor(Date.now() / 1000) + 3600;
    const claims = { sub: "ada", aud: shown.server.content.appId, exp };
    await shown.open("/access?app=default&tab=providers&dialog=test&name=users");
    await shown.fill("Token", secretToken(claims, SECRET));
    await shown.click("button", "Test");
    await shown.reads("The token is valid.");
    await shown.reads("reads some of orders, writes nothing");
    await shown.fill("Token", secretToken(claims, `not ${SECRET}`));
    await shown.click("button", "Test");
    await shown.reads("Refused:");
  },
);

test.runIf(hasBrowser)(
  "a webhook is created, paused and resumed, and its dead letters are sent again",
  async () => {
    const receiver = await WebhookReceiver.start();
    const shown = await openConsole();
    await shown.open("/access?app=default&tab=webhooks");
    await shown.click("button", "New webhook");
    await shown.fill("Name", "orders");
    await shown.fill("Address", receiver.url);
    await shown.click("checkbox", "Allow addresses outside the public internet");
    await shown.choose("Collection", "orders");
    await shown.click("button", "Create");
    receiver.secret = await takeSecret(shown, "the secret");
    await shown.click("button", "Pause orders");
    await shown.reads("paused");
    receiver.behaviour = () => 400;
    await shown.atServer("INSERT INTO orders DOCUMENTS ({'_id': 'o1'})");
    expect(receiver.received).toEqual([]);
    await shown.click("button", "Resume orders");
    await shown.reads("It is paused: someone paused it.");
    await shown.click("button", "Resume");
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(0), PATIENCE);
    // A content that is refused becomes a dead letter after five attempts.
    await vi.waitFor(() => shown.click("button", "1 to see"), { timeout: 60_000, interval: 100 });
    await shown.reads("expected a status of 200 to 299, found 400");
    await shown.click("button", "Show");
    await shown.reads('"o1"');
    receiver.behaviour = () => 204;
    await shown.click("button", "Send all again");
    await shown.reads("1 dead letter sent.");
    await shown.reads("There are no dead letters.");
    expect(receiver.received.at(-1)?.changes[0]?.id).toBe("o1");
    await shown.press("Escape");
    await shown.click("button", "Delete orders");
    await shown.click("button", "Delete");
    await shown.reads("The app has no webhook.");
  },
);

test.runIf(hasBrowser)("an app is deleted with its typed name, and restored", async () => {
  const shown = await openConsole();
  await shown.open("/access?app=default");
  await shown.click("button", "New app");
  await shown.fill("Name", "shop");
  await shown.click("button", "Create");
  await shown.reads("The app shop is created.");
  await shown.click("button", "Settings of shop");
  await shown.click("checkbox", "Statements under /api/v4 run in strict mode");
  await shown.click("button", "Save");
  await shown.reads("The settings of shop are saved.");
  expect(await shown.managed("/app/shop/settings")).toMatchObject({ strictV4: true });
  await shown.click("button", "Delete shop");
  await shown.fill("Type shop to confirm", "shep");
  const button = `[...document.querySelectorAll("dialog button")].find((each) => each.innerText === "Delete the app")`;
  await shown.until(`${button}.disabled`);
  await shown.fill("Type shop to confirm", "shop");
  await shown.until(`${button}.disabled`, false);
  await shown.click("button", "Delete the app");
  await shown.reads("The app shop is deleted.");
  expect(await shown.managed("/app/shop")).toMatchObject({ title: "AppNotFound" });
  await shown.click("button", "Restore");
  await shown.reads("shop is restored");
  await shown.click("button", "Settings of shop");
  await shown.until(`document.querySelector("dialog input[type=checkbox]").checked`);
});

test.runIf(hasBrowser)("sessions end with a new link, and the audit log has it all", async () => {
  const shown = await openConsole();
  const other = await shown.another();
  await other.sees("main h1");
  const third = await shown.another();
  await third.sees("main h1");
  await shown.open("/access?app=default&tab=sessions");
  await shown.reads("this one");
  await shown.click("button", "Sign it out");
  await vi.waitFor(async () => {
    expect(await shown.texts(`table[aria-label="Signed-in browsers"] tbody tr`)).toHaveLength(2);
  }, PATIENCE);
  expect(await shown.texts(`table[aria-label="Signed-in browsers"] tbody tr`)).toHaveLength(2);
  await shown.click("button", "Sign out all others");
  await shown.click("button", "Make a new link");
  const link = await takeSecret(shown, "the link");
  expect(new URL(link).origin).toBe(shown.origin);
  await vi.waitFor(async () => {
    expect(await shown.texts(`table[aria-label="Signed-in browsers"] tbody tr`)).toHaveLength(1);
  }, PATIENCE);
  for (const { page } of [other, third]) await page.reload();
  await other.reads("Sign in to Big Peer");
  await third.reads("Sign in to Big Peer");
  await shown.open("/access?app=default&tab=audit");
  await shown.reads("console.renewToken");
  await shown.reads("console.signIn");
});

test.runIf(hasBrowser)("the audit log has pages", async () => {
  const shown = await openConsole();
  const root = `${shown.server.running.managementUrl}/namespace/default/bigPeer/big-peer`;
  // The first start has made some entries.
  for (let i = 0; i < 60; i++) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ strictV4: i % 2 === 0 });
    await fetch(`${root}/app/default/settings`, { method: "PATCH", headers, body });
  }
  await shown.open("/access?app=default&tab=audit");
  await shown.reads("Page 1 of 2");
  expect(await shown.texts("table tbody tr")).toHaveLength(50);
  await shown.click("button", "Older");
  await shown.reads("Page 2 of 2");
  await shown.reads("app.create");
  expect(shown.page.url()).toContain("page=2");
  await shown.click("button", "Newer");
  await shown.reads("Page 1 of 2");
});

test.runIf(hasBrowser)("a sink is created, and shows why it cannot deliver", async () => {
  const shown = await openConsole({ deliveryTimeoutMs: 1000 });
  await shown.open("/access?app=default&tab=sinks");
  await shown.click("button", "New sink");
  await shown.fill("Name", "stream");
  await shown.fill("Servers, one in each line", "nats://127.0.0.1:1");
  await shown.choose("Collection", "orders");
  await shown.fill("Token (optional)", "a token that is never shown");
  await shown.click("button", "Create");
  await shown.reads("nats://127.0.0.1:1");
  await shown.atServer("INSERT INTO orders DOCUMENTS ({'_id': 'o1'})");
  await shown.reads("retrying");
  await shown.until(
    `document.querySelector(".state.err").title.startsWith("failed to connect to NATS")`,
  );
  expect(await shown.managed("/app/default/sink/stream")).toMatchObject({ collection: "orders" });
  expect(await shown.page.evaluate("document.body.innerHTML")).not.toContain("never shown");
});
