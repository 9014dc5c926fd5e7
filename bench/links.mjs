/**
 * Benchmark of a link between two Big Peers in one direction: how fast an empty server receives all
 * documents of another one, and how much memory both use.
 *
 * The same run also loads the documents in three other ways: over HTTP into the source, in random
 * order; over HTTP into a third server, in the order of ids, which is the order of a link; and in
 * the order of ids into a store without a server.
 *
 * Each server and each loader is a process of its own. The time of a link runs from the call that
 * creates it until the target reports that it has everything. Then the documents are counted and
 * checked.
 *
 *   --documents N    documents (default 1000000)
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { fieldsOf, idOf } from "./floor/cars.mjs";
import { start, stopAll } from "./sync/process.mjs";
import { startBigPeer } from "./sync/servers.mjs";
import { figure, row, verdict } from "./sync/table.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: { documents: { type: "string", default: "1000000" } },
});
const DOCUMENTS = Number(options.documents);

const GOAL = 0.4;
const SAMPLE_MS = 200;
const LOOKED_AT = 100;
const APP_ID = randomUUID();
const SECRET = randomUUID();
const MB = 1e6;
const BIG_PEER = "/namespace/default/bigPeer/big-peer";
const EVERYTHING = { read: { everything: true }, write: { everything: true } };

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a server with the app that all servers have. */
async function open(name) {
  const linkPort = await freePort();
  const flags = ["--management-port", "0", "--replication-port", String(linkPort)];
  const env = { BIGPEER_REPLICATION_SECRET: SECRET };
  const server = await startBigPeer(join(folder, name), { flags, env });
  const manage = async (method, path, body) => {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.managementUrl}${BIG_PEER}${path}`, init);
    const content = await answer.json();
    if (answer.ok) return content;
    throw new Error(`expected status 200 of ${path}, found ${JSON.stringify(content)}`);
  };
  await manage("POST", "/app", { name: "shop", appId: APP_ID });
  const key = { name: "bench", permissions: EVERYTHING };
  server.token = await manage("POST", "/app/shop/apiKey", key);
  return Object.assign(server, { manage, linkPort });
}

/** Memory of the process in bytes, without and with mapped files. */
function memoryOf({ child }) {
  try {
    const status = readFileSync(`/proc/${child.process.pid}/status`, "utf8");
    const of = (name) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
    return { own: of("RssAnon"), all: of("VmRSS") };
  } catch {
    return { own: Number.NaN, all: Number.NaN };
  }
}

async function heldBy({ child }) {
  const { heapUsed, external } = await child.ask("memory");
  return heapUsed + external;
}

/** Samples the memory of servers, and finds the maximum in each part of the run. */
class Memory {
  constructor(servers) {
    this.servers = servers;
    this.before = servers.map(memoryOf);
    this.samples = [];
    this.timer = setInterval(() => this.samples.push(servers.map(memoryOf)), SAMPLE_MS);
  }

  /** Ends the samples and measures objects and buffers after garbage collection. */
  async stop() {
    clearInterval(this.timer);
    this.held = await Promise.all(this.servers.map(heldBy));
  }

  /** Maximum of one server between two points of the run. */
  most(index, name, from = 0, to = 1) {
    const { length } = this.samples;
    const part = this.samples.slice(Math.floor(from * length), Math.ceil(to * length));
    return Math.max(...part.map((sample) => sample[index][name])) / MB;
  }
}

function cpuOf(children, before) {
  return children.map((child, i) => ((child.cpuSeconds - before[i]) * 1e6) / DOCUMENTS);
}

/** Loads documents into an empty server. */
async function load(server, isSorted) {
  const child = start("../links/loader.mjs");
  const memory = new Memory([server]);
  const before = [server.child.cpuSeconds, child.cpuSeconds];
  const { port, token } = server;
  const { ms } = await child.ask("overHttp", { port, token, documents: DOCUMENTS, isSorted });
  const [serverUs, otherUs] = cpuOf([server.child, child], before);
  await memory.stop();
  await child.stop();
  await check(server);
  return { rate: (DOCUMENTS * 1000) / ms, serverUs, otherUs, memory };
}

/** Loads documents into an empty store. */
async function loadInProcess() {
  const child = start("../links/loader.mjs");
  const given = { folder: join(folder, "local"), documents: DOCUMENTS, isSorted: true };
  const { ms } = await child.ask("inProcess", given);
  const serverUs = (child.cpuSeconds * 1e6) / DOCUMENTS;
  await child.stop();
  return { rate: (DOCUMENTS * 1000) / ms, serverUs };
}

/** Links a full server to an empty one. */
async function link(source, target) {
  await source.manage("POST", "/app/shop/bigPeerReplication", { name: "to-target" });
  const children = [target.child, source.child];
  const memory = new Memory([target, source]);
  const before = children.map(({ cpuSeconds }) => cpuSeconds);
  const startedAt = performance.now();
  await target.manage("POST", "/app/shop/bigPeerReplication", {
    name: "from-source",
    connections: [`127.0.0.1:${source.linkPort}`],
    queriesByCollection: { cars: ["true"] },
  });
  let shown;
  do {
    await setTimeout(SAMPLE_MS / 4);
    [shown] = (await target.manage("GET", "/app/shop/bigPeerReplication/from-source/status")).links;
  } while (!isWhole(shown));
  const ms = performance.now() - startedAt;
  const [serverUs, otherUs] = cpuOf(children, before);
  await memory.stop();
  await check(target);
  return { rate: (DOCUMENTS * 1000) / ms, serverUs, otherUs, memory, shown };
}

/** Whether the target reports that it has everything, and that it is on disk. */
function isWhole({ state, lag, subscriptions }) {
  if (state !== "linked" || lag.transactions !== 0 || subscriptions.length === 0) return false;
  return subscriptions.every((each) => each.state === "live" && each.transaction > 0);
}

async function check(server) {
  const statement = "SELECT count(*) AS n FROM cars";
  const { items } = await server.post("execute", { statement });
  if (items[0].n !== DOCUMENTS) throw new Error(`expected all, found ${JSON.stringify(items)}`);
  for (let i = 0; i < LOOKED_AT; i++) {
    const number = Math.floor((i * DOCUMENTS) / LOOKED_AT);
    const { fields } = await server.post("findbyid", { collection: "cars", id: idOf(number) });
    const { _id: _, ...found } = fields;
    if (!isDeepStrictEqual(found, fieldsOf(number))) {
      throw new Error(`expected document ${number}, found ${JSON.stringify(fields)}`);
    }
  }
}

function print(title, { rate, serverUs, otherUs }, linked) {
  const ratio = (linked.rate / rate).toFixed(2);
  row(title, [figure(rate), figure(serverUs, 1), figure(otherUs, 1), ratio]);
}

function printMemory(title, memory, index) {
  const quarter = (i) => figure(memory.most(index, "own", i / 4, (i + 1) / 4));
  const cells = [figure(memory.before[index].own / MB), ...[0, 1, 2, 3].map(quarter)];
  const held = figure(memory.held[index] / MB);
  row(title, [...cells, held, figure(memory.most(index, "all"))]);
}

async function main() {
  const source = await open("source");
  const first = await load(source, false);
  const target = await open("target");
  const linked = await link(source, target);
  await Promise.all([source.child.stop(), target.child.stop()]);
  const third = await open("third");
  const second = await load(third, true);
  await third.child.stop();
  const local = await loadInProcess();

  const some = Array.from({ length: 1_000 }, (_, i) => Math.floor((i * DOCUMENTS) / 1_000));
  const texts = some.map((i) => JSON.stringify({ _id: idOf(i), ...fieldsOf(i) }));
  const size = Math.round(texts.join("").length / texts.length);
  console.log(`${figure(DOCUMENTS)} documents of ${size} bytes of JSON`);
  row("CPU µs for each document", ["a second", "of server", "of other side", "link is"]);
  print("  link into an empty server", linked, linked);
  print("  bulk load over HTTP", first, linked);
  print("  bulk load over HTTP, in order of ids", second, linked);
  print("  bulk load in process, in order of ids", local, linked);
  const { pulled } = linked.shown;
  console.log(`pulled over the link: ${JSON.stringify(pulled)}`);
  console.log();
  const quarters = ["1st quarter", "2nd", "3rd", "4th"];
  row("own memory in MB, maximum", ["before", ...quarters, "held at end", "with files"]);
  printMemory("  link: target", linked.memory, 0);
  printMemory("  link: source", linked.memory, 1);
  printMemory("  bulk load over HTTP", first.memory, 0);
  printMemory("  bulk load over HTTP, in order of ids", second.memory, 0);
  console.log();
  const ratio = linked.rate / Math.max(first.rate, second.rate, local.rate);
  verdict(`${GOAL} of the fastest bulk load (${ratio.toFixed(2)})`, ratio >= GOAL);
}

try {
  await main();
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
