/**
 * Sessions of peers on a real server: what they get, and what ends them.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FULL_PERMISSIONS, type Permissions } from "@bigpeer/engine/query";
import { type UploadStep, uploadDigest } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import {
  type DocumentEntry,
  type Subscribed,
  SYNC_VERSION,
  timeOfMs,
  type Value,
} from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { readProviders } from "../../src/registry/auth-provider.ts";
import { secretToken } from "../support/signed-token.ts";
import { SITE, SyncClient } from "../support/sync-client.ts";
import { type ServedSync, serveSync } from "../support/sync-server.ts";

const AUTHOR = { actor: "test" };
const SECRET = "a secret of thirty-two bytes, or more";

const SUPPORT = fileURLToPath(new URL("../support", import.meta.url));
const TLS = {
  certFile: join(SUPPORT, "tls-certificate.pem"),
  keyFile: join(SUPPORT, "tls-key.pem"),
};

function mayRead(condition: string): Permissions {
  return {
    read: { everything: false, queriesByCollection: { cars: [condition] } },
    write: { everything: false, queriesByCollection: {} },
    remoteQuery: false,
  };
}

/** A peer that was welcomed. */
async function welcomed(
  { url }: ServedSync,
  token: string,
  site: string = SITE,
): Promise<SyncClient> {
  const client = await SyncClient.greet(url, token, {}, { site });
  await client.nextOf("welcome");
  return client;
}

async function subscribed(client: SyncClient, query: string, id: number = 1): Promise<Subscribed> {
  client.send({ t: "subscribe", id, query, args: {} });
  return await client.nextOf("subscribed");
}

/** What comes until the subscription is whole, as `kind id`. */
async function download(client: SyncClient): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const message = await client.next();
    if (message === undefined || message.t === "bye") throw new Error(`found ${message?.t}`);
    if (message.t === "documents") found.push(...message.entries.map(named));
    if (message.t === "complete") return found;
  }
}

function named(entry: DocumentEntry): string {
  const [kind, id] = entry;
  return `${kind} ${typeof id === "string" ? id : "?"}`;
}

/** The next change of a live subscription. */
async function nextChange(client: SyncClient): Promise<string[]> {
  const { entries } = await client.nextOf("documents");
  return entries.map(named);
}

function permit(served: ServedSync, name: string, permissions: Permissions): Promise<string> {
  return served.server.registry.keys.create(served.appId, { name, permissions }, AUTHOR);
}

test("[S4] a known key gets a welcome with all that the peer needs", async () => {
  const served = await serveSync();
  const { url, apiKey, appId } = served;
  await served.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'a' })");
  for (const path of ["/sync", `/${appId}/sync`]) {
    const client = await SyncClient.greet(url, apiKey, { path });
    expect(await client.next()).toEqual({
      t: "welcome",
      version: SYNC_VERSION,
      history: expect.any(String),
      app: appId,
      txn: 1,
      now: expect.any(Number),
      known: 0,
      rights: expect.any(Uint8Array),
      bounds: { messageBytes: 16 * 1024 * 1024, uploads: 64, subscriptions: 1000 },
    });
  }
  const lines = served.log.filter(({ message }) => message === "a peer connected");
  expect(lines[0]).toEqual({
    level: "debug",
    message: "a peer connected",
    remoteAddress: "127.0.0.1",
    appId,
    credentialId: apiKey.slice(3, 11),
    site: SITE,
    elapsedMs: expect.any(Number),
  });
  expect(JSON.stringify(served.log)).not.toContain(apiKey);
});

test("[S14] [S16] a subscription is filled, and then receives writes made over HTTP", async () => {
  const served = await serveSync();
  await served.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'a' }), ({ '_id': 'b' })");
  const client = await welcomed(served, served.apiKey);
  expect((await subscribed(client, "SELECT * FROM cars")).mode).toBe("fill");
  expect(await download(client)).toEqual(["put a", "put b"]);
  await served.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'c' })");
  expect(await nextChange(client)).toEqual(["put c"]);
  await served.execute("DELETE FROM cars WHERE _id = 'a'");
  expect(await nextChange(client)).toEqual(["deleted a"]);
});

