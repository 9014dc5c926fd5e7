/**
 * Command-line parser: parses the command and its flags, and creates the text of `--help`.
 *
 * `bigpeer [command] [--flag value | --flag=value]…`; the default command is `start`. This module
 * decides which flags a command has; config.ts checks their values.
 */

import { PeerError } from "@bigpeer/protocol";
import { suggest } from "../config/config.ts";
import type { Setting, SettingName } from "../config/setting.ts";
import { SETTING_GROUPS, SETTINGS } from "../config/settings.ts";

export type CommandName = "start" | "backup" | "restore" | "verify" | "cluster adopt";

export type CommandLine =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | {
      readonly kind: "command";
      readonly name: CommandName;
      /** Values by flag, such as `--port`. A switch without a value has the value `1`. */
      readonly flags: ReadonlyMap<string, string>;
    };

export interface Flag {
  readonly flag: string;
  readonly argument?: string | undefined;
  readonly meaning: string;
  readonly isRequired?: boolean;
}

export interface Command {
  readonly name: CommandName;
  /** Another name, which it once had. */
  readonly alias?: string;
  readonly meaning: string;
  readonly settings: readonly SettingName[] | "all";
  readonly flags: readonly Flag[];
}

export const COMMANDS: readonly Command[] = [
  {
    name: "start",
    alias: "serve",
    meaning: "run the server (default)",
    settings: "all",
    flags: [],
  },
  {
    name: "backup",
    meaning: "copy a data folder; the server may be running",
    settings: ["config", "data-dir"],
    flags: [
      { flag: "--to", argument: "FOLDER", meaning: "target; absent or empty", isRequired: true },
    ],
  },
  {
    name: "restore",
    meaning: "create a data folder from a backup; its stores start a new history",
    settings: ["config", "data-dir"],
    flags: [{ flag: "--from", argument: "FOLDER", meaning: "the backup", isRequired: true }],
  },
  {
    name: "verify",
    meaning: "check every record and attachment of a data folder; the server may be running",
    settings: ["config", "data-dir"],
    flags: [],
  },
  {
    name: "cluster adopt",
    meaning: "take a data folder of a server that was alone, and is stopped, into a new cluster",
    settings: [
      "config",
      "data-dir",
      "cluster",
      "cluster-name",
      "cluster-creds",
      "cluster-tls-cert",
      "cluster-tls-key",
      "cluster-tls-ca",
      "cluster-monitor",
      "cluster-development",
    ],
    flags: [],
  },
];

/** Commands of two words begin with it. */
const CLUSTER = "cluster";

/** Throws PeerError `config.invalid`, which names the flag and the expected value. */
export function parseCommandLine(words: readonly string[]): CommandLine {
  if (words.some((word) => word === "--help" || word === "-h")) return { kind: "help" };
  if (words.some((word) => word === "--version" || word === "-v")) return { kind: "version" };
  const named = commandWords(words);
  const command = findCommand(named.length === 0 ? "start" : named.join(" "));
  const flags = parseFlags(command, words.slice(named.length));
  for (const { flag, argument, isRequired } of command.flags) {
    if (isRequired !== true || flags.has(flag)) continue;
    throw invalid(`${command.name}: expected ${flag} ${argument}`);
  }
  return { kind: "command", name: command.name, flags };
}

/** The words that name the command; none for the default. */
function commandWords(words: readonly string[]): readonly string[] {
  const [first = "-", second = "-"] = words;
  if (first.startsWith("-")) return [];
  return first === CLUSTER && !second.startsWith("-") ? [first, second] : [first];
}

/** Columns of the narrowest terminal that shows the help without wrapping. */
const WIDTH_MAX = 80;

export function usage(): string {
  const lines = ["Usage: bigpeer [command] [flags]", ""];
  for (const command of COMMANDS) {
    const flags = shownFlags(command).join(" ");
    const line = `  ${command.name.padEnd(8)} ${flags}`;
    if (line.length <= WIDTH_MAX) lines.push(line);
    else lines.push(`  ${command.name}`, ...wrap(flags, " ".repeat(11)));
    lines.push(...wrap(command.meaning, " ".repeat(11)));
  }
  lines.push(
    "",
    "Set a setting by flag, by environment variable, or in the JSON file of --config.",
  );
  for (const { title, settings } of SETTING_GROUPS) {
    lines.push("", `${title}:`, ...settings.flatMap(settingLines));
  }
  lines.push("", "  -h, --help     show this text", "  -v, --version  show the version");
  return `${lines.join("\n")}\n`;
}

