/**
 * Faults: breaks a cluster at random, one episode after the other. An episode has one fault, or a
 * fault of a node and one of NATS at the same time. At its end everything is whole again.
 */
import { setTimeout } from "node:timers/promises";

/** How long a process is stopped or away, and how long a connection is broken. */
const STOPPED_MS = [1_000, 15_000];
const AWAY_MS = [200, 8_000];
const CUT_MS = [1_000, 15_000];
const QUORUM_MS = [2_000, 8_000];

/** Writes must go on between two episodes. */
const CALM_MS = [2_000, 7_000];

const TWO_FAULTS = 0.25;

/** How often the fault is where it hurts most: the evaluating node, the leader of the stream. */
const WORST = 0.5;

const NODE_FAULTS = {
  killed: async (node, { random }) => {
    await node.kill();
    await setTimeout(random.between(...AWAY_MS));
    await node.startUntilReady();
  },
  stopped: async (node, { random }) => {
    node.pause();
    await setTimeout(random.between(...STOPPED_MS));
    node.resume();
  },
  restarted: async (node, { random }) => {
    await node.stop();
    await setTimeout(random.between(0, 1_000));
    await node.startUntilReady();
  },
  "cut from NATS": (node, { random }) => breakAll(node.natsProxies, random),
  "cut from other nodes": (node, { random }) => breakAll([node.nodeProxy], random),
};

const NATS_FAULTS = {
  killed: async (server, { random }) => {
    await server.kill();
    await setTimeout(random.between(...AWAY_MS));
    await server.start();
    await server.ready();
  },
  stopped: async (server, { random }) => {
    await server.pause();
    await setTimeout(random.between(...STOPPED_MS));
    server.resume();
  },
  "cut from other servers": (server, { random, cluster }) =>
    breakAll(cluster.routesOf(server), random),
};

async function breakAll(proxies, random) {
  const isCut = random.chance(0.5);
  for (const proxy of proxies) {
    if (isCut) proxy.cut();
    else proxy.stall();
  }
  await setTimeout(random.between(...CUT_MS));
  for (const proxy of proxies) proxy.resume();
}

/** Two of three servers stop or are killed. */
async function loseQuorum(cluster, random) {
  const spared = random.pick(cluster.nats.servers);
  const lost = cluster.nats.servers.filter((server) => server !== spared);
  const isKilled = random.chance(0.5);
  for (const server of lost) {
    if (isKilled) await server.kill();
    else await server.pause();
  }
  await setTimeout(random.between(...QUORUM_MS));
  for (const server of lost) {
    if (isKilled) await server.start();
    else server.resume();
  }
}

export class Faults {
  #cluster;
  #appId;
  #random;
  #now;
  #log;
  #isOver = false;
  /** `{ faults: [{ kind, name, startMs, endMs }], startMs, endMs }`. */
  episodes = [];

  constructor({ cluster, appId, random, now, log }) {
    this.#cluster = cluster;
    this.#appId = appId;
    this.#random = random;
    this.#now = now;
    this.#log = log;
  }

  /** Runs until `end` is called, and then to the end of the episode. */
  async run() {
    await this.#episode([]);
    while (!this.#isOver) await this.#episode(await this.#chooseFaults());
  }

  end() {
    this.#isOver = true;
  }

  async #episode(chosen) {
    const startMs = this.#now();
    const faults = await Promise.all(chosen.map((fault) => this.#inject(fault)));
    await setTimeout(this.#random.between(...CALM_MS));
    const shown = faults.length > 0 ? faults : [{ kind: "no fault", startMs, endMs: startMs }];
    this.episodes.push({ faults: shown, startMs, endMs: this.#now() });
  }

  async #chooseFaults() {
    const random = this.#random;
    if (random.chance(0.06)) {
      const work = (given) => loseQuorum(this.#cluster, given.random);
      return [{ kind: "NATS quorum lost", name: "two servers", work }];
    }
    if (random.chance(TWO_FAULTS)) return [this.#nodeFault(), await this.#natsFault()];
    return [random.chance(0.65) ? this.#nodeFault() : await this.#natsFault()];
  }

  #nodeFault() {
    const evaluating = this.#cluster.evaluatorOf(this.#appId);
    const isWorst = this.#random.chance(WORST) && evaluating !== undefined;
    const node = isWorst ? evaluating : this.#random.pick(this.#cluster.nodes);
    const what = this.#random.pick(Object.keys(NODE_FAULTS));
    const role = node === evaluating ? "evaluating" : "following";
    const work = (given) => NODE_FAULTS[what](node, given);
    return { kind: `${role} node ${what}`, name: node.name, work };
  }

  async #natsFault() {
    const leader = await this.#cluster.natsLeaderOf(this.#appId);
    const isWorst = this.#random.chance(WORST) && leader !== undefined;
    const server = isWorst ? leader : this.#random.pick(this.#cluster.nats.servers);
    const what = this.#random.pick(Object.keys(NATS_FAULTS));
    const role = server === leader ? "leader" : "server";
    const work = (given) => NATS_FAULTS[what](server, given);
    return { kind: `NATS ${role} ${what}`, name: server.name, work };
  }

  async #inject({ kind, name, work }) {
    const startMs = this.#now();
    this.#log(`${kind}: ${name}`);
    await work({ random: this.#random.fork(), cluster: this.#cluster });
    this.#log(`${kind}: over`);
    return { kind, name, startMs, endMs: this.#now() };
  }
}