test("[S28] an upload is answered, and visible to others", async () => {
  const served = await serveSync();
  const writer = await welcomed(served, served.apiKey);
  const reader = await welcomed(served, served.apiKey, "fedcba9876543210");
  await subscribed(reader, "SELECT * FROM cars");
  await download(reader);
  const fields = { color: "blue" };
  const steps: UploadStep[] = [
    {
      time: timeOfMs(Date.now()),
      operations: [{ kind: "insert", collection: "cars", id: "a", fields }],
    },
  ];
  const digest = uploadDigest(nodePlatform, undefined, steps);
  writer.send({ t: "upload", number: 1, digest, steps });
  const { outcomes } = await writer.nextOf("committed");
  expect(outcomes.map(({ site, number, kind }) => [site, number, kind])).toEqual([
    [SITE, 1, "applied"],
  ]);
  expect(await nextChange(reader)).toEqual(["put a"]);
  const { samples } = await served.stats();
  const app = `app="${served.appId}"`;
  expect(samples.get(`bigpeer_sync_uploads_total{${app},outcome="applied"}`)).toBe(1);
});

test("[S67] the sessions of a deleted key end, and those of others continue", async () => {
  const served = await serveSync();
  const key = await permit(served, "till", FULL_PERMISSIONS);
  const one = await welcomed(served, key);
  const two = await welcomed(served, key);
  const other = await welcomed(served, served.apiKey);
  await served.server.registry.keys.remove(served.appId, "till", AUTHOR);
  for (const client of [one, two]) {
    // The first ping may come before it.
    expect(await client.nextOf("bye")).toEqual({
      t: "bye",
      code: "unauthorized",
      message: expect.any(String),
    });
    await client.closed();
  }
  other.send({ t: "ping", now: 5 });
  expect((await other.nextOf("pong")).ping).toBe(5);
});

test("[S67] the previous text of a rotated key works for its grace period, and no longer", async () => {
  const served = await serveSync();
  const key = await permit(served, "till", FULL_PERMISSIONS);
  const client = await welcomed(served, key);
  await served.server.registry.keys.rotate(served.appId, "till", { graceSeconds: 60 }, AUTHOR);
  expect((await client.nextOf("rights")).expires).toBeGreaterThan(Date.now());
  served.pass(61_000);
  expect(await client.nextOf("bye")).toEqual(expect.objectContaining({ code: "expired" }));
});

/** What the server says that it has of a site. */
async function knownOf({ url }: ServedSync, token: string): Promise<number> {
  const client = await SyncClient.greet(url, token, {}, { site: SITE });
  const { known } = await client.nextOf("welcome");
  client.send({ t: "bye", code: "stopped", message: "" });
  return known;
}

test("[S58] a site belongs to one key, through rotations, or to one user of one provider", async () => {
  const served = await serveSync();
  await provide(served, "blue");
  const key = await permit(served, "till", FULL_PERMISSIONS);
  const other = await permit(served, "other", FULL_PERMISSIONS);
  const client = await welcomed(served, key);
  const operation = { kind: "insert", collection: "cars", id: "a", fields: {} } as const;
  const steps: UploadStep[] = [{ time: timeOfMs(Date.now()), operations: [operation] }];
  const digest = uploadDigest(nodePlatform, undefined, steps);
  client.send({ t: "upload", number: 1, digest, steps });
  await client.nextOf("committed");
  const { keys } = served.server.registry;
  const rotated = await keys.rotate(served.appId, "till", { graceSeconds: 60 }, AUTHOR);
  const again = await keys.rotate(served.appId, "till", {}, AUTHOR);
  expect(rotated).not.toBe(again);
  const ann = userToken(served, "ann", 600);
  const found = [again, other, served.apiKey, ann].map((token) => knownOf(served, token));
  expect(await Promise.all(found)).toEqual([1, 0, 0, 0]);
  const stranger = await welcomed(served, other);
  stranger.send({ t: "site", site: SITE });
  expect((await stranger.nextOf("site")).known).toBe(0);
});