function settingLines(setting: Setting): string[] {
  const { name, flag, argument, env, default: value, meaning } = setting;
  const front = flag === undefined ? `(no flag; ${name})` : signature({ flag, argument });
  const names = `  ${front.padEnd(28)} ${env.padEnd(29)} ${value}`;
  return [names.trimEnd(), ...wrap(meaning, " ".repeat(6))];
}

function wrap(text: string, indent: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    const longer = last === "" ? indent + word : `${last} ${word}`;
    if (longer.length <= WIDTH_MAX) lines.splice(-1, 1, longer);
    else lines.push(indent + word);
  }
  return lines;
}

function findCommand(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name || command.alias === name);
  if (found !== undefined) return found;
  const names = COMMANDS.map((command) => command.name);
  throw invalid(`expected a command (${names.join(", ")}), found "${name}"`);
}

function parseFlags(command: Command, words: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [name = "", ...rest] = word.split("=");
    const flag = findFlag(command, name);
    if (given.has(name)) throw invalid(`${name}: expected it once`);
    let value = word.includes("=") ? rest.join("=") : undefined;
    if (value === undefined && flag.argument === undefined) value = "1";
    value ??= words[++i];
    if (value === undefined) throw invalid(`${name}: expected a value, ${signature(flag)}`);
    given.set(name, value);
  }
  return given;
}

function findFlag(command: Command, name: string): Flag {
  const flags = flagsOf(command);
  const found = flags.find(({ flag }) => flag === name);
  if (found !== undefined) return found;
  const known = flags.map(({ flag }) => flag);
  throw invalid(describeUnknown(command, name, known));
}

function describeUnknown(command: Command, name: string, known: readonly string[]): string {
  const secret = SETTINGS.find(
    (setting) => setting.flag === undefined && `--${setting.name}` === name,
  );
  if (secret !== undefined) {
    const places = `in the variable ${secret.env} or in the file of --config`;
    return `${name}: expected it ${places}; a command line is seen by others`;
  }
  const hint = suggestByStart(name, known) || suggest(name, known);
  if (hint !== "") return `${name}: expected a flag of ${command.name}${hint}`;
  const expected = `expected a flag of ${command.name} (${known.join(", ")})`;
  return name.startsWith("-") ? `${name}: ${expected}` : `${expected}, found "${name}"`;
}

/** One-letter flags of other servers. */
const SHORT_FLAGS: ReadonlyMap<string, string> = new Map([
  ["-c", "--config"],
  ["-d", "--data-dir"],
  ["-p", "--port"],
]);

/** Maximum number of suggested flags. */
const ALIKE_MAX = 3;

/** `; did you mean …?` for a short form or the first words of flags, else nothing. */
function suggestByStart(name: string, known: readonly string[]): string {
  const long = SHORT_FLAGS.get(name);
  const meant = known.filter((flag) => flag === long || flag.startsWith(`${name}-`));
  if (meant.length === 0 || meant.length > ALIKE_MAX || name === "-") return "";
  return `; did you mean ${meant.join(" or ")}?`;
}

/** Flags in the synopsis of a command; a command that takes all settings shows `[settings]`. */
function shownFlags(command: Command): string[] {
  if (command.settings === "all") return ["[settings]"];
  return flagsOf(command).map(({ isRequired, ...flag }) => {
    return isRequired === true ? signature(flag) : `[${signature(flag)}]`;
  });
}

/** All flags of a command, those of its settings last. */
export function flagsOf(command: Command): Flag[] {
  const { settings, flags } = command;
  const isOurs = ({ name }: Setting): boolean => settings === "all" || settings.includes(name);
  const ofSettings = SETTINGS.filter(isOurs).flatMap(({ flag, argument, meaning }) =>
    flag === undefined ? [] : [{ flag, argument, meaning }],
  );
  return [...flags, ...ofSettings];
}

function signature({ flag, argument }: Pick<Flag, "flag" | "argument">): string {
  return argument === undefined ? flag : `${flag} ${argument}`;
}

function invalid(message: string): PeerError {
  return new PeerError("config.invalid", message);
}
