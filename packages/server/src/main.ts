#!/usr/bin/env node
/**
 * Entry point of the `bigpeer` program: runs the command line and sets the exit code of the
 * process.
 */

import { isatty } from "node:tty";
import { runCommand } from "./command/commands.ts";
import { HeapGrowth } from "./limits/heap-growth.ts";

// Files that the process creates are for its owner only.
process.umask(0o077);

// A closed output must not end a server.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});

new HeapGrowth().watch();

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  isTerminal: isatty(process.stderr.fd),
  isOutputTerminal: isatty(process.stdout.fd),
  signals: process,
});
