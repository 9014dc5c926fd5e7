/**
 * Parser: makes the command line of the definitions with commander, and prints their help. The
 * examples come first in a help, because most readers look for one.
 */

import { Command, CommanderError, Option } from "commander";
import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from "./definition.ts";
import { EXIT } from "./failure.ts";
import type { ProgramHost } from "./host.ts";
import { Options } from "./options.ts";

export interface Parsed {
  readonly definition: CommandDefinition;
  /** Names of the command, such as `app create`. */
  readonly path: readonly string[];
  readonly words: readonly string[];
  readonly options: Options;
}

export type ParseResult =
  | { readonly kind: "parsed"; readonly parsed: Parsed }
  /** Help or an error was printed. */
  | { readonly kind: "ended"; readonly exitCode: number };

export interface Root {
  readonly meaning: string;
  readonly examples: readonly string[];
  readonly version: string;
  readonly commands: readonly CommandDefinition[];
  /** Lines below the help. */
  readonly footer: string;
}

export function parse(root: Root, words: readonly string[], host: ProgramHost): ParseResult {
  let parsed: Parsed | undefined;
  const program = new Command("bigpeer")
    .description(root.meaning)
    .version(root.version, "-v, --version", "show the version")
    .helpOption("-h, --help", "show this text")
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText("before", examplesText(root.examples))
    .addHelpText("after", root.footer);
  for (const definition of root.commands) {
    program.addCommand(commandOf(definition, [], (found) => (parsed = found)));
  }
  configure(program, host);
  try {
    program.parse([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const isAsked = error.exitCode === 0;
    return { kind: "ended", exitCode: isAsked ? EXIT.done : EXIT.usage };
  }
  return parsed === undefined
    ? { kind: "ended", exitCode: EXIT.usage }
    : { kind: "parsed", parsed };
}

/** Columns of the help; longer lines are hard to read. */
function widthOf(columns: number | undefined): number {
  return Math.min(columns ?? 100, 100);
}

/** Prints nothing by itself but through the host, and never ends the process. */
function configure(command: Command, host: ProgramHost): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void host.output.write(text),
    writeErr: (text) => void host.errors.write(text),
    outputError: (text, write) => write(text.replace(/^error: /, "bigpeer: ")),
    getOutHelpWidth: () => widthOf(host.output.columns),
    getErrHelpWidth: () => widthOf(host.errors.columns),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const each of command.commands) configure(each, host);
}

type OnParsed = (parsed: Parsed) => void;

function commandOf(
  definition: CommandDefinition,
  above: readonly string[],
  onParsed: OnParsed,
): Command {
  const { name, alias, meaning, examples, words = [], groups = [], commands = [] } = definition;
  const path = [...above, name];
  const command = new Command(name).description(meaning).helpOption("-h, --help", "show this text");
  if (alias !== undefined) command.alias(alias);
  if (definition.group !== undefined) command.helpGroup(`${definition.group}:`);
  command.addHelpText("before", examplesText(examples));
  for (const word of words) addArgument(command, word);
  for (const { title, options } of groups) {
    for (const option of options) command.addOption(optionOf(option).helpGroup(`${title}:`));
  }
  for (const inner of commands) command.addCommand(commandOf(inner, path, onParsed));
  const isGroup = commands.length > 0;
  if (isGroup) command.helpCommand(false);
  else {
    command.action(() => {
      const values = valuesOf(definition, command.opts());
      onParsed({ definition, path, words: command.args, options: new Options(values) });
    });
  }
  return command;
}

function addArgument(command: Command, word: ArgumentDefinition): void {
  const { name, meaning, isOptional = false, isList = false, choices } = word;
  const text = isList ? `${name}...` : name;
  const argument = command.createArgument(isOptional ? `[${text}]` : `<${text}>`, meaning);
  if (choices !== undefined) argument.choices(choices);
  command.addArgument(argument);
}

function optionOf(definition: OptionDefinition): Option {
  const { name, short, argument, meaning, choices, isList = false, isRequired } = definition;
  const long = argument === undefined ? `--${name}` : `--${name} <${argument}>`;
  const option = new Option(short === undefined ? long : `-${short}, ${long}`, meaning);
  if (choices !== undefined) option.choices(choices);
  if (isList) {
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  }
  if (isRequired === true) option.makeOptionMandatory();
  return option;
}

/** commander names the value of `--no-color` `color` and that of `--on-conflict` `onConflict`. */
function valuesOf(
  { groups = [] }: CommandDefinition,
  opts: Readonly<Record<string, unknown>>,
): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const { name } of groups.flatMap(({ options }) => options)) {
    const isNegative = name.startsWith("no-");
    const plain = isNegative ? name.slice("no-".length) : name;
    const value = opts[plain.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())];
    values.set(name, isNegative ? value === false : value);
  }
  return values;
}

/** A comment in an example begins at the same column in all of them. */
function examplesText(examples: readonly string[]): string {
  const parts = examples.map((example) => example.split("  # "));
  const width = Math.max(...parts.map(([line = ""]) => line.length));
  const lines = parts.map(([line = "", comment]) => {
    return comment === undefined ? line : `${line.padEnd(width)}  # ${comment}`;
  });
  return ["Examples:", ...lines.map((line) => `  $ bigpeer ${line}`.trimEnd()), "", ""].join("\n");
}
