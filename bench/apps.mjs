/**
 * Benchmark of many apps in one server: memory and open files while the apps are unused, the time
 * of the first request to an app, and what remains when the apps are idle again. The baseline is a
 * server with one app.
 *
 * It creates the apps through the management API and measures a server process from outside.
 * `--apps N` and `--used N` change the size of the run. Memory and open files are measured only
 * where /proc exists.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    apps: { type: "string", default: "1000" },
    used: { type: "string", default: "100" },
  },
});
const APPS = Number(options.apps);
const USED = Math.min(Number(options.used), APPS);

/** Seconds: longer than all first requests take, and short enough to wait for. */
const IDLE_SECONDS = 5;
const START_MS_MAX = 60_000;
const SETTLE_MS = 1_000;
const MAKERS = 8;

const MAIN = fileURLToPath(new URL("../packages/server/dist/main.js", import.meta.url));
const BIG_PEER = "/namespace/default/bigPeer/big-peer";
const EVERYTHING = { read: { everything: true }, write: { everything: true } };

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
const running = new Set();

/** Resolves when the server reports that it is ready. */
async function start(dataDir) {
  const startedAt = performance.now();
  const words = ["--data-dir", dataDir, "--port", "0", "--management-port", "0"];
  const child = spawn(process.execPath, [MAIN, ...words, "--app-idle", String(IDLE_SECONDS)], {
    env: { ...process.env, BIGPEER_LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  let printed = "";
  const signal = AbortSignal.timeout(START_MS_MAX);
  while (!/^ {2}stop /m.test(printed)) {
    const [chunk] = await once(child.stdout, "data", { signal });
    printed += chunk;
  }
  const readyMs = performance.now() - startedAt;
  const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
  return { child, readyMs, ...quickstart };
}

async function stop(child) {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
  running.delete(child);
}

async function send(url, { method = "POST", token, body }) {
  const answer = await fetch(url, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const content = await answer.json();
  if (answer.ok) return content;
  throw new Error(`expected status 200 of ${url}, found ${JSON.stringify(content)}`);
}

/** Creates the apps, with a key and a document in those that will be used. Returns the keys. */
async function makeApps({ managementUrl, dataUrl }) {
  const keys = [];
  let next = 1;
  const make = async () => {
    while (next < APPS) {
      const number = next++;
      const name = `app-${number}`;
      await send(`${managementUrl}${BIG_PEER}/app`, { body: { name } });
      if (keys.length >= USED) continue;
      const body = { name: "bench", permissions: EVERYTHING };
      const key = await send(`${managementUrl}${BIG_PEER}/app/${name}/apiKey`, { body });
      keys.push(key);
      const statement = "INSERT INTO cars DOCUMENTS ({'_id': 'blue', 'doors': 3})";
      await send(`${dataUrl}/api/v4/store/execute`, { token: key, body: { statement } });
    }
  };
  await Promise.all(Array.from({ length: MAKERS }, make));
  return keys.slice(0, USED);
}

/** Memory and open files of a process, where /proc exists. */
function statsOf({ pid }) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const megabytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000;
    return { megabytes, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return { megabytes: Number.NaN, descriptors: Number.NaN };
  }
}

async function openCount({ dataUrl }) {
  const text = await (await fetch(`${dataUrl}/metrics`)).text();
  return Number(/^bigpeer_apps_open (\d+)$/m.exec(text)?.[1]);
}

/** Reads once in each app, one after the other. Returns the times in milliseconds. */
async function readAll({ dataUrl }, keys) {
  const times = [];
  for (const token of keys) {
    const before = performance.now();
    const body = { collection: "cars", id: "blue" };
    await send(`${dataUrl}/api/v4/store/findbyid`, { token, body });
    times.push(performance.now() - before);
  }
  return times.toSorted((a, b) => a - b);
}

function row(title, { megabytes, descriptors }, open) {
  const cells = [title.padEnd(34), String(open).padStart(5)];
  console.log(...cells, megabytes.toFixed(0).padStart(9), String(descriptors).padStart(12));
}

function line(title, times) {
  const at = (part) => times[Math.floor((times.length - 1) * part)].toFixed(1).padStart(7);
  console.log(title.padEnd(34), at(0.5), at(0.99), at(1));
}

async function measure() {
  const one = await start(join(folder, "one"));
  await setTimeout(SETTLE_MS);
  const floor = statsOf(one.child);
  await stop(one.child);

  const dataDir = join(folder, "many");
  const maker = await start(dataDir);
  const beganAt = performance.now();
  const keys = await makeApps(maker);
  const makeMs = (performance.now() - beganAt) / APPS;
  await stop(maker.child);

  const many = await start(dataDir);
  await setTimeout(SETTLE_MS);
  console.log(`created in ${makeMs.toFixed(1)} ms each, ${MAKERS} at a time`);
  console.log(`ready after ${one.readyMs.toFixed(0)} ms with 1 app`);
  console.log(`ready after ${many.readyMs.toFixed(0)} ms with ${APPS} apps\n`);
  console.log("".padEnd(34), " open", "memory MB", "  open files");
  row("1 app", floor, 0);
  row(`${APPS} apps, none used yet`, statsOf(many.child), await openCount(many));
  const first = await readAll(many, keys);
  row(`${USED} of them used`, statsOf(many.child), await openCount(many));
  const second = await readAll(many, keys.slice(-20));
  while ((await openCount(many)) > 0) await setTimeout(100);
  await setTimeout(SETTLE_MS);
  row("idle again", statsOf(many.child), 0);
  await readAll(many, keys);
  while ((await openCount(many)) > 0) await setTimeout(100);
  await setTimeout(SETTLE_MS);
  row("used and idle once more", statsOf(many.child), 0);
  console.log("\nmilliseconds".padEnd(35), " median", "    p99", "    max");
  line("first request to an app", first);
  line("request to an app that is open", second);
  await stop(many.child);
}

try {
  await measure();
} finally {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
