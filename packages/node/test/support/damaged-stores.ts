/**
 * What verify and reads make of a store whose file was damaged at places that seeds choose.
 */

import { join } from "node:path";
import type { IndexKey } from "@bigpeer/protocol";
import { createStore } from "../../src/store-folder.ts";
import type { DamageReads } from "./damage-script.ts";
import { bundleScript, RunningScript } from "./script.ts";
import { testHost } from "./store-host.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface DamageOutcome {
  readonly seed: number;
  /** Undefined: verify ended its process, which is reported as damage, or hung in it. */
  readonly problems: number | undefined;
  /** Undefined: reading ended its process. */
  readonly reads: DamageReads | undefined;
}

/** Without a word for so long, the process hangs in native code: then it is ended. */
const ANSWER_MS_MAX = 60_000;

const COUNT = 600;
const BY_MAKE: readonly IndexKey[] = [{ path: ["make"], isDescending: false }];

async function soundStore(): Promise<string> {
  const folder = join(temporaryFolder(), "sound");
  const opened = await createStore(folder, testHost());
  const { store } = opened;
  for (let first = 0; first < COUNT; first += 100) {
    await store.transact((transaction) => {
      for (let id = first; id < first + 100; id++) {
        const fields = { make: `make ${id % 7}`, text: "x".repeat((id * 37) % 300), n: id };
        transaction.apply([{ kind: "insert", collection: "cars", id: `car ${id}`, fields }]);
      }
    });
  }
  await store.transact((transaction) => {
    transaction.apply([
      { kind: "create_index", collection: "cars", name: "by_make", keys: BY_MAKE },
      { kind: "insert", collection: "cars", id: "large", fields: { text: "y".repeat(30_000) } },
    ]);
  });
  await opened.close();
  return folder;
}

export async function damageStores(seeds: readonly number[]): Promise<DamageOutcome[]> {
  const sound = await soundStore();
  const script = await bundleScript("node/test/support/damage-script");
  const outcomes: DamageOutcome[] = [];
  const start = (): RunningScript =>
    new RunningScript(process.execPath, script.path, sound, join(temporaryFolder(), "damaged"));
  let running = start();
  try {
    for (const seed of seeds) {
      const late = setTimeout(() => running.kill(), ANSWER_MS_MAX);
      const problems = (await running.ask(String(seed)).catch(() => undefined)) as
        | number
        | undefined;
      const reads = (await running.next().catch(() => undefined)) as DamageReads | undefined;
      clearTimeout(late);
      outcomes.push({ seed, problems, reads });
      if (reads !== undefined) continue;
      running.kill();
      running = start();
    }
  } finally {
    running.kill();
    script.remove();
  }
  return outcomes;
}

/** Outcomes in which something is other than it was and nobody says so. */
export function silentDamage(outcomes: readonly DamageOutcome[]): DamageOutcome[] {
  return outcomes.filter(({ problems, reads }) => {
    if (reads !== undefined && reads.wrong.length > 0) return true;
    const isOther = reads === undefined || reads.hidden > 0 || reads.failed > 0;
    return isOther && problems === 0;
  });
}
