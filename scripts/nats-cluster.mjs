/**
 * A JetStream cluster of nats-server processes on this machine, for tests and examples. It syncs
 * before it acknowledges, as a cluster of Big Peers requires.
 *
 * Each server has a folder of its own below the given one: its configuration, its store and its log.
 * A server keeps its name, its ports and its store when it is started again. Clients need no
 * credentials, unless there are other users; `SYSTEM_USER` is a user of the system account.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findNatsServer } from "./nats-server.mjs";

/** Reads the state of the servers; the other users cannot. */
export const SYSTEM_USER = { user: "system", password: "system-password" };

const HOST = "127.0.0.1";
const POLL_MS = 50;
const READY_MS_MAX = 60_000;

/** Another process may take a port between its choice and its use. */
const ATTEMPTS_MAX = 5;

/** Resolves when every server is ready and the cluster has a leader. */
export async function startNatsCluster(options) {
  const { path, reason } = await findNatsServer();
  if (path === undefined) throw new Error(`no nats-server: ${reason}`);
  for (let attempt = 1; ; attempt++) {
    const servers = await planServers({ ...options, path });
    try {
      const cluster = clusterOf(servers);
      await cluster.start();
      return cluster;
    } catch (error) {
      await Promise.all(servers.map((server) => server.kill()));
      const isTaken = servers.some((server) => server.log().includes("address already in use"));
      if (!isTaken || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

function clusterOf(servers) {
  return {
    servers,
    urls: servers.map((server) => server.url),
    monitorUrls: servers.map((server) => server.monitorUrl),
    async start() {
      await Promise.all(servers.map((server) => server.start()));
      await Promise.all(servers.map((server) => server.ready()));
    },
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function planServers({
  path,
  folder,
  size = 3,
  isSynced = true,
  maxPayload = "8MB",
  routePortOf,
  users = USERS,
}) {
  const ports = await findFreePorts(size * 3);
  const routePorts = ports.slice(0, size);
  const plans = routePorts.map(async (routePort, index) => {
    const name = `nats-${index + 1}`;
    const [port, monitorPort] = [ports[size + index], ports[2 * size + index]];
    const home = join(folder, name);
    mkdirSync(home, { recursive: true });
    const routes = await Promise.all(routePorts.map((to, i) => routePortOf?.(index, i, to) ?? to));
    const hasProxies = routePortOf !== undefined;
    const settings = { name, port, monitorPort, routePort, routes, isSynced, maxPayload, users };
    writeFileSync(join(home, "nats.conf"), configOf({ ...settings, hasProxies }));
    return new NatsServer({ path, name, home, port, monitorPort });
  });
  return Promise.all(plans);
}

/** The part of the configuration with accounts and users. */
const USERS = `accounts {
  SYSTEM { users: [{ user: "${SYSTEM_USER.user}", password: "${SYSTEM_USER.password}" }] }
  CLIENTS { jetstream: enabled, users: [{ user: "client", password: "client-password" }] }
}
system_account: SYSTEM
no_auth_user: client`;

/** All of them are held at once, so that they differ. */
export async function findFreePorts(count) {
  const listeners = Array.from({ length: count }, () => createServer());
  await Promise.all(listeners.map((each) => once(each.listen(0, HOST), "listening")));
  const ports = listeners.map((each) => each.address().port);
  await Promise.all(listeners.map((each) => once(each.close(), "close")));
  return ports;
}

/** Without it, servers and clients tell each other addresses that pass no proxy. */
const UNADVERTISED = `no_advertise: true
  advertise: "${HOST}:1"`;

function configOf(settings) {
  const { name, port, monitorPort, routePort, routes, isSynced, maxPayload, hasProxies } = settings;
  const cluster = `cluster {
  name: local
  listen: "${HOST}:${routePort}"
  routes: [${routes.map((each) => `"nats://${HOST}:${each}"`).join(", ")}]
  ${hasProxies ? UNADVERTISED : ""}
}`;
  return `server_name: ${name}
listen: "${HOST}:${port}"
http: "${HOST}:${monitorPort}"
max_payload: ${maxPayload}
log_file: "server.log"
jetstream {
  store_dir: "store"
  ${isSynced ? "sync_interval: always" : ""}
}
${settings.users}
${routes.length > 1 ? cluster : ""}
`;
}

class NatsServer {
  #path;
  #home;
  #process;
  #exited = Promise.resolve();

  constructor({ path, name, home, port, monitorPort }) {
    this.#path = path;
    this.#home = home;
    this.name = name;
    this.url = `nats://${HOST}:${port}`;
    this.monitorUrl = `http://${HOST}:${monitorPort}`;
  }

  get pid() {
    return this.#process?.pid;
  }

  get isRunning() {
    return this.#process !== undefined;
  }

  /** Does not wait until it is ready. */
  async start() {
    if (this.isRunning) return;
    const started = spawn(this.#path, ["-c", "nats.conf"], { cwd: this.#home, stdio: "ignore" });
    this.#process = started;
    this.#exited = once(started, "exit").then(() => {
      this.#process = undefined;
    });
    await once(started, "spawn");
  }

  /** Resolves when it serves JetStream, which needs a majority of the cluster. */
  async ready() {
    const end = Date.now() + READY_MS_MAX;
    while (!(await this.#isHealthy())) {
      if (!this.isRunning) throw new Error(`${this.name} ended:\n${this.#summary()}`);
      if (Date.now() > end) throw new Error(`${this.name} is not ready:\n${this.#summary()}`);
      await setTimeout(POLL_MS);
    }
  }

  /** Without the answers to the question whether it is ready. */
  #summary() {
    const lines = this.log().split("\n");
    return lines.filter((line) => !line.includes("Healthcheck failed")).join("\n");
  }

  async #isHealthy() {
    const answer = await fetch(`${this.monitorUrl}/healthz`).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.ok === true;
  }

  /** In good order: it hands its leaderships over. */
  stop() {
    return this.#end("SIGTERM");
  }

  kill() {
    return this.#end("SIGKILL");
  }

  async #end(signal) {
    this.#process?.kill(signal);
    await this.#exited;
  }

  /**
   * Stops the process without an end to its connections, as a stuck machine does. Resolves when none
   * of its threads runs, where the system tells that: the signal alone does not wait for them.
   */
  async pause() {
    const process = this.#process;
    if (process === undefined) return;
    process.kill("SIGSTOP");
    while (this.isRunning && hasRunningThread(process.pid)) await setTimeout(1);
  }

  resume() {
    this.#process?.kill("SIGCONT");
  }

  /** Starts it again and waits until it is ready. */
  async restart() {
    await this.kill();
    await this.start();
    await this.ready();
  }

  log() {
    try {
      return readFileSync(join(this.#home, "server.log"), "utf8");
    } catch {
      return "";
    }
  }
}

/** Of a process that was told to stop. False where the system has no `/proc`. */
function hasRunningThread(pid) {
  try {
    const folder = `/proc/${pid}/task`;
    return readdirSync(folder).some((thread) => {
      const stat = readFileSync(join(folder, thread, "stat"), "utf8");
      // The name of the program, in brackets, may have any character.
      return stat.charAt(stat.lastIndexOf(")") + 2) !== "T";
    });
  } catch {
    return false;
  }
}
