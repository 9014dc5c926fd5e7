/**
 * Benchmark of a cluster: three nodes and three nats-servers on this machine, beside a server that
 * is alone, and the bare log with the same messages. Rounds alternate, and medians are compared.
 *
 * Everything shares the cores of this machine, so processor time counts more than rates.
 * `--seconds N`, `--rounds N` and `--connections N` change the run.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startCluster } from "../prove/cluster/cluster-processes.mjs";
import { bareLog } from "./cluster/bare-log.mjs";
import { CASES, DOCUMENTS, upsertOf } from "./http/cases.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
  },
});
const SECONDS = Number(options.seconds);
const ROUNDS = Number(options.rounds);
const CONNECTIONS = Number(options.connections);
const WARM_SECONDS = 8;
const LOAD_BATCH = 500;
const WRITES_MADE_A_SECOND = 8_000;
const READS_MADE = 8_192;
const START_MS_MAX = 30_000;

const NODE_FLAGS = ["--max-semi-space-size=32"];

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
const children = [];

function start(file, args = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: NODE_FLAGS,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.push(child);
  return child;
}

async function startAlone() {
  const dataDir = join(folder, "alone");
  const words = ["--data-dir", dataDir, "--port", "0", "--management-port", "off"];
  const { pid } = start("../packages/server/dist/main.js", words);
  for (const end = performance.now() + START_MS_MAX; ; await setTimeout(50)) {
    try {
      const content = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
      const { apiKey: token, dataUrl: url } = content;
      if ((await fetch(`${url}/health/ready`)).ok) return { pid, token, url };
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

async function post({ url, token }, path, body) {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`expected status 200, found ${await answer.text()}`);
}

async function loadDocuments(server) {
  for (let i = 0; i < DOCUMENTS; i += LOAD_BATCH) {
    const commands = Array.from({ length: LOAD_BATCH }, (_, j) => upsertOf(i + j));
    await post(server, CASES.write.path, { commands });
  }
}

function cpuSeconds(pid) {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user + system) / 100;
}

let written = DOCUMENTS;

/** One round; processor time of each process in microseconds for each request. */
async function round(load, server, name, { seconds, watched, connections = CONNECTIONS }) {
  const { isWrite } = CASES[name];
  const count = isWrite ? Math.ceil(WRITES_MADE_A_SECOND * seconds) : READS_MADE;
  const from = isWrite ? written : 0;
  if (isWrite) written += count;
  const before = watched.map(cpuSeconds);
  const port = Number(new URL(server.url).port);
  load.send({ port, token: server.token, name, from, count, connections, seconds });
  const [{ times, elapsedMs }] = await once(load, "message");
  const cpu = watched.map((pid, i) => ((cpuSeconds(pid) - before[i]) * 1e6) / times.length);
  return { rate: (times.length * 1000) / elapsedMs, p50: quantile(times, 0.5), cpu };
}

function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function median(results, pick) {
  return quantile(results.map(pick), 0.5);
}

/** Runs all contestants in turn, some rounds. Returns the results of each. */
async function alternate(contestants) {
  const results = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (const run of Object.values(contestants)) await run(WARM_SECONDS);
  for (let i = 0; i < ROUNDS; i++) {
    for (const [name, run] of Object.entries(contestants)) results[name].push(await run(SECONDS));
  }
  return results;
}

function ratio(one, other) {
  return (one / other).toFixed(2);
}

function row(name, value, goal = "") {
  console.log(`${name.padEnd(58)}${value.padStart(12)}${goal.padStart(20)}`);
}

let cluster;
try {
  const load = start("http/load.mjs");
  const alone = await startAlone();
  await loadDocuments(alone);
  const clusterFolder = join(folder, "cluster");
  mkdirSync(clusterFolder);
  cluster = await startCluster({
    folder: clusterFolder,
    nodeFlags: NODE_FLAGS,
    hasProxies: false,
  });
  const { appId, apiKey: token } = cluster.quickstart;
  await loadDocuments({ url: cluster.nodes[0].url, token });
  const evaluating = cluster.evaluatorOf(appId);
  const [following] = cluster.nodes.filter((node) => node !== evaluating);
  const [evaluator, follower] = [evaluating, following].map(({ url }) => ({ url, token }));
  const pids = [evaluating.pid, following.pid];
  const log = await bareLog(cluster.nats, appId);
  const write = (server, watched, more) => (seconds) =>
    round(load, server, "write", { seconds, watched, ...more });
  const read = (server, pid) => (seconds) =>
    round(load, server, "findbyid", { seconds, watched: [pid] });

  const results = await alternate({
    alone: write(alone, [alone.pid]),
    evaluator: write(evaluator, pids),
    // Right behind it, because it appends the last messages once more.
    log: (seconds) => log.round(seconds),
    passed: write(follower, pids),
    one: write(evaluator, pids, { connections: 1 }),
    readAlone: read(alone, alone.pid),
    readFollower: read(follower, following.pid),
  });
  const cpu = (name, i = 0) => median(results[name], (result) => result.cpu[i]);
  const rate = (name) => median(results[name], (result) => result.rate);
  const p50 = (name) => median(results[name], (result) => result.p50);
  console.log(`${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s, durable upserts\n`);
  row("processor time of a write, a server alone", `${cpu("alone").toFixed(0)} µs`);
  row("  the evaluating node", ratio(cpu("evaluator"), cpu("alone")), "at most 1.3");
  row("  a node that follows", ratio(cpu("evaluator", 1), cpu("alone")), "at most 0.6");
  row("  passed on: the evaluating node", ratio(cpu("passed"), cpu("alone")));
  row("  passed on: the node that passes on", ratio(cpu("passed", 1), cpu("alone")));
  row("processor time of a read, a server alone", `${cpu("readAlone").toFixed(0)} µs`);
  row("  a node that follows", ratio(cpu("readFollower"), cpu("readAlone")), "at most 1");
  row("writes a second, a server alone", rate("alone").toFixed(0));
  row("  the cluster", ratio(rate("evaluator"), rate("alone")), "at least 0.25");
  row("  passed on", ratio(rate("passed"), rate("alone")));
  row("writes a second in the bare log, the same messages", rate("log").toFixed(0));
  row("  the cluster", ratio(rate("evaluator"), rate("log")), "at least 0.5");
  row("p50 of an append to the bare log", `${p50("log").toFixed(2)} ms`);
  row(
    "  p50 of a write, one connection",
    `+${(p50("one") - p50("log")).toFixed(2)} ms`,
    "at most +3 ms",
  );
  await log.close();
} finally {
  await cluster?.stop();
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map((child) => child.exitCode ?? once(child, "exit")));
  rmSync(folder, { recursive: true, force: true });
}
