/**
 * Static files: the files of one folder as fixed content, each read at its first request and then
 * kept. Names come from a list that the caller has, never from a request: a name is not checked.
 */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Headers } from "./answer.ts";
import { contentTypeOf } from "./content-type.ts";
import { FixedContent } from "./fixed-content.ts";

/** For names that end in nothing that is known, such as `LICENSE`. */
const PLAIN = "text/plain; charset=utf-8";

export class StaticFiles {
  readonly #folder: URL;
  readonly #headersOf: (name: string) => Headers;
  /** Concurrent requests share one read: files may be large. */
  readonly #contents = new Map<string, Promise<FixedContent | undefined>>();

  /** `headersOf` returns the headers of a file beside its content type. */
  constructor(folder: URL, headersOf: (name: string) => Headers) {
    this.#folder = folder;
    this.#headersOf = headersOf;
  }

  /** Undefined when there is no such file. It may be there at the next call. */
  async find(name: string): Promise<FixedContent | undefined> {
    const known = this.#contents.get(name) ?? this.#read(name);
    this.#contents.set(name, known);
    try {
      const content = await known;
      if (content === undefined) this.#contents.delete(name);
      return content;
    } catch (error) {
      this.#contents.delete(name);
      throw error;
    }
  }

  async #read(name: string): Promise<FixedContent | undefined> {
    try {
      const bytes = await readFile(join(fileURLToPath(this.#folder), name));
      const headers = { "content-type": contentTypeOf(name) ?? PLAIN, ...this.#headersOf(name) };
      return new FixedContent(bytes, headers);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

/** Differs for each build that writes this file. Undefined while there is no such file. */
export async function versionOfBuild(file: URL): Promise<string | undefined> {
  try {
    const { ino, mtimeMs } = await stat(file);
    return `${ino} ${mtimeMs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
