/**
 * Proof that a cluster loses no acknowledged write and does none twice. Three nats-servers and three
 * nodes run as processes, with a proxy between any two of them. HTTP clients and small peers write
 * while processes are killed and stopped and connections are cut, at random by a seed. At the end
 * everything is whole again, and a checker compares what was acknowledged with what every node and
 * every peer has.
 */
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Random } from "../compare/random.mjs";
import { check, PLANTS } from "./cluster/checker.mjs";
import { startCluster } from "./cluster/cluster-processes.mjs";
import { Faults } from "./cluster/faults.mjs";
import { readNodes } from "./cluster/final-state.mjs";
import { checkGaps, gapsOf, gapTable } from "./cluster/gaps.mjs";
import { Peers, teamsOf } from "./cluster/peers.mjs";
import { DataClient, prepareDocuments, Writer } from "./cluster/writers.mjs";

export { parseOptions, USAGE } from "./cluster/options.mjs";

const WRITERS_PER_NODE = 4;
const CAUGHT_UP_MS_MAX = 120_000;
const POLL_MS = 500;

class Run {
  #options;
  #seed;
  #folder;
  #random;
  #log;
  #startMs = performance.now();
  #history = [];
  #cluster;
  #peers;

  constructor(options, seed, folder) {
    this.#options = options;
    this.#seed = seed;
    this.#folder = folder;
    this.#random = new Random(seed);
    this.#log = createWriteStream(join(folder, "run.log"));
  }

