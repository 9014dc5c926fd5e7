/**
 * Checkpoint: how far an import of a file has come, in a file beside it, so that the same command
 * goes on where it was cut. A file that has changed since is another import.
 */

import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

export interface Progress {
  /** Records from the beginning whose outcome is known. */
  readonly records: number;
  readonly imported: number;
  readonly rejected: number;
  /** Records behind them that were imported before the import stopped, in order. */
  readonly ahead: readonly RecordRange[];
}

export interface RecordRange {
  readonly from: number;
  /** Index behind the last one. */
  readonly to: number;
}

export const NO_PROGRESS: Progress = { records: 0, imported: 0, rejected: 0, ahead: [] };

interface Content extends Progress {
  /** The file as it is, the server and the options. */
  readonly of: string;
  readonly name: string;
}

export class Checkpoint {
  readonly path: string;
  readonly #of: string;
  /** Names this import in the keys of its batches, so that no other one has the same keys. */
  #name: string = randomUUID();

  /** `of` names the target and the options of the import of `file`. */
  constructor(file: string, of: string) {
    const { size, mtimeNs } = statSync(file, { bigint: true });
    this.path = `${file}.bigpeer-import`;
    this.#of = `${of} ${size} ${mtimeNs}`;
  }

  get name(): string {
    return this.#name;
  }

  /** Begins at the start if there is no checkpoint, or it is of another import. */
  open(): Progress {
    const found = this.#read();
    if (found === undefined) {
      // On disk before the first batch is sent under the name.
      this.write(NO_PROGRESS);
      return NO_PROGRESS;
    }
    const { name, records, imported, rejected, ahead } = found;
    this.#name = name;
    return { records, imported, rejected, ahead };
  }

  #read(): Content | undefined {
    try {
      const content = JSON.parse(readFileSync(this.path, "utf8")) as Content;
      return content.of === this.#of ? content : undefined;
    } catch {
      return undefined;
    }
  }

  /** In one step, so that a crash leaves the checkpoint before. */
  write(progress: Progress): void {
    const draft = `${this.path}.tmp`;
    const content: Content = { of: this.#of, name: this.#name, ...progress };
    writeFileSync(draft, JSON.stringify(content), { mode: 0o600 });
    renameSync(draft, this.path);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
