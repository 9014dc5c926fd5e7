/**
 * A server and one peer on a gated wire, and short ways to ask what is where.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { PeerStore } from "../../src/peer/peer-store.ts";
import { PeerSync } from "../../src/peer/peer-sync.ts";
import { finish } from "../../src/query/frame/steps.ts";
import type { Authority } from "../../src/query/permission/authority.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { StoreOptions } from "../../src/store/store.ts";
import { type SyncLimits, SyncServer } from "../../src/sync/sync-server.ts";
import { GatedWire } from "./gated-wire.ts";
import { fieldsOf, openStore } from "./open-store.ts";
import { turns } from "./open-streams.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { type TestPlatform, testPlatform } from "./test-platform.ts";

const PING_MS = 10;

export const PEER_KEY = "p";

interface Setup {
  readonly authority?: Authority;
  readonly limits?: Partial<SyncLimits>;
  readonly store?: StoreOptions;
  /** How the server lets others have their turn. */
  readonly pause?: () => Promise<void>;
}

export type ExplainedPeer = Awaited<ReturnType<typeof openExplained>>;

export async function openExplained({ authority, limits, store: options, pause }: Setup = {}) {
  const { store, platform } = await openStore(options);
  const time = { elapsed: 0 };
  const elapsed = (): number => time.elapsed;
  const timed: TestPlatform = { ...platform, elapsed, ...(pause && { pause }) };
  const admission = { authority, credential: "key" };
  const server = new SyncServer({
    store,
    platform: timed,
    appId: "app",
    admit: () => admission,
    limits: { pingMs: PING_MS, ...limits },
  });
  const wire = new GatedWire(server);
  const peer = await openPeer(wire);
  const facts = {
    explainSync: (asked: Parameters<SyncServer["explain"]>[0]) => server.explain(asked),
  };
  const runner = new StatementRunner({ store, platform, appId: "app", systemData: facts });
  const execute = async (statement: string, args: ValueObject = {}): Promise<readonly Value[]> =>
    (await runner.execute({ statement, args })).items;
  const explain = (id: Value): Explained => {
    const rows = finish(server.explain({ collection: "tasks", id, peerKey: PEER_KEY }));
    return rows[0] as unknown as Explained;
  };
  return {
    store,
    platform,
    server,
    wire,
    ...peer,
    execute,
    explain,
    /** On the server. */
    put: async (document: ValueObject): Promise<void> => {
      await execute("INSERT INTO tasks DOCUMENTS (:d) ON ID CONFLICT DO UPDATE", { d: document });
      await turns();
    },
    /** A tick of the server, after its pings are due. */
    tick: async (): Promise<void> => {
      time.elapsed += PING_MS + 1;
      server.tick();
      await turns();
    },
    onServer: (id: Value): Value | undefined => fieldsOf(store, "tasks", id),
    onPeer: (id: Value): Value | undefined => fieldsOf(peer.peerStore.store, "tasks", id),
    changeRights: async (changed: Authority | undefined): Promise<void> => {
      wire.connection?.changeRights({ authority: changed, credential: "key" });
      await turns();
    },
    reconnect: async (): Promise<void> => {
      peer.clock.pass(60_000);
      await turns();
    },
    close: async (): Promise<void> => {
      await wire.open();
      await peer.sync.close();
      server.close();
    },
  };
}

async function openPeer(wire: GatedWire) {
  const clock = new ScriptedServer();
  const peerPlatform = testPlatform(7);
  const platform: TestPlatform = { ...peerPlatform, elapsed: () => clock.elapsed };
  const peerStore = await PeerStore.open(new MemoryKeyValue(), platform, { appId: "app" });
  const sync = new PeerSync({
    store: peerStore,
    platform,
    appId: "app",
    description: { key: PEER_KEY, deviceName: "phone", os: "test", sdk: "t1", metadata: {} },
    dial: wire.dial,
    wakeIn: clock.wakeIn,
    token: async () => "key",
    onEvent: () => undefined,
  });
  const runner = new StatementRunner({ store: peerStore.store, platform, appId: "app" });
  const write = async (statement: string): Promise<void> => {
    await runner.execute({ statement });
    await turns();
  };
  return { clock, peerPlatform, peerStore, sync, write };
}

/** A row of an explanation. */
export interface Explained {
  readonly peer: ValueObject;
  readonly verdict: string;
  readonly reason: string;
  readonly document: ValueObject;
  readonly subscriptions: readonly ValueObject[];
  readonly txnIds: { readonly [name: string]: number };
  readonly uploads: readonly ValueObject[];
}
