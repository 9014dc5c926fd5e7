/**
 * Links between real servers: what flows, what does not, and what stops it.
 */

import { expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { LINK_SECRET, LINKED_APP, LinkedServer } from "../support/linked-server.ts";

const BLUE = { _id: "1", color: "blue" };
const RED = { _id: "2", color: "red" };
const GREEN = { _id: "3", color: "green" };
const ALL_CARS = { cars: ["true"] };

/** `south` dials `north`; what each pulls is given. */
async function linkTwo(
  northPulls: object,
  southPulls: object,
): Promise<[LinkedServer, LinkedServer]> {
  const north = await LinkedServer.start();
  const south = await LinkedServer.start();
  await north.replicate("POST", { queriesByCollection: northPulls });
  const connections = [north.address];
  await south.replicate("POST", { connections, queriesByCollection: southPulls });
  return [north, south];
}

test("[M33] a one-way link brings what its queries select, and sends nothing back", async () => {
  const [north, south] = await linkTwo({}, { cars: ["color == 'blue' || color == 'green'"] });
  await north.put("cars", BLUE, RED);
  await south.put("cars", GREEN);
  await south.holds("cars", [BLUE, GREEN]);
  await north.put("boats", BLUE);
  await north.put("cars", { ...BLUE, doors: 3 });
  await south.holds("cars", [{ ...BLUE, doors: 3 }, GREEN]);
  expect(await south.all("boats")).toEqual([]);
  expect(await north.all("cars")).toEqual([{ ...BLUE, doors: 3 }, RED]);
  await north.run("DELETE FROM cars WHERE _id = '1'");
  await south.holds("cars", [GREEN]);
});

test("[M33] both ways flow over one connection", async () => {
  const [north, south] = await linkTwo(ALL_CARS, ALL_CARS);
  await north.put("cars", BLUE);
  await south.put("cars", RED);
  await south.holds("cars", [BLUE, RED]);
  await north.holds("cars", [BLUE, RED]);
  const [link] = await north.links();
  expect((await north.links()).length).toBe(1);
  expect(link?.direction).toBe("accept");
  expect((await south.links()).map(({ state }) => state)).toEqual(["linked"]);
});

test("[M33] a change of the queries applies at once: more is filled, less stops, and documents stay", async () => {
  const [north, south] = await linkTwo({}, {});
  await north.put("cars", BLUE, RED);
  await north.put("boats", GREEN);
  await south.until("linked");
  expect(await south.all("cars")).toEqual([]);
  await south.replicate("PATCH", { queriesByCollection: { cars: ["color = 'blue'"] } });
  await south.holds("cars", [BLUE]);
  await south.replicate("PATCH", { queriesByCollection: { ...ALL_CARS, boats: ["true"] } });
  await south.holds("cars", [BLUE, RED]);
  await south.holds("boats", [GREEN]);
  await south.replicate("PATCH", { queriesByCollection: { boats: ["true"] } });
  await north.put("cars", GREEN);
  await north.put("boats", RED);
  await south.holds("boats", [RED, GREEN]);
  expect(await south.all("cars")).toEqual([BLUE, RED]);
  for (const queriesByCollection of [null, {}]) {
    await south.replicate("PATCH", { queriesByCollection: { boats: ["true"] } });
    await vi.waitFor(async () => {
      const [link] = await south.links();
      expect(link?.subscriptions.map(({ state }) => state)).toEqual(["live"]);
    });
    await south.replicate("PATCH", { queriesByCollection });
    const [link] = await south.links();
    expect([link?.state, link?.subscriptions]).toEqual(["linked", []]);
  }
  expect(await south.all("boats")).toEqual([RED, GREEN]);
});

test("[M33] the link to a removed address ends, and an added address is dialled", async () => {
  const [north, south] = await linkTwo({}, ALL_CARS);
  await south.until("linked");
  await south.replicate("PATCH", { connections: null });
  await vi.waitFor(async () => expect(await north.links()).toEqual([]));
  expect(await south.links()).toEqual([]);
  await north.put("cars", BLUE);
  expect(await south.all("cars")).toEqual([]);
  await south.replicate("PATCH", { connections: [north.address] });
  await south.holds("cars", [BLUE]);
});

test("[S56] deleting a replication, or its app, ends its links", async () => {
  const [north, south] = await linkTwo({}, ALL_CARS);
  await south.until("linked");
  await north.manage("DELETE", "/app/shop/bigPeerReplication/link");
  // It comes back, and there is nothing to be linked with.
  const waiting = await vi.waitFor(async () => {
    const link = await south.until("waiting");
    expect(link.lastError?.code).toBe("unauthorized");
    return link;
  }, 10_000);
  expect(waiting.nextAttemptAt).not.toBeNull();
  await north.replicate("POST", {});
  await south.replicate("PATCH", { queriesByCollection: { cars: ["color = 'blue'"] } });
  await south.until("linked");
  await south.manage("DELETE", "/app/shop");
  await vi.waitFor(async () => expect(await north.links()).toEqual([]));
});

test("[S84] two servers that dial each other have one link, which serves the queries of both", async () => {
  const north = await LinkedServer.start();
  const south = await LinkedServer.start();
  const queriesByCollection = ALL_CARS;
  await north.replicate("POST", { connections: [south.address], queriesByCollection });
  await south.replicate("POST", { connections: [north.address], queriesByCollection });
  await north.put("cars", BLUE);
  await south.put("cars", RED);
  for (const each of [north, south]) await each.holds("cars", [BLUE, RED]);
  await vi.waitFor(
    async () => {
      const states = [];
      for (const each of [north, south]) {
        const links = await each.links();
        states.push(links.map(({ direction, state }) => `${direction} ${state}`).toSorted());
      }
      expect(states.toSorted((a, b) => a.length - b.length)).toEqual([
        ["dial linked"],
        ["accept linked", "dial duplicate"],
      ]);
    },
    { timeout: 30_000 },
  );
  await south.put("cars", GREEN);
  await north.holds("cars", [BLUE, RED, GREEN]);
});

test("a server that dials itself is not linked with itself", async () => {
  const north = await LinkedServer.start();
  await north.replicate("POST", { connections: [north.address], queriesByCollection: ALL_CARS });
  await vi.waitFor(async () => {
    expect((await north.links())[0]?.lastError?.code).toBe("stopped");
  }, 10_000);
});

test.runIf(isFullSize)(
  "[S54] whichever side restarts, the link continues where it was",
  async () => {
    const [north, south] = await linkTwo({}, ALL_CARS);
    await north.put("cars", BLUE);
    await south.holds("cars", [BLUE]);
    await north.restart();
    await north.put("cars", RED);
    await south.holds("cars", [BLUE, RED]);
    await south.close();
    await north.put("cars", GREEN);
    await south.open();
    await south.holds("cars", [BLUE, RED, GREEN]);
    const [link] = await south.links();
    // What had come before did not come again.
    expect(link?.pulled.documents).toBe(1);
  },
);

async function isRefused(server: LinkedServer): Promise<void> {
  const [link] = await server.links("next");
  expect(link?.lastError?.code).toBe("unauthorized");
}

test.runIf(isFullSize)(
  "[S53] in a ring all documents reach all servers, nothing crosses when idle, and one link may fail",
  async () => {
    const ring: LinkedServer[] = [];
    for (let i = 0; i < 3; i++) ring.push(await LinkedServer.start());
    for (const [i, each] of ring.entries()) {
      const connections = [ring[(i + 1) % 3]?.address];
      await each.replicate("POST", { queriesByCollection: ALL_CARS }, "previous");
      await each.replicate("POST", { connections, queriesByCollection: ALL_CARS }, "next");
      // Refused by a server that has no replication yet. It dials again when it is dialled itself.
      if (i < 2) await vi.waitFor(() => isRefused(each), 10_000);
    }
    const cars = [BLUE, RED, GREEN];
    for (const [i, each] of ring.entries()) await each.put("cars", cars[i] ?? {});
    for (const each of ring) await each.holds("cars", cars);
    for (const each of ring) await each.until("linked", "next");
    /** What has crossed any link so far. */
    const crossed = async (): Promise<number> => {
      let count = 0;
      for (const each of ring) {
        for (const [name, value] of (await each.stats()).samples) {
          if (name.startsWith("bigpeer_replication_documents_total")) count += value;
        }
      }
      return count;
    };
    // Writes that nobody follows make every link look; what goes around would do so all the time.
    await vi.waitFor(async () => {
      const before = await crossed();
      for (let i = 0; i < 10; i++) for (const each of ring) await each.put("boats", { _id: i });
      expect(await crossed()).toBe(before);
    }, 10_000);
    const [first, second, third] = ring;
    await first?.replicate("PATCH", { connections: null, queriesByCollection: null }, "next");
    await vi.waitFor(async () => expect((await second?.links("previous"))?.length).toBe(0));
    await second?.put("cars", { ...RED, doors: 3 });
    for (const each of [first, second, third]) {
      await each?.holds("cars", [BLUE, { ...RED, doors: 3 }, GREEN]);
    }
  },
);

test("an unencrypted replication port that others can reach causes a warning", async () => {
  const open = await LinkedServer.start({ replicationHost: "0.0.0.0" });
  const message =
    "links are not encrypted: set replication-tls-cert, unless the network is trusted";
  expect(open.log).toContainEqual({ level: "warn", message });
  const closed = await LinkedServer.start();
  expect(closed.log.map((line) => line.message)).not.toContain(message);
});

test("a closing server says so, and the other side waits for it", async () => {
  const [north, south] = await linkTwo({}, ALL_CARS);
  await south.until("linked");
  await north.close();
  const link = await south.until("waiting");
  expect(["closing", "unreachable"]).toContain(link.lastError?.code);
  await vi.waitFor(async () => {
    expect((await south.links())[0]?.lastError?.code).toBe("unreachable");
  }, 10_000);
});

test("[S83] another secret is refused; both sides can see it, and no data was sent", async () => {
  const north = await LinkedServer.start();
  const south = await LinkedServer.start({ replicationSecret: "another-secret-than-that" });
  await north.put("cars", BLUE);
  await north.replicate("POST", { queriesByCollection: ALL_CARS });
  const connections = [north.address];
  await south.replicate("POST", { connections, queriesByCollection: ALL_CARS });
  const refused = await north.until("refused");
  expect(refused.direction).toBe("accept");
  expect(refused.lastError).toEqual({
    code: "unauthorized",
    message: "the other side has another replication secret",
    at: expect.any(String),
  });
  const waiting = await south.until("waiting");
  expect(waiting.lastError?.code).toBe("unauthorized");
  expect(waiting.partner).toBeNull();
  expect(await south.all("cars")).toEqual([]);
  expect(north.log).toContainEqual({
    level: "warn",
    message: "a link was refused",
    side: "accept",
    address: "127.0.0.1",
    code: "unauthorized",
    appId: LINKED_APP,
    reason: "the other side has another replication secret",
  });
  for (const { log } of [north, south]) {
    expect(JSON.stringify(log)).not.toContain(LINK_SECRET);
    expect(JSON.stringify(log)).not.toContain("another-secret-than-that");
  }
});

test("[S83] an app that is not on the other side is refused like a wrong secret", async () => {
  const north = await LinkedServer.start({}, "11111111-2222-4333-8444-555555555555");
  const south = await LinkedServer.start();
  await north.replicate("POST", {});
  await south.replicate("POST", { connections: [north.address], queriesByCollection: ALL_CARS });
  const waiting = await south.until("waiting");
  expect(waiting.lastError).toEqual({
    code: "unauthorized",
    message: "there is no such app to be linked with here, or its replication secret is another",
    at: expect.any(String),
  });
  expect(await north.links()).toEqual([]);
  const { samples } = await north.stats();
  expect(samples.get('bigpeer_replication_errors_total{app="",code="unauthorized"}')).toBe(1);
});

test.runIf(isFullSize)(
  "[M35] an app may have its own secret: it applies at once, on both sides",
  async () => {
    const [north, south] = await linkTwo({}, ALL_CARS);
    await south.until("linked");
    await north.manage("PUT", "/app/shop/replicationSecret", { secret: "only-for-the-shop" });
    await vi.waitFor(async () => {
      expect((await south.links())[0]?.lastError?.code).toBe("unauthorized");
    }, 10_000);
    await north.put("cars", BLUE);
    await south.manage("PUT", "/app/shop/replicationSecret", { secret: "only-for-the-shop" });
    await south.holds("cars", [BLUE]);
    await south.manage("DELETE", "/app/shop/replicationSecret");
    await north.manage("DELETE", "/app/shop/replicationSecret");
    await south.replicate("PATCH", { queriesByCollection: { cars: ["color != 'pink'"] } });
    await south.until("linked");
  },
);

test("[M34] the replication port is open while an app has a secret, and without one nothing is dialled", async () => {
  const north = await LinkedServer.start({ replicationSecret: undefined });
  expect(north.server.replicationUrl).toBe(undefined);
  await north.replicate("POST", { connections: ["127.0.0.1:1"] });
  expect((await north.until("no_secret")).nextAttemptAt).toBeNull();
  await north.manage("PUT", "/app/shop/replicationSecret", { secret: "only-for-the-shop" });
  await vi.waitFor(() => expect(north.server.replicationUrl).toMatch(/^http:\/\/127.0.0.1:\d+$/));
  const link = await vi.waitFor(async () => {
    const [found] = await north.links();
    expect(found?.lastError?.code).toBe("unreachable");
    return found;
  });
  expect(link?.lastError?.message).toContain("ECONNREFUSED");
  await north.manage("DELETE", "/app/shop/replicationSecret");
  await vi.waitFor(() => expect(north.server.replicationUrl).toBe(undefined));
  expect((await north.links()).map(({ state }) => state)).toEqual(["no_secret"]);
  const reported = north.log.filter(({ message }) => message.startsWith("the replication port"));
  expect(reported.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "info the replication port is open",
    "info the replication port is closed: there is no replication secret any more",
  ]);
});

