/**
 * Device records on a real server: what `__small_peer_info` says of devices that came, changed and
 * left, also after a server that could not write it down.
 */

import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import type { PeerChange } from "@bigpeer/engine/sync";
import { nodePlatform } from "@bigpeer/node";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { DEVICE_RECORDS } from "../../src/sync/device-name.ts";
import { DeviceRecords, type DeviceRecordsOptions } from "../../src/sync/device-records.ts";
import { connectPeer } from "../support/remote-peer.ts";
import { type ServedSync, serveSync } from "../support/sync-server.ts";

/** Ticks come every second, and a record changes at most every ten seconds. */
const SOON = { timeout: 30_000, interval: 50 };

async function recordsOf({ url, apiKey }: ServedSync): Promise<readonly ValueObject[]> {
  const response = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ statement: `SELECT * FROM ${DEVICE_RECORDS} ORDER BY _id` }),
  });
  const { items } = (await response.json()) as { items: ValueObject[] };
  return items;
}

/** The statuses of all devices, by key. */
async function statusesOf(served: ServedSync): Promise<Record<string, unknown>> {
  const records = await recordsOf(served);
  return Object.fromEntries(
    records.map(({ peerKeyString: key, status }) => [key as string, status]),
  );
}

async function txnIdOf(served: ServedSync): Promise<number> {
  const use = await served.server.apps.use(served.appId);
  use.release();
  return use.app.store.txnId;
}

test("[W6] a device is recorded when it connects, with its subscriptions, and stays when it leaves", async () => {
  const served = await serveSync();
  const { client } = await connectPeer(served.url, served.apiKey, {
    key: "pk-1",
    metadata: { floor: 2 },
  });
  client.send({ t: "subscribe", id: 1, query: "SELECT * FROM cars", args: {} });
  await client.nextOf("complete");
  const subscriptions = [{ query: "SELECT * FROM cars", args: {}, collection: "cars" }];
  const record = {
    _id: ["pk-1", expect.any(String)],
    peerKeyString: "pk-1",
    credential: expect.any(String),
    deviceName: "till",
    os: "linux",
    sdkVersion: "bigpeer-node/0.1.0",
    peerMetadata: { floor: 2 },
    identityServiceMetadata: {},
    status: "connected",
    connectedSince: expect.any(Number),
    lastSeen: expect.any(Number),
    subscriptions,
    sync: expect.objectContaining({ lag: expect.any(Number), uploads: 0 }),
  };
  await vi.waitFor(async () => expect(await recordsOf(served)).toEqual([record]), SOON);
  client.cut();
  await vi.waitFor(
    async () => expect(await recordsOf(served)).toEqual([{ ...record, status: "left" }]),
    SOON,
  );
});

test.runIf(isFullSize)(
  "[W9] changed metadata and subscriptions are recorded, at most every ten seconds",
  async () => {
    const served = await serveSync();
    const { client } = await connectPeer(served.url, served.apiKey, {
      key: "pk-1",
      metadata: { a: 1, b: 2 },
    });
    await vi.waitFor(async () => expect(await recordsOf(served)).toHaveLength(1), SOON);
    client.send({ t: "metadata", metadata: { b: 3 } });
    client.send({ t: "subscribe", id: 1, query: "SELECT * FROM cars", args: {} });
    await client.nextOf("complete");
    served.pass(10_000);
    await vi.waitFor(async () => {
      const [record] = await recordsOf(served);
      // What was there before is not merged with it.
      expect(record?.["peerMetadata"]).toEqual({ b: 3 });
      expect(record?.["subscriptions"]).toHaveLength(1);
    }, SOON);
    const txnId = await txnIdOf(served);
    const [before] = await recordsOf(served);
    client.send({ t: "metadata", metadata: { b: 4 } });
    // Two ticks, seen by what they write for another device, and not a third of the time.
    for (const key of ["pk-2", "pk-3"]) {
      await connectPeer(served.url, served.apiKey, { key });
      await vi.waitFor(async () => expect(await statusesOf(served)).toHaveProperty(key), SOON);
    }
    expect((await recordsOf(served))[0]).toEqual(before);
    expect(await txnIdOf(served)).toBe(txnId + 2);
    served.pass(10_000);
    await vi.waitFor(async () => {
      expect((await recordsOf(served))[0]?.["peerMetadata"]).toEqual({ b: 4 });
    }, SOON);
  },
);

