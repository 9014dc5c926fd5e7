/**
 * Program: runs a command line against the definitions of all commands and returns the exit code
 * (failure.ts lists them).
 */

import { BigPeerError } from "@bigpeer/client";
import { VERSION } from "@bigpeer/server/command";
import { COMMANDS } from "../command/commands.ts";
import { FORMATS, type Format, Output } from "../terminal/output.ts";
import type { Call } from "./definition.ts";
import { describeFailure, EXIT, exitCodeOf, UsageError } from "./failure.ts";
import type { ProgramHost } from "./host.ts";
import { type Parsed, parse } from "./parser.ts";

const FOOTER = `
stdout has the data, stderr everything else. Exit codes: 0 done, 1 refused or failed, 2 wrong usage,
3 no connection or credential, 4 the data folder is in use.`;

export async function runProgram(words: readonly string[], host: ProgramHost): Promise<number> {
  const root = {
    meaning: "Big Peer, an open sync server for offline-first apps",
    version: VERSION,
    commands: COMMANDS,
    examples: [
      "start --data-dir /srv/bigpeer  # a server",
      'query "SELECT * FROM tasks"  # a statement',
      "import tasks.csv --collection tasks  # documents from a file",
      "status  # its health, version and contents",
    ],
    footer: FOOTER,
  };
  const result = parse(root, words, host);
  return result.kind === "ended" ? result.exitCode : runParsed(result.parsed, host);
}

/** Import and export have formats of their own. */
function formatOf(text: string | undefined): Format | undefined {
  return FORMATS.find((format) => format === text);
}

async function runParsed(parsed: Parsed, host: ProgramHost): Promise<number> {
  const { definition, options, words } = parsed;
  const output = new Output(host, {
    format: formatOf(options.text("format")),
    file: options.text("output"),
    fileOptions: {
      isStreamed: definition.outputFile === "streamed",
      isPacked:
        definition.outputFile === "packed" && options.text("output")?.endsWith(".gz") === true,
    },
    isQuiet: options.has("quiet"),
    isPlain: options.has("no-color"),
  });
  if (options.has("key"))
    output.warn("--key is seen by other users of this machine; BIGPEER_KEY is not");
  const call: Call = { words, options, host, output, runOther: runProgram };
  try {
    await output.open();
    const exitCode = (await definition.run?.(call)) ?? EXIT.done;
    await output.close({ isFailed: exitCode !== EXIT.done });
    return exitCode;
  } catch (error) {
    await output.abandon();
    return failed(error, parsed, call);
  }
}

/** Prints the failure. Rethrows what is a fault of the program. */
function failed(error: unknown, { path }: Parsed, { host, output }: Call): number {
  // Whatever failed then, it was stopped.
  if (host.signal.aborted) return EXIT.failed;
  const exitCode = exitCodeOf(error);
  if (exitCode === undefined) throw error;
  const { errorStyle: style } = output;
  void host.errors.write(`${style("red", "bigpeer:")} ${describeFailure(error)}\n`);
  const hint = hintOf(error, path);
  if (hint !== undefined) void host.errors.write(`${style("dim", hint)}\n`);
  return exitCode;
}

function hintOf(error: unknown, path: readonly string[]): string | undefined {
  if (error instanceof UsageError) return `bigpeer ${path.join(" ")} --help shows how to use it`;
  if (!(error instanceof BigPeerError)) return undefined;
  if (error.code === "client.network") return "bigpeer doctor finds out why";
  return error.status === 401 ? "bigpeer doctor shows which key is used" : undefined;
}
