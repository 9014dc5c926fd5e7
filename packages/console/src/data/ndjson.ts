/**
 * NDJSON: a document on each line.
 */
import { parseExact } from "@bigpeer/client/exact-json";

/** Reads lines in pieces, as a file arrives. A line that is no object throws with its number. */
export class NdjsonReader {
  #rest = "";
  #lines = 0;

  push(piece: string): readonly Readonly<Record<string, unknown>>[] {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#parse(line));
  }

  end(): readonly Readonly<Record<string, unknown>>[] {
    const rest = this.#rest;
    this.#rest = "";
    return this.#parse(rest);
  }

  #parse(line: string): readonly Readonly<Record<string, unknown>>[] {
    this.#lines++;
    if (line.trim() === "") return [];
    return [parseDocument(line, `line ${this.#lines}`)];
  }
}

/** One object. `place` is named in the error. */
export function parseDocument(text: string, place: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new Error(`expected JSON at ${place}: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`expected an object at ${place}`);
  }
  return value as Readonly<Record<string, unknown>>;
}
