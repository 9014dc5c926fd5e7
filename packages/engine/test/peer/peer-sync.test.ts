/**
 * PeerSync: the machine on a real store of a peer, against a server that follows a script.
 */

import { PeerError, type ServerMessage, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { fieldsOf } from "../support/open-store.ts";
import { fillOf, followTasks, type PeerRig, peerRig, QUERY } from "../support/peer-rig.ts";
import { FILTER, until, wholeOf } from "../support/scripted-server.ts";
import { START_MS } from "../support/test-platform.ts";

function shown({ store }: PeerRig, id: Value): Value | undefined {
  return fieldsOf(store.store, "tasks", id);
}

test("[S15] a subscription is ready when all its documents are durable, and shows the server's data", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  expect(shown(peer, "a")).toEqual({ n: 1 });
  expect(peer.events.map(({ kind }) => kind)).toEqual(["connected", "ready"]);
  expect(connection.of("hello").map(({ token, site }) => [token, site])).toEqual([
    ["secret", peer.store.site],
  ]);
  await peer.sync.close();
});

test("[S16] frames of a transaction show together, and not before it ends", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  const put = (name: string): ServerMessage => ({
    t: "documents",
    filter: FILTER,
    entries: [["put", name, 101, wholeOf(name, { n: 2 }, 2)]],
  });
  connection.say(put("b"), put("c"));
  await peer.sync.stop();
  expect([shown(peer, "b"), shown(peer, "c")]).toEqual([undefined, undefined]);
  peer.sync.start();
  const next = await peer.server.accept();
  await until(() => next.of("subscribe").length === 1);
  next.say(
    { t: "subscribed", id: 1, filter: FILTER, collection: "tasks", mode: "resume" },
    { t: "complete", filter: FILTER, txn: 100 },
    put("b"),
    put("c"),
    { t: "committed", txn: 101, outcomes: [] },
  );
  await until(() => shown(peer, "b") !== undefined);
  expect(shown(peer, "c")).toEqual({ n: 2 });
  await peer.sync.close();
});

test("[S11] after a lost connection the peer continues from its cursor", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  connection.say({
    t: "documents",
    filter: FILTER,
    entries: [["put", "b", 107, wholeOf("b", { n: 2 }, 2)]],
    committed: 107,
  });
  await until(() => shown(peer, "b") !== undefined);
  peer.server.pass(5000);
  connection.cut();
  const next = await peer.server.accept();
  await until(() => next.of("subscribe").length === 1);
  expect(next.of("subscribe").map(({ cursor }) => cursor)).toEqual([
    { history: "h1", filter: FILTER, txn: 107 },
  ]);
  await peer.sync.close();
});

test("[S33] writes are sequenced and uploaded, made before or while connected", async () => {
  const peer = await peerRig();
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  peer.sync.start();
  const connection = await peer.server.accept();
  await until(() => connection.of("upload").length === 1);
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'y', 'n': 1})" });
  await until(() => connection.of("upload").length === 2);
  expect(connection.of("upload").map(({ number }) => number)).toEqual([1, 2]);
  expect(peer.store.pendingCount).toBe(2);
  await peer.sync.close();
});

test("[S25] an upload without an outcome is sent again unchanged, until it has its outcome", async () => {
  const peer = await peerRig();
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  peer.sync.start();
  const first = await peer.server.accept();
  await until(() => first.of("upload").length === 1);
  peer.server.pass(5000);
  first.cut();
  const second = await peer.server.accept({ known: 1 });
  await until(() => second.of("upload").length === 1);
  expect(second.of("upload")).toEqual(first.of("upload"));
  second.say({
    t: "committed",
    txn: 101,
    outcomes: [
      {
        site: peer.store.site,
        number: 1,
        kind: "applied",
        txn: 101,
        reason: "",
        documents: [["tasks", ["put", "x", 101, wholeOf("x", { n: 1 })]]],
      },
    ],
  });
  await until(() => peer.store.pendingCount === 0);
  expect(shown(peer, "x")).toEqual({ n: 1 });
  await peer.sync.close();
});

