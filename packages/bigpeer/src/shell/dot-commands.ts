/**
 * Commands of the shell itself, which begin with a dot.
 */

import type { BigPeerClient } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
import { UsageError } from "../program/failure.ts";
import { FORMATS, type Format } from "../terminal/output.ts";
import { quoted } from "../transfer/typed-document.ts";
import { parameterOf } from "./parameter.ts";

/** What a command of the shell can use and change. */
export interface ShellState {
  readonly client: BigPeerClient;
  readonly params: Map<string, Value>;
  format: Format;
  isTiming: boolean;
  isExplaining: boolean;
  readonly print: (text: string) => void;
  readonly rows: (rows: readonly Value[]) => Promise<void>;
  /** Runs a statement again and again until Ctrl-C. */
  readonly watch: (seconds: number, statement: string) => Promise<void>;
  /** Runs another command of `bigpeer`. */
  readonly run: (words: readonly string[]) => Promise<void>;
}

interface DotCommand {
  readonly usage: string;
  readonly meaning: string;
  readonly run: (state: ShellState, words: readonly string[], rest: string) => Promise<void> | void;
}

export const EXIT_COMMAND = ".exit";

export const DOT_COMMANDS: Readonly<Record<string, DotCommand>> = {
  ".help": { usage: ".help", meaning: "show this list", run: ({ print }) => print(helpText()) },
  ".collections": {
    usage: ".collections",
    meaning: "list the collections",
    run: (state) => select(state, "SELECT name FROM system:collections ORDER BY name"),
  },
  ".indexes": {
    usage: ".indexes [COLLECTION]",
    meaning: "list the indexes",
    run: (state, [collection]) =>
      collection === undefined
        ? select(state, "SELECT * FROM system:indexes")
        : select(state, "SELECT * FROM system:indexes WHERE collection = :collection", {
            collection,
          }),
  },
  ".describe": {
    usage: ".describe COLLECTION",
    meaning: "show the fields of a collection, from a sample, and their types",
    run: async (state, [collection]) => {
      if (collection === undefined) throw new UsageError("expected a collection");
      const { items } = await state.client.execute<Record<string, Value>>(
        `SELECT * FROM ${quoted(collection)} LIMIT 200`,
      );
      await state.rows(fieldRows(items));
    },
  },
  ".mode": {
    usage: `.mode ${FORMATS.join("|")}`,
    meaning: "choose the form of rows",
    run: (state, [name]) => {
      const found = FORMATS.find((format) => format === name);
      if (found === undefined) throw new UsageError(`expected one of ${FORMATS.join(", ")}`);
      state.format = found;
    },
  },
  ".timing": {
    usage: ".timing on|off",
    meaning: "show how long statements take",
    run: (state, [word]) => {
      state.isTiming = isOn(word, state.isTiming);
    },
  },
  ".explain": {
    usage: ".explain on|off",
    meaning: "show plans in place of results",
    run: (state, [word]) => {
      state.isExplaining = isOn(word, state.isExplaining);
    },
  },
  ".watch": {
    usage: ".watch SECONDS STATEMENT",
    meaning: "run a statement again and again until Ctrl-C",
    run: (state, [seconds = ""], rest) => {
      const statement = rest.replace(/^\S+\s*/, "").replace(/;\s*$/, "");
      if (!/^\d+(?:\.\d+)?$/.test(seconds) || statement === "") {
        throw new UsageError("expected seconds and a statement");
      }
      return state.watch(Number(seconds), statement);
    },
  },
  ".params": {
    usage: ".params [NAME=VALUE | clear]",
    meaning: "show or set the parameters of statements",
    run: (state, words, rest) => {
      if (rest === "clear") state.params.clear();
      else if (words.length > 0) state.params.set(...parameterOf(rest));
      return state.rows([...state.params].map(([name, value]) => ({ name, value })));
    },
  },
  ".import": {
    usage: ".import FILE COLLECTION [OPTIONS]",
    meaning: "import a file",
    run: (state, [file, collection, ...more]) => {
      if (file === undefined || collection === undefined) {
        throw new UsageError("expected a file and a collection");
      }
      return state.run(["import", file, "--collection", collection, ...more]);
    },
  },
  ".export": {
    usage: ".export COLLECTION FILE [OPTIONS]",
    meaning: "export a collection",
    run: (state, [collection, file, ...more]) => {
      if (file === undefined || collection === undefined) {
        throw new UsageError("expected a collection and a file");
      }
      return state.run(["export", collection, "--output", file, ...more]);
    },
  },
  [EXIT_COMMAND]: { usage: ".exit", meaning: "leave the shell; so does Ctrl-D", run: () => {} },
};

/** Throws UsageError for a command that there is not. */
export async function runDotCommand(state: ShellState, line: string): Promise<void> {
  const [name = "", ...words] = line.trim().split(/\s+/);
  const command = Object.hasOwn(DOT_COMMANDS, name) ? DOT_COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`there is no command ${name}; .help lists them`);
  await command.run(state, words, line.trim().slice(name.length).trim());
}

function helpText(): string {
  const width = Math.max(...Object.values(DOT_COMMANDS).map(({ usage }) => usage.length));
  const lines = Object.values(DOT_COMMANDS).map(({ usage, meaning }) => {
    return `${usage.padEnd(width)}  ${meaning}\n`;
  });
  return `A statement ends with ; and may have several lines.\n${lines.join("")}`;
}

async function select({ client, rows }: ShellState, statement: string, args = {}): Promise<void> {
  const { items } = await client.execute<Value>(statement, args);
  await rows(items);
}

function isOn(word: string | undefined, before: boolean): boolean {
  if (word === undefined) return !before;
  if (word === "on" || word === "off") return word === "on";
  throw new UsageError(`expected on or off, found "${word}"`);
}

function fieldRows(items: readonly Readonly<Record<string, Value>>[]): Value[] {
  const fields = new Map<string, { count: number; types: Set<string> }>();
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      const field = fields.get(name) ?? { count: 0, types: new Set<string>() };
      field.count++;
      field.types.add(typeOf(value));
      fields.set(name, field);
    }
  }
  return [...fields].map(([field, { count, types }]) => ({
    field,
    types: [...types].join(", "),
    documents: `${count} of ${items.length}`,
  }));
}

function typeOf(value: Value): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "number";
  return typeof value === "string" ? "text" : typeof value;
}
