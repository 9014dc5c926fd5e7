/**
 * Webhooks of a real server: what a real receiver gets, also when it fails or the server starts
 * anew.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { nodePlatform } from "@bigpeer/node";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { Config } from "../../src/config/config.ts";
import { backup, restore } from "../../src/maintenance/backup.ts";
import { LINKED_APP, LinkedServer } from "../support/linked-server.ts";
import { PATIENCE, WebhookReceiver } from "../support/webhook-receiver.ts";

const WEBHOOKS = "/app/shop/webhook";
const ORDERS = `${WEBHOOKS}/orders`;

interface ShownStatus {
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly deadLetters: number;
  readonly delivered: { readonly changes: number; readonly deliveries: number };
  readonly lag: { readonly transactions: number | null; readonly seconds: number };
  readonly lastError: { readonly message: string; readonly status: number | null } | null;
}

interface Scene {
  readonly server: LinkedServer;
  readonly receiver: WebhookReceiver;
}

/** A server with a webhook for the collection `orders`. */
async function hooked(body: object = {}, config: Partial<Config> = {}): Promise<Scene> {
  const server = await LinkedServer.start({ replicationSecret: undefined, ...config });
  const receiver = await WebhookReceiver.start();
  const { url } = receiver;
  const content = { name: "orders", url, collection: "orders", allowPrivate: true, ...body };
  const made = (await server.manage("POST", WEBHOOKS, content)) as { readonly secret: string };
  receiver.secret = made.secret;
  return { server, receiver };
}

async function statusOf(server: LinkedServer): Promise<ShownStatus> {
  return (await server.manage("GET", `${ORDERS}/status`)) as ShownStatus;
}

async function untilStatus(
  server: LinkedServer,
  expected: Record<string, unknown>,
): Promise<ShownStatus> {
  return vi.waitFor(async () => {
    const found = await statusOf(server);
    expect(found).toMatchObject(expected);
    return found;
  }, PATIENCE);
}

test("[M42] a webhook gets the changes from its creation on, signed and in order", async () => {
  const server = await LinkedServer.start({ replicationSecret: undefined });
  await server.put("orders", { _id: "before" });
  const receiver = await WebhookReceiver.start();
  const content = { name: "orders", url: receiver.url, collection: "orders", allowPrivate: true };
  const { secret } = (await server.manage("POST", WEBHOOKS, content)) as {
    readonly secret: string;
  };
  receiver.secret = secret;
  await server.put("orders", { _id: "a", total: 1 }, { _id: "b" });
  await server.run("DELETE FROM orders WHERE _id = 'b'");
  await server.put("others", { _id: "c" });
  await receiver.holds(["a", "b", "b"]);
  const [first] = receiver.taken;
  expect(first).toMatchObject({ type: "insert", document: { _id: "a", total: 1 } });
  expect(receiver.taken.map(({ type }) => type)).toEqual(["insert", "insert", "delete"]);
  const status = await untilStatus(server, { state: "live", deadLetters: 0 });
  expect(status.lag).toEqual({ transactions: 0, seconds: 0 });
});

test.runIf(isFullSize)("[M42] only the events that are wanted arrive", async () => {
  const { server, receiver } = await hooked({ events: ["delete"] });
  await server.put("orders", { _id: "a" }, { _id: "b" });
  await server.run("DELETE FROM orders WHERE _id = 'a'");
  await receiver.holds(["a"]);
  expect(receiver.taken.map(({ type }) => type)).toEqual(["delete"]);
});

test.runIf(isFullSize)(
  "[M43] a delivery that fails is repeated with the same id and body",
  async () => {
    const { server, receiver } = await hooked();
    receiver.behaviour = () => (receiver.received.length < 2 ? 500 : 200);
    await server.put("orders", { _id: "a" });
    await receiver.holds(["a"]);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(receiver.received.map(({ status }) => status)).toEqual([500, 500, 200]);
  },
);

test.runIf(isFullSize)("[M44] a receiver that comes back gets everything in order", async () => {
  const { server, receiver } = await hooked();
  await server.put("orders", { _id: 1 });
  await receiver.holds([1]);
  await receiver.stop();
  await server.put("orders", { _id: 2 }, { _id: 3 });
  const status = await untilStatus(server, { state: "retrying" });
  expect(status.lastError?.message).toContain("ECONNREFUSED");
  expect(status.lag.transactions).toBeGreaterThan(0);
  await receiver.open();
  await receiver.holds([1, 2, 3]);
});

