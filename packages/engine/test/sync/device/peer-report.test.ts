/**
 * Peer reports: all that the server knows of a peer, and its row of `system:peers`.
 */

import { encodeMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { type PeerReport, peerRow } from "../../../src/sync/device/peer-report.ts";
import { authorityOf } from "../../support/caller.ts";
import { describe as describePeer, openSyncServer } from "../../support/open-sync-server.ts";
import { SiteUploads } from "../../support/site-uploads.ts";
import { helloOf, SyncClient } from "../../support/sync-client.ts";
import { START_MS } from "../../support/test-platform.ts";

const QUERY = "SELECT * FROM cars";

/** Of all frames that a client was sent. */
function sizeOf({ heard }: SyncClient): number {
  return heard.reduce((sum, message) => sum + encodeMessage(message).length, 0);
}

test("[S43] a report has the identity of the peer, its subscriptions and its position", async () => {
  const { server, store, platform, tick, admissions } = await openSyncServer();
  const expiresMs = START_MS + 3_600_000;
  const identity = { team: "red" };
  const known = { userId: "ada", identity, address: "10.0.0.1", expiresMs };
  admissions.set("jwt", { authority: undefined, credential: "jwt 1", ...known });
  const client = new SyncClient(server, platform);
  const hello = helloOf("jwt", { peer: describePeer("a", { room: 7 }) });
  const subscribe = { t: "subscribe", id: 1, query: QUERY, args: { n: 1 } } as const;
  client.say(hello, subscribe);
  await client.next("complete");
  tick(2000);
  const ping = await client.next("ping");
  const insert = { kind: "insert", collection: "cars", id: "c", fields: {} } as const;
  await store.transact((transaction) => transaction.apply([insert]));
  await client.next("documents");
  const pong = { t: "pong", ping: ping.now, now: 1, txn: 0, pending: 4 } as const;
  client.say(pong);
  client.queuedBytes = 5;
  tick(500);
  const heard = [hello, subscribe, pong];
  const expected: PeerReport = {
    session: 1,
    description: describePeer("a", { room: 7 }),
    site: hello.site,
    credential: "jwt 1",
    userId: "ada",
    identity,
    address: "10.0.0.1",
    sinceMs: START_MS,
    expiresMs,
    subscriptions: [{ query: QUERY, args: { n: 1 }, collection: "cars", state: "live" }],
    progress: { sentTxn: 1, appliedTxn: 0, lag: 1, pending: 4, uploads: 0 },
    traffic: {
      framesIn: 3,
      bytesIn: heard.reduce((sum, message) => sum + encodeMessage(message).length, 0),
      framesOut: client.heard.length,
      bytesOut: sizeOf(client),
      queuedBytes: 5,
      roundTripMs: 0,
      heardMs: 500,
    },
  };
  expect(server.peers()).toEqual([expected]);
  expect(server.peer(1)).toEqual(expected);
  expect(server.peer(2)).toBeUndefined();
  expect(peerRow(expected)).toEqual({
    id: "a",
    fields: {
      peerKeyString: "a",
      deviceName: "a's phone",
      os: "test",
      sdkVersion: "1.0",
      userId: "ada",
      peerMetadata: { room: 7 },
      identityServiceMetadata: identity,
      address: "10.0.0.1",
      connectedSince: START_MS,
      expiresAt: expiresMs,
      site: hello.site,
      subscriptions: [{ query: QUERY, args: { n: 1 }, collection: "cars", state: "live" }],
      sync: { sentUpTo: 1, appliedUpTo: 0, lag: 1, pending: 4, uploads: 0 },
      transport: {
        framesIn: 3,
        framesOut: expected.traffic.framesOut,
        bytesIn: expected.traffic.bytesIn,
        bytesOut: expected.traffic.bytesOut,
        queuedBytes: 5,
        roundTripMs: 0,
        heardMsAgo: 500,
      },
    },
  });
});

test("[S43] a report of a peer that sent no position has none", async () => {
  const { server, join } = await openSyncServer();
  join("a");
  const [report] = server.peers();
  if (report === undefined) throw new Error("expected a report");
  expect(report.progress).toEqual({ sentTxn: 0, lag: 0, uploads: 0 });
  expect(report.traffic.roundTripMs).toBeUndefined();
  expect(Object.keys(report)).not.toContain("userId");
  const row = peerRow(report);
  expect(Object.keys(row.fields)).toEqual([
    "peerKeyString",
    "deviceName",
    "os",
    "sdkVersion",
    "peerMetadata",
    "identityServiceMetadata",
    "connectedSince",
    "site",
    "subscriptions",
    "sync",
    "transport",
  ]);
});

test("[S43] a peer that claims a position beyond the store counts as at the store's position", async () => {
  const { server, join, tick } = await openSyncServer();
  const a = join("a");
  a.say({ t: "subscribe", id: 1, query: QUERY, args: {} });
  tick();
  const ping = await a.next("ping");
  a.say({ t: "pong", ping: ping.now, now: 1, txn: 1_000_000 });
  expect(server.peer(1)?.progress).toEqual({ sentTxn: 0, appliedTxn: 0, lag: 0, uploads: 0 });
});

test("[S9] [S27] the last error is that of a refused subscription or upload", async () => {
  const { server, join, platform, tick, admissions } = await openSyncServer();
  const rules = { cars: ["owner == 'ada'"] };
  admissions.set("ada", { authority: authorityOf(rules, rules), credential: "ada" });
  const a = join("a", "ada");
  expect(server.peer(1)?.lastError).toBeUndefined();
  a.say({ t: "subscribe", id: 1, query: "SELECT * FROM parts", args: {} });
  const { code, message } = await a.next("unsubscribed");
  expect(server.peer(1)?.lastError).toEqual({ code, message, atMs: START_MS });
  tick(1000);
  const peer = new SiteUploads(platform);
  const upload = peer.next({ kind: "insert", collection: "cars", id: "c", fields: {} });
  a.say({ t: "upload", number: 1, digest: upload.digest, steps: upload.steps });
  const { outcomes } = await a.next("committed");
  const reason = outcomes[0]?.reason ?? "";
  expect(reason).not.toBe("");
  const atMs = START_MS + 1000;
  const report = server.peer(1);
  if (report === undefined) throw new Error("expected a report");
  expect(report.lastError).toEqual({ code: "upload.refused", message: reason, atMs });
  expect(peerRow(report).fields["transport"]).toEqual({
    framesIn: 3,
    framesOut: a.heard.length,
    bytesIn: report.traffic.bytesIn,
    bytesOut: sizeOf(a),
    queuedBytes: 0,
    heardMsAgo: 0,
    lastError: { code: "upload.refused", message: reason, at: atMs },
  });
});

test("[S6] the last report of a disconnected peer has the reason", async () => {
  const { server, join } = await openSyncServer();
  const errors: (string | undefined)[] = [];
  server.onPeers(({ report, kind }) => {
    if (kind === "left") errors.push(report.lastError?.code);
  });
  const a = join("a");
  a.connection.changeRights(undefined);
  join("b").say({ t: "bye", code: "stopped", message: "" });
  expect(errors).toEqual(["unauthorized", undefined]);
});

test("[S22] a subscription that does not keep up is behind, and a new one is filling", async () => {
  const limits = { queueBytes: 1000, roomBytes: 1000 };
  const { server, store, join, platform } = await openSyncServer({ limits });
  const a = join("a");
  const stateOf = (): string | undefined => server.peer(1)?.subscriptions[0]?.state;
  a.say({ t: "subscribe", id: 1, query: QUERY, args: {} });
  expect(stateOf()).toBe("filling");
  await a.next("complete");
  expect(stateOf()).toBe("live");
  a.queuedBytes = 2000;
  const insert = { kind: "insert", collection: "cars", id: "c", fields: {} } as const;
  await store.transact((transaction) => transaction.apply([insert]));
  await a.next("behind");
  for (let turn = 0; turn < 5; turn++) await platform.pause();
  expect(stateOf()).toBe("behind");
  expect(server.peer(1)?.progress).toEqual({ sentTxn: 0, lag: 1, uploads: 0 });
});

test("a report lists subscriptions up to a size, and counts the rest", async () => {
  const { server, join } = await openSyncServer();
  const client = join("a");
  for (let id = 1; id <= 20; id++) {
    const args = { text: "x".repeat(10_000), id };
    client.say({ t: "subscribe", id, query: `${QUERY} WHERE a = :text AND b = :id`, args });
  }
  const [report] = server.peers();
  expect(report?.subscriptions).toHaveLength(6);
  expect(report?.otherSubscriptions).toBe(14);
  const fields = report && peerRow(report).fields;
  expect(fields?.["otherSubscriptions"]).toBe(14);
  for (let id = 7; id <= 20; id++) client.say({ t: "unsubscribe", id });
  expect(server.peers()[0]?.otherSubscriptions).toBeUndefined();
});
