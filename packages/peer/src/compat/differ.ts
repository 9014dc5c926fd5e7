/**
 * Differ: what changed between two lists of rows.
 *
 * A row is known by its field `_id`, and without one by all of it. Of several rows with the same id,
 * the first is compared with the first, and so on.
 */

import { isObject } from "@bigpeer/protocol";
import { jsonText } from "./json-text.ts";
import { type QueryResultItem, rowOf } from "./query-result.ts";

/** Indexes: of new rows in the new list, of missing rows in the old list, and so on. */
export class Diff {
  /** Of rows that are new, in the new list. */
  readonly insertions: number[];
  /** Of rows that are missing, in the old list; the last first, so that they can be removed in turn. */
  readonly deletions: number[];
  /** Of rows that changed, in the new list. */
  readonly updates: number[];
  /** Of rows whose place among the kept rows changed: in the old list, and in the new one. */
  readonly moves: { from: number; to: number }[];

  constructor({ insertions, deletions, updates, moves }: Omit<Diff, never>) {
    this.insertions = insertions;
    this.deletions = deletions;
    this.updates = updates;
    this.moves = moves;
  }
}

/** A row that was seen: its identity and its content. */
interface Seen {
  readonly key: string;
  readonly content: string;
}

export class Differ {
  #before: readonly Seen[] = [];

  /** Compares the rows with those of the last call, at first with none. */
  diff(items: QueryResultItem[]): Diff {
    const [before, after] = [this.#before, seenIn(items)];
    this.#before = after;
    const oldIndexes = new Map(before.map(({ key }, index) => [key, index]));
    const newKeys = new Set(after.map(({ key }) => key));
    const keptInOrder = before.flatMap(({ key }, index) => (newKeys.has(key) ? [index] : []));
    const insertions: number[] = [];
    const updates: number[] = [];
    const moves: Diff["moves"] = [];
    let kept = 0;
    for (const [to, { key, content }] of after.entries()) {
      const from = oldIndexes.get(key);
      if (from === undefined) {
        insertions.push(to);
        continue;
      }
      if (before[from]?.content !== content) updates.push(to);
      if (keptInOrder[kept++] !== from) moves.push({ from, to });
    }
    const deletions = before.flatMap(({ key }, index) => (newKeys.has(key) ? [] : [index]));
    return new Diff({ insertions, deletions: deletions.toReversed(), updates, moves });
  }
}

function seenIn(items: readonly QueryResultItem[]): Seen[] {
  const counts = new Map<string, number>();
  return items.map((item) => {
    const row = rowOf(item);
    const content = jsonText(row);
    const id = isObject(row) ? row["_id"] : undefined;
    const identity = id === undefined ? content : jsonText(id);
    const count = counts.get(identity) ?? 0;
    counts.set(identity, count + 1);
    return { key: `${count} ${identity}`, content };
  });
}
