/**
 * A process with a storage that does what it is told, line by line, and says what came of it.
 *
 *   node script.mjs <folder> <read-write | read-only> [journal]
 *
 *   fill <round> <count> <size>   commit so many documents; answers with the error's code or "ok"
 *   keys                          what a new snapshot has: the number of documents in each round
 *   wrong                         documents that are not what fill has written
 *   copy <folder>                 copyTo; answers as fill does
 *   reopen                        close and open again
 */

import { createInterface } from "node:readline";
import type { Snapshot, Writes } from "@bigpeer/engine";
import { PeerError, type Value } from "@bigpeer/protocol";
import { openJournaled } from "../../src/journal/journaled-key-value.ts";
import { readJournaled } from "../../src/journal/journaled-reader.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";

/** What all storages have; one that is read-only refuses a commit. */
interface Storage {
  snapshot(): Snapshot;
  copyTo(folder: string): Promise<void>;
  commit?(writes: Writes): Promise<void>;
  close(): Promise<void>;
}

const [, , folder = "", mode, kind] = process.argv;
const isReadOnly = mode === "read-only";
const ALL = { from: "\0", to: "\xff" };

let storage: Storage = await open();
let strayErrorCount = 0;
process.on("unhandledRejection", () => strayErrorCount++);
process.on("uncaughtException", () => strayErrorCount++);

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line.split(" ")))}\n`);
}
await storage.close();
// Time for a rejection that nobody waits for to show itself.
await new Promise((resolve) => setTimeout(resolve, 20));
process.exitCode = strayErrorCount;

async function open(): Promise<Storage> {
  if (kind !== "journal") return openLmdb(folder, { readOnly: isReadOnly });
  if (isReadOnly) return readJournaled(folder);
  const journaled = await openJournaled(folder);
  journaled.startJournal();
  return journaled;
}

async function answer([command, ...words]: string[]): Promise<unknown> {
  const [round = 0, count = 0, size = 0] = words.map(Number);
  switch (command) {
    case "fill":
      return attempt(async () => storage.commit?.(documents({ round, count, size })));
    case "keys":
      return countByRound();
    case "wrong":
      return findWrong();
    case "copy":
      return attempt(() => storage.copyTo(words[0] ?? ""));
    case "reopen":
      await storage.close();
      storage = await open();
      return "ok";
    default:
      return "unknown";
  }
}

async function attempt(work: () => Promise<void>): Promise<string> {
  try {
    await work();
    return "ok";
  } catch (error) {
    return error instanceof PeerError ? error.code : String(error);
  }
}

/** Each round has a shape of its own, so that a commit brings new shapes as well. */
function documents({ round, count, size }: Record<"round" | "count" | "size", number>) {
  const writes = new Map<string, Value>();
  for (let i = 0; i < count; i++) writes.set(`${round}/${i}`, documentOf(round, i, size));
  return writes;
}

function documentOf(round: number, i: number, size: number): Value {
  return { [`round ${round}`]: i, size, text: "x".repeat(size), [`end ${round}`]: { round } };
}

function countByRound(): Record<string, number> {
  const counts: Record<string, number> = {};
  const snapshot = storage.snapshot();
  for (const key of snapshot.keys(ALL)) {
    const round = key.slice(0, key.indexOf("/"));
    counts[round] = (counts[round] ?? 0) + 1;
  }
  snapshot.close();
  return counts;
}

function findWrong(): string[] {
  const wrong: string[] = [];
  const snapshot = storage.snapshot();
  for (const { key, value } of snapshot.entries(ALL)) {
    const [round = 0, i = 0] = key.split("/").map(Number);
    const { size } = value as { size: number };
    const expected = JSON.stringify(documentOf(round, i, size));
    if (JSON.stringify(value) !== expected) wrong.push(key);
  }
  snapshot.close();
  return wrong;
}
