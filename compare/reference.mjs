/**
 * Executor of cases on the reference engine, in a process of its own. It starts a new process when
 * the old one ends or does not answer. npm installs the package in the user's cache, outside this
 * project.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installDitto } from "../bench/language/install.mjs";

const PROCESS = fileURLToPath(new URL("reference-process.mjs", import.meta.url));

/** If a list of statements takes longer, the engine hangs. */
const ANSWER_MS = 60_000;

export class Reference {
  #from;
  #prepare;
  #child;
  #folder;

  /** Installs the package. Each new process first runs the statements of `prepare`. */
  static async open(prepare) {
    const reference = new Reference();
    reference.#from = await installDitto();
    reference.#prepare = prepare;
    await reference.#start();
    return reference;
  }

  async #start() {
    this.#folder = mkdtempSync(join(tmpdir(), "bigpeer-compare-"));
    this.#child = fork(PROCESS, [join(this.#folder, "store"), this.#from], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    await this.#answer();
    this.#child.send(this.#prepare);
    await this.#answer();
  }

  /** Resolves with the next message. Rejects if the process ends or takes too long. */
  async #answer() {
    const child = this.#child;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(ANSWER_MS)]);
    const ended = once(child, "exit", { signal }).then(() => {
      throw new Error("the reference engine ended");
    });
    try {
      const [answer] = await Promise.race([once(child, "message", { signal }), ended]);
      return answer;
    } finally {
      over.abort();
      ended.catch(() => {});
    }
  }

  /** One outcome for each statement, or undefined if the engine crashed. */
  async run(statements) {
    try {
      this.#child.send(statements);
      return await this.#answer();
    } catch {
      await this.#stop();
      await this.#start();
      return undefined;
    }
  }

  async #stop() {
    const child = this.#child;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  close() {
    return this.#stop();
  }
}
