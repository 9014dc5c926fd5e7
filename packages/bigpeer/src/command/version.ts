/**
 * `bigpeer version`: prints the version of the command.
 */

import { VERSION } from "@bigpeer/server/command";
import type { CommandDefinition } from "../program/definition.ts";

export const VERSION_COMMAND: CommandDefinition = {
  name: "version",
  meaning: "print the version of this command",
  group: "This command",
  examples: ["version"],
  run: ({ output }) => output.write(`${VERSION}\n`),
};
