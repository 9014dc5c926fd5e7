/**
 * Prints results in rows.
 */
const TITLE_WIDTH = 44;
const WIDTH = 14;

export function row(title, cells) {
  console.log(title.padEnd(TITLE_WIDTH) + cells.map((cell) => cell.padStart(WIDTH)).join(""));
}

/** Returns an empty text for an unknown value. */
export function figure(number, digits = 0) {
  if (number === undefined || Number.isNaN(number)) return "";
  return number.toLocaleString("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** Minimum and maximum, relative to the median. */
export function spread(numbers) {
  const middle = median(numbers);
  const ends = [Math.min(...numbers), Math.max(...numbers)];
  return ends.map((end) => (end / middle).toFixed(2)).join("–");
}

/** Minimum and maximum. */
export function range(numbers) {
  return [Math.min(...numbers), Math.max(...numbers)].map((end) => end.toFixed(2)).join("–");
}

export function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Prints a target and whether it is met. */
export function verdict(sentence, isReached) {
  console.log(`asked for: ${sentence}: ${isReached ? "yes" : "NO"}`);
}
