/**
 * Planted loops: work that is quadratic in ways that have been found in the wild, and its linear twin.
 * A judge of growth must find the one and let the other pass.
 */

/** Reads a run of digits again at every sixteenth place of it. */
export function rereadDigits(text: string): boolean {
  for (let at = 15; at < text.length; at += 16) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - start >= 16 && text[start - 1] !== ".") return true;
  }
  return false;
}

export function readDigits(text: string): boolean {
  let run = 0;
  for (let at = 0; at < text.length; at++) {
    if (!isDigit(text.charCodeAt(at))) run = 0;
    else if (++run >= 16) return text[at - 16] !== ".";
  }
  return false;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Looks for the end of each part in all that follows, where there is none. */
export function searchAgain(text: string): number {
  let count = 0;
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 1)) {
    if (text.indexOf(">", at) >= 0) count++;
  }
  return count;
}

/** A list as a queue, whose rest is moved for each that is taken. */
export function shiftAll(list: number[]): number {
  let sum = 0;
  while (list.length > 0) sum += list.shift() ?? 0;
  return sum;
}

/** A set that is a list. */
export function distinctByList(list: readonly number[]): number {
  const seen: number[] = [];
  for (const each of list) if (!seen.includes(each)) seen.push(each);
  return seen.length;
}

/** Turns that grow: each goes through all that came before. */
export function* growingTurns(count: number): Generator<void, number> {
  let sum = 0;
  for (let turn = 0; turn < count; turn++) {
    for (let i = 0; i < turn * 100; i++) sum += i;
    yield;
  }
  return sum;
}
