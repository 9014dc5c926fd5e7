/**
 * As whom a peer speaks with a real server: logins, their renewal, logout, and what happens to the
 * documents when less is permitted than before.
 */
import { PeerStore } from "@bigpeer/engine/peer";
import { type Permissions, readPermissions } from "@bigpeer/engine/query";
import type { PeerError, ValueObject } from "@bigpeer/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { SERVER } from "../../server/src/registry/audit-log.ts";
import type { LoginDetails, Peer, SyncState } from "../src/index.ts";
import { GUEST, provide } from "./support/guest-login.ts";
import { idsOf, insert, whenConnected, whenStatus, whenTasks } from "./support/peer-status.ts";
import { startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Several sessions of a few seconds each. */
const SESSIONS_MS = 30_000;

function errorsOf(peer: Peer): PeerError[] {
  const errors: PeerError[] = [];
  peer.on("error", (error) => errors.push(error as PeerError));
  return errors;
}

/** All states that the connection has from now on. */
function statesOf(peer: Peer): Set<SyncState> {
  const states = new Set<SyncState>();
  peer.on("status", ({ state }) => states.add(state));
  return states;
}

test("the status says whether the server has accepted the credential", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  expect(peer.auth.status).toEqual({ isAuthenticated: false });
  peer.sync.start();
  await whenConnected(peer);
  expect(peer.auth.status).toEqual({ isAuthenticated: true });
});

test("the status of a login has the user and the expiry of the session", async () => {
  const server = await startRealServer();
  await provide(server, 3600);
  const peer = await server.peer({ login: () => GUEST });
  expect(peer.auth.status).toEqual({ isAuthenticated: false });
  const before = Date.now();
  peer.sync.start();
  await whenConnected(peer);
  const { isAuthenticated, userId, expiresAt = 0 } = peer.auth.status;
  expect([isAuthenticated, typeof userId]).toEqual([true, "string"]);
  expect(expiresAt).toBeGreaterThan(before + 3_590_000);
  expect(expiresAt).toBeLessThan(Date.now() + 3_610_000);
});

test.runIf(isFullSize)(
  "[S66] a session is renewed before it expires: the connection stays, and no subscription starts over",
  {
    timeout: SESSIONS_MS,
  },
  async () => {
    const apply = vi.spyOn(PeerStore.prototype, "apply");
    const server = await startRealServer();
    await provide(server, 4);
    let logins = 0;
    const login = (): LoginDetails => {
      logins++;
      // A network that is away for a moment is no reason to give up.
      if (logins === 2) throw new Error("no network");
      return GUEST;
    };
    const peer = await server.peer({ login });
    const errors = errorsOf(peer);
    const subscription = peer.sync.registerSubscription("SELECT * FROM tasks");
    peer.sync.start();
    await subscription.whenReady();
    const states = statesOf(peer);
    const first = peer.auth.status;
    // The first session is over when the third of those behind it was asked for.
    await until(() => logins === 5);
    await insert(peer, "late");
    await whenStatus(peer, ({ pendingCount }) => pendingCount === 0);
    expect(peer.auth.status.isAuthenticated).toBe(true);
    expect(peer.auth.status.expiresAt ?? 0).toBeGreaterThan(first.expiresAt ?? 0);
    expect(Date.now()).toBeGreaterThan(first.expiresAt ?? Infinity);
    expect([...states]).toEqual(["connected"]);
    expect(errors).toEqual([]);
    const completed = apply.mock.calls.flatMap(([batch]) => batch.completed ?? []);
    expect(completed).toHaveLength(1);
  },
);

test("[S7] a session that is not renewed ends, and emits one error with the reason", {
  timeout: SESSIONS_MS,
}, async () => {
  const server = await startRealServer();
  await provide(server, 2);
  let logins = 0;
  const login = (): LoginDetails => ({
    ...GUEST,
    token: logins++ === 0 ? "come-in-and-welcome" : "wrong",
  });
  const peer = await server.peer({ login });
  const errors = errorsOf(peer);
  const codes: unknown[] = [];
  peer.on("status", ({ code }) => codes.push(code));
  peer.sync.start();
  await whenConnected(peer);
  await until(() => errors.length === 1);
  const sentence = "the app, the provider or the token is not known";
  expect(errors[0]?.code).toBe("permission.denied");
  expect(errors[0]?.message).toBe(`the login was refused (401): ${sentence}`);
  expect(peer.sync.status.state).toBe("connected");
  await until(() => codes.includes("permission.denied"));
  expect(codes).toContain("expired");
  expect(peer.auth.status).toEqual({ isAuthenticated: false });
  expect(errors).toHaveLength(1);
});

