/**
 * A peer that is real, on a store in memory, with a server that says what the test tells it to.
 */

import type { ServerMessage } from "@bigpeer/protocol";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync, type PeerSyncEvent } from "../../src/peer/peer-sync.ts";
import type { RunStatement } from "../../src/peer/running-statements.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import {
  FILTER,
  type ScriptedConnection,
  ScriptedServer,
  until,
  wholeOf,
} from "./scripted-server.ts";
import { testPlatform } from "./test-platform.ts";

const DESCRIPTION = { key: "p1", deviceName: "d", os: "o", sdk: "s", metadata: {} };
export const QUERY = "SELECT * FROM tasks";

export interface PeerRig {
  readonly server: ScriptedServer;
  readonly disk: MemoryDisk;
  readonly store: PeerStore;
  readonly sync: PeerSync;
  readonly runner: StatementRunner;
  readonly events: PeerSyncEvent[];
  /** What the next calls for a token give; then it is always the same one. */
  readonly tokens: (string | Error)[];
}

export async function peerRig(run?: RunStatement): Promise<PeerRig> {
  const server = new ScriptedServer();
  const disk = new MemoryDisk();
  const platform = { ...testPlatform(), elapsed: (): number => server.elapsed };
  const store = await PeerStore.open(new MemoryKeyValue(disk), platform, { appId: "app" });
  const events: PeerSyncEvent[] = [];
  const tokens: (string | Error)[] = [];
  const sync = new PeerSync({
    store,
    platform,
    appId: "app",
    description: DESCRIPTION,
    dial: server.dial,
    wakeIn: server.wakeIn,
    token: async () => {
      const token = tokens.shift() ?? "secret";
      if (token instanceof Error) throw token;
      return token;
    },
    onEvent: (event) => events.push(event),
    run,
  });
  const runner = new StatementRunner({ store: store.store, platform, appId: "app" });
  return { server, disk, store, sync, runner, events, tokens };
}

/** The script of a fill with these documents, up to its end. */
export function fillOf(
  id: number,
  documents: readonly (readonly [string, number])[],
): ServerMessage[] {
  return [
    { t: "subscribed", id, filter: FILTER, collection: "tasks", mode: "fill" },
    {
      t: "documents",
      filter: FILTER,
      entries: documents.map(([name, n]) => ["put", name, 90, wholeOf(name, { n })]),
      range: {},
    },
    { t: "complete", filter: FILTER, txn: 100 },
  ];
}

/** Connects, and follows all tasks; the server has one, `a`. */
export async function followTasks({ server, sync }: PeerRig): Promise<ScriptedConnection> {
  const subscription = sync.subscribe(QUERY);
  sync.start();
  const connection = await server.accept();
  await until(() => connection.of("subscribe").length === 1);
  connection.say(...fillOf(connection.of("subscribe")[0]?.id ?? 0, [["a", 1]]));
  await subscription.whenReady();
  return connection;
}

/** Connects, and waits until the session is open. */
export async function connect({ server, sync }: PeerRig): Promise<ScriptedConnection> {
  sync.start();
  const connection = await server.accept();
  await until(() => sync.status().phase === "open");
  return connection;
}
