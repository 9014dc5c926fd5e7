/**
 * The `bigpeer` program as a process of its own, with what it has said and how it ended.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished, vi } from "vitest";
import type { Script } from "../../../node/test/support/script.ts";

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Ends with the test at the latest. */
export class BigpeerProcess {
  readonly #process: ChildProcess;
  readonly ended: Promise<Outcome>;
  stdout = "";
  stderr = "";

  constructor(script: Script, words: readonly string[], env: Record<string, string> = {}) {
    this.#process = spawn(process.execPath, [...(script.flags ?? []), script.path, ...words], {
      env: { ...ownEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = this.#end();
    onTestFinished(async () => {
      this.kill("SIGKILL");
      await this.ended;
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** The address, when the server is ready. Fails when the process ends before, or takes too long. */
  async url(timeout = 45_000): Promise<string> {
    const found = await vi.waitFor(
      () => {
        const url = /url +(http\S+)[^]* stop /.exec(this.stdout)?.[1];
        if (url === undefined && !this.hasEnded) throw new Error("expected a server that is ready");
        return url;
      },
      { timeout, interval: 20 },
    );
    if (found === undefined) throw new Error(`expected a server, it ended: ${this.stderr}`);
    return found;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async #end(): Promise<Outcome> {
    const [code, signal] = (await once(this.#process, "close")) as [
      number | null,
      NodeJS.Signals | null,
    ];
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

/**
 * Settings of whoever runs the tests are not settings of the tests; and the ports are free ones, as
 * many servers run at once.
 */
function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("BIGPEER_"));
  return { ...Object.fromEntries(entries), BIGPEER_MANAGEMENT_PORT: "0" };
}
