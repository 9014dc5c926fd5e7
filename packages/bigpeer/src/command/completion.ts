/**
 * `bigpeer completion`: prints a script that completes commands and options in a shell. It is made
 * of the definitions, so it has what the help has.
 */

import type { Call, CommandDefinition, OptionDefinition } from "../program/definition.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** A function, because the list of all commands contains this one. */
export function completionCommand(commands: () => readonly CommandDefinition[]): CommandDefinition {
  return {
    name: "completion",
    meaning: "print a script that completes commands in a shell",
    group: "This command",
    examples: [
      "completion bash > /etc/bash_completion.d/bigpeer",
      'completion zsh > "${fpath[1]}/_bigpeer"',
      "completion fish > ~/.config/fish/completions/bigpeer.fish",
    ],
    words: [{ name: "shell", meaning: "the shell", choices: SHELLS }],
    run: ({ words, output }: Call) => output.write(scriptOf(words[0] ?? "", commands())),
  };
}

/** A command with its names in order, such as `app create`. */
interface Entry {
  readonly path: string;
  readonly command: CommandDefinition;
}

function scriptOf(shell: string, commands: readonly CommandDefinition[]): string {
  const entries = entriesOf(commands, "");
  if (shell === "fish") return fishScript(entries);
  return shell === "zsh" ? zshScript(entries) : bashScript(entries);
}

function entriesOf(commands: readonly CommandDefinition[], above: string): Entry[] {
  return commands.flatMap((command) => {
    const path = above === "" ? command.name : `${above} ${command.name}`;
    return [{ path, command }, ...entriesOf(command.commands ?? [], path)];
  });
}

function optionsOf({ groups = [] }: CommandDefinition): OptionDefinition[] {
  return groups.flatMap(({ options }) => options);
}

/** What may follow a command: the names of inner ones, choices of its first word, its options. */
function wordsAfter(entries: readonly Entry[], path: string): string[] {
  const inner = entries.filter(({ path: each }) => parentOf(each) === path);
  const command = entries.find((entry) => entry.path === path)?.command;
  return [
    ...inner.map(({ command: each }) => each.name),
    ...(command?.words?.[0]?.choices ?? []),
    ...(command === undefined ? [] : optionsOf(command).map(({ name }) => `--${name}`)),
    "--help",
  ];
}

function parentOf(path: string): string {
  return path.split(" ").slice(0, -1).join(" ");
}

/** Lines of a case of bash for options with a closed list, such as `--format` of one command. */
function choiceCases({ path, command }: Entry): string[] {
  return optionsOf(command).flatMap(({ name, short, choices }) => {
    if (choices === undefined) return [];
    const spelled = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
    const patterns = spelled.map((option) => `"${path} ${option}"`).join("|");
    const words = choices.join(" ");
    return [`    ${patterns}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`];
  });
}

function bashScript(entries: readonly Entry[]): string {
  const paths = ["", ...entries.map(({ path }) => path)];
  const cases = paths.map((path) => {
    return `    "${path}") words="${wordsAfter(entries, path).join(" ")}" ;;`;
  });
  const values = entries.flatMap(choiceCases);
  const known = entries.map(({ path }) => `"${path}"`).join("|");
  return `# bash completion of bigpeer
_bigpeer() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${known}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $previous" in
${values.join("\n")}
  esac
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _bigpeer bigpeer
`;
}

function zshScript(entries: readonly Entry[]): string {
  const cases = ["", ...entries.map(({ path }) => path)].map((path) => {
    const words = wordsAfter(entries, path).map((word) => quoted(describe(entries, path, word)));
    return `    ${quoted(path)}) described=(${words.join(" ")}) ;;`;
  });
  const known = entries.map(({ path }) => quoted(path)).join("|");
  return `#compdef bigpeer
_bigpeer() {
  local candidate called="" i
  local -a described
  for ((i = 2; i < CURRENT; i++)); do
    candidate="\${called:+$called }\${words[i]}"
    case "$candidate" in
      ${known}) called="$candidate" ;;
    esac
  done
  case "$called" in
${cases.join("\n")}
  esac
  _describe bigpeer described || _files
}
compdef _bigpeer bigpeer
`;
}

/** `word:meaning`, as _describe of zsh reads it. */
function describe(entries: readonly Entry[], path: string, word: string): string {
  const inner = entries.find((entry) => entry.path === (path === "" ? word : `${path} ${word}`));
  const command = entries.find((entry) => entry.path === path)?.command;
  const options = command === undefined ? [] : optionsOf(command);
  const option = options.find(({ name }) => `--${name}` === word);
  const meaning = inner?.command.meaning ?? option?.meaning;
  return meaning === undefined ? word : `${word}:${meaning}`;
}

function fishScript(entries: readonly Entry[]): string {
  const names = (path: string): string[] =>
    entries.filter((entry) => parentOf(entry.path) === path).map(({ command }) => command.name);
  const lines = entries.flatMap(({ path, command }) => {
    const above = parentOf(path);
    const seen = names(path).join(" ");
    const isHere =
      above === ""
        ? "__fish_use_subcommand"
        : `__fish_seen_subcommand_from ${above}; and not __fish_seen_subcommand_from ${names(above).join(" ")}`;
    const inside = seen === "" ? path.split(" ") : [];
    const condition = inside.map((name) => `__fish_seen_subcommand_from ${name}`).join("; and ");
    return [
      `complete -c bigpeer -f -n ${quoted(isHere)} -a ${command.name} -d ${quoted(command.meaning)}`,
      ...(condition === "" ? [] : optionsOf(command)).map((option) =>
        fishOption(option, condition),
      ),
    ];
  });
  return `# fish completion of bigpeer\n${lines.join("\n")}\n`;
}

function fishOption(option: OptionDefinition, condition: string): string {
  const { name, short, argument, choices, meaning } = option;
  return [
    `complete -c bigpeer -n ${quoted(condition)} -l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(argument === undefined ? [] : ["-r"]),
    ...(choices === undefined ? [] : [`-f -a ${quoted(choices.join(" "))}`]),
    `-d ${quoted(meaning)}`,
  ].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
