/**
 * Processes of many small peers (fleet-process.ts), each through all of its lives: started, asked,
 * killed and started again on the same folders.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What one peer has. */
export interface FleetDigest {
  readonly marks: readonly string[];
  readonly totals: readonly number[];
  /** Marks of other teams. */
  readonly strangers: number;
  readonly pending: number;
  readonly refused: number;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class FleetProcess {
  readonly #command: readonly string[];
  readonly #onMark: (id: string) => void;
  #process: ChildProcess | undefined;
  #answers: Waiting[] = [];
  #errorText = "";
  kills = 0;

  /** `onMark` is told of each write that is durable at its peer. */
  constructor(command: readonly string[], onMark: (id: string) => void) {
    this.#command = command;
    this.#onMark = onMark;
  }

  async start(): Promise<void> {
    const started = spawn(process.execPath, this.#command, { stdio: ["pipe", "pipe", "pipe"] });
    this.#process = started;
    this.#answers = [];
    started.stdin.on("error", () => undefined);
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-10_000);
    });
    started.once("close", () => {
      const error = new Error(`the process ended: ${this.#errorText}`);
      for (const { reject } of this.#answers.splice(0)) reject(error);
    });
    createInterface({ input: started.stdout }).on("line", (line) => this.#hear(line));
    await this.#answer();
  }

  /** Everything that it holds in memory is gone; what its peers were told is durable is not. */
  async kill(): Promise<void> {
    this.kills++;
    await this.end("SIGKILL");
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    ended.kill(signal);
    await once(ended, "close");
  }

  ask(line: string): Promise<unknown> {
    const answer = this.#answer();
    this.#process?.stdin?.write(`${line}\n`);
    return answer;
  }

  async digest(number: number): Promise<FleetDigest> {
    return ((await this.ask(`digest ${number}`)) as { readonly digest: FleetDigest }).digest;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#answers.push({ resolve, reject });
    });
  }

  #hear(line: string): void {
    // The last line of a killed process may be cut.
    if (!line.endsWith("}")) return;
    const reported = JSON.parse(line) as { readonly mark?: string };
    if (reported.mark !== undefined) this.#onMark(reported.mark);
    else this.#answers.shift()?.resolve(reported);
  }
}
