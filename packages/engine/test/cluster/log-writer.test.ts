/**
 * Several nodes that write to one log, each of which believes at times to be the evaluating node:
 * what was acknowledged is in the log once, what was rejected is not, and all is one chain.
 */

import { encodeCbor, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { LogChain } from "../../src/cluster/log-chain.ts";
import { LogWriter, type LogWriterHost } from "../../src/cluster/log-writer.ts";
import { finish } from "../../src/steps.ts";
import { type LogFaults, SimulatedLog } from "../support/simulated-log.ts";
import { type Random, seededRandom, testPlatform } from "../support/test-platform.ts";

const SEEDS = 40;
const NODES = 3;
const TURNS = 12;

interface Outcomes {
  readonly acknowledged: number[];
  readonly rejected: Set<number>;
  deposed: number;
}

/** One node: follows the log, tries to become the evaluating node, and writes numbers while it is. */
class WritingNode {
  readonly #log: SimulatedLog;
  readonly #random: Random;
  readonly #chain: LogChain;
  readonly #host: LogWriterHost;
  readonly #outcomes: Outcomes;

  constructor(log: SimulatedLog, random: Random, outcomes: Outcomes) {
    const platform = testPlatform(random.below(1 << 30));
    this.#log = log;
    this.#random = random;
    this.#chain = new LogChain(platform);
    this.#outcomes = outcomes;
    const wait = (): Promise<void> => Promise.resolve();
    this.#host = { log, platform, node: "n", wait, onDeposed: () => outcomes.deposed++ };
  }

  async run(take: () => number): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      this.#follow();
      try {
        const writer = await LogWriter.begin(this.#host, this.#chain.last);
        for (let left = this.#random.below(4); left > 0; left--) await this.#write(writer, take());
      } catch (error) {
        if (!(error instanceof PeerError && error.code === "cluster.elsewhere")) throw error;
      }
    }
  }

  #follow(): void {
    const { sequence: from } = this.#chain.last;
    for (const { sequence, bytes } of this.#log.entries.slice(from)) {
      finish(this.#chain.take(sequence, bytes));
    }
  }

  async #write(writer: LogWriter, number: number): Promise<void> {
    const transactions = [encodeCbor([number, { at: 0, steps: [] }])];
    try {
      await writer.append({ kind: "transactions", transactions });
      this.#outcomes.acknowledged.push(number);
    } catch (error) {
      this.#outcomes.rejected.add(number);
      throw writer.isDeposed ? error : new Error("expected a deposed writer", { cause: error });
    }
  }
}

async function runSeed(seed: number, faults: LogFaults): Promise<Outcomes> {
  const random = seededRandom(seed);
  const log = new SimulatedLog(random, faults);
  const outcomes: Outcomes = { acknowledged: [], rejected: new Set(), deposed: 0 };
  let taken = 0;
  const take = (): number => ++taken;
  const nodes = Array.from({ length: NODES }, () => new WritingNode(log, random, outcomes));
  await Promise.all(nodes.map((node) => node.run(take)));
  const chain = new LogChain(testPlatform());
  const found = log.entries.flatMap(({ sequence, bytes }) =>
    finish(chain.take(sequence, bytes)).transactions.map(({ txnId }) => txnId),
  );
  expect(found.toSorted((a, b) => a - b)).toEqual(outcomes.acknowledged.toSorted((a, b) => a - b));
  for (const number of found) expect(outcomes.rejected.has(number)).toBe(false);
  return outcomes;
}

for (const [name, faults] of Object.entries({
  "a log without faults": { lost: 0, forgotten: 0 },
  "lost answers": { lost: 0.3, forgotten: 0 },
  "lost answers and forgotten ids": { lost: 0.3, forgotten: 0.5 },
})) {
  test(`what is acknowledged is in the log once, and what is rejected is not: ${name}`, async () => {
    let [acknowledged, rejected, deposed] = [0, 0, 0];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcomes = await runSeed(seed, faults);
      acknowledged += outcomes.acknowledged.length;
      rejected += outcomes.rejected.size;
      deposed += outcomes.deposed;
    }
    expect(acknowledged).toBeGreaterThan(SEEDS);
    expect(rejected).toBeGreaterThan(SEEDS / 4);
    expect(deposed).toBeGreaterThan(rejected);
  });
}

test("of two nodes that begin an epoch at once, one succeeds", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const log = new SimulatedLog(seededRandom(seed), { lost: 0.3, forgotten: 0 });
    const begun = await Promise.allSettled(
      [1, 2].map((number) => {
        const platform = testPlatform(number);
        const host = { log, platform, node: "n", wait: () => Promise.resolve() };
        return LogWriter.begin(host, new LogChain(platform).last);
      }),
    );
    expect(begun.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  }
});

test("a writer that was deposed appends nothing more", async () => {
  const log = new SimulatedLog(seededRandom(1), { lost: 0, forgotten: 0 });
  const platform = testPlatform();
  const host = { log, platform, node: "n", wait: () => Promise.resolve() };
  const start = new LogChain(platform).last;
  const first = await LogWriter.begin(host, start);
  const second = await LogWriter.begin(host, first.last);
  await expect(first.append({ kind: "transactions", transactions: [] })).rejects.toThrow("retry");
  await expect(first.append({ kind: "transactions", transactions: [] })).rejects.toThrow("retry");
  expect(log.entries.length).toBe(2);
  await second.append({ kind: "transactions", transactions: [] });
  expect(second.last).toMatchObject({ sequence: 3, epoch: 2 });
});
