/**
 * How a storage that is opened finds its place in the log.
 */

import { expect, test } from "vitest";
import { LogChain } from "../../src/cluster/log-chain.ts";
import { awaitStart, findStart } from "../../src/cluster/log-start.ts";
import { LogWriter } from "../../src/cluster/log-writer.ts";
import type { SharedEntry } from "../../src/cluster/shared-log.ts";
import { SimulatedLog } from "../support/simulated-log.ts";
import { seededRandom, testPlatform } from "../support/test-platform.ts";

const NO_FAULTS = { lost: 0, forgotten: 0 };
const EMPTY = { kind: "transactions", transactions: [] } as const;

/** A log whose new leader knows its first entries only, until it was looked at some times. */
class LateLog extends SimulatedLog {
  /** How many entries it knows at first, and for how many more looks. */
  known = Number.POSITIVE_INFINITY;
  looks = 0;

  override async next(after: number): Promise<SharedEntry | undefined> {
    this.looks--;
    const found = await super.next(after);
    return found !== undefined && found.sequence <= this.#end ? found : undefined;
  }

  override async end(): Promise<number> {
    return Math.min(await super.end(), this.#end);
  }

  get #end(): number {
    return this.looks >= 0 ? this.known : Number.POSITIVE_INFINITY;
  }
}

async function bench() {
  const platform = testPlatform();
  const log = new LateLog(seededRandom(1), NO_FAULTS);
  const waits: number[] = [];
  const host = {
    log,
    platform,
    node: "n",
    wait: async (attempt: number): Promise<void> => void waits.push(attempt),
  };
  const content = { kind: "history", historyId: "h", site: "00000000000000aa", txnId: 0 } as const;
  const writer = await LogWriter.begin(host, new LogChain(platform).last, content);
  for (let i = 0; i < 3; i++) await writer.append(EMPTY);
  return { log, host, waits, position: writer.last };
}

test("a log whose new leader answers with an older end is looked at again", async () => {
  const { log, host, waits, position } = await bench();
  log.known = 2;
  log.looks = 5;
  expect(await awaitStart(host, position, false)).toEqual({ kind: "continued", position });
  expect(waits).toEqual([1, 2, 3, 4, 5]);
});

test("a log that stays shorter than the storage is an error after some looks", async () => {
  const { log, host, waits, position } = await bench();
  log.known = 2;
  log.looks = 1_000;
  await expect(awaitStart(host, position, false)).rejects.toMatchObject({
    code: "store.corrupt",
    message: expect.stringContaining("up to 4, and the log ends at 2"),
  });
  expect(waits.length).toBeGreaterThan(10);
  // A running replica counts its looks itself.
  await expect(findStart({ ...host, log }, position)).rejects.toThrow("the log ends at 2");
});

test("another entry at the position is an error at once", async () => {
  const { log, host, waits, position } = await bench();
  const digest = new Uint8Array(32);
  await expect(awaitStart({ ...host, log }, { ...position, digest }, false)).rejects.toThrow(
    "entry 4 is another than the one in this store",
  );
  expect(waits).toEqual([]);
});

test("a log that seems empty is looked at again, unless it may be begun", async () => {
  const { log, host, waits } = await bench();
  log.known = 0;
  log.looks = 3;
  expect(await awaitStart(host, undefined, true)).toEqual({ kind: "new" });
  expect(waits).toEqual([]);
  expect(await awaitStart(host, undefined, false)).toMatchObject({ kind: "beginning" });
  expect(waits).toEqual([1, 2]);
});
