/**
 * The server as users start it, in a process of its own, and its figures from the system.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url));
const WATCH = new URL("loop-watch.mjs", import.meta.url).href;

/** The option of `npm start`. */
const NODE_OPTIONS = ["--max-semi-space-size=32"];
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 30_000;
const LOG_SHOWN = 2_000;
const NO_URL = "http://0.0.0.0:1";

class ServerProcess {
  constructor(child, quickstart, { loopFile, startedAt }) {
    this.child = child;
    this.loopFile = loopFile;
    this.startedAt = startedAt;
    this.ended = once(child, "exit").then(([code, signal]) => signal ?? `exit ${code}`);
    Object.assign(this, quickstart);
    this.port = Number(new URL(quickstart.dataUrl).port);
  }

  get isRunning() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Anonymous memory in MB; 0 when the process is gone. */
  get rssAnonMb() {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, "latin1");
      return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    } catch {
      return 0;
    }
  }

  /** The longest turn of its loop between two times (Date.now()), in milliseconds. */
  longestTurn(from, until) {
    const lines = existsSync(this.loopFile) ? readFileSync(this.loopFile, "utf8").split("\n") : [];
    const most = { cpuMs: 0, wallMs: 0 };
    for (const line of lines) {
      const [at, cpu, wall] = line.split(" ").map(Number);
      if (!(at >= from) || at - wall > until) continue;
      most.cpuMs = Math.max(most.cpuMs, cpu);
      most.wallMs = Math.max(most.wallMs, wall);
    }
    return most;
  }

  /** Stops the process with SIGTERM, and by force if that takes too long. */
  async stop() {
    this.child.kill("SIGTERM");
    const over = new AbortController();
    const late = setTimeout(STOP_MS_MAX, "late", { signal: over.signal }).catch(() => {});
    const how = await Promise.race([this.ended, late]);
    over.abort();
    if (how === "late") await this.kill();
    return how;
  }

  async kill() {
    if (this.isRunning) this.child.kill("SIGKILL");
    await this.ended;
  }
}

/** Resolves when ready. `profile` is the file for a CPU profile, written at exit. */
export async function startServer(folder, options = {}) {
  const { management = false, port = 0, flags = [], profile } = options;
  mkdirSync(folder, { recursive: true });
  const loopFile = join(folder, "loop.txt");
  const quickstartFile = join(folder, "data", "quickstart.json");
  writeFileSync(loopFile, "");
  forgetAddress(quickstartFile);
  const profiling =
    profile === undefined
      ? []
      : ["--cpu-prof", `--cpu-prof-dir=${profile.folder}`, `--cpu-prof-name=${profile.name}`];
  const settings = ["--data-dir", join(folder, "data"), "--port", String(port)];
  settings.push("--log-level", "warn");
  settings.push("--management-port", management ? "0" : "off");
  const startedAt = Date.now();
  const child = spawn(
    process.execPath,
    [...NODE_OPTIONS, ...profiling, "--import", WATCH, MAIN, ...settings, ...flags],
    { env: { ...process.env, PROVE_LOOP_FILE: loopFile }, stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (chunk) => {
    if (log.length < LOG_SHOWN) log += chunk;
  });
  for (
    const end = performance.now() + START_MS_MAX;
    performance.now() < end;
    await setTimeout(50)
  ) {
    if (child.exitCode !== null) break;
    const quickstart = await readyAt(quickstartFile);
    if (quickstart !== undefined)
      return new ServerProcess(child, quickstart, { loopFile, startedAt });
  }
  child.kill("SIGKILL");
  throw new Error(`expected a server that is ready\n${log}`);
}

/** Returns the content of the file if the server at its address is ready. */
async function readyAt(file) {
  try {
    const quickstart = JSON.parse(readFileSync(file, "utf8"));
    if (quickstart.dataUrl === NO_URL) return undefined;
    return (await fetch(`${quickstart.dataUrl}/health/ready`)).ok ? quickstart : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the old address from the file; the start of the server writes the new one. */
function forgetAddress(file) {
  if (!existsSync(file)) return;
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), dataUrl: NO_URL }),
  );
}
