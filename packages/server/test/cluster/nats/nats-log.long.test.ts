/**
 * A log on three real nats-servers: entries are appended once, in order, behind the entry that the
 * writer knows; also when servers stop in between.
 */

import { setTimeout } from "node:timers/promises";
import {
  LOG_START,
  LogChain,
  LogWriter,
  type SharedEntry,
  type SharedLog,
} from "@bigpeer/engine/cluster";
import { nodePlatform } from "@bigpeer/node";
import { assert } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { NatsServer } from "../../../../../scripts/nats-cluster.mjs";
import type { NatsConnection } from "../../../src/nats/nats-connection.ts";
import {
  appendUntilKnown,
  connectTo,
  newClusterName,
  openLogs,
  useNatsCluster,
} from "../support/nats-cluster.ts";

const nats = useNatsCluster();

const RETRY_MS = 50;

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function textOf({ bytes }: SharedEntry): string {
  return new TextDecoder().decode(bytes);
}

async function newLog(): Promise<SharedLog> {
  return (await openLogs(await connectTo(nats()))).log("app");
}

async function append(log: SharedLog, text: string, after: number): Promise<number> {
  const outcome = await appendUntilKnown(log, bytesOf(text), { after, id: text });
  assert(outcome.kind === "appended", "appended");
  return outcome.sequence;
}

async function appendAll(log: SharedLog, texts: readonly string[]): Promise<readonly number[]> {
  const sequences: number[] = [];
  for (const text of texts) sequences.push(await append(log, text, sequences.at(-1) ?? 0));
  return sequences;
}

async function entriesOf(log: SharedLog): Promise<readonly string[]> {
  const texts: string[] = [];
  let entry = await log.next(0);
  while (entry !== undefined) {
    texts.push(textOf(entry));
    entry = await log.next(entry.sequence);
  }
  return texts;
}

/** Follows as a node does: when a tail fails, another begins behind the last entry that it delivered. */
async function followUntil(log: SharedLog, last: number): Promise<readonly SharedEntry[]> {
  const entries: SharedEntry[] = [];
  const after = (): number => entries.at(-1)?.sequence ?? 0;
  while (after() < last) {
    const tail = log.follow(after());
    try {
      for await (const entry of tail) {
        entries.push(entry);
        if (entry.sequence >= last) tail.close();
      }
    } catch (error) {
      expect(error).toMatchObject({ code: "store.busy" });
      await setTimeout(RETRY_MS);
    }
  }
  return entries;
}

function leaderOf(leader: string | undefined): NatsServer {
  const found = nats().servers.find(({ name }) => name === leader);
  assert(found !== undefined, "the stream has a leader");
  return found;
}

async function streamLeader(connection: NatsConnection, cluster: string): Promise<NatsServer> {
  const { cluster: group } = await connection.manager.streams.info(`bigpeer-${cluster}-log-0`);
  return leaderOf(group?.leader);
}

test("an empty log has no end and no entries", async () => {
  const log = await newLog();
  expect(await log.end()).toBe(0);
  expect(await log.next(0)).toBeUndefined();
  await log.trim(10);
});

test("entries are appended in order and read one after the other", async () => {
  const log = await newLog();
  const [first = 0, second = 0] = await appendAll(log, ["a", "b"]);
  expect(second).toBeGreaterThan(first);
  expect(await log.end()).toBe(second);
  const entry = await log.next(0);
  expect(entry).toEqual({ sequence: first, bytes: bytesOf("a") });
  expect(await log.next(first)).toEqual({ sequence: second, bytes: bytesOf("b") });
  expect(await log.next(second)).toBeUndefined();
});

test("an entry with the same id is appended once", async () => {
  const log = await newLog();
  const sequence = await append(log, "a", 0);
  expect(await append(log, "a", 0)).toBe(sequence);
  await append(log, "b", sequence);
  expect(await append(log, "a", 0)).toBe(sequence);
  expect(await entriesOf(log)).toEqual(["a", "b"]);
});

test("an append that does not name the last entry is refused", async () => {
  const log = await newLog();
  const sequence = await append(log, "a", 0);
  const late = { after: 0, id: "late" };
  expect(await appendUntilKnown(log, bytesOf("late"), late)).toEqual({ kind: "refused" });
  // Another node cannot know an entry that is not there.
  const early = { after: sequence + 5, id: "early" };
  expect((await log.append(bytesOf("early"), early)).kind).toBe("unknown");
  expect(await entriesOf(log)).toEqual(["a"]);
});

