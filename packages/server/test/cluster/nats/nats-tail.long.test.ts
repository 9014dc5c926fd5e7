/**
 * Following a log on three real nats-servers: all entries, once and in order, at most one batch
 * ahead, until it is closed or an entry may have been missed.
 */

import type { LogTail, SharedEntry, SharedLog } from "@bigpeer/engine/cluster";
import { assert } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import type { NatsServer } from "../../../../../scripts/nats-cluster.mjs";
import type { ConsumerInfo, NatsConnection } from "../../../src/nats/nats-connection.ts";
import {
  appendUntilKnown,
  connectTo,
  newClusterName,
  openLogs,
  useNatsCluster,
} from "../support/nats-cluster.ts";

const nats = useNatsCluster();

const MIB = 1024 * 1024;

interface TestLog {
  readonly connection: NatsConnection;
  readonly stream: string;
  readonly log: SharedLog;
}

async function newLog(): Promise<TestLog> {
  const connection = await connectTo(nats());
  const cluster = newClusterName();
  const log = (await openLogs(connection, { cluster })).log("app");
  return { connection, stream: `bigpeer-${cluster}-log-0`, log };
}

/** Appends `count` entries that hold their number. */
async function write(log: SharedLog, count: number, size = 4): Promise<readonly number[]> {
  const sequences: number[] = [];
  let after = await log.end();
  for (let i = 0; i < count; i++) {
    const bytes = new Uint8Array(size).fill(i);
    const outcome = await appendUntilKnown(log, bytes, { after, id: `${after}` });
    assert(outcome.kind === "appended", "appended");
    after = outcome.sequence;
    sequences.push(after);
  }
  return sequences;
}

interface Reader {
  readonly tail: LogTail;
  next(): Promise<SharedEntry | undefined>;
  take(count: number): Promise<readonly number[]>;
}

/** Closed when the test ends. */
function read(log: SharedLog, after: number): Reader {
  const tail = log.follow(after);
  onTestFinished(() => tail.close());
  const entries = tail[Symbol.asyncIterator]();
  const next = async (): Promise<SharedEntry | undefined> => {
    const result = await entries.next();
    return result.done === true ? undefined : result.value;
  };
  const take = async (count: number): Promise<readonly number[]> => {
    const sequences: number[] = [];
    for (let i = 0; i < count; i++) sequences.push((await next())?.sequence ?? 0);
    return sequences;
  };
  return { tail, next, take };
}

/** Watched from now on, awaited later. */
function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no failure",
    (error: unknown) => String(error),
  );
}

async function consumersOf({ connection, stream }: TestLog): Promise<readonly ConsumerInfo[]> {
  return connection.manager.consumers.list(stream).next();
}

function serverOf(name: string | undefined): NatsServer {
  const found = nats().servers.find((server) => server.name === name);
  assert(found !== undefined, "a server of the cluster");
  return found;
}

test("a tail delivers the entries that are there, then those that come", async () => {
  const { log } = await newLog();
  const old = await write(log, 3);
  const reader = read(log, 0);
  const first = await reader.next();
  expect(first).toEqual({ sequence: old[0], bytes: new Uint8Array(4).fill(0) });
  expect(first?.bytes.constructor).toBe(Uint8Array);
  expect(await reader.take(2)).toEqual(old.slice(1));
  const waiting = reader.take(3);
  expect(await write(log, 3)).toEqual(await waiting);
});

test("a tail begins behind an entry, and before the first one", async () => {
  const { log } = await newLog();
  const early = read(log, 0).take(2);
  const sequences = await write(log, 4);
  expect(await early).toEqual(sequences.slice(0, 2));
  expect(await read(log, sequences[1] ?? 0).take(2)).toEqual(sequences.slice(2));
});

test("a tail of one log does not see another log of the stream", async () => {
  const logs = await openLogs(await connectTo(nats()));
  const [one, other] = [logs.log("one"), logs.log("other")];
  await write(other, 2);
  const sequences = await write(one, 1);
  await write(other, 1);
  const reader = read(one, 0);
  expect(await reader.take(1)).toEqual(sequences);
  const waiting = reader.take(1);
  expect(await write(one, 1)).toEqual(await waiting);
});

test("many batches are delivered in order", async () => {
  const { log } = await newLog();
  const sequences = await write(log, 350);
  expect(await read(log, 0).take(350)).toEqual(sequences);
});

test("large entries fill a batch by their size", async () => {
  const { log } = await newLog();
  const sequences = await write(log, 9, 4 * MIB);
  expect(await read(log, 0).take(9)).toEqual(sequences);
});

test("a reader that does not read gets at most 16 MiB", async () => {
  const opened = await newLog();
  const sequences = await write(opened.log, 24, MIB);
  const reader = read(opened.log, 0);
  await reader.take(1);
  const delivered = await vi.waitFor(async () => {
    const [consumer] = await consumersOf(opened);
    // The batch is complete, and there is no request for another.
    expect(consumer?.num_waiting).toBe(0);
    return consumer?.delivered.consumer_seq ?? 0;
  });
  expect(delivered).toBeGreaterThan(8);
  expect(delivered).toBeLessThanOrEqual(16);
  expect(await reader.take(23)).toEqual(sequences.slice(1));
});

test("close ends an iteration that waits, and removes the consumer", async () => {
  const opened = await newLog();
  const reader = read(opened.log, 0);
  const waiting = reader.next();
  await vi.waitFor(async () => expect(await consumersOf(opened)).toHaveLength(1));
  reader.tail.close();
  expect(await waiting).toBeUndefined();
  await vi.waitFor(async () => expect(await consumersOf(opened)).toHaveLength(0));
  reader.tail.close();
});

test("a tail that was closed before delivers nothing", async () => {
  const { log } = await newLog();
  await write(log, 1);
  const reader = read(log, 0);
  reader.tail.close();
  expect(await reader.next()).toBeUndefined();
});

test("a tail throws when its consumer is removed; the next one goes on", async () => {
  const opened = await newLog();
  const { connection, stream, log } = opened;
  const [first = 0] = await write(log, 1);
  const reader = read(log, 0);
  await reader.take(1);
  const failure = failureOf(reader.next());
  const [consumer] = await consumersOf(opened);
  await connection.manager.consumers.delete(stream, consumer?.name ?? "");
  expect(await failure).toContain("failed to follow the log app");
  const again = read(log, first).take(2);
  expect(await write(log, 2)).toEqual(await again);
});

test("a tail throws when the connection is lost; the next one goes on", async () => {
  const { connection, log } = await newLog();
  const [first = 0] = await write(log, 1);
  const reader = read(log, 0);
  await reader.take(1);
  const server = serverOf(connection.server?.server_name);
  onTestFinished(() => nats().start());
  const failure = failureOf(reader.next());
  await server.kill();
  expect(await failure).toContain("failed to follow the log app");
  const sequence = await vi.waitFor(async () => {
    const outcome = await log.append(new Uint8Array(1), { after: first, id: "again" });
    assert(outcome.kind === "appended", "appended");
    return outcome.sequence;
  });
  const taken = vi.waitFor(() => read(log, first).take(1));
  expect(await taken).toEqual([sequence]);
});

test("a tail throws when the server of its consumer hangs", async () => {
  const opened = await newLog();
  await write(opened.log, 1);
  const reader = read(opened.log, 0);
  await reader.take(1);
  const [consumer] = await consumersOf(opened);
  const server = serverOf(consumer?.cluster?.leader);
  const failure = failureOf(reader.next());
  onTestFinished(() => server.resume());
  await server.pause();
  expect(await failure).toContain("failed to follow the log app");
});