test("[S20] when the permissions of a key change, documents that may no longer be read are released", async () => {
  const served = await serveSync();
  await served.execute(
    "INSERT INTO cars DOCUMENTS ({ '_id': 'a', 'color': 'blue' }), ({ '_id': 'b', 'color': 'red' })",
  );
  const { keys } = served.server.registry;
  const key = await permit(served, "till", mayRead("color == 'blue'"));
  const client = await welcomed(served, key);
  const first = await subscribed(client, "SELECT * FROM cars");
  expect(await download(client)).toEqual(["put a"]);
  // What is the same is no change.
  await keys.replace(
    served.appId,
    "till",
    { permissions: mayRead("color == 'blue'"), description: "blue" },
    AUTHOR,
  );
  await keys.replace(served.appId, "till", { permissions: mayRead("color == 'red'") }, AUTHOR);
  const rights = await client.nextOf("rights");
  expect(rights.rights).toHaveLength(16);
  const again = await client.nextOf("subscribed");
  expect([again.id, again.mode]).toEqual([1, "compare"]);
  expect(again.filter).not.toEqual(first.filter);
  const { list } = await client.nextOf("versions");
  expect(list.map(([id]) => id)).toEqual(["b"]);
  client.send({ t: "want", filter: again.filter, ids: ["b"], isLast: true });
  expect(await download(client)).toEqual(["put b"]);
  expect(client.all.filter(({ t }) => t === "rights")).toHaveLength(1);
});

test("[S67] a session ends when its app is deleted, and the app is closed without waiting", async () => {
  const served = await serveSync();
  const { registry, apps } = served.server;
  const client = await welcomed(served, served.apiKey);
  await registry.apps.remove("default", AUTHOR);
  await apps.closeApp(served.appId);
  expect(await client.nextOf("bye")).toEqual(expect.objectContaining({ code: "unauthorized" }));
});

/** A token of a user, signed for the app. */
function userToken(served: ServedSync, userId: string, seconds: number): string {
  const exp = Math.floor(Date.now() / 1000) + seconds;
  return secretToken({ aud: served.appId, sub: userId, exp }, SECRET);
}

async function provide(served: ServedSync, color: string): Promise<void> {
  const permission = { read: { queriesByCollection: { cars: [`color == '${color}'`] } } };
  const config = { type: "jwt", secret: SECRET, permission };
  await served.server.registry.apps.setProviders(
    "default",
    (before) => readProviders({ people: config }, before, (size) => nodePlatform.random(size)),
    AUTHOR,
  );
}

test("[S7] a session ends with its token, unless the peer has sent a new one before", async () => {
  const served = await serveSync();
  await provide(served, "blue");
  const token = userToken(served, "ann", 600);
  const short = await welcomed(served, token);
  const long = await welcomed(served, token);
  long.send({ t: "token", token: userToken(served, "ann", 6_000) });
  expect((await long.nextOf("rights")).expires).toBeGreaterThan(Date.now() + 5_000_000);
  const wrong = await welcomed(served, token);
  wrong.send({ t: "token", token: `${token}x` });
  expect(await wrong.nextOf("bye")).toEqual(expect.objectContaining({ code: "unauthorized" }));
  // It is believed for a minute longer, because of the clock of whoever signed it.
  served.pass(661_000);
  expect(await short.nextOf("bye")).toEqual(expect.objectContaining({ code: "expired" }));
  expect(long.isClosed).toBe(false);
});

test("[S67] when a provider changes, so do the rights of its users", async () => {
  const served = await serveSync();
  await provide(served, "blue");
  const client = await welcomed(served, userToken(served, "ann", 600));
  await provide(served, "red");
  await client.nextOf("rights");
  await served.server.registry.apps.setProviders("default", () => ({}), AUTHOR);
  expect(await client.nextOf("bye")).toEqual(expect.objectContaining({ code: "unauthorized" }));
});

test.runIf(isFullSize)(
  "[S6] a closing server sends bye, and cuts peers that do not leave within a second",
  async () => {
    const served = await serveSync();
    const client = await welcomed(served, served.apiKey);
    const silent = await welcomed(served, served.apiKey);
    silent.stopReading();
    const closing = served.server.close();
    expect(await client.nextOf("bye")).toEqual(expect.objectContaining({ code: "closing" }));
    await closing;
    await client.closed();
  },
);

test("[S6] a closing server spreads the return of its peers over some seconds", async () => {
  const served = await serveSync();
  const clients = await Promise.all(
    Array.from({ length: 12 }, () => welcomed(served, served.apiKey)),
  );
  const closing = served.server.close();
  const byes = await Promise.all(clients.map((client) => client.nextOf("bye")));
  await closing;
  const times = byes.map(({ after = 0 }) => after);
  for (const after of times) {
    expect(after).toBeGreaterThanOrEqual(1_000);
    expect(after).toBeLessThan(6_000);
  }
  // Twelve equal ones of 5,000 are no chance.
  expect(new Set(times).size).toBeGreaterThan(1);
});

