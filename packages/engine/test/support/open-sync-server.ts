/**
 * A sync server on a real store, with peers that speak by hand and time that the test sets.
 */

import type { PeerDescription, ValueObject } from "@bigpeer/protocol";
import type { Store } from "../../src/store/store.ts";
import type { Admission } from "../../src/sync/session/session-event.ts";
import { SyncServer, type SyncServerOptions } from "../../src/sync/sync-server.ts";
import { openStore } from "./open-store.ts";
import { helloOf, SyncClient } from "./sync-client.ts";
import type { TestPlatform } from "./test-platform.ts";

export interface SyncBench {
  readonly store: Store;
  readonly server: SyncServer;
  readonly platform: TestPlatform;
  readonly faults: unknown[];
  /** By token; one that is not here is a credential of its own. */
  readonly admissions: Map<string, Admission>;
  /** A peer with this key that was welcomed. */
  readonly join: (key: string, token?: string, metadata?: ValueObject) => SyncClient;
  /** So much time passes on both clocks, then the server ticks. */
  readonly tick: (ms?: number) => void;
}

export async function openSyncServer(options: Partial<SyncServerOptions> = {}): Promise<SyncBench> {
  const { store, platform } = await openStore();
  let elapsedMs = 0;
  platform.elapsed = () => elapsedMs;
  const faults: unknown[] = [];
  const admissions = new Map<string, Admission>();
  const server = new SyncServer({
    store,
    platform,
    appId: "app1",
    admit: (token) => admissions.get(token) ?? { authority: undefined, credential: token },
    onFault: (error) => faults.push(error),
    ...options,
  });
  return {
    store,
    server,
    platform,
    faults,
    admissions,
    join: (key, token = "full", metadata = {}) => {
      const client = new SyncClient(server, platform);
      client.say(helloOf(token, { peer: describe(key, metadata) }));
      if (client.heard[0]?.t !== "welcome") throw new Error(`${key} was not welcomed`);
      client.rest();
      return client;
    },
    tick: (ms = 1000) => {
      elapsedMs += ms;
      platform.nowMs += ms;
      server.tick();
    },
  };
}

export function describe(key: string, metadata: ValueObject = {}): PeerDescription {
  return { key, deviceName: `${key}'s phone`, os: "test", sdk: "1.0", metadata };
}