test("[S27] a refused upload is reported, its effect is gone, and the next one continues", async () => {
  const peer = await peerRig();
  peer.sync.start();
  const connection = await peer.server.accept();
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  await until(() => connection.of("upload").length === 1);
  const { site } = peer.store;
  const outcome = { site, number: 1, kind: "refused", txn: 101, reason: "no" } as const;
  connection.say({ t: "committed", txn: 101, outcomes: [{ ...outcome, documents: [] }] });
  await until(() => peer.events.some(({ kind }) => kind === "refused"));
  expect(shown(peer, "x")).toBeUndefined();
  const reported = peer.events.flatMap((event) => (event.kind === "refused" ? event.uploads : []));
  expect(reported.map(({ kind, reason }) => [kind, reason])).toEqual([["refused", "no"]]);
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'y', 'n': 1})" });
  await until(() => connection.of("upload").length === 2);
  await peer.sync.close();
});

test("[S75] after a fork the writes are sent again, under the new site and from number 1", async () => {
  const peer = await peerRig();
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  const old = peer.store.site;
  peer.sync.start();
  const connection = await peer.server.accept();
  await until(() => connection.of("upload").length === 1);
  connection.say({ t: "forked", site: old, number: 1 });
  await until(() => connection.of("site").length === 1);
  const [asked] = connection.of("site");
  expect(asked?.site).toBe(peer.store.site);
  expect(asked?.site).not.toBe(old);
  connection.say({ t: "site", site: peer.store.site, known: 0 });
  await until(() => connection.of("upload").length === 2);
  expect(connection.of("upload").map(({ number }) => number)).toEqual([1, 1]);
  await peer.sync.close();
});

test("[S9] a refused subscription rejects with the code of the server", async () => {
  const peer = await peerRig();
  const subscription = peer.sync.subscribe(QUERY);
  const ready = subscription.whenReady();
  peer.sync.start();
  const connection = await peer.server.accept();
  await until(() => connection.of("subscribe").length === 1);
  connection.say({ t: "unsubscribed", id: 1, code: "permission.denied", message: "not for you" });
  await expect(ready).rejects.toThrow(new PeerError("permission.denied", "not for you"));
  await expect(subscription.whenReady()).rejects.toThrow("not for you");
  expect(subscription.status).toBe("refused");
  expect(peer.events.map(({ kind }) => kind)).toEqual(["connected", "unsubscribed"]);
  await peer.sync.close();
});

test("[S9] a subscription refused while the store applies its `complete` is refused, not ready", async () => {
  const peer = await peerRig();
  const subscription = peer.sync.subscribe(QUERY);
  const ready = subscription.whenReady();
  peer.sync.start();
  const connection = await peer.server.accept();
  await until(() => connection.of("subscribe").length === 1);
  const refusal = { code: "permission.denied", message: "not any more" };
  connection.say(...fillOf(1, [["a", 1]]), { t: "unsubscribed", id: 1, ...refusal });
  await expect(ready).rejects.toThrow("not any more");
  await peer.sync.stop();
  expect(subscription.status).toBe("refused");
  expect(shown(peer, "a")).toBe(undefined);
  expect(peer.events.map(({ kind }) => kind)).not.toContain("ready");
  await peer.sync.close();
});

test("[S21] equal subscriptions are one for the server, which ends with the last of them", async () => {
  const peer = await peerRig();
  const first = peer.sync.subscribe(QUERY);
  const second = peer.sync.subscribe(QUERY);
  peer.sync.start();
  const connection = await peer.server.accept();
  await until(() => connection.of("subscribe").length > 0);
  expect(connection.of("subscribe")).toHaveLength(1);
  first.cancel();
  first.cancel();
  expect(connection.of("unsubscribe")).toEqual([]);
  expect([first.status, second.status]).toEqual(["cancelled", "waiting"]);
  const ready = second.whenReady();
  second.cancel();
  expect(connection.of("unsubscribe")).toEqual([{ t: "unsubscribe", id: 1 }]);
  await expect(ready).rejects.toThrow("the subscription was cancelled");
  await peer.sync.close();
});

