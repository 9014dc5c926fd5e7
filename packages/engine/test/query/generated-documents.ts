/**
 * Generated collections: few documents, few different values, so that they clash; every field may be
 * null, absent, or of another type than elsewhere.
 */
import type { Value, ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";

/** Sums of these are exact in any order. */
const NUMBERS = [0, 1, 2, 3, -1, 0.5, 1.5, 2.5];
const TEXTS = ["", "a", "ab", "b", "B", "é", "1", "a%"];

/** A null comes last, where it cannot hide what follows it. */
const numberLists: Value[] = [[], [1], [1, 2], [2, 1], [1, 2, 3], [3, null], [1, null]];
const textLists: Value[] = [[], ["a"], ["a", "b"], ["b", "a", "a"], ["ab", null]];
const mixedLists: Value[] = [
  [],
  [1, "a"],
  [null, 2, [1, [3]]],
  [{ k: 1 }, { k: "a" }, {}],
  [true, 1],
];

const scalar = fc.constantFrom<Value>(...NUMBERS, ...TEXTS, true, false, null);

function field(values: readonly Value[]): fc.Arbitrary<Value | undefined> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...values) },
    { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
  );
}

const fields = fc.record({
  a: fc.oneof(scalar, fc.constantFrom<Value | undefined>(undefined, 1, 2)),
  b: field([0, 1, 2, 3, 4, -2]),
  n: field(NUMBERS),
  s: field(TEXTS),
  f: field([true, false]),
  o: fc.oneof(
    fc.record({ p: scalar, q: fc.record({ r: fc.constantFrom(0, 1, 2) }) }, { requiredKeys: [] }),
    fc.constantFrom<Value | undefined>(undefined, undefined, null, 7),
  ),
  t: field(numberLists),
  g: field(textLists),
  m: field(mixedLists),
});

export const LINK = "link";

/** Documents with the ids d0, d1, …; `link` names a document that is there or not. */
export function anyDocuments(sizeMax: number): fc.Arbitrary<ValueObject[]> {
  const linked = fc.tuple(fields, fc.constantFrom("d0", "d1", "d2", "none", null, undefined));
  const some = fc.array(linked, { minLength: Math.floor(sizeMax / 2), maxLength: sizeMax });
  const few = fc.array(linked, { maxLength: 1 });
  return fc.oneof({ weight: 9, arbitrary: some }, { weight: 1, arbitrary: few }).map((all) =>
    all.map(([given, link], i) => {
      const entries = Object.entries({ ...given, [LINK]: link }) as [string, Value | undefined][];
      const present = entries.filter((entry): entry is [string, Value] => entry[1] !== undefined);
      return { _id: `d${i}`, ...Object.fromEntries(present) };
    }),
  );
}

/** What may be indexed; the planner must give the same rows with and without. */
const INDEX_KEYS = [
  "a",
  "b",
  "s",
  "n DESC",
  "f",
  "o.p",
  "o.q.r",
  "link",
  "t",
  "a, b",
  "b DESC, s",
  "s, a DESC",
];

export function anyIndexes(): fc.Arbitrary<string[]> {
  return fc.subarray(INDEX_KEYS, { maxLength: 4 });
}
