/**
 * History of the shell: statements of earlier shells, in a file that only its owner reads.
 */

import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { tokensOf } from "@bigpeer/engine/language";
import type { ProgramHost } from "../program/host.ts";

const ENTRIES_MAX = 1_000;

export class History {
  readonly #path: string;

  constructor({ env }: Pick<ProgramHost, "env">) {
    const folder = env["XDG_STATE_HOME"] || join(env["HOME"] || homedir(), ".local", "state");
    this.#path = join(folder, "bigpeer", "history");
  }

  /** Newest first, as readline wants it. Each entry is one line. */
  read(): string[] {
    try {
      const lines = readFileSync(this.#path, "utf8")
        .split("\n")
        .filter((line) => line !== "");
      // A file that only grew would take longer to read each time.
      if (lines.length > 2 * ENTRIES_MAX) this.#shorten(lines.slice(-ENTRIES_MAX));
      return lines.slice(-ENTRIES_MAX).toReversed();
    } catch {
      return [];
    }
  }

  /** A statement of several lines becomes one line. */
  add(statement: string): void {
    const line = statement.includes("\n") ? oneLine(statement) : statement.trim();
    // A shell without a place for its history still works.
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${line}\n`, { mode: 0o600 });
      chmodSync(this.#path, 0o600);
    } catch {}
  }

  #shorten(lines: readonly string[]): void {
    writeFileSync(this.#path, `${lines.join("\n")}\n`, { mode: 0o600 });
  }
}

/** The same statement: a comment must not swallow the next line, and a text keeps its line breaks. */
function oneLine(statement: string): string {
  let line = "";
  for (const { kind, text } of tokensOf(statement)) {
    if (kind === "comment") line += " ";
    else if (kind === "text") line += text.replaceAll("\r", "\\r").replaceAll("\n", "\\n");
    else line += kind === "space" && text.includes("\n") ? " " : text.replaceAll("\n", " ");
  }
  return line.trim();
}
