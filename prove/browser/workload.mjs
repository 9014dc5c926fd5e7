/**
 * The commits that a browser writes until it is killed, and the state that a number of them gives.
 * Everything follows from the number of a commit, so the page that reads the store afterwards needs
 * nothing but the last number that it finds.
 */

const ROWS = 400;
const KEPT_ENTRIES = 150;

/** Every third commit is strict. */
export function isStrict(number) {
  return number % 3 === 0;
}

export function writesOf(number) {
  const text = "x".repeat((number * 7919) % 3000);
  const writes = new Map([
    ["counter", number],
    [`row ${(number * 17) % ROWS}`, { number, text }],
    [`entry ${number}`, [number, -0, 2n ** 60n + BigInt(number)]],
    [`entry ${number - KEPT_ENTRIES}`, undefined],
  ]);
  if (number % 5 === 0) writes.set(`row ${(number * 31 + 1) % ROWS}`, undefined);
  return writes;
}

export function stateAfter(number) {
  const state = new Map();
  for (let i = 1; i <= number; i++) {
    for (const [key, value] of writesOf(i)) {
      if (value === undefined) state.delete(key);
      else state.set(key, value);
    }
  }
  return state;
}
