/**
 * Generated collections: few documents, few different values, so that they clash; every field may be
 * null, absent, or of another type than elsewhere. And collections for indexes: with values where keys
 * and order could go wrong.
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

/** As whatever reads a document makes them: others would differ for whoever compares strictly. */
const PLAIN = { noNullPrototype: true };

const inner = fc.record({ r: fc.constantFrom(0, 1, 2) }, PLAIN);

const fields = fc.record({
  a: fc.oneof(scalar, fc.constantFrom<Value | undefined>(undefined, 1, 2)),
  b: field([0, 1, 2, 3, 4, -2]),
  n: field(NUMBERS),
  s: field(TEXTS),
  f: field([true, false]),
  o: fc.oneof(
    fc.record({ p: scalar, q: inner }, { requiredKeys: [], ...PLAIN }),
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

/** Text too long for an index: documents with different ones share a position there. */
export const LONG = "x".repeat(800);

const EDGE_NUMBERS: readonly Value[] = [
  -0,
  1.0000000000000002,
  2 ** 53 - 1,
  2n ** 53n + 1n,
  -(2n ** 60n),
  1e300,
  Number.NaN,
];

const EDGE_TEXTS: readonly Value[] = [
  "\0",
  "a\0",
  "a\0b",
  "a\u0001",
  "a_",
  "A",
  "\uffff",
  "\u{1f697}",
  LONG,
  `${LONG}\0`,
  `${LONG}a`,
  `${LONG}b`,
  "x".repeat(766),
  "x".repeat(767),
  "\u{1f697}".repeat(300),
];

const EDGE_WHOLES: readonly Value[] = [
  new Uint8Array([0]),
  new Uint8Array([0, 255]),
  [],
  [1, 2],
  ["a"],
  ["a\0", LONG],
  {},
  { x: 1 },
  { x: "a", y: null },
];

const edgeNumber = fc.constantFrom(...EDGE_NUMBERS);
/** Text that begins alike comes often: its order is not that of the entries. */
const edgeText = fc.oneof(
  fc.constantFrom(...EDGE_TEXTS),
  fc.constantFrom<Value>(`${LONG}a`, `${LONG}b`, `${LONG}c`),
);
const edge = fc.oneof(edgeNumber, edgeText, fc.constantFrom(...EDGE_WHOLES));

/** The given values, now and then one that is hard to keep in order. */
function edgy(
  plain: fc.Arbitrary<Value | undefined>,
  hard: fc.Arbitrary<Value>,
): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: hard });
}

const edgeFields = fc.record({
  a: edgy(fc.oneof(scalar, fc.constantFrom<Value | undefined>(undefined, 1, 2)), edge),
  b: edgy(field([0, -0, 1, 2, 3]), edgeNumber),
  n: edgy(field(NUMBERS), edgeNumber),
  s: fc.oneof(field(TEXTS), edgy(field(TEXTS), edgeText), edgeText),
  f: field([true, false]),
  /** Nothing but ties. */
  k: fc.constantFrom(0, 1, 1, 2),
  u: edgy(field(["a", "x", "xx"]), edgeText),
  o: fc.oneof(
    fc.record({ p: edgy(scalar, edge), q: inner }, { requiredKeys: [], ...PLAIN }),
    fc.constantFrom<Value | undefined>(undefined, null, 7),
  ),
  t: field(numberLists),
  g: field(textLists),
  m: field(mixedLists),
  link: fc.constantFrom("d0", "d1", "d2", 1, "none", null, undefined),
  hits: field([0, 1, 2]),
  place: field([{ row: 1, bin: 1 }, { row: 2 }]),
  tags: field([{ x: { y: 1 } }, { x: { y: 2 }, z: "a" }, { x: 1 }]),
});

/** Ids of all types; most are texts. */
const EDGE_IDS: readonly Value[] = [
  1,
  2,
  2n ** 60n,
  true,
  new Uint8Array([1]),
  ["a", 1],
  ["a", 2],
  { n: 1, u: "ada" },
  { n: 2, u: "bob" },
  { u: "ada" },
  "a\0",
  "\u{1f697}",
];

export type Identified = ValueObject & { readonly _id: Value };

/** Documents for indexes. */
export function anyEdgeDocuments(sizeMax: number): fc.Arbitrary<Identified[]> {
  const ids = Array.from({ length: sizeMax }, (_, i): Value => `d${i}`);
  return fc
    .tuple(
      fc.array(edgeFields, { minLength: Math.floor(sizeMax / 3), maxLength: sizeMax }),
      fc.shuffledSubarray([...ids, ...EDGE_IDS], { minLength: sizeMax, maxLength: sizeMax }),
    )
    .map(([all, chosen]) =>
      all.map((given, i) => {
        const entries = Object.entries(given) as [string, Value | undefined][];
        const present = entries.filter((entry): entry is [string, Value] => entry[1] !== undefined);
        return { _id: chosen[i] ?? "more", ...Object.fromEntries(present) };
      }),
    );
}

/** Paths that most statements ask about, so that they meet an index. */
export const HOT_PATHS: readonly string[] = ["k", "b", "s", "a"];

export const COLD_PATHS: readonly string[] = [
  "n",
  "u",
  "f",
  "o.p",
  "o.q.r",
  "o",
  "t",
  "link",
  "_id",
  "_id.u",
  "hits",
  "place.row",
  "tags.x.y",
  "never",
];

/** The keys of an index, as they are written: one to three. */
export function anyIndexKeys(): fc.Arbitrary<string> {
  const path = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...HOT_PATHS) },
    { weight: 2, arbitrary: fc.constantFrom(...COLD_PATHS) },
  );
  const key = fc.tuple(path, fc.constantFrom("", "", " ASC", " DESC", " DESC"));
  return fc
    .uniqueArray(key, { minLength: 1, maxLength: 3, selector: ([name]) => name })
    .map((keys) => keys.map((words) => words.join("")).join(", "));
}
