/**
 * Style: colours of a terminal as escape sequences, or nothing where colours are not wanted.
 */

import type { ProgramHost, TextSink } from "../program/host.ts";

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export type Colour = keyof typeof CODES;

export type Style = (colour: Colour, text: string) => string;

export const PLAIN: Style = (_, text) => text;

const COLOURED: Style = (colour, text) => {
  const [on, off] = CODES[colour];
  return text === "" ? text : `\u001b[${on}m${text}\u001b[${off}m`;
};

/** Colours only on a terminal, unless NO_COLOR or --no-color refuses them. */
export function styleOf(
  { env }: Pick<ProgramHost, "env">,
  sink: TextSink,
  isRefused = false,
): Style {
  // Any value of NO_COLOR refuses them, also 0: no-color.org says so.
  const isWanted = sink.isTerminal && !isRefused && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return isWanted ? COLOURED : PLAIN;
}
