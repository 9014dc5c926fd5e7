/**
 * Benchmark of the data API over HTTP. It compares reads with a bare `node:http` server that parses
 * and sends JSON of the same size, and durable upserts with raw LMDB and with PostgreSQL.
 *
 * Each server and the load generator are separate processes. Rounds of the contestants alternate,
 * and medians are compared, because the load of the machine varies. `--seconds N`, `--rounds N`,
 * `--connections N`, `--only reads`, `--only beside` (reads beside a full load of writes) and
 * `--only writes` change the run. `--before FOLDER` adds another checkout of Big Peer, set up by its
 * own `npm run build`, as a contestant.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CASES, DOCUMENTS, upsertOf } from "./http/cases.mjs";
import { startPostgres } from "./http/postgres.mjs";
import { install } from "./rivals/install.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "1.2" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    only: { type: "string" },
    before: { type: "string" },
  },
});
const SECONDS = Number(options.seconds);
const ROUNDS = Number(options.rounds);
const CONNECTIONS = Number(options.connections);

/** Warm-up round, which does not count: JavaScript is several times slower at first. */
const WARM_SECONDS = 8;
const WARM_SECONDS_OF_OTHERS = 1;

/** Number of prepared requests of a round; after the last one, the first one follows again. */
const READS_MADE = 8_192;
const WRITES_MADE_A_SECOND = 16_000;

const LOAD_BATCH = 500;
const START_MS_MAX = 20_000;

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));

/** All processes, each with a promise of its exit. */
const ends = new Map();

/** The option of `npm start`; all other processes use it too. */
const NODE_OPTIONS = ["--max-semi-space-size=32"];

function start(file, args = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: NODE_OPTIONS,
    env: { ...process.env, BIGPEER_LOG_LEVEL: "warn" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  ends.set(child, new AbortController());
  child.once("exit", () => ends.get(child).abort());
  return child;
}

/** Resolves with the next message of a process. Rejects if the process ends before. */
async function nextMessage(child) {
  const [message] = await once(child, "message", ends.get(child));
  return message;
}

async function ask(child, message) {
  child.send(message);
  return nextMessage(child);
}

async function stopAll() {
  for (const [child, { signal }] of ends) {
    if (signal.aborted) continue;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
}

/** `name` is that of its data folder. */
async function startOurs(name, main) {
  const dataDir = join(folder, name);
  const flags = ["--data-dir", dataDir, "--port", "0", "--management-port", "off"];
  const child = start(main, flags);
  for (const end = performance.now() + START_MS_MAX; ; await setTimeout(50)) {
    try {
      const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
      const { apiKey: token, dataUrl: url } = quickstart;
      if ((await fetch(`${url}/health/ready`)).ok) {
        return { child, token, url, port: Number(new URL(url).port) };
      }
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

async function post({ url, token }, path, body) {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "accept-encoding": "identity",
    },
    body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (answer.ok) return content;
  throw new Error(`expected status 200 of ${path}, found ${JSON.stringify(content)}`);
}

async function loadDocuments(ours) {
  for (let i = 0; i < DOCUMENTS; i += LOAD_BATCH) {
    const commands = Array.from({ length: LOAD_BATCH }, (_, j) => upsertOf(i + j));
    await post(ours, CASES.write.path, { commands });
  }
}

/** Processor time in seconds, where the system reports it. */
function cpuSeconds({ pid }) {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13).map(Number);
    return (user + system) / 100;
  } catch {
    return Number.NaN;
  }
}

/** The other checkout, with the same documents. */
async function startBefore() {
  if (options.before === undefined) return undefined;
  const main = pathToFileURL(join(options.before, "packages/server/dist/main.js"));
  const before = await startOurs("before", main);
  await loadDocuments(before);
  return before;
}

/** Number of upserts so far, which sets the fields of the next one. */
let written = DOCUMENTS;

/** One round of a case against one server. */
async function overHttp(load, { port, token, child }, name, seconds) {
  const { isWrite } = CASES[name];
  const count = isWrite ? Math.ceil(WRITES_MADE_A_SECOND * seconds) : READS_MADE;
  const from = isWrite ? written : 0;
  if (isWrite) written += count;
  const before = cpuSeconds(child);
  const asked = { port, token, name, from, count, connections: CONNECTIONS, seconds };
  const { times, elapsedMs } = await ask(load, asked);
  const cpuMicros = ((cpuSeconds(child) - before) * 1e6) / times.length;
  return { rate: (times.length * 1000) / elapsedMs, times, cpuMicros };
}

async function ofRaw(raw, kind, seconds) {
  const count = Math.ceil(WRITES_MADE_A_SECOND * seconds);
  const asked = { kind, from: written, count, connections: CONNECTIONS, seconds };
  written += count;
  const { count: done, elapsedMs, times } = await ask(raw, asked);
  return { rate: (done * 1000) / elapsedMs, times };
}

function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function row(name, cells) {
  console.log(name.padEnd(46) + cells.map((cell) => cell.padStart(10)).join(""));
}

/** Runs rounds of all `contestants` in turn. Ratios are relative to the first one. */
async function compare(title, contestants) {
  const results = contestants.map(() => []);
  for (const { run, warmSeconds = WARM_SECONDS } of contestants) await run(warmSeconds);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { run }] of contestants.entries()) results[i].push(await run(SECONDS));
  }
  const medianOf = (i, pick) => quantile(results[i].map(pick), 0.5);
  row(title, ["a second", "ratio", "p50 ms", "p99 ms", "CPU µs"]);
  for (const [i, { name }] of contestants.entries()) {
    const rate = medianOf(i, (result) => result.rate);
    const times = results[i].flatMap((result) => result.times);
    const cpu = medianOf(i, (result) => result.cpuMicros ?? Number.NaN);
    row(`  ${name}`, [
      Math.round(rate).toLocaleString("en"),
      i === 0 ? "" : (rate / medianOf(0, (result) => result.rate)).toFixed(2),
      quantile(times, 0.5).toFixed(2),
      quantile(times, 0.99).toFixed(2),
      Number.isNaN(cpu) ? "" : cpu.toFixed(1),
    ]);
  }
  console.log("");
}