test("metrics cover sessions, subscriptions, groups, messages and bytes", async () => {
  const served = await serveSync();
  await served.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'a' })");
  const clients = await Promise.all([1, 2, 3].map(() => welcomed(served, served.apiKey)));
  for (const client of clients) {
    await subscribed(client, "SELECT * FROM cars");
    await download(client);
  }
  await served.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'b' })");
  for (const client of clients) await nextChange(client);
  const { samples } = await served.stats();
  const app = `{app="${served.appId}"}`;
  const figure = (name: string): number | undefined => samples.get(`bigpeer_sync_${name}`);
  expect(figure("connections")).toBe(3);
  expect(figure(`sessions${app}`)).toBe(3);
  expect(figure(`subscriptions${app}`)).toBe(3);
  expect(figure(`groups${app}`)).toBe(1);
  expect(figure(`behind${app}`)).toBe(0);
  expect(figure(`queued_bytes${app}`)).toBe(0);
  expect(figure(`lag_seconds${app}`)).toBeGreaterThanOrEqual(0);
  expect(figure('frames_received_total{kind="hello"}')).toBe(3);
  expect(figure('frames_received_total{kind="subscribe"}')).toBe(3);
  expect(figure('frames_sent_total{kind="welcome"}')).toBe(3);
  expect(figure('frames_sent_total{kind="documents"}')).toBe(6);
  expect(figure("bytes_received_total")).toBeGreaterThan(0);
  expect(figure("bytes_sent_total")).toBeGreaterThan(0);
  for (const client of clients) client.cut();
  await vi.waitFor(async () => {
    const later = await served.stats();
    expect(later.samples.get("bigpeer_sync_connections")).toBe(0);
    expect(later.samples.get(`bigpeer_sync_sessions${app}`)).toBe(0);
  });
});

test.runIf(isFullSize)(
  "[S22] a peer that stops reading and continues later gets everything, over HTTPS as well",
  async () => {
    for (const tls of [undefined, TLS]) {
      const served = await serveSync({ tls });
      const client = await welcomed(served, served.apiKey);
      await subscribed(client, "SELECT * FROM cars");
      await download(client);
      client.stopReading();
      const { store } = (await served.server.apps.use(served.appId)).app;
      const text = "x".repeat(100_000);
      const ids = Array.from({ length: 120 }, (_, i) => `c${i}`);
      for (const id of ids) {
        await store.transact((transaction) => {
          transaction.apply([{ kind: "insert", collection: "cars", id, fields: { text } }]);
        });
      }
      client.goOn();
      const found = new Set<string>();
      while (found.size < ids.length) {
        const { entries } = await client.nextOf("documents");
        for (const [, id] of entries) if (typeof id === "string") found.add(id);
      }
      expect([...found].toSorted()).toEqual(ids.toSorted());
    }
  },
);

test.runIf(isFullSize)(
  "[S22] a peer that reads nothing slows down no other, and its queue is bounded",
  async () => {
    const served = await serveSync();
    const text: Value = "x".repeat(200_000);
    const silent = await welcomed(served, served.apiKey);
    await subscribed(silent, "SELECT * FROM cars");
    await download(silent);
    silent.stopReading();
    const reader = await welcomed(served, served.apiKey);
    await subscribed(reader, "SELECT * FROM cars");
    await download(reader);
    const app = `{app="${served.appId}"}`;
    for (let i = 0; i < 90; i++) {
      await served.execute("INSERT INTO cars DOCUMENTS (:car)", { car: { _id: `c${i}`, text } });
      expect(await nextChange(reader)).toEqual([`put c${i}`]);
    }
    const { samples } = await served.stats();
    const queued = samples.get(`bigpeer_sync_queued_bytes${app}`) ?? -1;
    expect(queued).toBeGreaterThan(1024 * 1024);
    expect(queued).toBeLessThan(5 * 1024 * 1024);
    expect(samples.get(`bigpeer_sync_behind${app}`)).toBe(1);
  },
);
