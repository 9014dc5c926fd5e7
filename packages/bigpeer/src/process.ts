/**
 * Runs a command in this process: its streams, its signals and its exit code.
 */

import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { EXIT } from "./program/failure.ts";
import type { ProgramHost, TextSink } from "./program/host.ts";
import { runProgram } from "./program/program.ts";

/** Exit code after Ctrl-C, as in shells. */
const INTERRUPTED = 130;

/** How long what a command has left open may keep the process. */
const LEFT_MS = 1_000;

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
  // Without standard output the command ends, in good order.
  let broken: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    broken ??= error;
    stop.abort(error);
  });
  process.stderr.on("error", () => {});
  const exitCode = await runProgram(words, processHost(stop.signal, onSignal));
  // The last write fails behind the command.
  if (!stop.signal.aborted) {
    await new Promise<void>((resolve) => process.stdout.write("", () => resolve()));
  }
  if (broken !== undefined) process.exitCode = codeOfOutput(broken);
  // A command that Ctrl-C ends in good order, such as tail, has done its work.
  else process.exitCode = stop.signal.aborted && exitCode !== 0 ? INTERRUPTED : exitCode;
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  // Standard input that a command has read from would keep the process.
  process.stdin.destroy();
  // The command is over: an idle connection does not keep the user waiting.
  setTimeout(() => process.exit(), LEFT_MS).unref();
}

/** The reader of a pipe may leave early, as head does: that is no failure. */
function codeOfOutput({ code, message }: NodeJS.ErrnoException): number {
  if (code === "EPIPE") return EXIT.done;
  process.stderr.write(`bigpeer: failed to write to standard output: ${message}\n`);
  return EXIT.failed;
}

function processHost(signal: AbortSignal, onInterrupt: () => void): ProgramHost {
  return {
    env: process.env,
    folder: process.cwd(),
    input: process.stdin,
    output: sinkOf(process.stdout, signal),
    errors: sinkOf(process.stderr),
    signal,
    ask: (question, options) => ask(question, { ...options, signal, onInterrupt }),
  };
}

function sinkOf(stream: NodeJS.WriteStream, signal?: AbortSignal): TextSink {
  return {
    isTerminal: stream.isTTY,
    get columns() {
      return stream.columns;
    },
    write: (content) => {
      const written = write(stream, content, signal);
      // Who does not wait for it learns of a broken output when the command is stopped.
      written.catch(() => undefined);
      return written;
    },
  };
}

async function write(
  stream: NodeJS.WriteStream,
  content: string | Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!stream.write(content)) await once(stream, "drain", { signal });
}

interface AskOptions {
  readonly isSecret?: boolean;
  readonly signal: AbortSignal;
  readonly onInterrupt: () => void;
}

/** A secret is not shown while it is typed. Ctrl-D is an empty answer. */
async function ask(
  question: string,
  { isSecret = false, signal, onInterrupt }: AskOptions,
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(question);
  const lines = createInterface({
    input: process.stdin,
    output: isSecret ? silent : process.stderr,
    terminal: true,
  });
  // The terminal sends no signal while it is read like this.
  lines.on("SIGINT", onInterrupt);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("close", () => resolve(""));
      lines.question("", { signal }).then(resolve, reject);
    });
  } finally {
    lines.close();
    if (isSecret) process.stderr.write("\n");
  }
}
