/**
 * Transfers under failures: a sender, a receiver and a server, each its own process. All connections go
 * through proxies that cut them and count their bytes; processes are killed and started again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Random } from "../../compare/random.mjs";
import { startServer } from "../availability/server-process.mjs";
import { contentsOf, digestOf } from "./contents.mjs";

const PEER = fileURLToPath(new URL("peer-process.mjs", import.meta.url));

/** The server must take the large file. */
const FLAGS = ["--attachment-size-max", String(4 * 1024 ** 3)];

const SAMPLE_MS = 100;

/** How long nothing may arrive, on any machine. */
const STALL_MS_MAX = 300_000;

/**
 * Returns `{ bytes, sent, received, memory, cuts, kills, seconds, failures }`: `sent` and `received` are
 * what passed the proxies, `memory` has the most bytes that each process had in use.
 */
export async function transfer(options, report = () => {}) {
  const run = new Transfers(options, report);
  try {
    return await run.play();
  } finally {
    await run.close();
  }
}

class Transfers {
  #options;
  #report;
  #random;
  #contents;
  #folder = mkdtempSync(join(tmpdir(), "bigpeer-attachments-"));
  #failures = [];
  #memory = { server: 0, sender: 0, receiver: 0 };
  #arrived = new Map();
  #lastArrival = performance.now();
  #proxies = {};
  #processes = {};
  #quickstart;
  #kills = 0;
  #isOver = false;

  constructor(options, report) {
    this.#options = options;
    this.#report = report;
    this.#random = new Random(options.seed);
    this.#contents = contentsOf(options, this.#random);
  }

  async play() {
    const begin = performance.now();
    await this.#start("server");
    this.#proxies.sender = await CountingProxy.open(() => this.#port);
    this.#proxies.receiver = await CountingProxy.open(() => this.#port);
    await this.#start("sender");
    await this.#start("receiver");
    const faults = [this.#cut(), this.#kill(), this.#sample()];
    await this.#untilArrived();
    this.#isOver = true;
    await Promise.all(faults);
    const { sender, receiver } = this.#proxies;
    this.#check();
    return {
      bytes: this.#contents.reduce((sum, { size }) => sum + size, 0),
      sent: sender.up,
      received: receiver.down,
      memory: this.#memory,
      cuts: sender.cuts + receiver.cuts,
      kills: this.#kills,
      seconds: (performance.now() - begin) / 1000,
      failures: this.#failures,
    };
  }

  async close() {
    this.#isOver = true;
    for (const child of Object.values(this.#processes)) await child.kill();
    for (const proxy of Object.values(this.#proxies)) proxy.close();
    if (this.#failures.length === 0) rmSync(this.#folder, { recursive: true, force: true });
  }

  get #port() {
    return this.#processes.server?.isRunning === true
      ? Number(new URL(this.#quickstart.dataUrl).port)
      : undefined;
  }

  async #start(name) {
    if (name === "server") {
      const server = await startServer(join(this.#folder, "server"), { flags: FLAGS });
      const { appId, apiKey, dataUrl } = server;
      this.#quickstart = { appId, apiKey, dataUrl };
      this.#processes.server = {
        pid: server.child.pid,
        get isRunning() {
          return server.isRunning;
        },
        kill: () => server.kill(),
      };
      return;
    }
    this.#processes[name] = this.#startPeer(name);
  }

  #startPeer(name) {
    const { appId, apiKey: token } = this.#quickstart;
    const url = `http://127.0.0.1:${this.#proxies[name].port}`;
    const contents = name === "sender" ? this.#contents : [];
    const options = { appId, token, url, folder: join(this.#folder, name), contents };
    const words = [PEER, name === "sender" ? "send" : "receive", JSON.stringify(options)];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    createInterface(child.stdout).on("line", (line) => this.#heard(name, JSON.parse(line)));
    return {
      pid: child.pid,
      get isRunning() {
        return child.exitCode === null && child.signalCode === null;
      },
      kill: async () => {
        child.kill("SIGKILL");
        await ended;
      },
    };
  }

  #heard(name, line) {
    if (line.error !== undefined) this.#failures.push(`${name}: ${line.error}`);
    if (line.arrived === undefined) return;
    if (!this.#arrived.has(line.arrived)) {
      this.#lastArrival = performance.now();
      const { size } = this.#contents[line.arrived];
      this.#report(
        `file ${line.arrived} of ${size} bytes arrived, ${this.#arrived.size + 1} in all`,
      );
    }
    this.#arrived.set(line.arrived, line.digest);
  }

  async #untilArrived() {
    while (this.#arrived.size < this.#contents.length) {
      await wait(50);
      const { sender, receiver } = this.#proxies;
      const moved = Math.max(this.#lastArrival, sender.lastMs, receiver.lastMs);
      if (performance.now() - moved > STALL_MS_MAX) {
        this.#failures.push(`${this.#arrived.size} of ${this.#contents.length} files arrived`);
        return;
      }
    }
  }

  #check() {
    for (const [i, content] of this.#contents.entries()) {
      if (this.#arrived.get(i) !== digestOf(content)) {
        this.#failures.push(`file ${i} of ${content.size} bytes did not arrive whole`);
      }
    }
  }

  async #cut() {
    while (!this.#isOver) {
      await wait(this.#options.cutMs);
      for (const proxy of Object.values(this.#proxies)) proxy.cut();
    }
  }

  async #kill() {
    for (;;) {
      const until = performance.now() + this.#options.killMs * this.#random.between(0.5, 1.5);
      while (performance.now() < until && !this.#isOver) await wait(50);
      if (this.#isOver) return;
      const name = this.#random.pick(["server", "sender", "receiver"]);
      await this.#processes[name].kill();
      this.#kills++;
      this.#report(`killed the ${name}`);
      await this.#start(name);
    }
  }

  async #sample() {
    while (!this.#isOver) {
      for (const [name, { pid }] of Object.entries(this.#processes)) {
        this.#memory[name] = Math.max(this.#memory[name], memoryOf(pid));
      }
      await wait(SAMPLE_MS);
    }
  }
}

/** Memory of a process, without the pages of mapped files. */
function memoryOf(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Counts the bytes in both directions, and cuts all connections. */
class CountingProxy {
  #listener;
  #target;
  #sockets = new Set();
  up = 0;
  down = 0;
  cuts = 0;
  lastMs = performance.now();

  static async open(target) {
    const proxy = new CountingProxy();
    proxy.#target = target;
    proxy.#listener = createServer((client) => proxy.#join(client));
    await once(proxy.#listener.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  get port() {
    return this.#listener.address().port;
  }

  cut() {
    this.cuts += this.#sockets.size / 2;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close() {
    this.#listener.close();
    this.cut();
  }

  #join(client) {
    const port = this.#target();
    client.on("error", () => {});
    if (port === undefined) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ host: "127.0.0.1", port });
    for (const [from, to, count] of [
      [client, server, (bytes) => (this.up += bytes)],
      [server, client, (bytes) => (this.down += bytes)],
    ]) {
      this.#sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on("data", (chunk) => {
        count(chunk.length);
        this.lastMs = performance.now();
      });
      from.pipe(to);
    }
  }
}