  get #now() {
    return () => performance.now() - this.#startMs;
  }

  #note(sentence) {
    this.#log.write(`${new Date().toISOString()} ${(this.#now() / 1000).toFixed(1)} ${sentence}\n`);
  }

  async run() {
    this.#cluster = await startCluster({ folder: this.#folder });
    this.#startMs = performance.now();
    try {
      return await this.#prove(this.#cluster);
    } finally {
      this.#note("ending");
      await this.kill();
      const lines = this.#history.map((event) => JSON.stringify(event));
      writeFileSync(join(this.#folder, "history.jsonl"), `${lines.join("\n")}\n`);
      this.#log.end();
    }
  }

  /** Ends every process of the run. */
  async kill() {
    await this.#peers?.end();
    await this.#cluster?.kill();
  }

  async #prove(cluster) {
    const { appId, apiKey } = cluster.quickstart;
    const client = new DataClient(apiKey);
    const faults = await this.#disturb(cluster, client);
    this.#note("waiting until all nodes and peers have caught up");
    const caughtUp = await this.#whenCaughtUp(cluster, client);
    client.close();
    this.#note("stopping");
    await this.#peers.end();
    const stopped = await Promise.all(cluster.nodes.map((node) => node.stop()));
    this.#note("reading the stores");
    const nodes = await readNodes(cluster, appId);
    this.#note("checking");
    return this.#verdict({ nodes, peers: caughtUp.peers }, faults.episodes, [
      ...caughtUp.violations,
      ...stopViolations(cluster, stopped),
    ]);
  }

  /** Writes and breaks until the time is over, and until everything is whole and answered. */
  async #disturb(cluster, client) {
    const { appId, apiKey } = cluster.quickstart;
    const { peers: count, minutes } = this.#options;
    const writers = this.#writersOf(cluster, client);
    const names = writers.map(({ name }) => name);
    const [first] = cluster.nodes;
    await prepareDocuments(client, first, { writers: names, teams: teamsOf(count) });
    const record = (event) => this.#history.push(event);
    const urls = await peerUrls(cluster, this.#random.fork());
    const logFile = join(this.#folder, "peers.log");
    this.#peers = await Peers.start({ count, urls, appId, apiKey, record, logFile });
    const random = this.#random.fork();
    const log = (sentence) => this.#note(sentence);
    const faults = new Faults({ cluster, appId, random, now: this.#now, log });
    const written = Promise.all(writers.map((writer) => writer.run()));
    const broken = faults.run();
    await Promise.race([written, broken, setTimeout(minutes * 60_000)]);
    faults.end();
    await broken;
    await cluster.heal();
    for (const writer of writers) writer.end();
    await written;
    await this.#peers.settle();
    return faults;
  }

  #writersOf({ nodes }, client) {
    const record = (event) => this.#history.push(event);
    return nodes.flatMap((home) =>
      Array.from({ length: WRITERS_PER_NODE }, (_, i) => {
        const name = `${home.name}-writer-${i + 1}`;
        const random = this.#random.fork();
        return new Writer({ name, client, nodes, home, random, record, now: this.#now });
      }),
    );
  }

  /** Waits until every node has the last write, and no peer has anything left to send. */
  async #whenCaughtUp({ nodes }, client) {
    const endMs = this.#now() + CAUGHT_UP_MS_MAX;
    const acknowledged = this.#history.filter(({ outcome }) => outcome === "acknowledged");
    const last = acknowledged.reduce((most, { txnId }) => Math.max(most, txnId), 0);
    const violations = [];
    for (const node of nodes) {
      const headers = { "x-service-txn-id": String(last) };
      const read = () => client.execute(node, "SELECT * FROM totals", {}, headers);
      let answer = await read();
      while (answer.status !== 200 && this.#now() < endMs) answer = await read();
      if (answer.status === 200) continue;
      const reason = answer.body.error?.description;
      violations.push(`${node.name} has not caught up: ${answer.status} ${reason}`);
    }
    const digests = await this.#settledPeers(() => expectedOf(client, nodes[0]), endMs);
    return { violations, peers: digests };
  }

  /** A peer may have the total of its team before the marks: they are two subscriptions. */
  async #settledPeers(readExpected, endMs) {
    for (;;) {
      const digests = await this.#peers.digests();
      const expected = await readExpected().catch(() => new Map());
      const isSettled = digests.every(({ pending, team, total, marks }) => {
        const { n, count } = expected.get(team) ?? {};
        return pending === 0 && total === n && marks.length === count;
      });
      if (isSettled || this.#now() > endMs) return digests;
      await setTimeout(POLL_MS);
    }
  }

  #verdict(end, episodes, more) {
    const { plant } = this.#options;
    const history = plant === undefined ? this.#history : PLANTS[plant](this.#history);
    const acknowledged = this.#history.filter(({ outcome }) => outcome === "acknowledged");
    const times = acknowledged.map(({ endMs }) => endMs).toSorted((a, b) => a - b);
    const gaps = gapsOf(times, episodes);
    const violations = [...more, ...check(history, end)];
    const counts = countsOf(this.#history);
    return { seed: this.#seed, violations, late: checkGaps(gaps), gaps, counts };
  }
}

/** The total of each team, and how many marks it has. */
async function expectedOf(client, node) {
  const totals = await client.rows(node, "SELECT * FROM totals");
  const counts = await client.rows(node, "SELECT team, count(*) AS n FROM marks GROUP BY team");
  const countOf = new Map(counts.map(({ team, n }) => [team, n]));
  return new Map(totals.map(({ _id: team, n }) => [team, { n, count: countOf.get(team) ?? 0 }]));
}

/** Half of the peers stay at their node; the others go to any node that runs. */
async function peerUrls(cluster, random) {
  const { nodes } = cluster;
  const anywhere = await cluster.openProxy(() => {
    const ports = nodes.map(({ clientPort }) => clientPort).filter((port) => port !== undefined);
    return random.pick(ports);
  });
  const balanced = `http://127.0.0.1:${anywhere.port}`;
  return nodes.flatMap(({ clientUrl }) => [clientUrl, balanced]);
}

function stopViolations({ nodes }, stopped) {
  return nodes
    .map(({ name }, i) => [name, stopped[i]])
    .filter(([, how]) => how !== 0)
    .map(([name, how]) => `${name} did not stop in good order: ${how}`);
}

/** Events by their type and outcome. */
function countsOf(history) {
  const counts = {};
  for (const { type, outcome = "written" } of history) {
    const name = `${type} ${outcome}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function report({ seed, violations, late, gaps, counts }, folder) {
  const events = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  console.log(`seed ${seed}: ${gaps.length} episodes; ${events.join(", ")}\n`);
  console.log(`${gapTable(gaps)}\n`);
  for (const violation of [...violations, ...late]) console.log(`violation: ${violation}`);
  if (violations.length + late.length > 0)
    console.log(`seed ${seed} failed; its folder is ${folder}\n`);
}

/** Ends the current run. */
let stop = async () => {};

async function runSeed(options, seed) {
  const folder = mkdtempSync(join(tmpdir(), `bigpeer-prove-cluster-${seed}-`));
  const run = new Run(options, seed, folder);
  stop = () => run.kill();
  let result;
  try {
    result = await run.run();
  } catch (error) {
    const violations = [`failed to run: ${error.stack}`];
    result = { seed, violations, late: [], gaps: [], counts: {} };
  }
  report(result, folder);
  const isKept = options.keep || result.violations.length + result.late.length > 0;
  if (!isKept) rmSync(folder, { recursive: true, force: true });
  return { ...result, ...(isKept && { folder }) };
}

/** Resolves with the exit code. */
export async function prove(options) {
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      void stop().finally(() => process.exit(1));
    });
  }
  const results = [];
  for (let run = 0; run < options.runs; run++) {
    results.push(await runSeed(options, options.seed + run));
    if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results));
  }
  const failed = results.filter(({ violations, late }) => violations.length + late.length > 0);
  console.log(`${results.length - failed.length} of ${results.length} runs hold`);
  return failed.length === 0 ? 0 : 1;
}
