#!/usr/bin/env node
/**
 * Where the process begins: the words of the command line go in, an exit code comes out.
 */

import { isatty } from "node:tty";
import { runCommand } from "./commands.ts";
import { HeapGrowth } from "./heap-growth.ts";

// What the process writes is for its owner alone.
process.umask(0o077);

// Whoever reads our output may go away; that is no reason to end a server.
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