test("[S35] a full disk is reported; the peer reconnects and nothing is lost", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  const put = (name: string, txn: number): ServerMessage => ({
    t: "documents",
    filter: FILTER,
    entries: [["put", name, txn, wholeOf(name, { n: 2 }, txn)]],
    committed: txn,
  });
  peer.disk.failNextWrite("store.full");
  peer.server.pass(5000);
  connection.say(put("b", 101), put("c", 102));
  await until(() => peer.events.some(({ kind }) => kind === "failed"));
  expect(connection.isOver).toBe(true);
  // What came behind it was not applied: there is no gap.
  expect([shown(peer, "b"), shown(peer, "c")]).toEqual([undefined, undefined]);
  expect(peer.sync.status().phase).toBe("waiting");
  peer.server.pass(60_000);
  const next = await peer.server.accept();
  await until(() => next.of("subscribe").length === 1);
  expect(next.of("subscribe").map(({ cursor }) => cursor?.txn)).toEqual([100]);
  next.say(
    { t: "subscribed", id: 1, filter: FILTER, collection: "tasks", mode: "resume" },
    { t: "complete", filter: FILTER, txn: 100 },
    put("b", 101),
    put("c", 102),
  );
  await until(() => shown(peer, "c") !== undefined);
  expect(shown(peer, "b")).toEqual({ n: 2 });
  await peer.sync.close();
});

test("[S22] while the store is behind, the peer does not read the connection, and then reads again", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  peer.disk.holdSyncs();
  const text = "x".repeat(100_000);
  for (let i = 0; i < 12; i++) {
    connection.say({
      t: "documents",
      filter: FILTER,
      entries: [["put", `d${i}`, 101 + i, wholeOf(`d${i}`, { text }, 2 + i)]],
      committed: 101 + i,
    });
  }
  expect(connection.isPaused).toBe(true);
  expect(peer.sync.status().waitingBytes).toBeGreaterThan(512 * 1024);
  peer.disk.releaseSyncs();
  await until(() => !connection.isPaused && peer.sync.status().waitingBytes === 0);
  expect(shown(peer, "d11")).toEqual({ text });
  await peer.sync.close();
});

test("[S5] a peer whose store is behind is not considered dead: it sends pings", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  peer.disk.holdSyncs();
  const text = "x".repeat(1_200_000);
  connection.say({
    t: "documents",
    filter: FILTER,
    entries: [["put", "d", 101, wholeOf("d", { text }, 2)]],
    committed: 101,
  });
  expect(connection.isPaused).toBe(true);
  for (let i = 0; i < 4; i++) peer.server.pass(30_000);
  expect(connection.of("ping").length).toBeGreaterThan(1);
  expect(peer.sync.status().phase).toBe("open");
  peer.disk.releaseSyncs();
  await peer.sync.close();
});

test("[S1] bytes that are no message end the connection with bye, and the peer reconnects", async () => {
  const peer = await peerRig();
  peer.sync.start();
  const connection = await peer.server.accept();
  connection.sayBytes(new Uint8Array([0xff]));
  expect(connection.of("bye").map(({ code }) => code)).toEqual(["malformed"]);
  peer.server.pass(1000);
  await peer.server.accept();
  expect(peer.server.connections).toHaveLength(2);
  await peer.sync.close();
});

test("[S66] a token that is about to expire is renewed on the connection", async () => {
  const peer = await peerRig();
  peer.tokens.push("first", "second");
  peer.sync.start();
  const connection = await peer.server.accept({ expires: START_MS + 20_000 });
  peer.server.pass(10_000);
  await until(() => connection.of("token").length === 1);
  expect(connection.of("token")).toEqual([{ t: "token", token: "second" }]);
  await peer.sync.close();
});

test("[S66] a token that the server already has is not sent again", async () => {
  const peer = await peerRig();
  peer.tokens.push("only", "only", "other");
  peer.sync.start();
  const connection = await peer.server.accept({ expires: START_MS + 100_000 });
  peer.server.pass(50_000);
  await until(() => peer.tokens.length === 1);
  connection.say({ t: "pong", ping: 1, now: 1 });
  peer.server.pass(10_000);
  await until(() => connection.of("token").length === 1);
  expect(connection.of("token")).toEqual([{ t: "token", token: "other" }]);
  await peer.sync.close();
});

