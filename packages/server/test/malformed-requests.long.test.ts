/**
 * More than twenty thousand malformed requests to one server: each is answered with a plain refusal,
 * or is no HTTP and may be closed on. Nothing is written, nothing is left behind, nothing grows.
 *
 * By seed: MALFORMED_SEED starts elsewhere, or repeats what a failure has printed.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Value } from "@bigpeer/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { CLOSE_MS_MAX } from "../src/limits/limits.ts";
import { stalledRequests } from "./support/malformed-framing.ts";
import type { Target } from "./support/malformed-head.ts";
import {
  complaintsAbout,
  KINDS,
  type MalformedRequest,
  malformedRequest,
} from "./support/malformed-request.ts";
import { ATTACHMENT_SIZE_MAX } from "./support/malformed-upload.ts";
import { RawConnection } from "./support/raw-connection.ts";
import {
  callOnce,
  type Served,
  serveFolder,
  statsOf,
  uploadOnce,
  verifyFolder,
} from "./support/served-folder.ts";
import { ATTACHED } from "./support/valid-call.ts";

const BASE_SEED = Number(process.env["MALFORMED_SEED"] ?? 1);
const REQUESTS = 24_000;
const LANES = 16;
const MEBIBYTE = 1024 * 1024;

/** How much more memory the last third may show than the second: far less than a leak would. */
const GROWTH_MAX = 64 * MEBIBYTE;

/** How long a request that may be incomplete waits for an answer before it is ended. */
const ANSWER_MS = 50;

/** Requests between two looks at the memory. */
const LOOK_EVERY = 250;

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

/** What a request got, as far as it is wrong. */
async function send(
  request: MalformedRequest,
  connection: RawConnection,
): Promise<{ readonly complaints: string[]; readonly isReusable: boolean }> {
  for (const piece of request.pieces) {
    await connection.write(piece);
    if (request.pauseMs !== undefined) await setTimeout(request.pauseMs);
  }
  if (request.ending === "leave") {
    connection.destroy();
    return { complaints: [], isReusable: false };
  }
  // Not at once: Node gives no answer to a client that has ended its side.
  if (request.ending === "end") void setTimeout(ANSWER_MS).then(() => connection.end());
  const complaints: string[] = [];
  let isReusable = request.ending === "answer";
  for (let count = 0; request.ending === "end" || count < request.answers; count++) {
    const answer = await connection.next(request.isHead);
    if (answer === undefined) {
      if (count < request.answers) complaints.push("closed without an answer");
      isReusable = false;
      break;
    }
    complaints.push(...complaintsAbout(request, answer));
    isReusable &&= answer.headers.get("connection") !== "close";
  }
  return { complaints, isReusable };
}

interface Load {
  readonly served: Served;
  readonly target: Target;
  /** How many of each kind were sent. */
  readonly counts: Map<string, number>;
  readonly complaints: string[];
  next: number;
  readonly onRequest: (number: number) => void;
}

/** Sends requests one after another, on the same connection while it can be used. */
async function runLane(load: Load): Promise<void> {
  const { served, target, counts, complaints } = load;
  let connection: RawConnection | undefined;
  while (load.next < REQUESTS && complaints.length < 20) {
    const number = load.next++;
    const seed = BASE_SEED + number;
    const request = malformedRequest(seed, target);
    counts.set(request.kind, (counts.get(request.kind) ?? 0) + 1);
    connection ??= await RawConnection.open(served.url);
    const { complaints: found, isReusable } = await send(request, connection);
    complaints.push(...found.map((text) => `seed ${seed}, ${request.kind}: ${text}`));
    if (!isReusable) {
      connection.destroy();
      connection = undefined;
    }
    load.onRequest(number);
  }
  connection?.destroy();
}

/** Requests that come to a stop get the answer that they took too long. */
async function complainAboutStalled(served: Served, target: Target): Promise<string[]> {
  const found = stalledRequests(target).map(async (stalled) => {
    const connection = await RawConnection.open(served.url);
    for (const piece of stalled.pieces) await connection.write(piece);
    const answer = await connection.next();
    connection.destroy();
    if (answer?.status !== 408) return [`stalled: expected 408, found ${answer?.status}`];
    return complaintsAbout({ kind: "stalled", ...stalled }, answer);
  });
  return (await Promise.all(found)).flat();
}

/** Low-water marks of memory by thirds: what the collector leaves, not what it has yet to take. */
class MemoryWatch {
  readonly #look: () => Promise<ReadonlyMap<string, number>>;
  readonly #heaps: number[][] = [[], [], []];
  readonly #residents: number[][] = [[], [], []];
  #turn: Promise<void> = Promise.resolve();

