/**
 * Content space: the bytes on disk of all attachment files of an app, whole and partial, within the
 * bound of `attachment-space-max`.
 *
 * The files are counted once, before the first one changes. From then on every change goes through
 * this class, so the count is exact and costs no further look at the folder. Without a bound nothing
 * is counted.
 */

import { statSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { PeerError } from "@bigpeer/protocol";
import { contentFiles, sizeOf } from "./attachment-files.ts";

export class ContentSpace {
  readonly #folder: string;
  /** 0 without a bound. */
  readonly #max: number;
  #used = 0;
  #counting: Promise<void> | undefined;

  constructor(folder: string, max: number) {
    this.#folder = folder;
    this.#max = max;
  }

  /** Counted bytes; meaningless without a bound. */
  get used(): number {
    return this.#used;
  }

  /** Await it before a file of the folder is changed. */
  async whenCounted(): Promise<void> {
    if (this.#max === 0) return;
    this.#counting ??= this.#count();
    try {
      await this.#counting;
    } catch (error) {
      this.#counting = undefined;
      throw error;
    }
  }

  /** Throws PeerError `store.full` unless `size` more bytes fit. */
  check(size: number): void {
    if (this.#max === 0 || this.#used + size <= this.#max) return;
    const message = "the attachments of the app have taken all the space that they may have";
    throw new PeerError("store.full", message, { expected: `at most ${this.#max} bytes of them` });
  }

  /** Counts bytes before they are written. Throws PeerError `store.full` when they do not fit. */
  take(size: number): void {
    this.check(size);
    this.add(size);
  }

  /** Counts bytes that are stored in any case. */
  add(size: number): void {
    this.#used += size;
  }

  give(size: number): void {
    this.#used -= size;
  }

  /** Removes a file, if it exists. */
  async remove(path: string): Promise<void> {
    const size = await this.#sizeOf(path);
    await rm(path, { force: true });
    this.give(size);
  }

  /** Renames a file; it replaces another one at its new place. */
  async move(from: string, to: string): Promise<void> {
    const replaced = await this.#sizeOf(to);
    await rename(from, to);
    // Renaming changes nothing if both names are links to the same file.
    await rm(from, { force: true });
    this.give(replaced);
  }

  /** Gives a file a second name; false if the file system has no hard links. */
  async link(from: string, to: string): Promise<boolean> {
    try {
      await link(from, to);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "EEXIST") throw error;
      return false;
    }
    this.add(await this.#sizeOf(to));
    return true;
  }

  async #sizeOf(path: string): Promise<number> {
    return this.#max === 0 ? 0 : ((await sizeOf(path)) ?? 0);
  }

  async #count(): Promise<void> {
    let used = 0;
    for (const paths of contentFiles(this.#folder)) {
      for (const path of paths) used += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      // Folders are read synchronously: other work runs between them.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#used = used;
  }
}
