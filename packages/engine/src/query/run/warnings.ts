/**
 * Warnings of a statement: all are counted, and the first few are kept.
 */

import type { Value } from "@bigpeer/protocol";
import type { RowWarnings } from "../frame/frame.ts";

/**
 * A warning about a statement, or about one document for which a part of it could not be evaluated.
 *
 * @example
 * const describe = ({ description }: Warning): string => description;
 * const { warnings } = await peer.store.execute("SELECT * FROM taks");
 * const [first] = warnings.map(describe);
 * console.log(first); // unknown collection "taks" at line 1, column 15: no document was ever in it
 */
export interface Warning {
  /** Id of the document; absent if the warning is about the statement as a whole. */
  readonly _id?: Value;
  /** What happened, in words. */
  readonly description: string;
}

const WARNINGS_LISTED = 10;

/** Counts every warning and keeps the first few. */
export class Warnings implements RowWarnings {
  readonly list: Warning[] = [];
  total = 0;
  #ahead = 0;

  mark(): number {
    return this.total;
  }

  /** Removes all warnings since the mark. */
  rewind(mark: number): void {
    this.total = mark;
    if (this.list.length > mark) this.list.length = mark;
  }

  /** Appends the warnings of a part of the statement. */
  absorb({ list, total }: Warnings): void {
    for (const warning of list) if (!this.isFull) this.list.push(warning);
    this.total += total;
  }

  /** Whether the next warning is only counted, so that its text is not needed. */
  get isFull(): boolean {
    return this.list.length >= WARNINGS_LISTED;
  }

  /** Adds a warning about the whole statement, ahead of those about single rows. */
  addAhead(description: string): void {
    this.total++;
    if (this.#ahead >= WARNINGS_LISTED) return;
    this.list.splice(this.#ahead++, 0, { description });
    if (this.list.length > WARNINGS_LISTED) this.list.pop();
  }

  /** Whether the next warning ahead is only counted. */
  get isFullAhead(): boolean {
    return this.#ahead >= WARNINGS_LISTED;
  }

  add(description: string, id?: Value): void {
    this.total++;
    if (this.isFull) return;
    this.list.push(id === undefined ? { description } : { _id: id, description });
  }
}
