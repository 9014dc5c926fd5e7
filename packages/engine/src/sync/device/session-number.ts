/**
 * Session numbers: identify the connections of peers to an app.
 *
 * In a cluster each node numbers its sessions in a range of its own, so that a number identifies a
 * session among those of all nodes. A server without a cluster uses the first range.
 */

/** Numbers in each range. */
export const SESSION_RANGE_SIZE: number = 2 ** 32;

/** Number of ranges: all numbers are safe integers. */
export const SESSION_RANGE_COUNT: number = 2 ** 21;

/** The range that a session belongs to. */
export function sessionRange(session: number): number {
  return Math.floor(session / SESSION_RANGE_SIZE);
}

interface Connected {
  readonly session: number;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
}

/** Whether a connection was made after another one; between two nodes, by their clocks. */
export function isNewerSession(one: Connected, other: Connected): boolean {
  const isSameNode = sessionRange(one.session) === sessionRange(other.session);
  if (isSameNode || one.sinceMs === other.sinceMs) return one.session > other.session;
  return one.sinceMs > other.sinceMs;
}
