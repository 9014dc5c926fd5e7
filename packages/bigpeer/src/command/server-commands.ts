/**
 * Commands that the server runs: start, backup, restore, verify and cluster adopt. Their flags are
 * settings; @bigpeer/server reads and checks them.
 */

import {
  COMMANDS,
  type Command,
  type Flag,
  flagsOf,
  SETTING_GROUPS,
} from "@bigpeer/server/command";
import type { CommandDefinition, OptionDefinition, OptionGroup } from "../program/definition.ts";
import { CLUSTER_STATUS } from "./cluster.ts";

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  start: [
    "start  # data in ./data, http://127.0.0.1:8080",
    "start --data-dir /srv/bigpeer --port 9000",
    "start --config bigpeer.json",
  ],
  backup: ["backup --to ./backup", "backup --data-dir /srv/bigpeer --to /backups/monday"],
  restore: ["restore --from ./backup --data-dir ./restored"],
  verify: ["verify", "verify --data-dir ./backup"],
  "cluster adopt": ["cluster adopt --data-dir /srv/bigpeer --cluster nats://n1:4222"],
};

const GROUPS: Readonly<Record<string, string>> = { start: "Run a server" };

/** As `bigpeer --help` lists them. */
export function serverCommands(): CommandDefinition[] {
  const single = COMMANDS.filter(({ name }) => !name.includes(" "));
  const nested = COMMANDS.filter(({ name }) => name.includes(" "));
  const cluster: CommandDefinition = {
    name: "cluster",
    meaning: "show a cluster, or take a data folder into one",
    group: "Data folders and clusters",
    examples: [...CLUSTER_STATUS.examples, ...nested.flatMap(({ name }) => EXAMPLES[name] ?? [])],
    commands: [CLUSTER_STATUS, ...nested.map((command) => definitionOf(command))],
  };
  return [...single.map((command) => definitionOf(command)), cluster];
}

/** Whether the server's own program runs these words. It knows no help of the other commands. */
export function isServerCommand(words: readonly string[]): boolean {
  if (words.some((word) => word === "-h" || word === "--help")) return false;
  const [first = "--"] = words;
  if (first === "-v" || first === "--version") return false;
  if (first.startsWith("-")) return true;
  const called = first === "cluster" ? words.slice(0, 2).join(" ") : first;
  return COMMANDS.some(({ name, alias }) => name === called || alias === called);
}

function definitionOf(command: Command): CommandDefinition {
  const { name, alias, meaning } = command;
  return {
    name: name.split(" ").at(-1) ?? name,
    ...(alias !== undefined && { alias }),
    meaning,
    group: GROUPS[name] ?? "Data folders and clusters",
    examples: EXAMPLES[name] ?? [name],
    groups: groupsOf(command),
  };
}

/** Settings under the titles that they have in the manual, flags of the command before them. */
function groupsOf(command: Command): OptionGroup[] {
  const flags = flagsOf(command);
  const titled = SETTING_GROUPS.map(({ title, settings }) => ({
    title,
    options: flags
      .filter(({ flag }) => settings.some((setting) => setting.flag === flag))
      .map((flag) => {
        const setting = settings.find((each) => each.flag === flag.flag);
        const standard = setting?.default === "" ? "" : `; default: ${setting?.default}`;
        return optionOf(flag, `${flag.meaning} (${setting?.env}${standard})`);
      }),
  }));
  const own = { title: "Options", options: command.flags.map((flag) => optionOf(flag)) };
  return [own, ...titled].filter(({ options }) => options.length > 0);
}

function optionOf({ flag, argument, meaning }: Flag, text: string = meaning): OptionDefinition {
  const name = flag.slice("--".length);
  return { name, ...(argument !== undefined && { argument }), meaning: text };
}
