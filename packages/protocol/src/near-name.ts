/**
 * The known name that somebody probably meant: for the hint of an error about an unknown one.
 */

/** Longer names are not compared: the work grows with their length, and nobody wrote them by hand. */
const LENGTH_MAX = 64;

/**
 * The name of `known` that is nearest, whatever the letter case; the first of several. Undefined
 * when more than a third of the letters differ: then it is another word, and a guess would mislead.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LENGTH_MAX) return undefined;
  const wanted = name.toUpperCase();
  let found: string | undefined;
  let fewest = Math.ceil(name.length / 3) + 1;
  for (const candidate of known) {
    // The lengths alone say how many letters must be added or taken away.
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const distance = editDistance(wanted, candidate.toUpperCase());
    if (distance >= fewest) continue;
    fewest = distance;
    found = candidate;
  }
  return found;
}

/** Letters to insert, delete or replace to get from `a` to `b` (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
