/**
 * Streams on a store in memory, with statements to write by and receivers to read with.
 */

import { setImmediate } from "node:timers/promises";
import type { Value } from "@bigpeer/protocol";
import type { Platform } from "../../src/platform.ts";
import type { IndexUses } from "../../src/query/frame/index-uses.ts";
import type { Authority } from "../../src/query/permission/authority.ts";
import type { StatementResult } from "../../src/query/request.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import type { StoreOptions } from "../../src/store/store.ts";
import type { StreamLimits } from "../../src/sync/outbox/stream-limits.ts";
import { Streams } from "../../src/sync/streams.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { Receiver, type ReceiverWatch, Subscription } from "./stream-receiver.ts";
import { countedClock, testPlatform } from "./test-platform.ts";

export interface OpenStreams extends OpenStore {
  readonly streams: Streams;
  readonly history: string;
  readonly execute: (statement: string, args?: unknown) => Promise<StatementResult>;
  /** Inserts documents, or takes the place of those that are there. */
  readonly put: (collection: string, ...documents: Value[]) => Promise<number>;
  readonly receiver: (authority?: Authority, watch?: ReceiverWatch) => Receiver;
  /** A subscription of a new receiver that is live. */
  readonly follow: (query: string, authority?: Authority) => Promise<Followed>;
}

export interface Followed {
  readonly receiver: Receiver;
  readonly subscription: Subscription;
}

export interface StreamsSetup {
  readonly limits?: Partial<StreamLimits>;
  readonly store?: StoreOptions;
  readonly platform?: Partial<Platform>;
  readonly indexUses?: IndexUses;
}

export async function openStreams(setup: StreamsSetup = {}): Promise<OpenStreams> {
  // Work is cut into slices by these clocks: with the real one a busy machine would decide how many.
  const stored = Object.assign(testPlatform(), { elapsed: countedClock() });
  const opened = await openStore(setup.store, stored);
  const { store } = opened;
  const platform = { ...opened.platform, elapsed: countedClock(), ...setup.platform };
  const { limits = {}, indexUses } = setup;
  const streams = new Streams({ store, platform, appId: "test", limits, indexUses });
  const runner = new StatementRunner({ store, platform: opened.platform, appId: "test" });
  const history = store.identity.historyId;
  const execute = (statement: string, args?: unknown): Promise<StatementResult> =>
    runner.execute({ statement, args });
  const receiver = (authority?: Authority, watch?: ReceiverWatch): Receiver =>
    new Receiver({ streams, history }, authority, watch);
  return {
    ...opened,
    streams,
    history,
    execute,
    put: async (collection, ...documents) => {
      const statement = `INSERT INTO ${collection} DOCUMENTS (:d) ON ID CONFLICT DO UPDATE`;
      for (const d of documents) await execute(statement, { d });
      return store.txnId;
    },
    receiver,
    follow: async (query, authority) => {
      const followed = { receiver: receiver(authority), subscription: new Subscription(query) };
      followed.receiver.subscribe(followed.subscription);
      await turns();
      return followed;
    },
  };
}

/** Lets everything that is under way have its turns. */
export async function turns(count = 40): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate();
}
