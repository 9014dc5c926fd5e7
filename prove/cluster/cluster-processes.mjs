/**
 * A cluster of real processes on this machine: nats-servers and nodes, each of which can be killed,
 * stopped, started again, and cut off. Every connection between them passes a proxy:
 *
 *   node i ── natsProxies[j] ──> nats-server j      nats-server i ── routes[i][j] ──> nats-server j
 *   other nodes ── nodeProxy ──> node i             clients ── clientProxy ──> node i
 *
 * The proxies keep their ports when a process is started again.
 */
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findFreePorts, startNatsCluster } from "../../scripts/nats-cluster.mjs";
import { TcpProxy } from "./tcp-proxy.mjs";

const MAIN = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url));
const HOST = "127.0.0.1";
const READY_MS_MAX = 120_000;
const STOP_MS_MAX = 60_000;
const MONITOR_MS_MAX = 1_000;
const LOG_SHOWN = 4_000;

/**
 * Resolves when every node is ready. `main` is the program, `words` are more settings, `nodeFlags`
 * are flags of Node. Without `hasProxies` nothing can be cut off, and nothing costs time but the
 * processes.
 */
export async function startCluster(options) {
  const { folder, main = MAIN, size = 3, words = [], replicationSecret } = options;
  const { nodeFlags = [], hasProxies = true } = options;
  const proxies = [];
  const openProxy = async (target) => {
    const proxy = hasProxies ? await TcpProxy.open(target) : new DirectRoute(target);
    proxies.push(proxy);
    return proxy;
  };
  const routes = Array.from({ length: 3 }, () => []);
  const nats = await startNatsCluster({
    folder,
    routePortOf: async (from, to, port) => {
      if (from === to) return port;
      routes[from][to] = await openProxy(() => port);
      return routes[from][to].port;
    },
  });
  const secret = randomBytes(24).toString("base64url");
  const nodes = [];
  for (let i = 0; i < size; i++) {
    const natsProxies = [];
    for (const { url } of nats.servers) {
      const port = Number(new URL(url).port);
      natsProxies.push(await openProxy(() => port));
    }
    const name = `node-${i + 1}`;
    const started = { name, folder, main, words, nodeFlags, nats, secret, replicationSecret };
    const node = new ClusterNode(started);
    const nodeProxy = await openProxy(() => node.nodePort);
    const clientProxy = await openProxy(() => node.clientPort);
    nodes.push(node.withProxies({ natsProxies, nodeProxy, clientProxy }));
  }
  const cluster = new ClusterProcesses({ nats, nodes, routes, proxies });
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await Promise.all(nodes.map((node) => node.ready()));
    return cluster;
  } catch (error) {
    await cluster.kill();
    throw error;
  }
}

/** In the place of a proxy: the port of the target itself. */
class DirectRoute {
  #target;

  constructor(target) {
    this.#target = target;
  }

  get port() {
    return this.#target();
  }

  resume() {}

  async close() {}
}

class ClusterProcesses {
  #proxies;

  constructor({ nats, nodes, routes, proxies }) {
    this.nats = nats;
    this.nodes = nodes;
    this.routes = routes;
    this.#proxies = proxies;
  }

