/**
 * Assertions: checks for programming errors only. A failed one is caught only at the boundary of a
 * request or session. Bad input is a PeerError instead.
 */

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** Closes an exhaustive switch: the compiler proves that it is not reached. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unexpected ${JSON.stringify(value)}`);
}
