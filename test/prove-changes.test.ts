/**
 * `npm run prove -- changes`: its options, the file of a follower that is killed, and the faults that
 * the check finds in it.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { parseOptions } from "../prove/changes/options.mjs";
import { TakenChanges, TakenCheck } from "../prove/changes/taken-changes.mjs";

const HISTORY = "0123456789abcdef0123456789abcdef";

/** Changes 0 and 1 are of transaction 5, change 2 is of transaction 6. */
const TXN_OF = Float64Array.of(5, 5, 6);

function line(position: string, number: number, delivery = "msg_a"): string {
  return `${HISTORY}.${position} ${number} ${delivery}\n`;
}

const WHOLE = [line("5.0", 0), line("5.1", 1), line("6.0", 2, "msg_b")];

function checked(lines: readonly string[]): TakenCheck {
  const check = new TakenCheck(TXN_OF);
  check.read(lines.join(""));
  check.checkTransactions(TXN_OF.length);
  return check;
}

test("the options have defaults, and invalid ones are named", () => {
  expect(parseOptions(["--seed", "7"])).toEqual({
    help: false,
    json: undefined,
    changes: 1_000_000,
    writeMs: Infinity,
    readers: 1_000,
    deaf: 100,
    killMs: 2_000,
    seed: 7,
  });
  expect(parseOptions(["--minutes", "1.5"])).toMatchObject({ writeMs: 90_000 });
  expect(() => parseOptions(["--changes", "0"])).toThrow("found '0' at --changes");
  expect(() => parseOptions(["--deaf", "1000"])).toThrow("found '1000' at --deaf");
  expect(() => parseOptions(["--minutes", "soon"])).toThrow("found 'soon' at --minutes");
});

test("changes in order hold, also when whole deliveries are repeated", () => {
  const check = checked([WHOLE[0] ?? "", ...WHOLE]);
  expect(check).toMatchObject({ failure: undefined, count: 3, repeats: 1 });
});

for (const { title, lines, failure } of [
  {
    title: "lost",
    lines: [WHOLE[0], WHOLE[2]],
    failure: "change 1 came as one of transaction 0, expected 5",
  },
  {
    title: "out of order",
    lines: [line("5.1", 1), line("5.0", 0), WHOLE[2]],
    failure: "change 0 came out of order",
  },
  {
    title: "repeated with another cursor",
    lines: [WHOLE[0], WHOLE[1], line("6.1", 1), WHOLE[2]],
    failure: "change 1 came twice, with different cursors",
  },
  {
    title: "repeated in another delivery",
    lines: [...WHOLE, line("6.0", 2, "msg_c")],
    failure: "change 2 came twice, in the deliveries msg_b and msg_c",
  },
  {
    title: "of another transaction",
    lines: [WHOLE[0], WHOLE[1], line("7.0", 2)],
    failure: "change 2 came as one of transaction 7, expected 6",
  },
  {
    title: "that was not written",
    lines: [...WHOLE, line("8.0", 3)],
    failure: "expected no change 3",
  },
]) {
  test(`a change ${title} is a failure`, () => {
    expect(checked(lines.map(String)).failure).toBe(failure);
  });
}

test("a killed follower continues after the last whole line of its file", () => {
  const file = join(temporaryFolder(), "taken.txt");
  const taken = new TakenChanges(file);
  expect(taken.restore()).toBeUndefined();
  taken.add([
    { cursor: `${HISTORY}.5.0`, number: 0 },
    { cursor: `${HISTORY}.5.1`, number: 1 },
  ]);
  appendFileSync(file, `${HISTORY}.6`);
  expect(taken.restore()).toBe(`${HISTORY}.5.1`);
  expect(readFileSync(file, "latin1")).toBe(line("5.0", 0, "-") + line("5.1", 1, "-"));
});
