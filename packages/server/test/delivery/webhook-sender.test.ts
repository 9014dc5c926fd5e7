/** What a sender of webhooks does with names, addresses and answers; a real receiver listens. */

import type { LookupAddress } from "node:dns";
import { getEventListeners } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebhookSender } from "../../src/delivery/webhook-sender.ts";
import type { Webhook } from "../../src/registry/webhooks.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";

const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const MESSAGE = { id: "msg_1", payload: '{"type":"changes","data":[]}' };
const NEVER = new AbortController().signal;

function webhookOf(url: string, isPrivateAllowed: boolean): Webhook {
  return {
    id: "w1",
    appId: "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e",
    name: "orders",
    collection: "orders",
    isPaused: false,
    start: { id: "s1" },
    url,
    secrets: [SECRET],
    isPrivateAllowed,
  };
}

function senderTo(
  url: string,
  isPrivateAllowed: boolean,
  addresses: readonly LookupAddress[] = [],
  timeoutMs = 5_000,
): WebhookSender {
  const resolve = async (): Promise<readonly LookupAddress[]> => addresses;
  const options = { now: () => Date.now(), timeoutMs, resolve };
  return new WebhookSender(webhookOf(url, isPrivateAllowed), options);
}

const HERE: LookupAddress = { address: "127.0.0.1", family: 4 };
const PUBLIC: LookupAddress = { address: "93.184.215.14", family: 4 };

test("[M47] a name with any private address is refused, whatever else it resolves to", async () => {
  const receiver = await WebhookReceiver.start();
  const url = receiver.url.replace("127.0.0.1", "hooks.example.com");
  const sender = senderTo(url, false, [PUBLIC, HERE]);
  expect(await sender.send(MESSAGE, NEVER)).toEqual({
    kind: "failed",
    message: "the address 127.0.0.1 is not on the public internet; set allowPrivate",
  });
  expect(receiver.received).toEqual([]);
  await sender.close();
});

test("[M47] an address in the URL is checked as well", async () => {
  const receiver = await WebhookReceiver.start();
  const sender = senderTo(receiver.url, false);
  const outcome = await sender.send(MESSAGE, NEVER);
  expect(outcome).toMatchObject({ message: expect.stringContaining("not on the public internet") });
  await sender.close();
});

test("[M47] the connection goes to the address that was checked", async () => {
  const receiver = await WebhookReceiver.start();
  receiver.secret = SECRET;
  // A resolver that was asked again would not find the name.
  const url = receiver.url.replace("127.0.0.1", "hooks.invalid");
  const sender = senderTo(url, true, [HERE]);
  expect(await sender.send(MESSAGE, NEVER)).toEqual({ kind: "delivered" });
  expect(receiver.received).toMatchObject([{ id: "msg_1", body: MESSAGE.payload }]);
  await sender.close();
});

test("[M43] an answer may name the time of the next attempt", async () => {
  const receiver = await WebhookReceiver.start();
  receiver.secret = SECRET;
  receiver.behaviour = (_, response) => {
    response.writeHead(503, { "retry-after": "7" }).end("busy\n");
    return undefined;
  };
  const sender = senderTo(receiver.url, true);
  expect(await sender.send(MESSAGE, NEVER)).toEqual({
    kind: "failed",
    message: "expected a status of 200 to 299, found 503: busy",
    status: 503,
    isRefused: false,
    askedMs: 7_000,
  });
  await sender.close();
});

test("a delivery that is stopped does not wait for its answer", async () => {
  const receiver = await WebhookReceiver.start();
  receiver.secret = SECRET;
  const stopping = new AbortController();
  receiver.behaviour = () => {
    stopping.abort();
    return undefined;
  };
  const sender = senderTo(receiver.url, true);
  const outcome = await sender.send(MESSAGE, stopping.signal);
  expect(outcome).toEqual({ kind: "failed", message: "the delivery was stopped" });
  await sender.close();
});

test.each([
  [200, { kind: "delivered" }],
  [503, { kind: "failed", status: 503, message: expect.stringMatching(/found 503: begun$/) }],
])(
  "[M47] the status %i decides, also if the body of the answer stalls",
  async (status, outcome) => {
    const receiver = await WebhookReceiver.start();
    receiver.secret = SECRET;
    receiver.behaviour = (_, response) => {
      response.writeHead(status).write("begun");
      return undefined;
    };
    const sender = senderTo(receiver.url, true, [], 300);
    expect(await sender.send(MESSAGE, NEVER)).toMatchObject(outcome);
    await sender.close();
  },
);

test("[M47] an answer that does not begin in time is a failure", async () => {
  const receiver = await WebhookReceiver.start();
  receiver.secret = SECRET;
  receiver.behaviour = () => undefined;
  const sender = senderTo(receiver.url, true, [], 100);
  expect(await sender.send(MESSAGE, NEVER)).toEqual({
    kind: "failed",
    message: "no answer within 100 ms",
  });
  await sender.close();
});

test("a delivery that goes on collects neither listeners nor signals of what was sent", async () => {
  const receiver = await WebhookReceiver.start();
  receiver.secret = SECRET;
  // Node 20 keeps each signal that is made of a longer one.
  const any = vi.spyOn(AbortSignal, "any");
  onTestFinished(() => any.mockRestore());
  const sender = senderTo(receiver.url, true);
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) {
    expect(await sender.send(MESSAGE, signal)).toEqual({ kind: "delivered" });
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(any).not.toHaveBeenCalled();
  await sender.close();
});

test("an answer that ends HTTP, as one of a WebSocket server, is a failure", async () => {
  const receiver = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      const headers = "upgrade: websocket\r\nconnection: upgrade";
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  const sender = senderTo(`http://127.0.0.1:${port}/`, true);
  expect(await sender.send(MESSAGE, NEVER)).toEqual({
    kind: "failed",
    message: "expected a status of 200 to 299, found 101",
    status: 101,
    isRefused: false,
  });
  await sender.close();
  receiver.close();
});
