/**
 * Names: labels as RFC 1123 has them.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checkName } from "../../src/registry/name-check.ts";

const EDGE = "abcdefghijklmnopqrstuvwxyz0123456789".split("");
const INNER = [...EDGE, "-"];

function isTaken(name: string): boolean {
  try {
    checkName(name, "an app");
    return true;
  } catch {
    return false;
  }
}

test("a name is 1 to 63 lowercase letters, digits and dashes between them", () => {
  const labels = fc.array(fc.constantFrom(...INNER), { minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(labels, (characters) => {
      const isRight = characters.length <= 63 && characters[0] !== "-" && characters.at(-1) !== "-";
      expect(isTaken(characters.join(""))).toBe(isRight);
    }),
  );
});

test("a name with any other character anywhere is refused", () => {
  const other = fc
    .string({ unit: "binary", minLength: 1, maxLength: 1 })
    .filter((character) => !INNER.includes(character));
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...EDGE), { maxLength: 20 }),
      other,
      fc.nat(),
      (label, wrong, at) => {
        const name = label.toSpliced(at % (label.length + 1), 0, wrong).join("");
        expect(isTaken(name)).toBe(false);
      },
    ),
  );
});

test("a name at the limit is accepted, one beyond it is not", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), (length) => {
      expect(isTaken("a".repeat(length))).toBe(length <= 63);
    }),
  );
});

test("an error says what was expected and shows what was found, shortened", () => {
  expect(() => checkName("A".repeat(200), "an app")).toThrow(
    expect.objectContaining({
      title: "InvalidName",
      detail:
        'expected 1 to 63 lowercase letters, digits or "-", with a letter or digit at both ends ' +
        `as the name of an app, found "${"A".repeat(80)}…"`,
    }),
  );
});