test.runIf(isFullSize)("[W9] devices that connect together are one transaction", async () => {
  const served = await serveSync();
  const before = await txnIdOf(served);
  const keys = Array.from({ length: 20 }, (_, i) => `pk-${i}`);
  const peers = await Promise.all(
    keys.map((key) => connectPeer(served.url, served.apiKey, { key })),
  );
  await vi.waitFor(async () => expect(await recordsOf(served)).toHaveLength(20), SOON);
  expect((await txnIdOf(served)) - before).toBeLessThan(5);
  for (const { client } of peers) client.cut();
  await vi.waitFor(async () => {
    const statuses = Object.values(await statusesOf(served));
    expect(statuses).toEqual(Array.from({ length: 20 }, () => "left"));
  }, SOON);
  expect((await txnIdOf(served)) - before).toBeLessThan(10);
});

test.runIf(isFullSize)(
  "[W10] a closing server marks all devices as left, a killed one does so when it restarts",
  async () => {
    const dataDir = temporaryFolder();
    const first = await serveSync({ dataDir });
    await connectPeer(first.url, first.apiKey, { key: "pk-1" });
    await vi.waitFor(
      async () => expect(await statusesOf(first)).toEqual({ "pk-1": "connected" }),
      SOON,
    );
    const second = await servedAgain(first, dataDir);
    expect(await statusesOf(second)).toEqual({ "pk-1": "left" });
    // As a server leaves it that has no time to say so.
    const use = await second.server.apps.use(second.appId);
    const ids = Array.from({ length: 1_200 }, (_, i) => `k${i}`);
    await use.app.store.transact((transaction) => {
      transaction.apply(
        ids.map((key) => ({
          kind: "insert",
          collection: DEVICE_RECORDS,
          id: [key, "c"],
          fields: { peerKeyString: key, status: "connected" },
        })),
      );
    });
    use.release();
    const third = await servedAgain(second, dataDir);
    await vi.waitFor(async () => {
      const statuses = Object.values(await statusesOf(third));
      expect(statuses.filter((status) => status !== "left")).toEqual([]);
      expect(statuses).toHaveLength(1_201);
    }, SOON);
  },
);

/** The same server once more; its key is told by the first start alone. */
async function servedAgain(before: ServedSync, dataDir: string): Promise<ServedSync> {
  await before.server.close();
  const { apiKey, appId } = before;
  return { ...(await serveSync({ dataDir })), apiKey, appId };
}

test.runIf(isFullSize)("[W6] an app without devices gets no transaction", async () => {
  const dataDir = temporaryFolder();
  const first = await serveSync({ dataDir });
  await first.execute("INSERT INTO cars DOCUMENTS ({ '_id': 1 })");
  const second = await servedAgain(first, dataDir);
  const other = await second.server.registry.apps.create(
    { name: "other", authProviders: {} },
    { actor: "test" },
  );
  expect(await txnIdOf(second)).toBe(1);
  // Some ticks, seen by what they write for the devices of another app.
  const permissions = {
    read: { everything: true, queriesByCollection: {} },
    write: { everything: true, queriesByCollection: {} },
    remoteQuery: true,
  };
  const author = { actor: "test" };
  const key = await second.server.registry.keys.create(
    other.id,
    { name: "k", permissions },
    author,
  );
  await connectPeer(second.url, key);
  await vi.waitFor(
    async () =>
      expect(await statusesOf({ ...second, apiKey: key })).toEqual({ "pk-1": "connected" }),
    SOON,
  );
  expect(await txnIdOf(second)).toBe(1);
});

