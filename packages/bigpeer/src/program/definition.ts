/**
 * CommandDefinition: a command as data. The parser, the help and the completion of shells are made
 * from it.
 */

import type { Output } from "../terminal/output.ts";
import type { ProgramHost } from "./host.ts";
import type { Options } from "./options.ts";

export interface ArgumentDefinition {
  readonly name: string;
  readonly meaning: string;
  readonly isOptional?: boolean;
  /** Whether it takes all words that follow. */
  readonly isList?: boolean;
  readonly choices?: readonly string[];
}

export interface OptionDefinition {
  /** Without the dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** Placeholder of the value; an option without one is a switch. */
  readonly argument?: string;
  readonly meaning: string;
  readonly choices?: readonly string[];
  /** Whether it may be given several times. */
  readonly isList?: boolean;
  readonly isRequired?: boolean;
}

/** A heading of the help with its options. */
export interface OptionGroup {
  readonly title: string;
  readonly options: readonly OptionDefinition[];
}

export interface Call {
  /** Words of the arguments, in their order; a list is the rest of them. */
  readonly words: readonly string[];
  readonly options: Options;
  readonly host: ProgramHost;
  readonly output: Output;
  /** Runs another command line; for the shell. */
  readonly runOther: RunOther;
}

export type RunOther = (words: readonly string[], host: ProgramHost) => Promise<number>;

export interface CommandDefinition {
  readonly name: string;
  readonly alias?: string;
  readonly meaning: string;
  /** Heading under which `bigpeer --help` lists it. */
  readonly group?: string;
  /** Command lines without `bigpeer`, with the place of a comment after `#`. */
  readonly examples: readonly string[];
  readonly words?: readonly ArgumentDefinition[];
  readonly groups?: readonly OptionGroup[];
  readonly commands?: readonly CommandDefinition[];
  /**
   * How `--output` is written: `streamed` has each piece in the file at once, `packed` packs a file
   * whose name ends with .gz.
   */
  readonly outputFile?: "streamed" | "packed";
  /** Absent when the command only holds others, or the server runs it. Returns the exit code. */
  readonly run?: (call: Call) => Promise<number | void>;
}