async function measureReads(ours, load, before) {
  const names = ["findbyid", "select"];
  const samples = {};
  for (const name of names) {
    const { title, path, body } = CASES[name];
    const sample = await post(ours, path, body(1));
    if (!JSON.stringify(sample).includes("Volvo")) throw new Error(`${title} found nothing`);
    samples[path] = sample;
  }
  const child = start("http/bare-server.mjs", [JSON.stringify(samples)]);
  const { port } = await nextMessage(child);
  const bare = { child, port, token: ours.token };
  for (const name of names) {
    await compare(CASES[name].title, [
      { name: "bare node:http", run: (seconds) => overHttp(load, bare, name, seconds) },
      ...versions(ours, before).map(([version, server]) => ({
        name: version,
        run: (seconds) => overHttp(load, server, name, seconds),
      })),
    ]);
  }
}

/** Reads while another process writes as much as it can. */
async function measureBeside(ours, load, before) {
  const writer = start("http/load.mjs");
  for (const name of ["findbyid", "select"]) {
    await compare(
      `${CASES[name].title}, beside writes`,
      versions(ours, before).map(([version, server]) => ({
        name: version,
        run: async (seconds) => {
          const writing = overHttp(writer, server, "write", seconds);
          const { rate, times } = await overHttp(load, server, name, seconds);
          await writing;
          return { rate, times };
        },
      })),
    );
  }
}

/** PostgreSQL alone with pgbench, and behind an HTTP server with the same load as Big Peer. */
async function contestantsOf(postgres, load) {
  const alone = {
    name: `PostgreSQL ${postgres.version}, pgbench`,
    run: (seconds) => postgres.upserts({ connections: CONNECTIONS, seconds }),
    warmSeconds: WARM_SECONDS_OF_OTHERS,
  };
  const from = await install("pg@8.23.1");
  const child = start("http/postgres-server.mjs", [from, postgres.folder, String(CONNECTIONS)]);
  const { port } = await nextMessage(child);
  const server = { child, port, token: "none" };
  return [
    alone,
    {
      name: "PostgreSQL behind a bare node:http",
      run: async (seconds) => {
        // Most of its processor time is in the processes of PostgreSQL.
        const { rate, times } = await overHttp(load, server, "write", seconds);
        return { rate, times };
      },
    },
  ];
}

function versions(ours, before) {
  const all = [["big peer", ours]];
  if (before !== undefined) all.push(["big peer before", before]);
  return all;
}

async function measureWrites(ours, load, before) {
  const raw = start("http/raw-commits.mjs", [join(folder, "raw")]);
  await nextMessage(raw);
  const postgres = await startPostgres((why) => console.log(`${why}\n`));
  const contestants = [
    {
      name: "raw LMDB, the same puts",
      run: (seconds) => ofRaw(raw, "puts", seconds),
      warmSeconds: WARM_SECONDS_OF_OTHERS,
    },
    {
      name: "raw LMDB, documents alone",
      run: (seconds) => ofRaw(raw, "documents", seconds),
      warmSeconds: WARM_SECONDS_OF_OTHERS,
    },
    ...versions(ours, before).flatMap(([version, server]) =>
      ["write", "insert"].map((name) => ({
        name: `${version}, ${CASES[name].title}`,
        run: (seconds) => overHttp(load, server, name, seconds),
      })),
    ),
  ];
  try {
    if (postgres !== undefined) contestants.push(...(await contestantsOf(postgres, load)));
    await compare("durable upserts of documents that are there", contestants);
  } finally {
    await postgres?.stop();
  }
}

try {
  const load = start("http/load.mjs");
  const ours = await startOurs("data", "../packages/server/dist/main.js");
  await loadDocuments(ours);
  const before = await startBefore();
  console.log(
    `${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s, ${DOCUMENTS} documents\n`,
  );
  const { only = "all" } = options;
  if (["all", "reads"].includes(only)) await measureReads(ours, load, before);
  if (["all", "beside"].includes(only)) await measureBeside(ours, load, before);
  if (["all", "writes"].includes(only)) await measureWrites(ours, load, before);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