test.runIf(isFullSize)(
  "[W6] a deleted record comes back with its device, and others are not affected",
  async () => {
    const served = await serveSync();
    const { client } = await connectPeer(served.url, served.apiKey, { metadata: { old: true } });
    await vi.waitFor(
      async () => expect(await statusesOf(served)).toEqual({ "pk-1": "connected" }),
      SOON,
    );
    client.cut();
    await vi.waitFor(
      async () => expect(await statusesOf(served)).toEqual({ "pk-1": "left" }),
      SOON,
    );
    await served.execute(`DELETE FROM ${DEVICE_RECORDS} WHERE status = 'left'`);
    expect(await recordsOf(served)).toEqual([]);
    await connectPeer(served.url, served.apiKey, { metadata: { fresh: true } });
    await vi.waitFor(async () => {
      const [record] = await recordsOf(served);
      expect([record?.["status"], record?.["peerMetadata"]]).toEqual([
        "connected",
        { fresh: true },
      ]);
    }, SOON);
  },
);

test.runIf(isFullSize)(
  "[W6] a peer that connects with another device's key gets a record of its own",
  async () => {
    const served = await serveSync();
    const { keys } = served.server.registry;
    const permissions = {
      read: { everything: true, queriesByCollection: {} },
      write: { everything: false, queriesByCollection: {} },
      remoteQuery: false,
    };
    const key = await keys.create(served.appId, { name: "k", permissions }, { actor: "test" });
    const one = await connectPeer(served.url, served.apiKey, { deviceName: "one" });
    const two = await connectPeer(served.url, key, { deviceName: "two" });
    const named = async (): Promise<string[][]> =>
      (await recordsOf(served))
        .map(({ deviceName, status }) => [deviceName as string, status as string])
        .sort(([first = ""], [second = ""]) => first.localeCompare(second));
    const expected = async (first: string, second: string): Promise<void> =>
      vi.waitFor(async () => {
        expect(await named()).toEqual([
          ["one", first],
          ["two", second],
        ]);
      }, SOON);
    await expected("connected", "connected");
    two.client.cut();
    await expected("connected", "left");
    one.client.cut();
    await expected("left", "left");
  },
);

type RecordedStore = Pick<Store, "read" | "transact">;

interface FailingStore {
  readonly recorded: RecordedStore;
  readonly fail: (error: Error | undefined) => void;
}

/** A store of which a test says when its transactions fail. */
async function failingStore(): Promise<FailingStore> {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  onTestFinished(() => store.close());
  let failure: Error | undefined;
  const recorded: RecordedStore = {
    read: (work) => store.read(work),
    transact: (evaluate, options) =>
      failure === undefined ? store.transact(evaluate, options) : Promise.reject(failure),
  };
  const fail = (error: Error | undefined): void => {
    failure = error;
  };
  return { recorded, fail };
}

const REPORT = {
  session: 1,
  description: { key: "pk-1", deviceName: "d", os: "o", sdk: "s", metadata: {} },
  site: "0123456789abcdef",
  credential: "c",
  identity: {},
  sinceMs: 1,
  subscriptions: [],
  progress: { sentTxn: 0, lag: 0, uploads: 0 },
  traffic: { framesIn: 0, bytesIn: 0, framesOut: 0, bytesOut: 0, queuedBytes: 0, heardMs: 0 },
} as const;

interface FollowedByHand {
  readonly records: DeviceRecords;
  readonly lines: readonly string[];
  /** Moves on a clock that never goes back. */
  readonly pass: (ms: number) => void;
  readonly report: (
    key: string,
    kind: PeerChange["kind"],
    of?: Partial<PeerChange["report"]>,
  ) => void;
}

/** Records that are told of devices by a test, of which there may be two. */
function followByHand(
  store: RecordedStore,
  recordsOfOneMax = 2,
  limits: Partial<DeviceRecordsOptions> = {},
): FollowedByHand {
  const lines: string[] = [];
  let elapsed = 0;
  let listener: (change: PeerChange) => void = () => {};
  const records = new DeviceRecords({
    appId: "a",
    store,
    platform: { ...nodePlatform, elapsed: () => elapsed },
    log: (level, message) => void lines.push(`${level} ${message}`),
    recordsMax: 2,
    recordsOfOneMax,
    ...limits,
  });
  records.follow({
    onPeers: (given) => {
      listener = given;
      return () => {};
    },
    peer: () => undefined,
    peers: () => [],
  });
  return {
    records,
    lines,
    pass: (ms) => {
      elapsed += ms;
    },
    report: (key, kind, of = {}) => {
      // One connection for each name, as far as the test says nothing else.
      const session = Array.from(`${key} ${of.credential ?? ""}`).reduce(
        (sum, character) => sum * 31 + (character.codePointAt(0) ?? 0),
        7,
      );
      const description = { ...REPORT.description, key };
      listener({ report: { ...REPORT, session, description, ...of }, kind });
    },
  };
}