test("two logs in one stream do not disturb each other", async () => {
  const logs = await openLogs(await connectTo(nats()));
  const [one, other] = [logs.log("one"), logs.log("other")];
  const first = await append(one, "same id", 0);
  const second = await append(other, "same id", 0);
  expect(second).toBeGreaterThan(first);
  await append(one, "b", first);
  expect(await entriesOf(one)).toEqual(["same id", "b"]);
  expect(await entriesOf(other)).toEqual(["same id"]);
  expect(await other.end()).toBe(second);
});

test("an entry of 4 MiB is appended and read", async () => {
  const log = await newLog();
  const bytes = new Uint8Array(4 * 1024 * 1024).fill(7);
  const outcome = await appendUntilKnown(log, bytes, { after: 0, id: "large" });
  expect(outcome.kind).toBe("appended");
  const entry = await log.next(0);
  expect(entry?.bytes.length).toBe(bytes.length);
  expect(Buffer.compare(entry?.bytes ?? new Uint8Array(), bytes)).toBe(0);
});

test("trim forgets entries, but never the last one", async () => {
  const logs = await openLogs(await connectTo(nats()));
  const [log, other] = [logs.log("app"), logs.log("other")];
  const kept = await append(other, "kept", 0);
  const sequences = await appendAll(log, ["a", "b", "c"]);
  await log.trim(sequences[0] ?? 0);
  expect(await entriesOf(log)).toEqual(["b", "c"]);
  await log.trim(1_000_000);
  expect(await entriesOf(log)).toEqual(["c"]);
  const last = sequences.at(-1) ?? 0;
  expect(await log.end()).toBe(last);
  await append(log, "d", last);
  expect(await entriesOf(log)).toEqual(["c", "d"]);
  expect(await other.end()).toBe(kept);
});

test("without a majority the outcome is unknown; the same append later succeeds once", async () => {
  const log = await newLog();
  const first = await append(log, "a", 0);
  const stopped = nats().servers.slice(0, 2);
  onTestFinished(() => stopped.forEach((server) => server.resume()));
  for (const server of stopped) await server.pause();
  const target = { after: first, id: "b" };
  expect((await log.append(bytesOf("b"), target)).kind).toBe("unknown");
  for (const server of stopped) server.resume();
  const outcome = await appendUntilKnown(log, bytesOf("b"), target);
  expect(outcome.kind).toBe("appended");
  expect(await appendUntilKnown(log, bytesOf("b"), target)).toEqual(outcome);
  expect(await entriesOf(log)).toEqual(["a", "b"]);
});

test("while all servers are down every append is unknown at once", async () => {
  const connection = await connectTo(nats());
  const log = (await openLogs(connection)).log("app");
  onTestFinished(() => nats().start());
  await nats().stop();
  const outcome = await log.append(bytesOf("a"), { after: 0, id: "a" });
  expect(outcome.kind).toBe("unknown");
  await expect(log.end()).rejects.toThrow("not connected to NATS");
  await nats().start();
  await append(log, "a", 0);
  expect(await entriesOf(log)).toEqual(["a"]);
});

test("a writer goes on when the leader of the stream is killed", async () => {
  const connection = await connectTo(nats());
  const cluster = newClusterName();
  const log = (await openLogs(connection, { cluster })).log("app");
  const wait = (): Promise<void> => setTimeout(RETRY_MS);
  const host = { log, platform: nodePlatform, node: "node", wait };
  const writer = await LogWriter.begin(host, LOG_START);
  const written: number[] = [writer.last.sequence];
  const write = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      written.push(await writer.append({ kind: "transactions", transactions: [] }));
    }
  };
  await write(20);
  const leader = await streamLeader(connection, cluster);
  onTestFinished(() => nats().start());
  const killed = leader.kill();
  await write(30);
  await killed;
  expect(writer.isDeposed).toBe(false);
  const chain = new LogChain(nodePlatform);
  const found: number[] = [];
  for (const { sequence, bytes } of await followUntil(log, writer.last.sequence)) {
    for (const _ of chain.take(sequence, bytes));
    found.push(sequence);
  }
  expect(found).toEqual(written);
  expect(chain.last.digest).toEqual(writer.last.digest);
});

test("of two writers one is deposed, and the log has the entries of the other", async () => {
  const connection = await connectTo(nats());
  const log = (await openLogs(connection)).log("app");
  const wait = (): Promise<void> => setTimeout(RETRY_MS);
  const host = { log, platform: nodePlatform, node: "node", wait };
  const first = await LogWriter.begin(host, LOG_START);
  const second = await LogWriter.begin(host, first.last);
  await expect(first.append({ kind: "transactions", transactions: [] })).rejects.toThrow(
    "another node",
  );
  expect(first.isDeposed).toBe(true);
  const last = await second.append({ kind: "transactions", transactions: [] });
  expect(await log.end()).toBe(last);
});
