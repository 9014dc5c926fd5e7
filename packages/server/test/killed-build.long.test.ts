/**
 * A real server that is killed with SIGKILL while it builds an index: what it leaves is sound, and the
 * next one goes on with the build.
 */

import { join } from "node:path";
import type { Value } from "@bigpeer/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { callOnce, type Served, serveFolder, verifyFolder } from "./support/served-folder.ts";

const DOCUMENTS = 20_000;
const BATCH = 1_000;
const ROUNDS = 6;

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

interface IndexRow {
  readonly state?: string;
  readonly progress?: { readonly done: number; readonly total: number };
}

async function execute(
  served: Served,
  statement: string,
  args: { readonly [name: string]: Value } = {},
): Promise<readonly Value[]> {
  const answer = await callOnce(served, "/store/execute", { statement, args });
  return (answer as { readonly items: readonly Value[] }).items;
}

async function indexRow(served: Served): Promise<IndexRow> {
  const [row] = await execute(served, "SELECT * FROM system:indexes WHERE collection = 'cars'");
  expect(row).toBeDefined();
  return row as IndexRow;
}

async function insertAll(served: Served): Promise<void> {
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, i) => first + i);
    const args = Object.fromEntries(
      numbers.map((n) => [`d${n}`, { _id: n, n: (n * 7919) % DOCUMENTS, text: "x".repeat(200) }]),
    );
    const places = numbers.map((n) => `(:d${n})`).join(", ");
    await execute(served, `INSERT INTO cars DOCUMENTS ${places}`, args);
  }
}

async function expectSound(dataDir: string): Promise<void> {
  const { code, stdout } = await verifyFolder(script, dataDir);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^no problems found$/m),
  });
}

async function kill(served: Served): Promise<void> {
  served.process.kill("SIGKILL");
  expect((await served.process.ended).signal).toBe("SIGKILL");
}

/** Asks until the index is complete. Its progress never goes back, also not below `least`. */
async function whenBuilt(served: Served, least: number): Promise<void> {
  let last = least;
  for (;;) {
    const { state, progress } = await indexRow(served);
    if (state === undefined) return;
    expect(state).toBe("building");
    expect(progress?.done).toBeGreaterThanOrEqual(last);
    last = progress?.done ?? last;
  }
}

test("[K55] after SIGKILL during an index build the store is valid, and the next server continues the build", async () => {
  const dataDir = join(temporaryFolder(), "data");
  let served = await serveFolder(script, dataDir);
  await insertAll(served);
  let killedWhileBuilding = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await execute(served, `CREATE INDEX by_n ON cars (n${round % 2 === 0 ? "" : " DESC"})`);
    let seen: IndexRow = {};
    for (let asked = 0; asked <= round % 3; asked++) seen = await indexRow(served);
    await kill(served);
    if (seen.state === "building") killedWhileBuilding++;
    await expectSound(dataDir);
    served = await serveFolder(script, dataDir);
    await whenBuilt(served, seen.progress?.done ?? 0);
    // What is left of the last index is killed together with the build of the next one.
    await execute(served, "DROP INDEX by_n ON cars");
  }
  expect(killedWhileBuilding).toBeGreaterThan(0);
  await execute(served, "CREATE INDEX by_n ON cars (n)");
  await whenBuilt(served, 0);
  served.process.kill("SIGTERM");
  expect((await served.process.ended).code).toBe(0);
  await expectSound(dataDir);
}, 600_000);