function statusIn(store: RecordedStore, key: string, credential = "c"): unknown {
  return store.read((view) => view.get(DEVICE_RECORDS, [key, credential])?.fields["status"]);
}

/** All that is recorded: key, credential and status. */
function allIn(store: RecordedStore): string[] {
  return store.read((view) =>
    Array.from(view.scan(DEVICE_RECORDS), ({ id, fields }) =>
      [...(id as string[]), fields["status"] as string].join(" "),
    ),
  );
}

/** Writes all that is to be written. */
async function settled(records: DeviceRecords): Promise<void> {
  for (let tick = 0; tick < 3; tick++) {
    records.tick();
    for (let turn = 0; turn < 30; turn++) await nodePlatform.pause();
  }
}

test("[W10] a failed write is logged and retried, with the changes since", async () => {
  const { recorded: store, fail } = await failingStore();
  const { records, lines, pass, report } = followByHand(store);
  fail(new PeerError("store.full", "no room"));
  report("pk-1", "joined");
  await vi.waitFor(() => {
    records.tick();
    expect(lines).toEqual([expect.stringContaining("no room")]);
  });
  report("pk-1", "left");
  fail(undefined);
  records.tick();
  expect(statusIn(store, "pk-1")).toBeUndefined();
  pass(10_000);
  await vi.waitFor(() => {
    records.tick();
    expect(statusIn(store, "pk-1")).toBe("left");
  });
});

test("[W10] [W11] neither a device that cannot be recorded nor too many devices block the others", async () => {
  const { recorded: store } = await failingStore();
  const { records, lines, report } = followByHand(store);
  report("x".repeat(2_000), "joined");
  report("pk-1", "joined");
  report("pk-2", "joined");
  report("pk-3", "joined");
  await records.close();
  expect([1, 2, 3].map((i) => statusIn(store, `pk-${i}`))).toEqual([
    "connected",
    "connected",
    undefined,
  ]);
  expect(lines).toEqual([
    expect.stringMatching(/^warn a device cannot be recorded: .*at most 1024 bytes/),
    expect.stringContaining("too many devices"),
  ]);
});

test("[W6] devices whose write fails next to one that cannot be recorded are retried", async () => {
  const { recorded: store } = await failingStore();
  // Together, the one that cannot be recorded, and the next one.
  const answers = [undefined, undefined, new PeerError("store.full", "no room")];
  const { records, pass, report } = followByHand({
    read: store.read,
    transact: (evaluate) => {
      const error = answers.shift();
      return error === undefined ? store.transact(evaluate) : Promise.reject(error);
    },
  });
  report("x".repeat(2_000), "joined");
  report("pk-1", "joined");
  report("pk-2", "joined");
  await settled(records);
  expect([answers, allIn(store)]).toEqual([[], []]);
  pass(10_000);
  await settled(records);
  expect(allIn(store)).toEqual(["pk-1 c connected", "pk-2 c connected"]);
});

test("[W6] a device that connects and leaves during a write waits for the next tick, however often", async () => {
  const { recorded: store } = await failingStore();
  const { records, report } = followByHand(store);
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await nodePlatform.pause();
  };
  await settle();
  report("pk-1", "joined");
  records.tick();
  report("pk-1", "left");
  report("pk-2", "joined");
  await settle();
  expect([statusIn(store, "pk-1"), statusIn(store, "pk-2")]).toEqual(["connected", undefined]);
  records.tick();
  await settle();
  expect([statusIn(store, "pk-1"), statusIn(store, "pk-2")]).toEqual(["left", "connected"]);
});