  constructor(look: () => Promise<ReadonlyMap<string, number>>) {
    this.#look = look;
  }

  note(number: number): void {
    if (number % LOOK_EVERY !== 0) return;
    const third = Math.min(2, Math.floor((3 * number) / REQUESTS));
    this.#turn = this.#turn.then(async () => {
      const samples = await this.#look();
      this.#heaps[third]?.push(samples.get("nodejs_heap_size_used_bytes") ?? Number.NaN);
      this.#residents[third]?.push(samples.get("process_resident_memory_bytes") ?? Number.NaN);
    });
  }

  async growth(): Promise<{ readonly heap: number; readonly resident: number }> {
    await this.#turn;
    const grown = ([, second = [], third = []]: readonly number[][]): number =>
      Math.min(...third) - Math.min(...second);
    return { heap: grown(this.#heaps), resident: grown(this.#residents) };
  }
}

const CARS = [
  { _id: "c1", color: "blue", mileage: 100 },
  { _id: "c2", color: "red", mileage: 200 },
  { _id: "c3", color: "green", mileage: 300, rentals: 4 },
];

async function stateOf(served: Served): Promise<Value> {
  const statement = "SELECT * FROM cars ORDER BY _id";
  const cars = await callOnce(served, "/store/execute", { statement });
  const counted = await callOnce(served, "/store/count", { collection: "cars", query: "true" });
  return { cars, counted };
}

/** All files of the folder, by their paths. */
function filesOf(dataDir: string): string[] {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

test("[H4] [H6] [H8] [H12] a server answers 20,000 malformed requests with 4xx, and stores and leaks nothing", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const words = ["--transaction-wait", "0", "--attachment-size-max", String(ATTACHMENT_SIZE_MAX)];
  const served = await serveFolder(script, dataDir, words);
  await callOnce(served, "/store/execute", {
    statement: "INSERT INTO cars DOCUMENTS (:cars)",
    args: { cars: CARS },
  });
  const attachmentId = await uploadOnce(served, ATTACHED);
  const target: Target = { ...served, host: new URL(served.url).host, attachmentId };
  const watcher = await RawConnection.open(served.url);
  const look = async (): Promise<ReadonlyMap<string, number>> =>
    (await statsOf(served, watcher)).samples;
  const before = { state: await stateOf(served), stats: await look(), files: filesOf(dataDir) };

  const memory = new MemoryWatch(look);
  const counts = new Map<string, number>();
  const complaints: string[] = [];
  const onRequest = (number: number): void => memory.note(number);
  const load: Load = { served, target, counts, complaints, next: 0, onRequest };
  const stalled = complainAboutStalled(served, target);
  await Promise.all(Array.from({ length: LANES }, () => runLane(load)));
  complaints.push(...(await stalled));
  expect(complaints).toEqual([]);
  expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
  expect([...counts.keys()].toSorted()).toEqual(KINDS.toSorted());

  const { heap, resident } = await memory.growth();
  expect(heap, "growth of the heap").toBeLessThan(GROWTH_MAX);
  expect(resident, "growth of the process").toBeLessThan(GROWTH_MAX);
  await vi.waitFor(
    async () => {
      const stats = await look();
      for (const name of ["process_open_fds", "bigpeer_http_requests_in_flight"]) {
        const most = before.stats.get(name) ?? Number.NaN;
        expect(stats.get(name), name).toBeLessThanOrEqual(most);
      }
    },
    { timeout: 40_000, interval: 100 },
  );
  expect(served.process.hasEnded).toBe(false);
  expect(await stateOf(served)).toEqual(before.state);
  expect(filesOf(dataDir)).toEqual(before.files);
  watcher.destroy();

  served.process.kill("SIGTERM");
  // No request is under way: what still holds the process was left behind by one.
  const ended = (): void => expect(served.process.hasEnded, "the process ends").toBe(true);
  await vi.waitFor(ended, { timeout: CLOSE_MS_MAX, interval: 50 });
  const { code, stderr } = await served.process.ended;
  expect({ code, errors: stderr.match(/^.*"level":"(?:error|warn)".*$/gm) ?? [] }).toEqual({
    code: 0,
    errors: [],
  });
  const verified = await verifyFolder(script, dataDir);
  expect(verified, verified.stdout).toEqual(expect.objectContaining({ code: 0 }));
}, 600_000);
