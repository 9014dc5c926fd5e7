/**
 * A peer as an app has it: alone, and with a real server.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { readPermissions } from "@bigpeer/engine/query";
import type { PeerError } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { SERVER } from "../../server/src/registry/audit-log.ts";
import {
  type LoginDetails,
  openPeer,
  type Peer,
  type PeerOptions,
  type SyncStatus,
} from "../src/index.ts";
import { START_MS_MAX } from "../src/sync.ts";
import { idsOf, insert, TASKS, whenStatus, whenTasks } from "./support/peer-status.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

/** A peer that nobody answers. */
async function openAlone(options: Partial<PeerOptions> = {}): Promise<Peer> {
  const place = options.folder === undefined ? { memory: true as const } : {};
  const url = "http://127.0.0.1:9";
  const all = { appId: APP, url, token: "bp_1", ...place, ...options };
  const peer = await openPeer(all as PeerOptions);
  onTestFinished(() => peer.close());
  return peer;
}

test("a peer reads and writes without a server, and reports pending writes", async () => {
  const peer = await openAlone();
  expect(peer.sync.status).toEqual({ state: "stopped", pendingCount: 0 });
  await insert(peer, "a");
  expect(await idsOf(peer)).toEqual(["a"]);
  expect(peer.sync.status).toEqual({ state: "stopped", pendingCount: 1 });
});

test("a transaction counts as one pending write", async () => {
  const peer = await openAlone();
  await peer.store.transaction(async (tx) => {
    for (let i = 0; i < 3; i++)
      await tx.execute("INSERT INTO tasks DOCUMENTS ({'_id': :i})", { i });
  });
  expect(peer.sync.status.pendingCount).toBe(1);
});

test("written documents are there after the folder is opened again", async () => {
  const folder = temporaryFolder();
  const first = await openAlone({ folder });
  await insert(first, "a");
  await first.close();
  const second = await openAlone({ folder });
  expect(await idsOf(second)).toEqual(["a"]);
  expect(second.sync.status.pendingCount).toBe(1);
});

test("[S39] a folder of another app is refused, even if it was never connected to a server", async () => {
  const folder = temporaryFolder();
  const first = await openAlone({ folder });
  await first.close();
  const other = openAlone({ folder, appId: "00000000-0000-4000-8000-000000000000" });
  await expect(other).rejects.toThrow(APP);
  const again = await openAlone({ folder });
  expect(await idsOf(again)).toEqual([]);
});

test("after close every call is refused with a message, and close may be called again", async () => {
  const peer = await openAlone();
  const observer = peer.store.registerObserver(TASKS, () => undefined);
  await Promise.all([peer.close(), peer.close()]);
  expect(peer.isClosed).toBe(true);
  expect(observer.isCancelled).toBe(true);
  await expect(insert(peer, "a")).rejects.toThrow("closed");
  await expect(peer.store.transaction(async () => 1)).rejects.toThrow("closed");
  expect(() => peer.store.registerObserver(TASKS, () => undefined)).toThrow("closed");
  expect(() => peer.sync.start()).toThrow("closed");
  expect(() => peer.sync.registerSubscription(TASKS)).toThrow("closed");
});

test("after close the status can still be read, and stop has no effect", async () => {
  const peer = await openAlone();
  await insert(peer, "a");
  await peer.close();
  await peer.sync.stop();
  expect(peer.sync.status).toEqual({ state: "stopped", pendingCount: 1 });
});

test("an unknown event, and a listener that is not a function, are refused with a message", async () => {
  const peer = await openAlone();
  const on = (name: string, listener: unknown) => (): unknown =>
    peer.on(name as "status", listener as () => void);
  const names = 'expected status, refused, remote, error or warning as the event, found "statu"';
  expect(on("statu", () => undefined)).toThrow(names);
  expect(on("status", undefined)).toThrow("expected a function as the listener, found undefined");
});

test("a subscription that is not text is refused with a message", async () => {
  const peer = await openAlone();
  const query = 17 as unknown as string;
  const message = "expected the text of a statement, found number";
  expect(() => peer.sync.registerSubscription(query)).toThrow(message);
});