  /** A proxy that ends with the cluster. */
  async openProxy(target) {
    const proxy = await TcpProxy.open(target);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** The app and the key of the first start, which one node has made. */
  get quickstart() {
    for (const { dataDir } of this.nodes) {
      const path = join(dataDir, "quickstart.json");
      if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"));
    }
    throw new Error("no node has created an app");
  }

  /** The node that was the last to say that it evaluates a store; it may be gone. */
  evaluatorOf(store) {
    const since = (node) => node.evaluatingSince.get(store) ?? 0;
    const [first] = this.nodes.toSorted((a, b) => since(b) - since(a));
    return since(first) === 0 ? undefined : first;
  }

  /** The nats-server that leads the stream of a log; undefined while there is none. */
  async natsLeaderOf(store, cluster = "bigpeer") {
    for (const server of this.nats.servers) {
      const streams = await streamsAt(server.monitorUrl);
      const stream = streams.find(({ name }) => name === streamName(store, cluster, streams));
      const leader = this.nats.servers.find(({ name }) => name === stream?.cluster?.leader);
      if (leader !== undefined) return leader;
    }
    return undefined;
  }

  /** Proxies between a nats-server and the other ones, in both directions. */
  routesOf(server) {
    const i = this.nats.servers.indexOf(server);
    return this.routes.flatMap((row, from) => row.filter((_, to) => (from === i) !== (to === i)));
  }

  /** Ends every fault: all proxies forward, all processes run and are ready. */
  async heal() {
    for (const proxy of this.#proxies) proxy.resume();
    for (const process of [...this.nats.servers, ...this.nodes]) process.resume();
    await this.nats.start();
    await Promise.all(this.nodes.map((node) => node.startUntilReady()));
  }

  /** Stops the nodes with SIGTERM; NATS goes on. */
  async stopNodes() {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async stop() {
    await this.stopNodes();
    await this.nats.stop();
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  async kill() {
    await Promise.all([...this.nodes, ...this.nats.servers].map((each) => each.kill()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }
}

class ClusterNode {
  #options;
  #process;
  #exited = Promise.resolve();
  #ready = Promise.resolve();
  /** When it said last that it evaluates a store, by the clock of this process. */
  evaluatingSince = new Map();
  nodePort;
  clientPort;
  url = "";
  managementUrl = "";
  linkUrl = "";

  constructor(options) {
    this.#options = options;
    this.name = options.name;
    this.home = join(options.folder, options.name);
    this.dataDir = join(this.home, "data");
    mkdirSync(this.home, { recursive: true });
  }

  withProxies({ natsProxies, nodeProxy, clientProxy }) {
    this.natsProxies = natsProxies;
    this.nodeProxy = nodeProxy;
    this.clientProxy = clientProxy;
    return this;
  }

  /** A URL for clients that stays the same when the node is started again. */
  get clientUrl() {
    return `http://${HOST}:${this.clientProxy.port}`;
  }

  get pid() {
    return this.#process?.pid;
  }

  get isRunning() {
    return this.#process !== undefined;
  }

  /** The next start runs this program. */
  replaceProgram(main) {
    this.#options = { ...this.#options, main };
  }

  /** Does not wait until it is ready. */
  async start() {
    if (this.isRunning) return;
    const { main, words, nodeFlags, nats, secret, replicationSecret } = this.#options;
    const [nodePort] = await findFreePorts(1);
    this.nodePort = nodePort;
    const addresses = this.natsProxies.map(({ port }) => `nats://${HOST}:${port}`);
    const settings = {
      "data-dir": this.dataDir,
      port: 0,
      "management-port": 0,
      "replication-port": replicationSecret === undefined ? "off" : 0,
      cluster: addresses.join(","),
      "cluster-monitor": nats.monitorUrls.join(","),
      "cluster-port": nodePort,
      "cluster-advertise": `http://${HOST}:${this.nodeProxy.port}`,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const started = spawn(process.execPath, [...nodeFlags, main, ...flags, ...words], {
      env: {
        ...ownEnvironment(),
        BIGPEER_CLUSTER_SECRET: secret,
        ...(replicationSecret && { BIGPEER_REPLICATION_SECRET: replicationSecret }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = started;
    this.#exited = once(started, "exit").then(([code, signal]) => {
      this.#process = undefined;
      this.clientPort = undefined;
      return signal ?? code;
    });
    this.#watchLog(started);
    this.#ready = this.#announced(started);
    this.#ready.catch(() => {});
  }

  /** Resolves when it serves; rejects if it ends before. */
  ready() {
    return this.#ready;
  }

  /** Starts it again and again, as a supervisor does, until it serves. */
  async startUntilReady() {
    const end = Date.now() + READY_MS_MAX;
    for (;;) {
      await this.start();
      try {
        await this.ready();
        return;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }

  async #announced(started) {
    const lines = createInterface({ input: started.stdout });
    const announced = new Promise((resolve) => {
      lines.on("line", (line) => {
        const [, name, value] = /^ {2}(url|manage|links|stop) +(\S+)/.exec(line) ?? [];
        if (name === "url") this.url = value;
        if (name === "manage") this.managementUrl = value;
        if (name === "links") this.linkUrl = value;
        if (name === "stop") resolve("ready");
      });
    });
    const over = new AbortController();
    const late = setTimeout(READY_MS_MAX, "is not ready in time", { signal: over.signal });
    const ended = this.#exited.then((how) => `ended with ${String(how)}`);
    const outcome = await Promise.race([announced, ended, late.catch(() => "")]);
    over.abort();
    if (outcome !== "ready") {
      throw new Error(`${this.name} ${outcome}:\n${this.log().slice(-LOG_SHOWN)}`);
    }
    this.clientPort = Number(new URL(this.url).port);
  }

  #watchLog(started) {
    const file = createWriteStream(join(this.home, "log"), { flags: "a" });
    file.write(`process ${started.pid}\n`);
    const lines = createInterface({ input: started.stderr });
    lines.on("line", (line) => {
      file.write(`${line}\n`);
      const [, store] = /"msg":"the store (\S+) is evaluating"/.exec(line) ?? [];
      if (store !== undefined) this.evaluatingSince.set(store, performance.now());
    });
    lines.on("close", () => file.end());
  }

  /** SIGTERM, and SIGKILL if that takes too long. Resolves with how it ended. */
  async stop() {
    this.#process?.kill("SIGTERM");
    const over = new AbortController();
    const late = setTimeout(STOP_MS_MAX, "late", { signal: over.signal }).catch(() => {});
    const how = await Promise.race([this.#exited, late]);
    over.abort();
    if (how === "late") await this.kill();
    return how;
  }

  async kill() {
    this.#process?.kill("SIGKILL");
    await this.#exited;
  }

  /** SIGSTOP: its connections stay open. */
  pause() {
    this.#process?.kill("SIGSTOP");
  }

  resume() {
    this.#process?.kill("SIGCONT");
  }

  /** Kills it if it runs, and starts it again. */
  async restart() {
    await this.kill();
    await this.startUntilReady();
  }

  /** The log of all its processes. */
  log() {
    try {
      return readFileSync(join(this.home, "log"), "utf8");
    } catch {
      return "";
    }
  }
}

/** Streams as a nats-server knows them; none while it does not answer. */
async function streamsAt(monitorUrl) {
  try {
    const signal = AbortSignal.timeout(MONITOR_MS_MAX);
    const answer = await fetch(`${monitorUrl}/jsz?accounts=true&streams=true`, { signal });
    const { account_details: accounts = [] } = await answer.json();
    return accounts.flatMap(({ stream_detail: streams = [] }) => streams);
  } catch {
    return [];
  }
}

/** As packages/server/src/cluster/nats/nats-logs.ts names it. */
function streamName(store, cluster, streams) {
  const prefix = `bigpeer-${cluster}-log-`;
  const count = streams.filter(({ name }) => name.startsWith(prefix)).length;
  const hash = createHash("sha256").update(store).digest().readUInt32BE();
  return `${prefix}${hash % count}`;
}

/** Settings of the caller are not settings of the nodes. */
function ownEnvironment() {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("BIGPEER_"));
  return Object.fromEntries(entries);
}