test("[W11] a new device replaces the one that left the longest ago, never a connected one", async () => {
  const { recorded: store } = await failingStore();
  const { records, lines, report } = followByHand(store);
  for (const key of ["a", "b"]) report(key, "joined");
  await settled(records);
  for (const key of ["b", "a"]) {
    report(key, "left");
    await settled(records);
  }
  report("c", "joined");
  await settled(records);
  expect(allIn(store)).toEqual(["a c left", "c c connected"]);
  report("a", "joined");
  report("d", "joined");
  await settled(records);
  expect(allIn(store)).toEqual(["a c connected", "c c connected"]);
  expect(lines).toEqual(["warn too many devices: new ones are not recorded"]);
});

test("[W11] made-up devices of one credential displace each other, and no others", async () => {
  const { recorded: store } = await failingStore();
  const { records, report } = followByHand(store, 1);
  report("mine", "joined", { credential: "me" });
  await settled(records);
  report("mine", "left", { credential: "me" });
  await settled(records);
  for (let i = 0; i < 5; i++) {
    report(`made-up-${i}`, "joined", { credential: "bad" });
    await settled(records);
    report(`made-up-${i}`, "left", { credential: "bad" });
    await settled(records);
  }
  expect(allIn(store)).toEqual(["made-up-4 bad left", "mine me left"]);
});

test("[W11] when all records are taken, the credential with the most gives one up", async () => {
  const { recorded: store } = await failingStore();
  const { records, report } = followByHand(store);
  for (const key of ["made-up-1", "made-up-2"]) {
    report(key, "joined", { credential: "bad" });
    await settled(records);
    report(key, "left", { credential: "bad" });
    await settled(records);
  }
  report("mine", "joined", { credential: "me" });
  await settled(records);
  expect(allIn(store)).toEqual(["made-up-2 bad left", "mine me connected"]);
  report("mine", "left", { credential: "me" });
  await settled(records);
  // Also after the server was started again, which knows it from the records.
  const again = followByHand(store);
  again.report("other", "joined", { credential: "you" });
  await settled(again.records);
  expect(allIn(store)).toHaveLength(2);
  expect(allIn(store)).toContain("other you connected");
});

test("[W11] a deleted record counts as free space", async () => {
  const { recorded: store } = await failingStore();
  const { records, report } = followByHand(store);
  for (const key of ["a", "b"]) {
    report(key, "joined");
    await settled(records);
    report(key, "left");
    await settled(records);
  }
  await store.transact((transaction) => {
    transaction.apply([{ kind: "delete", collection: DEVICE_RECORDS, id: ["a", "c"] }]);
  });
  report("x", "joined");
  await settled(records);
  expect(allIn(store)).toEqual(["b c left", "x c connected"]);
});

test("[W6] a device that logs in as another user has left as the former one", async () => {
  const { recorded: store } = await failingStore();
  const { records, report } = followByHand(store);
  report("a", "joined", { session: 9, credential: "one", userId: "ann" });
  await settled(records);
  report("a", "changed", { session: 9, credential: "two", userId: "bob" });
  await settled(records);
  expect(allIn(store)).toEqual(["a one left", "a two connected"]);
  const users = store.read((view) =>
    Array.from(view.scan(DEVICE_RECORDS), ({ fields }) => fields["userId"]),
  );
  expect(users).toEqual(["ann", "bob"]);
  report("a", "left", { session: 9, credential: "two", userId: "bob" });
  await settled(records);
  expect(allIn(store)).toEqual(["a one left", "a two left"]);
});

const LARGE = "x".repeat(10_000);

/** A share of the log of some 100 KB for a credential, then 100 bytes in a second. */
const SCANT = {
  recordsMax: 100,
  allowance: {
    ofOne: { most: 100_000, perSecond: 100 },
    ofAll: { most: 250_000, perSecond: 100 },
  },
};

/** What is said of one device in a record of a credential. */
function described(key: string, metadata: ValueObject): Partial<PeerChange["report"]> {
  return { description: { ...REPORT.description, key, metadata } };
}

function recordIn(store: RecordedStore, key: string, credential = "c"): ValueObject | undefined {
  return store.read((view) => view.get(DEVICE_RECORDS, [key, credential])?.fields);
}

/** Bytes of the change log. */
function logBytes(store: RecordedStore): number {
  return store.read(({ head }) => head.logBytes);
}

