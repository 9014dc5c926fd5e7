/**
 * docs/devices.md and docs/remote-execute.md: their requests are sent in their order to a server with
 * the devices that they speak of, and the answers are those of the pages.
 */

import { parseJson } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { type DataApi, openDataApi } from "../support/data-api.ts";
import {
  type DocumentedRequest,
  readDocumentedRequests,
  withAnyEnds,
} from "../support/documented-requests.ts";
import {
  answerRun,
  type ConnectedPeer,
  connectPeer,
  type GivenAnswer,
  nextRun,
} from "../support/remote-peer.ts";

const KITCHEN = { key: "pk-kitchen", deviceName: "Küche", metadata: { store: "Köln" } };
const TILL = { key: "pk-till", deviceName: "till 2", metadata: { store: "Köln" } };

async function send(api: DataApi, request: DocumentedRequest): Promise<unknown> {
  const { method, path, body } = request;
  const response = await fetch(api.server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${api.quickstart.apiKey}`,
      "content-type": "application/json",
    },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, found: parseJson(await response.text()) };
}

async function expectDocumented(api: DataApi, requests: readonly DocumentedRequest[]) {
  for (const request of requests) {
    const { status, answer } = request;
    expect(await send(api, request), request.path + (request.body ?? "")).toEqual({
      status,
      found: withAnyEnds(answer),
    });
  }
}

/** Answers everything alike until the connection ends. */
async function answerAll(peer: ConnectedPeer, given: GivenAnswer): Promise<void> {
  try {
    for (;;) answerRun(peer, (await nextRun(peer)).id, given);
  } catch {
    // The test is over.
  }
}

test("every request of remote-execute.md gets the documented answer", async () => {
  const api = await openDataApi();
  const { apiKey } = api.quickstart;
  void answerAll(await connectPeer(api.server.url, apiKey, KITCHEN), { items: [{ n: 7 }] });
  const message = "the app of this peer runs no statements of others";
  const error = { code: "remote.refused", message };
  void answerAll(await connectPeer(api.server.url, apiKey, TILL), { end: { elapsedMs: 1, error } });
  const requests = readDocumentedRequests("remote-execute.md");
  expect(requests.length).toBe(3);
  await expectDocumented(api, requests);
});

test("every request of devices.md gets the documented answer", async () => {
  const api = await openDataApi();
  await api.upsert("orders", { o1: { isOpen: true }, o2: { isOpen: false } });
  const { client } = await connectPeer(api.server.url, api.quickstart.apiKey, KITCHEN);
  const query = "SELECT * FROM orders WHERE isOpen = true";
  client.send({ t: "subscribe", id: 1, query, args: {} });
  await client.nextOf("complete");
  const { now: ping } = await client.nextOf("ping");
  // As far as one can be: that it is recorded meanwhile is a transaction, too.
  client.send({ t: "pong", ping, now: Date.now(), txn: 1_000_000, pending: 2 });
  const [peers, ...others] = readDocumentedRequests("devices.md");
  expect(others.length).toBe(2);
  if (peers === undefined) return;
  const expected = { status: 200, found: withAnyEnds(peers.answer) };
  // Until its pong was heard.
  await vi.waitFor(async () => expect(await send(api, peers)).toEqual(expected));
  await expectDocumented(api, others);
});