test.runIf(isFullSize)("[M44] a server that starts anew goes on where it was", async () => {
  const { server, receiver } = await hooked();
  await server.put("orders", { _id: 1 });
  await receiver.holds([1]);
  await receiver.stop();
  await server.put("orders", { _id: 2 });
  await untilStatus(server, { state: "retrying" });
  await server.restart();
  await server.put("orders", { _id: 3 });
  await receiver.open();
  await receiver.holds([1, 2, 3]);
  expect(await statusOf(server)).toMatchObject({ deadLetters: 0 });
});

test.runIf(isFullSize)(
  "[M45] a content that is refused becomes a dead letter, which can be sent again",
  async () => {
    const { server, receiver } = await hooked({}, { deliveryAttempts: 1 });
    receiver.behaviour = ({ changes }) => (changes.some(({ id }) => id === "bad") ? 400 : 200);
    await server.put("orders", { _id: "bad" });
    await untilStatus(server, { deadLetters: 1 });
    await server.put("orders", { _id: "good" });
    await receiver.holds(["good"]);
    const { data } = (await server.manage("GET", `${ORDERS}/deadLetter`)) as {
      readonly data: readonly { readonly id: string; readonly error: string }[];
    };
    const [letter] = data;
    expect(letter).toMatchObject({
      attempts: 1,
      changes: 1,
      error: expect.stringContaining("400"),
    });
    const whole = await server.manage("GET", `${ORDERS}/deadLetter/${letter?.id}`);
    expect(whole).toMatchObject({ payload: { data: [{ id: "bad" }] } });
    const again = await server.manage("POST", `${ORDERS}/retry`);
    expect(again).toMatchObject({ delivered: 0, left: 1, error: expect.stringContaining("400") });
    receiver.behaviour = () => 200;
    const retry = `${ORDERS}/deadLetter/${letter?.id}/retry`;
    expect(await server.manage("POST", retry)).toEqual({ delivered: 1, left: 0, error: null });
    await receiver.holds(["good", "bad"]);
    await expect(server.manage("POST", retry)).rejects.toThrow("DeadLetterNotFound");
  },
);

test.runIf(isFullSize)(
  "[M46] a paused webhook sends nothing, and goes on where it was",
  async () => {
    const { server, receiver } = await hooked();
    await server.manage("POST", `${ORDERS}/pause`);
    await server.put("orders", { _id: 1 });
    expect(await statusOf(server)).toMatchObject({ state: "paused", reason: "operator" });
    expect(receiver.received).toEqual([]);
    await server.manage("POST", `${ORDERS}/resume`);
    await receiver.holds([1]);
    await server.manage("POST", `${ORDERS}/pause`);
    await server.put("orders", { _id: 2 });
    await server.manage("POST", `${ORDERS}/resume`, { from: "now" });
    await server.put("orders", { _id: 3 });
    await receiver.holds([1, 3]);
  },
);

test.runIf(isFullSize)("[M46] a receiver that is gone pauses its webhook", async () => {
  const { server, receiver } = await hooked();
  receiver.behaviour = () => 410;
  await server.put("orders", { _id: 1 });
  await untilStatus(server, { state: "paused", reason: "gone" });
  await server.restart();
  expect(await statusOf(server)).toMatchObject({ state: "paused", reason: "gone" });
  receiver.behaviour = () => 200;
  await server.manage("POST", `${ORDERS}/resume`);
  await receiver.holds([1]);
});

test.runIf(isFullSize)("[M47] redirects are not followed", async () => {
  const { server, receiver } = await hooked();
  const other = await WebhookReceiver.start();
  receiver.behaviour = (_, response) => {
    response.writeHead(307, { location: other.url }).end();
    return undefined;
  };
  await server.put("orders", { _id: 1 });
  const lastError = { status: 307, message: expect.stringContaining("not followed") };
  await untilStatus(server, { lastError });
  receiver.behaviour = () => 200;
  await receiver.holds([1]);
  expect(other.received).toEqual([]);
});

test.runIf(isFullSize)("[M47] a receiver that does not answer is left", async () => {
  const { server, receiver } = await hooked({}, { deliveryTimeoutMs: 1_000 });
  receiver.behaviour = () => undefined;
  await server.put("orders", { _id: 1 });
  const lastError = { message: "no answer within 1000 ms", status: null };
  await untilStatus(server, { lastError });
  expect(receiver.received).toEqual([]);
  receiver.behaviour = () => 200;
  await receiver.holds([1]);
});

