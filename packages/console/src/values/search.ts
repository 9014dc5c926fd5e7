/**
 * Search in short texts: all words must occur. A text that begins with the search comes first.
 */

/** The items that match, the best first. Equal ones keep their order. */
export function searchItems<T>(
  items: readonly T[],
  textOf: (item: T) => string,
  search: string,
): T[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [...items];
  return items
    .map((item) => ({ item, score: scoreOf(textOf(item).toLowerCase(), words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ item }) => item);
}

/** 0 if a word does not occur. */
function scoreOf(text: string, words: readonly string[]): number {
  let score = 1;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    const isStart = at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1] ?? "");
    score += isStart ? 2 : 1;
    if (at === 0) score += 1;
  }
  return score;
}
