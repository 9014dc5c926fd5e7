/**
 * The built command `bigpeer` as a process of its own, in a folder of its own.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { ROOT } from "../../../../test/support/repository.ts";

const MAIN = join(ROOT, "packages/bigpeer/dist/main.js");

export interface ProcessOptions {
  readonly folder: string;
  readonly env?: Record<string, string>;
  readonly input?: string;
}

export interface ProcessOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Ends with the test at the latest. */
export class CommandProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<ProcessOutcome>;
  stdout = "";
  stderr = "";

  /** Its environment has nothing of the person who runs the tests. */
  constructor(words: readonly string[], { folder, env = {}, input = "" }: ProcessOptions) {
    const own = { PATH: process.env["PATH"] ?? "", HOME: folder };
    const child = spawn(process.execPath, [MAIN, ...words], {
      cwd: folder,
      env: { ...own, ...env },
    });
    child.stdin.on("error", () => {}).end(input);
    child.stdout.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.child = child;
    this.ended = once(child, "close").then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await this.ended;
    });
  }

  /** Resolves with what the pattern finds on standard output. */
  waitFor(expected: RegExp): Promise<RegExpExecArray> {
    return vi.waitFor(
      () => {
        const found = expected.exec(this.stdout);
        if (found === null)
          throw new Error(`expected ${expected} in:\n${this.stdout}${this.stderr}`);
        return found;
      },
      { timeout: 60_000, interval: 20 },
    );
  }
}