test("a server that does not answer is a reason to be offline, not an error", async () => {
  const peer = await openAlone();
  const errors: unknown[] = [];
  peer.on("error", (error) => errors.push(error));
  peer.sync.start();
  await whenStatus(peer, ({ state }) => state === "offline");
  expect(peer.sync.status.reason).toContain("ECONNREFUSED");
  expect(peer.sync.status.code).toBe("lost");
  await insert(peer, "a");
  await peer.sync.stop();
  expect(peer.sync.status.state).toBe("stopped");
  expect(peer.sync.status.code).toBe("stopped");
  expect(errors).toEqual([]);
});

test.each([
  ["SELECT", "line 1"],
  ["DELETE FROM tasks", "expected a SELECT, found DELETE"],
  ["EVICT FROM tasks", "expected a SELECT, found EVICT"],
  ["SELECT title FROM tasks", "expected SELECT * FROM a collection"],
  ["SELECT * FROM tasks WHERE owner = :me", "me"],
])("%s is not a subscription, and is refused at once", async (query, message) => {
  const peer = await openAlone();
  expect(() => peer.sync.registerSubscription(query)).toThrow(message);
  expect(peer.sync.subscriptions).toEqual([]);
});

test("the name of a collection is not a subscription, and the error suggests the SELECT", async () => {
  const peer = await openAlone();
  const message = 'expected a SELECT, found "tasks"; did you mean SELECT * FROM tasks?';
  expect(() => peer.sync.registerSubscription("tasks")).toThrow(message);
});

test("an undefined parameter of a subscription is reported as undefined", async () => {
  const peer = await openAlone();
  const register = (): unknown =>
    peer.sync.registerSubscription("SELECT * FROM tasks WHERE owner = :me", { me: undefined });
  expect(register).toThrow("expected a value for parameter me, found undefined at line 1");
});

test("waiting for a subscription without starting the sync causes one warning", async () => {
  const peers = [await openAlone(), await openAlone(), await openAlone()];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const warnings = peers.map((peer) => {
    const reported: string[] = [];
    peer.on("warning", (warning) => reported.push(warning));
    const subscription = peer.sync.registerSubscription("SELECT * FROM tasks");
    for (let i = 0; i < 2; i++) subscription.whenReady().catch(() => undefined);
    return reported;
  });
  // Waiting first and starting after is fine, and so is closing.
  peers[1]?.sync.start();
  await peers[2]?.close();
  vi.advanceTimersByTime(START_MS_MAX);
  const warning = "a subscription is waited for, but sync was not started: call peer.sync.start()";
  expect(warnings).toEqual([[warning], [], []]);
});

test("offline writes of one peer reach another that subscribes to them", async () => {
  const server = await startRealServer();
  const [a, b] = [await server.peer(), await server.peer()];
  await insert(a, "one", { owner: "ada" });
  await insert(a, "two", { owner: "bob" });
  const query = "SELECT * FROM tasks WHERE owner = :me";
  const subscription = b.sync.registerSubscription(query, { me: "ada" });
  expect(subscription.status).toBe("waiting");
  b.sync.start();
  a.sync.start();
  await whenTasks(b, ["one"]);
  expect(subscription.status).toBe("ready");
  await whenStatus(a, ({ pendingCount }) => pendingCount === 0);
  expect(a.sync.status).toEqual({ state: "connected", pendingCount: 0 });
  expect(await idsOf(a)).toEqual(["one", "two"]);
});

test("changes go both ways, and counters add up", async () => {
  const server = await startRealServer();
  const [a, b] = [await server.peer(), await server.peer()];
  await insert(a, "one");
  for (const peer of [a, b]) {
    peer.sync.registerSubscription("SELECT * FROM tasks");
    peer.sync.start();
  }
  await whenTasks(b, ["one"]);
  await b.sync.stop();
  const add = "UPDATE COLLECTION tasks (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = 'one'";
  await Promise.all([a, a, b, b, b].map((peer) => peer.store.execute(add)));
  b.sync.start();
  for (const peer of [a, b]) {
    await new Promise<void>((resolve) => {
      peer.store.registerObserver("SELECT n FROM tasks WHERE n = 5", ({ items }) => {
        if (items.length === 1) resolve();
      });
    });
  }
  expect((await b.store.execute("SELECT n FROM tasks")).items).toEqual([{ n: 5 }]);
});