/** Other metadata of one device, again and again, each time as soon as they may be written. */
async function changeOften(
  { records, pass, report }: FollowedByHand,
  times: number,
  of: Partial<PeerChange["report"]> = {},
): Promise<void> {
  for (let i = 0; i < times; i++) {
    report("busy", "changed", { ...described("busy", { LARGE, i }), ...of });
    pass(10_000);
    await ticked(records);
  }
}

/** A tick, and what it writes. */
async function ticked(records: DeviceRecords): Promise<void> {
  records.tick();
  for (let i = 0; i < 20; i++) await nodePlatform.pause();
}

test("[W7] metadata that change constantly take a bounded part of the log, and the last is written eventually", async () => {
  const { recorded } = await failingStore();
  const followed = followByHand(recorded, 100, SCANT);
  const { records, pass, report } = followed;
  report("busy", "joined");
  await ticked(records);
  await changeOften(followed, 100);
  // 2 MB would be written else; 100 seconds times 10 bring 100 KB.
  expect(logBytes(recorded)).toBeLessThan(300_000);
  expect(recordIn(recorded, "busy")?.["peerMetadata"]).not.toMatchObject({ i: 99 });
  // Others go on meanwhile, as long as all of them have something left.
  report("calm", "joined", { credential: "other" });
  await ticked(records);
  expect(statusIn(recorded, "calm", "other")).toBe("connected");
  pass(1_000_000);
  await ticked(records);
  expect(recordIn(recorded, "busy")?.["peerMetadata"]).toMatchObject({ i: 99 });
});

test("[W7] a device that comes and goes while its credential is throttled is marked as left later, or never recorded", async () => {
  const { recorded } = await failingStore();
  const followed = followByHand(recorded, 100, SCANT);
  const { records, pass, report } = followed;
  for (const key of ["busy", "known"]) report(key, "joined", described(key, { kept: true }));
  await ticked(records);
  await changeOften(followed, 50);
  const before = recorded.read(({ head }) => head.txnId);
  report("known", "left", described("known", { LARGE }));
  report("new", "joined", described("new", { LARGE }));
  report("new", "left", described("new", { LARGE }));
  await ticked(records);
  expect(recorded.read(({ head }) => head.txnId)).toBe(before);
  expect(statusIn(recorded, "known")).toBe("connected");
  pass(1_000_000);
  await ticked(records);
  expect(recordIn(recorded, "known")).toMatchObject({
    status: "left",
    peerMetadata: { kept: true },
  });
  expect(recordIn(recorded, "new")).toBeUndefined();
});

test("[W7] a closing server writes which devices left, whatever was written before", async () => {
  const { recorded } = await failingStore();
  const followed = followByHand(recorded, 100, SCANT);
  followed.report("busy", "joined");
  await ticked(followed.records);
  await changeOften(followed, 50);
  const before = logBytes(recorded);
  followed.report("busy", "left");
  await followed.records.close();
  expect(statusIn(recorded, "busy")).toBe("left");
  expect(logBytes(recorded) - before).toBeLessThan(2000);
});

test("[W12] a node that takes over keeps devices that are connected, and stops when another one does", async () => {
  const { recorded: store, fail } = await failingStore();
  const before = followByHand(store);
  before.report("pk-1", "joined");
  before.report("pk-2", "joined");
  await settled(before.records);
  before.records.stop();
  before.report("pk-1", "left");
  await settled(before.records);
  expect(allIn(store)).toEqual(["pk-1 c connected", "pk-2 c connected"]);
  const sync = { onPeers: () => () => {}, peer: () => undefined, peers: () => [REPORT] };
  const { records, lines } = followByHand(store, 2, { sync });
  await settled(records);
  expect(allIn(store)).toEqual(["pk-1 c connected", "pk-2 c left"]);
  const after = followByHand(store, 2, { sync });
  await settled(after.records);
  fail(new PeerError("cluster.elsewhere", "another node evaluates"));
  after.report("pk-2", "joined");
  await settled(after.records);
  expect([after.records.isStopped, after.lines, lines]).toEqual([true, [], []]);
});
