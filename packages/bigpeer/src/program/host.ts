/**
 * ProgramHost: what a command uses of its process. Tests give it their own streams.
 */

import type { Readable } from "node:stream";

/** Where text and bytes go. */
export interface TextSink {
  /** Resolves when more may be written. */
  readonly write: (content: string | Uint8Array) => void | Promise<void>;
  readonly isTerminal: boolean;
  /** Columns of the terminal; undefined elsewhere. */
  readonly columns?: number | undefined;
}

export interface ProgramHost {
  readonly env: { readonly [name: string]: string | undefined };
  /** Absolute. */
  readonly folder: string;
  readonly input: Readable & {
    readonly isTTY?: boolean;
    /** Of a terminal: whether each key is read at once. */
    setRawMode?(isRaw: boolean): unknown;
  };
  readonly output: TextSink;
  readonly errors: TextSink;
  /** Aborted when the user stops the command. */
  readonly signal: AbortSignal;
  /** Shows a question and returns the line that the user types; used on terminals only. */
  readonly ask: (question: string, options?: { readonly isSecret?: boolean }) => Promise<string>;
}

/** Whether a person can be asked. */
export function isInteractive({ env, input, errors }: ProgramHost): boolean {
  return input.isTTY === true && errors.isTerminal && !isSet(env["CI"]);
}

/** Whether a variable such as `CI` is set. */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0" && value !== "false";
}
