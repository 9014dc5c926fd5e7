/**
 * Parent side of the processes of a benchmark. It sends messages to them and receives their
 * answers. It reads their processor time and memory from the system, where the system reports them.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const TICKS_A_SECOND = 100;
const STOP_MS_MAX = 10_000;

/** Running processes. */
const running = new Set();

export class Child {
  constructor(process) {
    this.process = process;
    this.asked = new Map();
    this.next = 1;
    this.onNotice = () => {};
    this.ended = once(process, "exit");
    running.add(this);
    process.on("message", (message) => this.#hear(message));
    void this.ended.then(([code, signal]) => {
      running.delete(this);
      for (const { reject } of this.asked.values()) {
        reject(new Error(`its process ended (${signal ?? code})`));
      }
    });
  }

  #hear(message) {
    const { id, answer, error } = message;
    const asked = this.asked.get(id);
    if (asked === undefined) {
      this.onNotice(message);
      return;
    }
    this.asked.delete(id);
    if (error === undefined) asked.resolve(answer);
    else asked.reject(new Error(error));
  }

  ask(kind, given = {}) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject });
      this.process.send({ id, kind, ...given }, (error) => error && reject(error));
    });
  }

  /** Processor time of all threads, in seconds. */
  get cpuSeconds() {
    try {
      const [, fields] = readFileSync(`/proc/${this.process.pid}/stat`, "utf8").split(") ");
      const [user, system] = fields.split(" ").slice(11, 13).map(Number);
      return (user + system) / TICKS_A_SECOND;
    } catch {
      return Number.NaN;
    }
  }

  async stop() {
    if (!running.has(this)) return;
    // The process ends at once without its parent, because its data is no longer needed.
    if (this.process.connected) this.process.disconnect();
    const late = setTimeout(() => this.process.kill("SIGKILL"), STOP_MS_MAX);
    await this.ended;
    clearTimeout(late);
  }
}

/**
 * Starts a file of this folder. `collects`: its memory can be asked for, after garbage was
 * collected; its file need not know of it.
 */
export function start(file, { args = [], collects = false, heapMb, env } = {}) {
  const flags = [];
  if (heapMb !== undefined) flags.push(`--max-old-space-size=${heapMb}`);
  if (collects) {
    flags.push("--expose-gc", "--import", new URL("memory.mjs", import.meta.url).href);
  }
  return new Child(
    fork(fileURLToPath(new URL(file, import.meta.url)), args, {
      execArgv: [...process.execArgv, ...flags],
      env: { ...process.env, ...env },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    }),
  );
}

export async function stopAll() {
  await Promise.all([...running].map((child) => child.stop()));
}
