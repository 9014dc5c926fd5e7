/**
 * JSON in arguments of a command line: the text itself, or `@FILE`, or `@-` for standard input.
 */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { isObject, PeerError, parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { CommandFailure, UsageError } from "../program/failure.ts";
import type { ProgramHost } from "../program/host.ts";

/** Throws UsageError unless it is an object. */
export async function readObject(
  name: string,
  given: string,
  host: ProgramHost,
): Promise<ValueObject> {
  const value = parseArgument(name, await readArgument(given, host));
  if (isObject(value)) return value;
  throw new UsageError(`${name}: expected an object in JSON`);
}

/** Returns the text itself, or the content of the file that it names. */
export async function readArgument(given: string, host: ProgramHost): Promise<string> {
  if (!given.startsWith("@")) return given;
  if (given === "@-") return readInput(host);
  const path = resolve(host.folder, given.slice(1));
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CommandFailure(`failed to read ${path}: ${(error as Error).message}`);
  }
}

export async function readInput({ input, signal }: ProgramHost): Promise<string> {
  addAbortSignal(signal, input);
  const parts: Buffer[] = [];
  for await (const part of input) parts.push(Buffer.from(part as Buffer));
  return Buffer.concat(parts).toString("utf8");
}

export function parseArgument(name: string, text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    throw new UsageError(`${name}: ${error.message}`);
  }
}
