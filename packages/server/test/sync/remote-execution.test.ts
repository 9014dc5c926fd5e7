/**
 * Remote execution with a sync server in memory: what it refuses, what it leaves away, and that nobody
 * is asked before the run is recorded.
 */

import { StatementRunner } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { SyncServer } from "@bigpeer/engine/sync";
import { nodePlatform } from "@bigpeer/node";
import { decodeServerMessage, encodeMessage, type ServerMessage } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { EndedRun } from "../../src/observability/metric-sources.ts";
import {
  RemoteExecution,
  type RemoteExecutionOptions,
  type RemoteOutcome,
} from "../../src/sync/remote-execution.ts";
import { helloOf } from "../support/sync-client.ts";

const APP = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
const STATEMENT = "SYNC CONTEXT ( PEERS ) SELECT * FROM cars";

interface Running {
  /** What each peer was sent since it was welcomed. */
  readonly sent: readonly ServerMessage[][];
  readonly ended: readonly EndedRun[];
  /** How many runs have begun to select their peers. */
  readonly begun: () => number;
  ask(statement?: string): Promise<RemoteOutcome>;
  hangUp(): void;
}

/** A sync server with peers that answer nothing. */
async function runWith(
  peers: number,
  options: Partial<RemoteExecutionOptions> = {},
): Promise<Running> {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  const platform = nodePlatform;
  const sync = new SyncServer({
    store,
    platform,
    appId: APP,
    admit: () => ({ authority: undefined, credential: "k" }),
  });
  const sent = Array.from({ length: peers }, (_, i) => {
    const messages: ServerMessage[] = [];
    const send = (bytes: Uint8Array): void => void messages.push(decodeServerMessage(bytes));
    const connection = sync.connect({ send, close: () => {}, queuedBytes: 0 });
    const peer = { key: `pk-${i}`, deviceName: "d", os: "o", sdk: "s", metadata: {} };
    connection.receive(encodeMessage(helloOf("token", { peer })));
    return messages;
  });
  const ended: EndedRun[] = [];
  let begun = 0;
  const remote = new RemoteExecution({
    syncOf: () => {
      begun++;
      return sync;
    },
    record: () => Promise.resolve(),
    timeoutMs: 60_000,
    elapsed: () => 0,
    log: () => {},
    onEnd: (run) => void ended.push(run),
    ...options,
  });
  const statements = new StatementRunner({ store, platform, appId: APP });
  const leave = new Set<() => void>();
  onTestFinished(() => {
    sync.close();
    return store.close();
  });
  return {
    sent,
    ended,
    begun: () => begun,
    ask: (statement = STATEMENT) =>
      remote.run({
        app: { id: APP, name: "shop", statements },
        credential: { id: "key", authority: undefined },
        requestId: `r${ended.length}`,
        statement,
        args: {},
        onHangUp: (listener) => {
          leave.add(listener);
          return () => leave.delete(listener);
        },
      }),
    hangUp: () => {
      for (const listener of leave) listener();
    },
  };
}

function kindsSent({ sent }: Running): string[][] {
  return sent.map((messages) => messages.map(({ t }) => t).filter((t) => t !== "ping"));
}

test("[R7] more peers than the limit are an error of the whole run, and no peer is asked", async () => {
  const running = await runWith(3, { peersMax: 2 });
  expect(await running.ask()).toEqual({
    kind: "failed",
    description: "expected at most 2 peers at a time; choose fewer with WHERE (query.too_large)",
  });
  expect(kindsSent(running)).toEqual([["welcome"], ["welcome"], ["welcome"]]);
  expect(running.ended).toEqual([{ result: "failed", elapsedMs: 0, peers: [] }]);
});

test("[R8] no peer is asked before the run is recorded, nor if that fails", async () => {
  const recorded: (() => void)[] = [];
  const record = (): Promise<void> => new Promise((resolve) => recorded.push(resolve));
  const running = await runWith(1, { record });
  const asking = running.ask();
  while (recorded.length === 0) await nodePlatform.pause();
  expect(kindsSent(running)).toEqual([["welcome"]]);
  recorded[0]?.();
  while (kindsSent(running)[0]?.length === 1) await nodePlatform.pause();
  expect(kindsSent(running)).toEqual([["welcome", "run"]]);
  running.hangUp();
  await asking;
  const failing = await runWith(1, { record: () => Promise.reject(new Error("no room")) });
  await expect(failing.ask()).rejects.toThrow("no room");
  expect(kindsSent(failing)).toEqual([["welcome"]]);
});

test("[R10] a caller that leaves while the run is recorded asks no peer; later its runs are cancelled", async () => {
  let isLeft = false;
  const running = await runWith(1, {
    record: async () => {
      if (!isLeft) running.hangUp();
      isLeft = true;
    },
  });
  await running.ask();
  expect(kindsSent(running)).toEqual([["welcome"]]);
  const asking = running.ask();
  while (kindsSent(running)[0]?.length === 1) await nodePlatform.pause();
  running.hangUp();
  await asking;
  expect(kindsSent(running)).toEqual([["welcome", "run", "cancel"]]);
  expect(running.ended.map(({ result }) => result)).toEqual(["cancelled", "cancelled"]);
});

test("[R7] concurrent runs start one after the other", async () => {
  const recorded: (() => void)[] = [];
  const record = (): Promise<void> => new Promise((resolve) => recorded.push(resolve));
  const running = await runWith(1, { record });
  const asking = Array.from({ length: 8 }, () => running.ask());
  const counts = async (count: () => number): Promise<number[]> => {
    const steps: number[] = [];
    for (let before = 0; before < 8; before = count()) {
      await nodePlatform.pause();
      steps.push(count() - before);
    }
    return steps;
  };
  expect(Math.max(...(await counts(running.begun)))).toBe(1);
  while (recorded.length < 8) await nodePlatform.pause();
  // One write has recorded all of them.
  for (const go of recorded) go();
  const runs = (): number => kindsSent(running)[0]?.filter((t) => t === "run").length ?? 0;
  expect(Math.max(...(await counts(runs)))).toBe(1);
  running.hangUp();
  await Promise.all(asking);
});

test("[R7] slots of runs are given back, whatever their outcome", async () => {
  const running = await runWith(0);
  for (let i = 0; i < 40; i++) await expect(running.ask("SELECT")).rejects.toThrow("expected");
  for (let i = 0; i < 40; i++) expect(await running.ask()).toEqual({ kind: "done", answers: [] });
  expect(running.ended.map(({ result }) => result).slice(39, 41)).toEqual(["refused", "done"]);
});
