/**
 * Near name: finds the known name that a user probably meant, for the hint of an error.
 */

/** Longer names are not compared: the work grows with their length. */
const LENGTH_MAX = 64;

/**
 * The nearest name in `known`, ignoring letter case; the first of several. Undefined when more than
 * a third of the letters differ, or more than one of a short word: then it is another word, and a
 * guess would mislead.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LENGTH_MAX) return undefined;
  const wanted = name.toUpperCase();
  let found: string | undefined;
  let fewest = (name.length < 5 ? 1 : Math.ceil(name.length / 3)) + 1;
  for (const candidate of known) {
    // The difference in length is a lower bound of the distance.
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const distance = editDistance(wanted, candidate.toUpperCase());
    if (distance >= fewest) continue;
    fewest = distance;
    found = candidate;
  }
  return found;
}

/** Edit distance: letters to insert, delete, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
