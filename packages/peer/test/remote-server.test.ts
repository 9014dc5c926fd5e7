/**
 * Statements on real peers through a real server: what the app of each allows, what becomes of a
 * write, and that a statement ends when whoever asked has gone.
 */
import { expect, test } from "vitest";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import type { Peer, RemoteRun } from "../src/index.ts";
import { idsOf, insert, whenConnected, whenStatus, whenTasks } from "./support/peer-status.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

interface PeerItem {
  readonly peer: { readonly deviceName: string };
  readonly items: readonly unknown[];
  readonly error?: { readonly description: string };
}

function post(
  { running, content }: RealServer,
  body: object,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${running.url}/api/v4/sync/remote_execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

/** What each peer answered, by the name of its device. */
async function ask(
  server: RealServer,
  statement: string,
  args: object = {},
): Promise<Record<string, unknown>> {
  const response = await post(server, { statement, args });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  const { result } = JSON.parse(text) as { result: PeerItem[] };
  return Object.fromEntries(
    result.map(({ peer, items, error }) => [peer.deviceName, error?.description ?? items]),
  );
}

function runsOf(peer: Peer): RemoteRun[] {
  const runs: RemoteRun[] = [];
  peer.on("remote", (run) => runs.push(run));
  return runs;
}

test("[S45] each peer answers as its app allows", async () => {
  const server = await startRealServer();
  const open = async (deviceName: string, remote?: Parameters<RealServer["peer"]>[0]) => {
    const peer = await server.peer({ deviceName, ...remote });
    await insert(peer, deviceName);
    peer.sync.start();
    await whenConnected(peer);
    return peer;
  };
  const reader = await open("reader");
  await open("mute", { remote: "off" });
  await open("careful", { remote: ({ statement }) => statement.includes("LIMIT") });
  const runs = runsOf(reader);
  const refused = expect.stringContaining("remote.refused");
  expect(await ask(server, "SYNC CONTEXT ( PEERS ) SELECT _id FROM tasks")).toEqual({
    reader: [{ _id: "reader" }],
    mute: refused,
    careful: refused,
  });
  const where = "SYNC CONTEXT ( PEERS WHERE deviceName IN :names )";
  const limited = `${where} SELECT _id FROM tasks WHERE _id != :not LIMIT 1`;
  expect(await ask(server, limited, { names: ["careful", "reader"], not: "reader" })).toEqual({
    reader: [],
    careful: [{ _id: "careful" }],
  });
  expect(await ask(server, "SYNC CONTEXT ( PEERS ) DELETE FROM tasks")).toEqual({
    reader: refused,
    mute: refused,
    careful: refused,
  });
  expect(await idsOf(reader)).toEqual(["reader"]);
  // Only what the statement uses is sent along.
  expect(runs.map(({ args, itemCount, isWrite }) => [args, itemCount, isWrite])).toEqual([
    [{}, 1, false],
    [{ not: "reader" }, 0, false],
    [{}, 0, true],
  ]);
});

test("system data of a device can be queried", async () => {
  const server = await startRealServer();
  const peer = await server.peer({ deviceName: "till" });
  peer.sync.start();
  await whenConnected(peer);
  const statement = "SELECT documents.sync_session_status AS s FROM system:data_sync_info";
  expect(await ask(server, `SYNC CONTEXT ( PEERS ) ${statement}`)).toEqual({
    till: [{ s: "Connected" }],
  });
});

test("a remote write is an ordinary write of the peer: durable there, uploaded, and synced to others", async () => {
  const server = await startRealServer();
  const [asked, other] = [
    await server.peer({ deviceName: "asked", remote: "write" }),
    await server.peer({ deviceName: "other" }),
  ];
  other.sync.registerSubscription("SELECT * FROM tasks");
  for (const peer of [asked, other]) peer.sync.start();
  await whenConnected(asked);
  const statement = "INSERT INTO tasks DOCUMENTS (:task)";
  const where = "SYNC CONTEXT ( PEERS WHERE deviceName = 'asked' )";
  expect(await ask(server, `${where} ${statement}`, { task: { _id: "remote" } })).toEqual({
    asked: [],
  });
  expect(await idsOf(asked)).toEqual(["remote"]);
  await whenTasks(other, ["remote"]);
  await whenStatus(asked, ({ pendingCount }) => pendingCount === 0);
});

/** Takes minutes when nobody stops it. */
const LONG = "SELECT count(*) AS n FROM tasks a JOIN tasks b ON true JOIN tasks c ON true";

test.runIf(isFullSize)(
  "[S46] a statement is stopped on the device when its caller disconnects",
  async () => {
    const server = await startRealServer();
    const peer = await server.peer({ deviceName: "till" });
    await peer.store.transaction(async (transaction) => {
      for (let i = 0; i < 1000; i++) {
        await transaction.execute("INSERT INTO tasks DOCUMENTS ({'_id': :i})", { i });
      }
    });
    const runs = runsOf(peer);
    peer.sync.start();
    await whenConnected(peer);
    const caller = new AbortController();
    const body = { statement: `SYNC CONTEXT ( PEERS ) ${LONG}` };
    const asking = post(server, body, caller.signal).catch((error: Error) => error.name);
    const active = "SELECT text FROM system:active_requests WHERE text LIKE 'SELECT count%'";
    const isActive = async (): Promise<boolean> =>
      (await peer.store.execute(active)).items.length > 0;
    await until(isActive);
    caller.abort();
    expect(await asking).toBe("AbortError");
    await until(() => runs.length === 1);
    expect(runs[0]?.error?.message).toContain("does not wait for the statement any more");
    expect(await isActive()).toBe(false);
  },
);
