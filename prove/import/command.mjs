/**
 * The command `bigpeer` as a process of its own, with its time and its memory.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../packages/bigpeer/dist/main.js", import.meta.url));
const WATCH_MS = 100;

export class Command {
  /** Starts `bigpeer` with `words`, or another script. */
  constructor(words, { url, key }, script = MAIN) {
    this.what = `bigpeer ${words[0]}`;
    this.startMs = performance.now();
    this.memoryMb = 0;
    this.errors = "";
    // Nothing of the person who runs the proof.
    const env = { PATH: process.env.PATH, HOME: "/nonexistent" };
    this.child = spawn(process.execPath, [script, ...words], {
      env: { ...env, BIGPEER_URL: url, BIGPEER_KEY: key },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.errors += text));
    const watch = setInterval(() => this.#measure(), WATCH_MS);
    this.ended = once(this.child, "close").then(([code, signal]) => {
      clearInterval(watch);
      this.seconds = (performance.now() - this.startMs) / 1000;
      return signal ?? code;
    });
  }

  /** The most anonymous memory is the size of the process without files that it maps. */
  #measure() {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, "latin1");
      const kilobytes = Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
      this.memoryMb = Math.max(this.memoryMb, kilobytes / 1024);
    } catch {
      // It has ended.
    }
  }

  /** Throws unless it ends with exit code 0. */
  async succeed() {
    const how = await this.ended;
    if (how !== 0)
      throw new Error(`expected exit code 0 of ${this.what}, found ${how}: ${this.errors}`);
    return this;
  }

  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}
