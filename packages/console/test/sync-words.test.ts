/**
 * EXPLAIN SYNC in words: each verdict is a sentence and says what to do.
 */
import { expect, test } from "vitest";
import type { Explanation, Verdict } from "../src/pages/devices/device-answers.ts";
import { stateOfDevice } from "../src/pages/devices/device-state.ts";
import { wordsOf } from "../src/pages/devices/sync-words.ts";

function explanation(verdict: Verdict, changes: Partial<Explanation> = {}): Explanation {
  return {
    peer: { peerKeyString: "0123456789abcdef", deviceName: "till 1", connectedSince: 0 },
    verdict,
    reason: "",
    document: { collection: "orders", id: "o1", exists: true, isDeleted: false, changedAt: 7 },
    subscriptions: [],
    txnIds: { serverTxn: 9 },
    uploads: [],
    ...changes,
  };
}

const subscription = { query: "SELECT * FROM orders", args: {}, state: "live", isMatching: true };

function sentence(verdict: Verdict, changes: Partial<Explanation> = {}): string {
  return wordsOf(explanation(verdict, changes), 600_000).sentence;
}

test.each<[Verdict, string]>([
  ["on_peer", "The document o1 of orders is on till 1."],
  ["sent", "The document o1 of orders was sent to till 1, which has not confirmed it yet."],
  ["queued", "The document o1 of orders was sent, and waits for till 1 to read it."],
  ["not_permitted", "till 1 may not read the document o1 of orders as it is now."],
  ["stale", "till 1 wrote the document o1 of orders, and the write came too late."],
])("%s: %s", (verdict, expected) => {
  expect(sentence(verdict)).toBe(expected);
});

test("a device without a subscription gets the line of code that is missing", () => {
  const words = wordsOf(explanation("not_subscribed"), 0);
  expect(words.sentence).toContain("has no subscription to the collection orders");
  expect(words.code).toBe('peer.sync.registerSubscription("SELECT * FROM orders")');
});

test("the line of code quotes a collection that is no plain name", () => {
  const document = { ...explanation("sent").document, collection: "my orders" };
  const { code } = wordsOf(explanation("not_subscribed", { document }), 0);
  expect(code).toBe('peer.sync.registerSubscription("SELECT * FROM `my orders`")');
});

test("subscriptions that do not match are counted, and one that fails says why", () => {
  const other = { ...subscription, isMatching: false };
  expect(sentence("not_subscribed", { subscriptions: [other] })).toContain(
    "the subscription below does not match the document as it is now",
  );
  expect(sentence("not_subscribed", { subscriptions: [other, other] })).toContain(
    "none of the 2 subscriptions below matches",
  );
  const failed = { ...other, error: "division by zero" };
  const words = wordsOf(explanation("not_subscribed", { subscriptions: [failed] }), 0);
  expect(words.advice).toBe("A condition could not be evaluated: division by zero");
});

test.each([
  ["live", "is about to be sent"],
  ["behind", "does not read fast enough"],
  ["filling", "the first transfer to till 1 is still running"],
])("not yet sent by a subscription that is %s: %s", (state, expected) => {
  const subscriptions = [{ ...subscription, state }];
  expect(sentence("not_yet_sent", { subscriptions })).toContain(expected);
});

test("a refused write has the reason of the server", () => {
  const upload = { number: 1, txn: 8, outcome: "refused" as const, reason: "no permission" };
  expect(sentence("refused", { uploads: [upload] })).toBe(
    "till 1 wrote the document o1 of orders, and the server refused the write: no permission.",
  );
});

test("a deleted document is told from one that was never there", () => {
  const { document } = explanation("no_such_document");
  const gone = { ...document, exists: false };
  expect(sentence("no_such_document", { document: gone })).toBe(
    "The server has no such document in orders.",
  );
  expect(sentence("no_such_document", { document: { ...gone, isDeleted: true } })).toBe(
    "The document o1 of orders was deleted in transaction 7.",
  );
});

test("a device that left is told from one that the server never saw", () => {
  const peer = { peerKeyString: "0123456789abcdef" };
  expect(sentence("not_connected", { peer })).toBe("The server knows no device with this key.");
  const left = { ...peer, deviceName: "till 1", status: "left", lastSeen: 0 };
  expect(sentence("not_connected", { peer: left })).toBe(
    "till 1 is not connected; it was seen 10 min ago.",
  );
});

test("a device without a name is named by the beginning of its key, and an id shows its type", () => {
  const peer = { peerKeyString: "0123456789abcdef", deviceName: "" };
  const document = { ...explanation("sent").document, id: { lot: 3 } };
  expect(sentence("on_peer", { peer, document })).toBe(
    'The document {"lot":3} of orders is on the device 01234567.',
  );
});

const device = {
  peerKeyString: "0123456789abcdef",
  deviceName: "till 1",
  os: "linux",
  sdkVersion: "x",
  peerMetadata: {},
  identityServiceMetadata: {},
  connectedSince: 0,
  site: "s",
  subscriptions: [{ query: "SELECT * FROM orders", args: {}, state: "live" as const }],
  sync: { sentUpTo: 9, appliedUpTo: 9, lag: 0, pending: 0, uploads: 0 },
  transport: {
    framesIn: 0,
    framesOut: 0,
    bytesIn: 0,
    bytesOut: 0,
    queuedBytes: 0,
    heardMsAgo: 0,
  },
};

test("the state of a device names the worst first", () => {
  const { sync, transport } = device;
  const lastError = { code: "query.syntax", message: "expected FROM", at: 0 };
  const states = [
    device,
    { ...device, sync: { ...sync, lag: 3, appliedUpTo: 6 } },
    { ...device, sync: { ...sync, lag: 3, sentUpTo: 7, appliedUpTo: 6 } },
    { ...device, sync: { ...sync, pending: 2 } },
    { ...device, subscriptions: [{ query: "", args: {}, state: "filling" as const }] },
    { ...device, subscriptions: [{ query: "", args: {}, state: "behind" as const }] },
    { ...device, subscriptions: [] },
    { ...device, transport: { ...transport, lastError } },
  ].map((each) => stateOfDevice(each).text);
  expect(states).toEqual([
    "in sync",
    "confirming",
    "catching up",
    "uploading",
    "filling",
    "behind",
    "no subscription",
    "error",
  ]);
});