test("logout sends bye, forgets the session and cleans up; the next start logs in again", async () => {
  const server = await startRealServer();
  await provide(server, 3600);
  let logins = 0;
  const login = (): LoginDetails => {
    logins++;
    return GUEST;
  };
  const peer = await server.peer({ login });
  await insert(peer, "mine");
  peer.sync.start();
  await whenStatus(peer, ({ state, pendingCount }) => state === "connected" && pendingCount === 0);
  const { userId } = peer.auth.status;
  await peer.auth.logout(async (given) => {
    expect(given).toBe(peer);
    expect(given.sync.status.state).toBe("stopped");
    expect(given.auth.status).toEqual({ isAuthenticated: false });
    await given.store.execute("EVICT FROM tasks");
  });
  expect(await idsOf(peer)).toEqual([]);
  expect(logins).toBe(1);
  peer.sync.start();
  await whenConnected(peer);
  expect(logins).toBe(2);
  expect(peer.auth.status.userId).not.toBe(userId);
});

test("without a cleanup everything stays after a logout, also pending uploads", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  await insert(peer, "mine");
  await peer.auth.logout();
  expect(peer.sync.status).toEqual({ state: "stopped", pendingCount: 1 });
  expect(await idsOf(peer)).toEqual(["mine"]);
});

test("a login that was under way at the logout is not used afterwards", async () => {
  const server = await startRealServer();
  await provide(server, 3600);
  const pending: ((details: LoginDetails) => void)[] = [];
  const peer = await server.peer({ login: () => new Promise((resolve) => pending.push(resolve)) });
  peer.sync.start();
  await until(() => pending.length === 1);
  await peer.auth.logout();
  pending[0]?.(GUEST);
  peer.sync.start();
  await until(() => pending.length === 2);
  expect(peer.auth.status).toEqual({ isAuthenticated: false });
  pending[1]?.(GUEST);
  await whenConnected(peer);
});

test("an invalid cleanup is refused with a message, and a failing cleanup is reported", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const wrong = peer.auth.logout("all" as unknown as () => void);
  await expect(wrong).rejects.toThrow(
    "expected a function as the cleanup of a logout, found string",
  );
  const failing = peer.auth.logout(() => Promise.reject(new Error("not now")));
  await expect(failing).rejects.toThrow("not now");
  await peer.close();
  await expect(peer.auth.logout()).rejects.toThrow("closed");
});

function permitting(tasks: string, more: ValueObject = {}): Permissions {
  return readPermissions({
    read: { queriesByCollection: { tasks: [tasks], ...more } },
    write: { everything: true },
  });
}

test("[S20, S21] documents that may no longer be read leave a connected peer, the rest stays", async () => {
  const server = await startRealServer();
  const { keys } = server.running.registry;
  const { appId } = server.content;
  const wide = { name: "phone", permissions: permitting("true", { notes: ["true"] }) };
  const token = await keys.create(appId, wide, SERVER);
  const writer = await server.peer();
  for (const [id, isPublic] of [
    ["a", true],
    ["b", false],
    ["c", true],
  ] as const) {
    await insert(writer, id, { isPublic });
  }
  await writer.store.execute("INSERT INTO notes DOCUMENTS ({'_id': 'n1'})");
  writer.sync.start();
  const peer = await server.peer({ token });
  const errors = errorsOf(peer);
  const notes = peer.sync.registerSubscription("SELECT * FROM notes");
  peer.sync.registerSubscription("SELECT * FROM tasks");
  peer.sync.start();
  const states = statesOf(peer);
  await whenTasks(peer, ["a", "b", "c"]);
  await notes.whenReady();
  await keys.replace(appId, "phone", { permissions: permitting("isPublic == true") }, SERVER);
  await whenTasks(peer, ["a", "c"]);
  // The collection that there is no rule for any more is refused, and its documents are gone.
  await until(() => notes.status === "refused");
  await until(async () => (await peer.store.execute("SELECT * FROM notes")).items.length === 0);
  expect(errors.map(({ code }) => code)).toEqual(["permission.denied"]);
  expect(states.has("offline")).toBe(false);
  // More again: it comes back.
  await keys.replace(appId, "phone", { permissions: permitting("true") }, SERVER);
  await whenTasks(peer, ["a", "b", "c"]);
});

test("[S21] a permission that was reduced while the peer was offline applies when it reconnects", async () => {
  const server = await startRealServer();
  const { keys } = server.running.registry;
  const { appId } = server.content;
  const wide = { name: "phone", permissions: permitting("true") };
  const token = await keys.create(appId, wide, SERVER);
  const writer = await server.peer();
  await insert(writer, "a", { isPublic: true });
  await insert(writer, "b", { isPublic: false });
  writer.sync.start();
  const peer = await server.peer({ token });
  const subscription = peer.sync.registerSubscription("SELECT * FROM tasks");
  peer.sync.start();
  await whenTasks(peer, ["a", "b"]);
  await subscription.whenReady();
  await peer.sync.stop();
  await keys.replace(appId, "phone", { permissions: permitting("isPublic == true") }, SERVER);
  // Nobody can take away what a device without a connection holds.
  expect(await idsOf(peer)).toEqual(["a", "b"]);
  expect(subscription.status).toBe("ready");
  peer.sync.start();
  await whenTasks(peer, ["a"]);
});