test.runIf(isFullSize)("[M47] of a long answer only the start is read", async () => {
  const { server, receiver } = await hooked();
  let written = 0;
  const piece = Buffer.alloc(64 * 1024, "x");
  receiver.behaviour = (received, response) => {
    receiver.received.push({ ...received, status: 200 });
    response.writeHead(200);
    const write = (): void => {
      while (!response.destroyed && response.write(piece)) written += piece.length;
    };
    response.on("drain", write);
    write();
    return undefined;
  };
  await server.put("orders", { _id: 1 });
  await untilStatus(server, { state: "live", delivered: { changes: 1, deliveries: 1 } });
  receiver.behaviour = () => 200;
  await server.put("orders", { _id: 2 });
  await receiver.holds([1, 2]);
  expect(written).toBeLessThan(64 * 1024 * 1024);
});

test.runIf(isFullSize)("[M47] a private address is refused unless it is allowed", async () => {
  const { server, receiver } = await hooked();
  const { url } = receiver;
  const content = { name: "inner", url, collection: "orders" };
  await expect(server.manage("POST", WEBHOOKS, content)).rejects.toThrow("allowPrivate");
  await server.manage("PATCH", ORDERS, { url: url.replace("127.0.0.1", "localhost") });
  await server.put("orders", { _id: 1 });
  await receiver.holds([1]);
});

test.runIf(isFullSize)("[M41] changed settings apply to the next delivery", async () => {
  const { server, receiver } = await hooked();
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  await server.manage("PATCH", ORDERS, { secret, collection: "invoices" });
  await server.put("orders", { _id: 1 });
  // The secret before signs as well.
  await server.put("invoices", { _id: 2 });
  await receiver.holds([2]);
  receiver.secret = secret;
  await server.put("invoices", { _id: 3 });
  await receiver.holds([2, 3]);
  expect(receiver.received.map(({ status }) => status)).not.toContain(401);
});

test.runIf(isFullSize)(
  "[M41] a deleted webhook leaves nothing in the store of its app",
  async () => {
    const { server, receiver } = await hooked({}, { deliveryAttempts: 1 });
    receiver.behaviour = () => 400;
    await server.put("orders", { _id: 1 });
    await untilStatus(server, { deadLetters: 1 });
    await server.manage("DELETE", ORDERS);
    await vi.waitFor(async () => {
      const left = await server.withApp(({ store }) => {
        return store.read((view) => [...view.catalogNames("deliveries")]);
      });
      expect(left).toEqual([]);
    }, PATIENCE);
    await server.manage("POST", WEBHOOKS, {
      name: "orders",
      url: receiver.url,
      collection: "orders",
      allowPrivate: true,
    });
    expect(await statusOf(server)).toMatchObject({ deadLetters: 0 });
  },
);

test.runIf(isFullSize)("metrics count deliveries, failures and the lag", async () => {
  const { server, receiver } = await hooked();
  receiver.behaviour = () => (receiver.received.length === 0 ? 500 : 200);
  await server.put("orders", { _id: 1 });
  await receiver.holds([1]);
  await untilStatus(server, { state: "live" });
  const { samples } = await server.stats();
  const found = Object.fromEntries(
    [...samples].filter(([key]) => key.startsWith("bigpeer_delivery_")),
  );
  const of = `app="${LINKED_APP}",kind="webhook",name="orders"`;
  expect(found).toEqual({
    [`bigpeer_delivery_changes_total{${of}}`]: 1,
    [`bigpeer_delivery_deliveries_total{${of}}`]: 1,
    [`bigpeer_delivery_failures_total{${of}}`]: 1,
    [`bigpeer_delivery_dead_letters_total{${of}}`]: 0,
    [`bigpeer_delivery_lag_transactions{${of}}`]: 0,
    [`bigpeer_delivery_lag_seconds{${of}}`]: 0,
    [`bigpeer_delivery_state{${of},state="live"}`]: 1,
  });
});

test.runIf(isFullSize)("[M46] after a restore the webhook pauses as history_changed", async () => {
  const parent = temporaryFolder();
  const dataDir = join(parent, "data");
  const { server, receiver } = await hooked({}, { dataDir });
  await server.put("orders", { _id: 1 });
  await receiver.holds([1]);
  await server.close();
  await backup(dataDir, join(parent, "copy"));
  rmSync(dataDir, { recursive: true });
  await restore(join(parent, "copy"), dataDir, nodePlatform);
  await server.open();
  await server.put("orders", { _id: 2 });
  const { lag } = await untilStatus(server, { state: "paused", reason: "history_changed" });
  expect(lag.transactions).toBeNull();
  await expect(server.manage("POST", `${ORDERS}/resume`)).rejects.toThrow(
    "expected now or oldest, because the position is lost (history_changed), found position",
  );
  await server.manage("POST", `${ORDERS}/resume`, { from: "oldest" });
  await receiver.holds([1, 2]);
});
