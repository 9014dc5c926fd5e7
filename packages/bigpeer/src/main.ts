#!/usr/bin/env node
/**
 * Entry point of the command `bigpeer`. Commands that run or keep a data folder are those of
 * @bigpeer/server, and flags without a command start a server. All others call a server, and load
 * nothing of it.
 */

import { isServerCommand } from "./command/server-commands.ts";

const words = process.argv.slice(2);

if (isServerCommand(words)) await import("@bigpeer/server/main");
else {
  const { runInProcess } = await import("./process.ts");
  await runInProcess(words);
}
