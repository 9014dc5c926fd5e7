/**
 * A fleet: 200 peers in 8 processes over real sockets, whose processes are killed and whose
 * connections are cut at random while they write and read, and a server that is killed twice.
 * Everybody ends with the same documents, and the counters are exact.
 */

import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { callOnce, type Served, serveFolder } from "../../server/test/support/served-folder.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { FleetProcess } from "./support/running-fleet.ts";

const PEERS = 200;
const PROCESSES = 8;
const TEAMS = 20;
const MINUTES = 1;
const SERVER_KILLS = 2;
/** A slow machine takes more time for as many. */
const KILLS_MIN = 12;

let serverScript: Script;
let fleetScript: Script;

beforeAll(async () => {
  serverScript = await bundleScript("server/src/main");
  fleetScript = await bundleScript("peer/test/support/fleet-process");
});

afterAll(() => {
  serverScript.remove();
  fleetScript.remove();
});

test("[S8] [S25] [S34] 200 peers that are killed and cut off while they write end equal, and each write counts once", async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, "server");
  let served = await serveFolder(serverScript, dataDir);
  await makeTotals(served);
  const proxy = await CuttingProxy.open(portOf(served));
  onTestFinished(() => proxy.close());
  const acknowledged = new Set<string>();
  const fleet = startFleet(proxy, served, folder, (id) => acknowledged.add(id));
  await Promise.all(fleet.map((each) => each.start()));
  const disturbed = await disturb(fleet, proxy, served, dataDir);
  ({ served } = disturbed);
  for (const each of fleet) await each.ask("settle");
  // How long it takes is a matter of the machine: two hundred peers write to its disk.
  await vi.waitFor(() => expectSettled(fleet, served, acknowledged), {
    timeout: 400_000,
    interval: 1_000,
  });
  expect(disturbed.serverKills).toBe(SERVER_KILLS);
  expect(acknowledged.size).toBeGreaterThan(500);
  expect(proxy.cuts).toBeGreaterThan(100);
  expect(fleet.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS_MIN);
  for (const each of fleet) await each.end("SIGTERM");
});

function startFleet(
  proxy: CuttingProxy,
  { appId, apiKey }: Served,
  folder: string,
  onMark: (id: string) => void,
): FleetProcess[] {
  const size = PEERS / PROCESSES;
  const fleet = Array.from({ length: PROCESSES }, (_, i) => {
    const numbers = [i * size, (i + 1) * size, TEAMS].map(String);
    const words = [fleetScript.path, proxy.url, appId, apiKey, folder, ...numbers];
    return new FleetProcess(words, onMark);
  });
  onTestFinished(async () => {
    for (const each of fleet) await each.end("SIGKILL");
  });
  return fleet;
}

async function makeTotals(served: Served): Promise<void> {
  const statement = "INSERT INTO COLLECTION totals (n COUNTER) DOCUMENTS (:total)";
  for (let team = 0; team < TEAMS; team++) {
    const total = { _id: team, n: 0 };
    await callOnce(served, "/store/execute", { statement, args: { total } });
  }
}

/** Cuts, kills and starts again, until the time is over and there were enough kills. */
async function disturb(
  fleet: readonly FleetProcess[],
  proxy: CuttingProxy,
  first: Served,
  dataDir: string,
): Promise<{ readonly served: Served; readonly serverKills: number }> {
  let served = first;
  let serverKills = 0;
  const endMs = Date.now() + MINUTES * 60_000;
  const cutter = setInterval(() => proxy.cutOne(), 250);
  for (let round = 1; Date.now() < endMs || round <= KILLS_MIN; round++) {
    await wait(3_000 + Math.random() * 3_000);
    const victim = fleet[Math.floor(Math.random() * fleet.length)];
    await victim?.kill();
    if (round % 6 === 4 && serverKills < SERVER_KILLS) {
      served.process.kill("SIGKILL");
      await served.process.ended;
      serverKills++;
      served = await serveFolder(serverScript, dataDir);
      proxy.moveTo(portOf(served));
    }
    await victim?.start();
  }
  clearInterval(cutter);
  return { served, serverKills };
}

async function expectSettled(
  fleet: readonly FleetProcess[],
  served: Served,
  acknowledged: ReadonlySet<string>,
): Promise<void> {
  const marks = await idsByTeam(served);
  const totals = await rowsOf(served, "SELECT * FROM totals ORDER BY _id");
  expect(totals.map(({ n }) => n)).toEqual(marks.map((ids) => ids.length));
  const all = new Set(marks.flat());
  expect([...acknowledged].filter((id) => !all.has(id))).toEqual([]);
  for (let number = 0; number < PEERS; number++) {
    const owner = fleet[Math.floor(number / (PEERS / PROCESSES))];
    expect({ number, ...(await owner?.digest(number)) }).toEqual({
      number,
      marks: marks[number % TEAMS],
      totals: totals.map(({ n }) => n),
      strangers: 0,
      pending: 0,
      refused: 0,
    });
  }
}

async function idsByTeam(served: Served): Promise<string[][]> {
  const byTeam: string[][] = Array.from({ length: TEAMS }, () => []);
  for (const { _id: id, team } of await rowsOf(
    served,
    "SELECT _id, team FROM marks ORDER BY _id",
  )) {
    byTeam[team as number]?.push(id as string);
  }
  return byTeam;
}

async function rowsOf(served: Served, statement: string): Promise<readonly Row[]> {
  const { items } = (await callOnce(served, "/store/execute", { statement })) as unknown as {
    readonly items: readonly Row[];
  };
  return items;
}

type Row = { readonly [field: string]: unknown };

function portOf({ url }: Served): number {
  return Number(new URL(url).port);
}
