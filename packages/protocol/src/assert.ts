/**
 * Assertions: for our own mistakes only. A failed one is never caught except at the border of the
 * process (a request, a session). Bad input is a PeerError instead.
 */

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** Closes an exhaustive switch: the compiler proves that it is not reached. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unexpected ${JSON.stringify(value)}`);
}