test("a write returns its commit, and system:data_sync_info shows which commits the server has", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const rows = async (): Promise<unknown[]> =>
    (await peer.store.execute("SELECT * FROM system:data_sync_info")).items;
  const { commitId } = await insert(peer, "one");
  const [before] = (await rows()) as { documents: { [name: string]: unknown } }[];
  expect(before?.documents["sync_session_status"]).toBe("Disabled");
  expect(before?.documents["synced_up_to_local_commit_id"]).toBeLessThan(commitId ?? NaN);
  peer.sync.start();
  await whenStatus(peer, ({ pendingCount, state }) => pendingCount === 0 && state === "connected");
  const [row] = (await rows()) as { documents: { [name: string]: unknown } }[];
  expect(row?.documents["sync_session_status"]).toBe("Connected");
  expect(row?.documents["synced_up_to_local_commit_id"]).toBeGreaterThanOrEqual(commitId ?? NaN);
});

function narrowKey({ content, running }: RealServer): Promise<string> {
  const permissions = readPermissions({
    read: { queriesByCollection: { tasks: ["true"] } },
    write: { queriesByCollection: { tasks: ["isPublic == true"] } },
  });
  return running.registry.keys.create(content.appId, { name: "narrow", permissions }, SERVER);
}

test("[S35] a refused write is reported, leaves the view, stays readable, and the next one continues", async () => {
  const server = await startRealServer();
  const token = await narrowKey(server);
  const peer = await server.peer({ token });
  const refused: unknown[] = [];
  peer.on("refused", (upload) => refused.push(upload.reason));
  peer.sync.registerSubscription("SELECT * FROM tasks");
  await insert(peer, "secret", { isPublic: false });
  await insert(peer, "open", { isPublic: true });
  expect(await idsOf(peer)).toEqual(["open", "secret"]);
  peer.sync.start();
  await whenStatus(peer, ({ pendingCount }) => pendingCount === 0);
  await whenTasks(peer, ["open"]);
  expect(refused).toHaveLength(1);
  expect(peer.store.refused().map(({ reason }) => reason)).toEqual(refused);
  const { items } = await peer.store.execute("SELECT * FROM system:refused_writes");
  expect(items.map((item) => item["reason"])).toEqual(refused);
});

test("refused writes are forgotten for good when the app acknowledges them, one or all", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  const token = await narrowKey(server);
  const first = await server.peer({ token, folder });
  for (const id of ["a", "b", "c"]) await insert(first, id, { isPublic: false });
  first.sync.start();
  await whenStatus(first, ({ pendingCount }) => pendingCount === 0);
  const [a, b, c] = first.store.refused().map(({ commitId }) => commitId);
  expect(await first.store.clearRefused(b)).toBe(1);
  expect(await first.store.clearRefused(b)).toBe(0);
  await first.close();
  const second = await server.peer({ token, folder });
  expect(second.store.refused().map(({ commitId }) => commitId)).toEqual([a, c]);
  expect(await second.store.clearRefused()).toBe(2);
  expect(second.store.refused()).toEqual([]);
  const { items } = await second.store.execute("SELECT * FROM system:refused_writes");
  expect(items).toEqual([]);
  const wrong = second.store.clearRefused("b" as unknown as number);
  await expect(wrong).rejects.toThrow('expected the commitId of a refused write, found "b"');
  await second.close();
  await expect(second.store.clearRefused()).rejects.toThrow("closed");
});

test("a login returns the session that the peer connects with", async () => {
  const server = await startRealServer();
  const { developmentToken: token = "" } = server.content;
  let logins = 0;
  const peer = await server.peer({
    login: async () => {
      logins++;
      return { provider: "development", token };
    },
  });
  peer.sync.start();
  await whenStatus(peer, ({ state }) => state === "connected");
  expect(logins).toBe(1);
});