test("[S8] failing to obtain a token is treated like an unreachable server", async () => {
  const peer = await peerRig();
  peer.tokens.push(new Error("login failed"));
  peer.sync.start();
  await until(() => peer.events.length > 0);
  const [event] = peer.events;
  expect(event?.kind === "disconnected" && event.message).toBe("no token: login failed");
  expect(peer.server.connections).toEqual([]);
  peer.server.pass(1000);
  await peer.server.accept();
  await peer.sync.close();
});

test.each(["permission.denied", "config.invalid"] as const)(
  "[S8] a login refused with %s is tried again at the slowest rate",
  async (refusal) => {
    const peer = await peerRig();
    peer.tokens.push(new PeerError(refusal, "the login was refused"));
    peer.sync.start();
    await until(() => peer.events.length > 0);
    const [event] = peer.events;
    const retryInMs = event?.kind === "disconnected" ? (event.retryInMs ?? 0) : 0;
    expect(retryInMs).toBeGreaterThanOrEqual(30_000);
    const message = "no token: the login was refused";
    const code = "unauthorized";
    expect(event).toEqual({ kind: "disconnected", code, message, retryInMs, refusal });
    peer.server.pass(60_000);
    await peer.server.accept();
    await peer.sync.close();
  },
);

test("[S66] a failed renewal is tried again before the token expires; a refused one is not", async () => {
  const expires = START_MS + 100_000;
  for (const [fault, count] of [
    [new Error("not now"), 1],
    [new PeerError("permission.denied", "refused"), 0],
  ] as const) {
    const peer = await peerRig();
    peer.tokens.push("first", fault, "second");
    peer.sync.start();
    const connection = await peer.server.accept({ expires });
    peer.server.pass(50_000);
    await until(() => peer.events.some(({ kind }) => kind === "failed"));
    connection.say({ t: "pong", ping: 1, now: 1 });
    peer.server.pass(10_000);
    await until(() => peer.tokens.length === 1 - count);
    await peer.sync.stop();
    expect(connection.of("token")).toHaveLength(count);
    await peer.sync.close();
  }
});

test("[S39] a peer stops at a server of another app, and uploads nothing", async () => {
  const peer = await peerRig();
  await peer.runner.execute({ statement: "INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})" });
  peer.sync.start();
  const connection = await peer.server.accept({ app: "another" });
  await until(() => peer.events.length > 0);
  expect(peer.events).toEqual([{ kind: "foreign", app: "another" }]);
  expect(connection.received.map(({ t }) => t)).toEqual(["hello", "bye"]);
  expect(peer.sync.status().phase).toBe("stopped");
  await peer.sync.close();
});

test("[S6] a stop sends `bye`, and the store has everything received before it", async () => {
  const peer = await peerRig();
  const connection = await followTasks(peer);
  connection.say({
    t: "documents",
    filter: FILTER,
    entries: [["put", "b", 101, wholeOf("b", { n: 2 }, 2)]],
    committed: 101,
  });
  await peer.sync.stop();
  expect(connection.of("bye").map(({ code }) => code)).toEqual(["stopped"]);
  expect(connection.isOver).toBe(true);
  expect(shown(peer, "b")).toEqual({ n: 2 });
  await peer.sync.close();
});

test("[S6] a stopped peer leaves no timer, whether connected, waiting or at a foreign server", async () => {
  const peer = await peerRig();
  peer.sync.start();
  await peer.server.accept();
  expect(peer.server.timerCount).toBe(1);
  await peer.sync.stop();
  expect(peer.server.timerCount).toBe(0);
  peer.sync.start();
  await until(() => peer.server.connections.length === 2);
  peer.server.last.cut();
  expect([peer.sync.status().phase, peer.server.timerCount]).toEqual(["waiting", 1]);
  await peer.sync.stop();
  expect(peer.server.timerCount).toBe(0);
  peer.sync.start();
  await peer.server.accept({ app: "another" });
  await until(() => peer.sync.status().phase === "stopped");
  expect(peer.server.timerCount).toBe(0);
  // A start after it counts anew.
  peer.sync.start();
  expect(peer.server.timerCount).toBe(1);
  await peer.sync.close();
  expect(peer.server.timerCount).toBe(0);
});
