/**
 * Requests from node to node: their bounds, and what is known of those that fail.
 */

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  NodeClient,
  type NodeClientOptions,
  NodeUnreached,
} from "../../src/cluster/node-client.ts";

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientWith(options: NodeClientOptions = {}) {
  const outcomes: boolean[] = [];
  const client = new NodeClient("secret", undefined, {
    ...options,
    onOutcome: (_, isReached) => outcomes.push(isReached),
  });
  onTestFinished(() => client.close());
  return { client, outcomes };
}

const REQUEST = { method: "GET", path: "/" };

async function failureOf(asked: Promise<unknown>): Promise<NodeUnreached> {
  const error = await asked.then(
    () => new Error("done"),
    (failure: unknown) => failure,
  );
  if (error instanceof NodeUnreached) return error;
  throw error;
}

test("an answer of the largest size is taken, and a larger one is not held in memory", async () => {
  const url = await listen((request, response) => {
    response.end(Buffer.alloc(Number(request.headers["x-size"])));
  });
  const { client } = clientWith({ sizeMax: 1_000_000 });
  const ask = (size: number) =>
    client.send(url, { ...REQUEST, headers: { "x-size": String(size) } });
  expect((await ask(1_000_000)).body.length).toBe(1_000_000);
  const { isSent, cause } = await failureOf(ask(1_000_001));
  expect([isSent, String(cause)]).toEqual([true, "Error: an answer of more than 1000000 bytes"]);
});

test("a node that does not answer in time, or not to the end, may have done what was asked", async () => {
  const url = await listen((request, response) => {
    if (request.url === "/begun") response.write("a");
  });
  const { client, outcomes } = clientWith({ answerMsMax: 50 });
  for (const path of ["/silent", "/begun"]) {
    const { isSent } = await failureOf(client.send(url, { ...REQUEST, path }));
    expect(isSent).toBe(true);
  }
  expect(outcomes).toEqual([false, true, false]);
});

test("a node where nothing listens has not seen the request", async () => {
  const url = await listen(() => {});
  const { client, outcomes } = clientWith();
  const unused = new URL(url);
  unused.port = "1";
  const { isSent } = await failureOf(client.send(String(unused), REQUEST));
  expect([isSent, outcomes]).toEqual([false, [false]]);
});

test("a request that its caller ends shows nothing about the node", async () => {
  const url = await listen(() => {});
  const { client, outcomes } = clientWith();
  await failureOf(client.send(url, { ...REQUEST, signal: AbortSignal.timeout(20) }));
  expect(outcomes).toEqual([]);
});