test("an unknown credential is the reason to be offline, and one error", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ token: "bp_00000000_unknown" });
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  for (let tries = 0; tries < 2; tries++) {
    peer.sync.start();
    await whenStatus(peer, ({ state }) => state === "offline");
    expect(peer.sync.status.reason).toContain("not known");
    expect(peer.sync.status.code).toBe("unauthorized");
    await peer.sync.stop();
  }
  expect(errors).toEqual([
    expect.objectContaining({
      code: "permission.denied",
      message: expect.stringContaining("the server does not let this peer in: the credential"),
    }),
  ]);
});

test("whenReady rejects if the credential is refused for good, before and after that is known", async () => {
  const server = await startRealServer();
  const { appId, apiKey } = server.content;
  const peer = await server.peer({ token: "bp_00000000_unknown" });
  peer.on("error", () => undefined);
  const subscription = peer.sync.registerSubscription("SELECT * FROM tasks");
  const waiting = subscription.whenReady();
  peer.sync.start();
  const refusal = { code: "permission.denied", message: expect.stringContaining("not known") };
  await expect(waiting).rejects.toMatchObject(refusal);
  await expect(subscription.whenReady()).rejects.toMatchObject(refusal);
  expect(subscription.status).toBe("waiting");
  await peer.sync.stop();

  // A login that the server refuses is no other; one that it takes later makes all well.
  let token = "come-in-and-welcome?";
  const login = (): LoginDetails => ({ provider: "development", token });
  const guest = await openPeer({ appId, url: server.running.url, memory: true, login });
  onTestFinished(() => guest.close());
  guest.on("error", () => undefined);
  const tasks = guest.sync.registerSubscription("SELECT * FROM tasks");
  guest.sync.start();
  await expect(tasks.whenReady()).rejects.toMatchObject({ code: "permission.denied" });
  await guest.sync.stop();
  token = server.content.developmentToken ?? apiKey;
  guest.sync.start();
  await tasks.whenReady();
});

test("[S3, S7] a key that is deleted while its peer is connected is reported like an unknown one", async () => {
  const server = await startRealServer();
  const token = await narrowKey(server);
  const peer = await server.peer({ token });
  const reasons: (string | undefined)[] = [];
  peer.on("error", () => undefined);
  peer.sync.start();
  await whenStatus(peer, ({ state }) => state === "connected");
  await server.running.registry.keys.remove(server.content.appId, "narrow", SERVER);
  for (let tries = 0; tries < 2; tries++) {
    await whenStatus(peer, ({ state }) => state === "offline");
    reasons.push(peer.sync.status.reason);
    await peer.sync.stop();
    peer.sync.start();
  }
  const sentence = "the credential is not known, has expired, or is not for this app";
  expect(reasons).toEqual([sentence, sentence]);
  await insert(peer, "a");
  expect(await idsOf(peer)).toEqual(["a"]);
});

test("a refused login is the reason to be offline, and one error", async () => {
  const server = await startRealServer();
  const login = (): { provider: string; token: string } => ({ provider: "guests", token: "x" });
  const peer = await server.peer({ login });
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  for (let tries = 0; tries < 2; tries++) {
    peer.sync.start();
    await whenStatus(peer, ({ state }) => state === "offline");
    expect(peer.sync.status.code).toBe("permission.denied");
    await peer.sync.stop();
  }
  expect(errors.map(({ message }) => message)).toEqual([
    "the login was refused (401): the app, the provider or the token is not known",
  ]);
});

test("a login function that throws is one error for each reason, and is called again", async () => {
  const server = await startRealServer();
  const { developmentToken: token = "" } = server.content;
  const outages = [new Error("no identity provider"), new Error("no identity provider"), "away"];
  const login = (): LoginDetails => {
    const outage = outages.shift();
    if (outage !== undefined) throw outage;
    return { provider: "development", token };
  };
  const peer = await server.peer({ login });
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  const ready = peer.sync.registerSubscription("SELECT * FROM tasks").whenReady();
  for (const reason of ["no identity provider", "no identity provider", "away"]) {
    peer.sync.start();
    await whenStatus(peer, ({ state }) => state === "offline");
    expect(peer.sync.status.reason).toContain(`the login function threw: ${reason}`);
    await peer.sync.stop();
  }
  expect(errors.map(({ message }) => message)).toEqual([
    "failed to log in: the login function threw: no identity provider",
    "failed to log in: the login function threw: away",
  ]);
  expect(errors[0]?.cause).toEqual(new Error("no identity provider"));
  // It may come back: what waits goes on waiting.
  peer.sync.start();
  await ready;
});

