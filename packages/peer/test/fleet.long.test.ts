/**
 * A fleet: 200 peers in 8 processes over real sockets, whose processes are killed and whose
 * connections are cut at random while they write and read, and a server that is killed twice.
 * Everybody ends with the same documents, and the counters are exact.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { callOnce, type Served, serveFolder } from "../../server/test/support/served-folder.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";

const PEERS = 200;
const PROCESSES = 8;
const TEAMS = 20;
const MINUTES = 2;
const SERVER_KILLS = 2;

interface Digest {
  readonly marks: readonly string[];
  readonly totals: readonly number[];
  readonly strangers: number;
  readonly pending: number;
  readonly refused: number;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One process of the fleet, through all of its lives. */
class FleetProcess {
  readonly #command: readonly string[];
  readonly #onMark: (id: string) => void;
  #process: ChildProcess | undefined;
  #answers: Waiting[] = [];
  #errorText = "";
  kills = 0;

  constructor(command: readonly string[], onMark: (id: string) => void) {
    this.#command = command;
    this.#onMark = onMark;
  }

  async start(): Promise<void> {
    const started = spawn(process.execPath, this.#command, { stdio: ["pipe", "pipe", "pipe"] });
    this.#process = started;
    this.#answers = [];
    started.stdin.on("error", () => undefined);
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-10_000);
    });
    started.once("close", () => {
      const error = new Error(`the process ended: ${this.#errorText}`);
      for (const { reject } of this.#answers.splice(0)) reject(error);
    });
    createInterface({ input: started.stdout }).on("line", (line) => this.#hear(line));
    await this.#answer();
  }

  /** Everything that it holds in memory is gone; what its peers were told is durable is not. */
  async kill(): Promise<void> {
    this.kills++;
    await this.end("SIGKILL");
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    ended.kill(signal);
    await once(ended, "close");
  }

  ask(line: string): Promise<unknown> {
    const answer = this.#answer();
    this.#process?.stdin?.write(`${line}\n`);
    return answer;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#answers.push({ resolve, reject });
    });
  }

  #hear(line: string): void {
    // The last line of a killed process may be cut.
    if (!line.endsWith("}")) return;
    const told = JSON.parse(line) as { readonly mark?: string };
    if (told.mark !== undefined) this.#onMark(told.mark);
    else this.#answers.shift()?.resolve(told);
  }
}

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

test("[S8] [S25] [S34] two hundred peers that are killed and cut off while they write end equal, and every write counts once", async () => {
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
  await vi.waitFor(() => expectSettled(fleet, served, acknowledged), {
    timeout: 120_000,
    interval: 1_000,
  });
  expect(disturbed.serverKills).toBe(SERVER_KILLS);
  expect(acknowledged.size).toBeGreaterThan(1_000);
  expect(proxy.cuts).toBeGreaterThan(100);
  expect(fleet.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThan(10);
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

/** Cuts, kills and starts again, until the time is over. */
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
  for (let round = 1; Date.now() < endMs; round++) {
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
    const answer = (await owner?.ask(`digest ${number}`)) as { digest: Digest } | undefined;
    expect({ number, ...answer?.digest }).toEqual({
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
