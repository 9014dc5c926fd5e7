/**
 * Runs a command in this process: its streams, its signals and its exit code.
 */

import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { ProgramHost, TextSink } from "./program/host.ts";
import { runProgram } from "./program/program.ts";

/** Exit code after Ctrl-C, as in shells. */
const INTERRUPTED = 130;

/** Sets the exit code of the process. */
export async function runInProcess(words: readonly string[]): Promise<void> {
  const stop = new AbortController();
  let signals = 0;
  const onSignal = (): void => {
    signals++;
    // A command that does not stop is left at the second one.
    if (signals > 1) process.exit(INTERRUPTED);
    stop.abort(new Error("stopped"));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  // The reader of a pipe may leave early, as head does: that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
  process.stderr.on("error", () => {});
  const exitCode = await runProgram(words, processHost(stop.signal));
  // A command that Ctrl-C ends in good order, such as tail, has done its work.
  process.exitCode = stop.signal.aborted && exitCode !== 0 ? INTERRUPTED : exitCode;
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  // Standard input that a command has read from would keep the process.
  process.stdin.destroy();
}

function processHost(signal: AbortSignal): ProgramHost {
  return {
    env: process.env,
    folder: process.cwd(),
    input: process.stdin,
    output: sinkOf(process.stdout),
    errors: sinkOf(process.stderr),
    signal,
    ask,
  };
}

function sinkOf(stream: NodeJS.WriteStream): TextSink {
  return {
    isTerminal: stream.isTTY,
    get columns() {
      return stream.columns;
    },
    write: async (content) => {
      if (!stream.write(content)) await once(stream, "drain");
    },
  };
}

/** A secret is not shown while it is typed. */
async function ask(question: string, { isSecret = false } = {}): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(question);
  const lines = createInterface({
    input: process.stdin,
    output: isSecret ? silent : process.stderr,
    terminal: true,
  });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    if (isSecret) process.stderr.write("\n");
  }
}