test("a login function that throws another text each time does not emit errors for ever", async () => {
  const server = await startRealServer();
  let logins = 0;
  const login = (): LoginDetails => {
    throw new Error(`outage ${logins++}`);
  };
  const peer = await server.peer({ login });
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  for (let tries = 0; tries < 20; tries++) {
    peer.sync.start();
    await whenStatus(peer, ({ state }) => state === "offline");
    await peer.sync.stop();
  }
  expect(errors).toHaveLength(10);
});

test("the address of the management API is one error, which names the data API", async () => {
  const server = await startRealServer({ managementPort: 0 });
  const url = server.running.managementUrl ?? "";
  const { appId, developmentToken: token = "" } = server.content;
  const login = (): LoginDetails => ({ provider: "development", token });
  const hint = `this is the management API; the data API is at ${server.running.url}`;
  for (const options of [{ url }, { url, login }]) {
    const peer = await server.peer(options);
    const errors: PeerError[] = [];
    peer.on("error", (error) => errors.push(error as PeerError));
    for (let tries = 0; tries < 2; tries++) {
      peer.sync.start();
      await whenStatus(peer, ({ state }) => state === "offline");
      expect(peer.sync.status.reason).toContain(hint);
      await peer.sync.stop();
    }
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain(`there is nothing at /${appId}/`);
    expect(errors[0]?.message).toContain(hint);
  }
});

test("https to a server without TLS is one error, with and without a login", async () => {
  const server = await startRealServer();
  const url = server.running.url.replace("http:", "https:");
  const login = (): LoginDetails => ({ provider: "development", token: "x" });
  for (const options of [{ url }, { url, login }]) {
    const peer = await server.peer(options);
    const errors: Error[] = [];
    peer.on("error", (error) => errors.push(error));
    for (let tries = 0; tries < 2; tries++) {
      peer.sync.start();
      await whenStatus(peer, ({ state }) => state === "offline");
      await peer.sync.stop();
    }
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain("if the server speaks http, not https");
  }
});

test("a subscription that the server refuses is refused and emits an error", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ token: await narrowKey(server) });
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  const subscription = peer.sync.registerSubscription("SELECT * FROM cars");
  peer.sync.start();
  await expect(subscription.whenReady()).rejects.toThrow("cars");
  expect(subscription.status).toBe("refused");
  await until(() => errors.length === 1);
});

test("[S9] a subscription that stays refused emits one error, also after changed rights and a reconnect", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ token: await narrowKey(server) });
  const errors: string[] = [];
  peer.on("error", ({ message }) => errors.push(message));
  const cars = peer.sync.registerSubscription("SELECT * FROM cars");
  const boats = peer.sync.registerSubscription("SELECT * FROM boats");
  peer.sync.start();
  await until(() => errors.length === 2);
  await peer.sync.stop();
  peer.sync.start();
  await whenStatus(peer, ({ state }) => state === "connected");
  const read = { queriesByCollection: { boats: ["true"] } };
  const permissions = readPermissions({ read, write: { everything: true } });
  const { keys } = server.running.registry;
  await keys.replace(server.content.appId, "narrow", { permissions }, SERVER);
  await until(() => boats.status === "ready");
  expect(cars.status).toBe("refused");
  expect(errors).toEqual([expect.stringContaining("cars"), expect.stringContaining("boats")]);
});

test("the status is emitted when it changes, and after a stop says that the peer is stopped", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const reported: SyncStatus[] = [];
  peer.on("status", (status) => reported.push(status));
  for (let tries = 0; tries < 2; tries++) {
    peer.sync.start();
    await whenStatus(peer, ({ state }) => state === "connected");
    await peer.sync.stop();
    await peer.sync.stop();
  }
  const once = [
    { state: "connecting", pendingCount: 0 },
    { state: "connected", pendingCount: 0 },
    { state: "stopped", pendingCount: 0, reason: "the peer was stopped", code: "stopped" },
  ];
  expect(reported).toEqual([...once, ...once]);
});