test("with the port off the server cannot be dialled, but can still dial others", async () => {
  const north = await LinkedServer.start();
  const south = await LinkedServer.start({ replicationPort: undefined });
  expect(south.server.replicationUrl).toBe(undefined);
  await north.replicate("POST", {});
  await north.put("cars", BLUE);
  await south.replicate("POST", { connections: [north.address], queriesByCollection: ALL_CARS });
  await south.holds("cars", [BLUE]);
});

test("[M34] links are in the metrics and in system:data_sync_info", async () => {
  const [north, south] = await linkTwo({}, ALL_CARS);
  await north.put("cars", BLUE, RED);
  await south.holds("cars", [BLUE, RED]);
  const app = LINKED_APP;
  const nameOf = (name: string, labels: string): string =>
    `bigpeer_replication_${name}{app="${app}"${labels}}`;
  // The documents show before it is told that they are all.
  const samples = await vi.waitFor(async () => {
    const found = (await south.stats()).samples;
    expect(found.get(nameOf("lag_transactions", ""))).toBe(0);
    return found;
  });
  const sample = (name: string, labels: string): number | undefined =>
    samples.get(nameOf(name, labels));
  expect(sample("links", ',state="linked"')).toBe(1);
  expect(sample("documents_total", ',direction="pulled"')).toBe(2);
  expect(sample("documents_total", ',direction="served"')).toBe(0);
  expect(sample("bytes_total", ',direction="pulled"')).toBeGreaterThan(0);
  expect(sample("lag_transactions", "")).toBe(0);
  const rows = await south.run("SELECT * FROM system:data_sync_info");
  const { partner } = await south.until("linked");
  expect(rows).toEqual([
    {
      _id: partner,
      is_ditto_server: true,
      documents: {
        sync_session_status: "Connected",
        synced_up_to_local_commit_id: expect.toBeOneOf([null, expect.any(Number)]),
        last_update_received_time: expect.any(Number),
      },
    },
  ]);
  await north.close();
  await south.until("waiting");
  const [row] = await south.run(
    "SELECT _id, documents.sync_session_status AS s FROM system:data_sync_info",
  );
  expect(row).toEqual({ _id: partner, s: "Not Connected" });
});

test.runIf(isFullSize)("the store of an app stays open while it has a link", async () => {
  const north = await LinkedServer.start({ appIdleMs: 1_000 });
  const south = await LinkedServer.start({ appIdleMs: 1_000 });
  await north.replicate("POST", {});
  await south.replicate("POST", { connections: [north.address], queriesByCollection: ALL_CARS });
  await south.until("linked");
  // Another app that nobody uses is closed meanwhile, so time enough has passed.
  const { apps, registry } = north.server;
  const other = registry.apps.named("default").id;
  (await apps.use(other)).release();
  await vi.waitFor(() => expect(apps.open.map(({ id }) => id)).toEqual([LINKED_APP]), 10_000);
  await south.put("cars", RED);
  await north.put("cars", BLUE);
  await south.holds("cars", [BLUE, RED]);
});
