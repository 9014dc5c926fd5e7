/**
 * Replaced methods: another method in a class, until it is mended. For faults that are planted.
 */

/** Puts another method into a class; returns what puts the first one back. */
export function replace<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (original: T[K]) => T[K],
): () => void {
  const original = target[name];
  const isOwn = Object.hasOwn(target, name);
  target[name] = make(original);
  return () => {
    // An inherited method would hide what another test puts in its place.
    if (isOwn) target[name] = original;
    else delete target[name];
  };
}

/** What mends several of them. */
export function all(...mends: readonly (() => void)[]): () => void {
  return () => {
    for (const mend of mends) mend();
  };
}
