/**
 * What happens to the credential of a connected peer acts on its session within a second: it expires,
 * it is revoked, or it may do less. The time is from the moment at which it holds on the server to the
 * moment at which the app on the peer sees it.
 */

import { type Permissions, readPermissions } from "@bigpeer/engine/query";
import { nodePlatform } from "@bigpeer/node";
import { expect, test } from "vitest";
import { SERVER } from "../../server/src/registry/audit-log.ts";
import { readProviders } from "../../server/src/registry/auth-provider.ts";
import type { LoginDetails, Peer } from "../src/index.ts";
import { insert, whenConnected, whenStatus, whenTasks } from "./support/peer-status.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";

/** A second, and another for a machine that has more to do than this. */
const WITHIN_MS = 2_000;

const ALL = { everything: true };

function reading(tasks: string): Permissions {
  return readPermissions({ read: { queriesByCollection: { tasks: [tasks] } }, write: ALL });
}

/** A peer with a key of its own, whose tasks `a` and `b` have come down. */
async function connectedWith(
  server: RealServer,
  permissions: Permissions,
): Promise<{ peer: Peer; name: string }> {
  const name = "phone";
  const { keys } = server.running.registry;
  const token = await keys.create(server.content.appId, { name, permissions }, SERVER);
  const writer = await server.peer();
  for (const id of ["a", "b"]) await insert(writer, id);
  writer.sync.start();
  const peer = await server.peer({ token });
  // It is told of what happens to it; nobody else needs to be.
  peer.on("error", () => {});
  peer.sync.registerSubscription("SELECT * FROM tasks");
  peer.sync.start();
  await whenTasks(peer, ["a", "b"]);
  return { peer, name };
}

test("[S7] a token that expires ends the session of a peer within a second", async () => {
  const server = await startRealServer();
  const guests = {
    type: "anonymous",
    sharedToken: "come-in-and-welcome",
    sessionLength: 2,
    permission: { read: ALL, write: ALL },
  };
  const random = (size: number): Uint8Array => nodePlatform.random(size);
  const { apps } = server.running.registry;
  await apps.setProviders("default", () => readProviders({ guests }, {}, random), SERVER);
  let logins = 0;
  const login = (): LoginDetails => ({
    provider: "guests",
    token: logins++ === 0 ? "come-in-and-welcome" : "wrong",
  });
  const peer = await server.peer({ login });
  peer.on("error", () => {});
  peer.sync.start();
  await whenConnected(peer);
  const { expiresAt = 0 } = peer.auth.status;
  await whenStatus(peer, ({ code }) => code === "expired");
  const late = Date.now() - expiresAt;
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(WITHIN_MS);
});

test("[S67] a revoked key ends the session of a peer within a second", async () => {
  const server = await startRealServer();
  const { peer, name } = await connectedWith(server, reading("true"));
  await server.running.registry.keys.remove(server.content.appId, name, SERVER);
  const revokedMs = performance.now();
  await whenStatus(peer, ({ state, code }) => state !== "connected" && code !== undefined);
  expect(performance.now() - revokedMs).toBeLessThan(WITHIN_MS);
  expect(peer.sync.status.code).toBe("unauthorized");
});

test("[S20] a reduced permission removes documents from a connected peer within a second", async () => {
  const server = await startRealServer();
  const { peer, name } = await connectedWith(server, reading("true"));
  const permissions = reading("_id == 'b'");
  await server.running.registry.keys.replace(server.content.appId, name, { permissions }, SERVER);
  const shrunkMs = performance.now();
  await whenTasks(peer, ["b"]);
  expect(performance.now() - shrunkMs).toBeLessThan(WITHIN_MS);
  expect(peer.sync.status.state).toBe("connected");
});
