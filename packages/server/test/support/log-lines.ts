/**
 * What a process without a terminal has logged: lines of JSON.
 */

export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** Throws when a line is no JSON. */
export function logLines(text: string): LogLine[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as LogLine);
}