test.runIf(isFullSize)(
  "a peer reconnects after its server was down, and nothing is lost",
  async () => {
    const dataDir = temporaryFolder();
    const first = await startRealServer({ dataDir });
    const port = Number(new URL(first.running.url).port);
    const [a, b] = [await first.peer(), await first.peer()];
    b.sync.registerSubscription("SELECT * FROM tasks");
    for (const peer of [a, b]) peer.sync.start();
    await insert(a, "one");
    await whenTasks(b, ["one"]);
    await first.running.close();
    await insert(a, "two");
    await startRealServer({ dataDir, port });
    await whenTasks(b, ["one", "two"]);
    expect(await idsOf(a)).toEqual(["one", "two"]);
  },
);

/** What the server has of the counter of a task. */
async function countAt(server: RealServer): Promise<unknown> {
  const reader = await server.peer();
  const subscription = reader.sync.registerSubscription("SELECT * FROM tasks");
  reader.sync.start();
  await subscription.whenReady();
  const { items } = await reader.store.execute("SELECT n FROM tasks");
  await reader.close();
  return items[0]?.["n"];
}

test("[S31] a process hears that a folder is a copy, also when its app does not listen", async () => {
  const folder = temporaryFolder();
  const open = (name: string): Promise<Peer> => openAlone({ folder: join(folder, name) });
  await (await open("a")).close();
  cpSync(join(folder, "a"), join(folder, "b"), { recursive: true });
  const emitWarning = vi.spyOn(process, "emitWarning").mockReturnValue();
  onTestFinished(() => emitWarning.mockRestore());
  const copy = await open("b");
  await vi.waitFor(() => {
    expect(emitWarning).toHaveBeenCalledWith(expect.stringContaining("this folder is a copy"));
  });
  await copy.close();
});

test("[S31] a copied folder continues as a peer of its own: writes of both, sent or not, count once", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  const open = (name: string): Promise<Peer> => server.peer({ folder: join(folder, name) });
  const whenSynced = (peer: Peer): Promise<void> =>
    whenStatus(peer, ({ pendingCount, state }) => pendingCount === 0 && state === "connected");
  const add = (by: number): string =>
    `UPDATE COLLECTION tasks (n COUNTER) APPLY n INCREMENT BY ${by} WHERE _id = 'one'`;
  const first = await open("a");
  first.sync.registerSubscription("SELECT * FROM tasks");
  first.sync.start();
  await insert(first, "one");
  await first.store.execute(add(1));
  await whenSynced(first);
  await first.sync.stop();
  // No server hears of these before there are three folders that have them.
  await first.store.execute(add(10));
  await first.store.execute(add(20));
  await first.close();
  for (const name of ["b", "c"]) {
    cpSync(join(folder, "a"), join(folder, name), { recursive: true });
  }
  for (const [i, name] of ["b", "a", "c", "b"].entries()) {
    const peer = await open(name);
    expect(peer.sync.status.pendingCount).toBe(i < 3 ? 2 : 0);
    await peer.store.execute(add(100));
    peer.sync.start();
    await whenSynced(peer);
    expect(peer.store.refused()).toEqual([]);
    await peer.close();
    expect(await countAt(server)).toBe(31 + 100 * (i + 1));
  }
});

test("[V7] a document of the maximum depth is uploaded unchanged", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ folder: join(temporaryFolder(), "a") });
  let deep = "1";
  for (let level = 1; level < 64; level++) deep = `{'a': ${deep}}`;
  await peer.store.execute(`INSERT INTO tasks DOCUMENTS ({'_id': 'deep', 'a': ${deep}})`);
  peer.sync.start();
  await whenStatus(peer, ({ pendingCount, state }) => pendingCount === 0 && state === "connected");
  expect(peer.store.refused()).toEqual([]);
  const reader = await server.peer();
  reader.sync.registerSubscription("SELECT * FROM tasks");
  reader.sync.start();
  await whenTasks(reader, ["deep"]);
  expect((await reader.store.execute(TASKS)).items).toEqual(
    (await peer.store.execute(TASKS)).items,
  );
});
