/**
 * Trim plan: decides how much of a log may be forgotten, by what the nodes have on their disks.
 *
 * Every node that is known holds the log back at its own position. A node that makes no progress for
 * `awayMs`, because it is away or fails, no longer holds it: it begins with a copy when it returns.
 * The log is never trimmed to what one node alone has.
 */

/** Where another node is in the log of a store. */
export interface NodeProgress {
  /** The last entry on its disk; 0 if that is not known, or it does not have the store. */
  readonly sequence: number;
  /** Since when it has not come further, although there was more. */
  readonly sinceMs: number;
}

export interface TrimBounds {
  /** Sequences before the lowest position of a node that stay in the log; at least 1. */
  readonly keptEntries: number;
  /** How long a node holds the log back without progress. */
  readonly awayMs: number;
}

/**
 * The progress of a node after it was asked. `sequence` is its answer, undefined without one, and
 * `needed` is what it would have had to reach by now.
 */
export function progressOf(
  before: NodeProgress | undefined,
  sequence: number | undefined,
  needed: number,
  nowMs: number,
): NodeProgress {
  if (before === undefined) return { sequence: sequence ?? 0, sinceMs: nowMs };
  if (sequence === undefined) return before;
  // A copy that it gives may hold it back for a while, which is no progress and no failure.
  const isMoving = sequence > before.sequence || sequence >= needed;
  return { sequence, sinceMs: isMoving ? nowMs : before.sinceMs };
}

/** The last entry that may be forgotten; 0 if none may. `own` is the position of this node. */
export function trimThrough(
  own: number,
  others: readonly NodeProgress[],
  { keptEntries, awayMs }: TrimBounds,
  nowMs: number,
): number {
  const holders = others.filter(({ sinceMs }) => nowMs - sinceMs < awayMs);
  if (holders.length === 0) return 0;
  const lowest = Math.min(own, ...holders.map(({ sequence }) => sequence));
  return Math.max(0, lowest - Math.max(1, keptEntries));
}
