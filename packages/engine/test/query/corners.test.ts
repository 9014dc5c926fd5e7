/**
 * The language at its corners: what null, MISSING, failures, halves and odd texts come to. Each rule is
 * a sentence with expressions over one document and what they give; the reference engine gives the same.
 */
import { describe, expect, test } from "vitest";
import { openStatements } from "../support/run-statements.ts";

const { rows, failure } = await openStatements();
await rows("INSERT INTO one DOCUMENTS (:document)", {
  document: {
    _id: "d",
    n: null,
    i: 3,
    f: 2.5,
    s: "abc",
    b: true,
    zero: 0,
    a: [1, 2, 3],
    an: [1, null],
    o: { k: 1 },
    d: "2026-03-15T10:30:45.123Z",
  },
});

const MISSING = "MISSING";
const FAILS = "fails";

/** The value of an expression; `absent` is a field that is not there. */
async function valueOf(expression: string): Promise<unknown> {
  const statement = `SELECT ${expression} AS v, ifmissing(${expression}, true) AS caught FROM one`;
  const [row] = (await rows(statement, { nothing: null })) as [{ v?: unknown; caught?: unknown }];
  if ("v" in row) return row.v;
  return "caught" in row ? MISSING : FAILS;
}

const NAN = "CAST('nan' AS FLOAT)";

/** Rule, then expressions with what they give. */
const RULES: readonly (readonly [rule: string, cases: Readonly<Record<string, unknown>>])[] = [
  [
    "substr from the end of the text on is null, as there is no character",
    { "substr(s, 3)": null, "substr(s, 3, 0)": null, "substr('', 0)": null, "substr(s, 2)": "c" },
  ],
  [
    "joinstr joins numbers, booleans, objects, binary and nested arrays as text",
    {
      "joinstr(',', 1, true, 2.0, 'a')": "1,true,2,a",
      "joinstr('-', [1, [2, [3, 'x']], {'a': [1]}])": '1-2-3-x-{"a":[1]}',
      "joinstr(',', s, [])": "abc,",
      "joinstr(',', CAST('a' AS BINARY))": "[97]",
      "joinstr(',', [1, null])": null,
    },
  ],
  [
    "contains looks at its second argument only",
    {
      "contains(s, 'x', 'b')": false,
      "contains(s, 'b', 1)": true,
      "contains(s, 'b', absent)": true,
      "contains(s, absent, n)": MISSING,
    },
  ],
  [
    "a comprehension leaves a failing element out",
    {
      "ARRAY 2 / (v - 2) FOR v IN a END": [-2, 2],
      "OBJECT 'k' : 1 / (v - 2) FOR v IN a END": { k: 1 },
    },
  ],
  [
    "BETWEEN: a false lower bound decides, unless something is MISSING",
    {
      "5 NOT BETWEEN 6 AND 'x'": true,
      "5 BETWEEN 6 AND n": false,
      "5 BETWEEN 6 AND absent": MISSING,
      "5 BETWEEN n AND 4": null,
      "5 BETWEEN 'x' AND n": MISSING,
      "5 BETWEEN n AND 'x'": null,
    },
  ],
  [
    "the first bad argument decides, from the left",
    {
      "concat(n, absent, 1)": null,
      "concat(b, n)": FAILS,
      "substr(s, n, absent)": null,
      "ltrim(n, absent)": null,
      "lpad(s, -1, n)": FAILS,
      "repeat(b, absent)": FAILS,
      "split(n, absent)": null,
      "array_concat(a, b, n)": FAILS,
      "array_union(n, absent)": null,
      "array_append(n, absent)": null,
      "object_concat(o, n, absent)": null,
      "object_rename(b, absent, 'x')": FAILS,
      "date_add(d, n, absent)": null,
      "date_diff(b, n, 'day')": FAILS,
      "date_part('no date', n)": null,
      "i || n": FAILS,
      "n || absent": null,
      "position(n IN absent)": MISSING,
    },
  ],
  [
    "some arguments are judged before those on their left",
    {
      "round(absent, n)": null,
      "array_flatten(n, b)": FAILS,
      "array_insert(b, n, 1)": null,
      "array_replace(absent, 1, 2, n)": null,
    },
  ],
  ["MISSING decides before null where order plays no part", { "starts_with(n, absent)": MISSING }],
  [
    "decode gives null for a MISSING result",
    { "decode(i, 3, absent, 'c')": null, "decode(i, 4, 'a', absent)": null },
  ],
  [
    "object_set with MISSING takes the field away",
    {
      "object_set(o, 'k', absent, true)": {},
      "object_set(o, 'j', absent)": { k: 1 },
      "object_set(o, 'k', absent)": FAILS,
      "object_set(o, 'j', 1, n)": FAILS,
      "object_content(n, absent)": null,
    },
  ],
  [
    "null and MISSING before IN are the result, whatever the list is",
    { "n IN i": null, "n IN absent": null, "absent IN n": MISSING, "n NOT IN (1 / zero, 2)": null },
  ],
  [
    "a pair of an object constructor needs a name; one that is no text makes it null",
    { "{n: 1, 'x': 2}": { x: 2 }, "{absent: 1}": {}, "{i: 1, 'x': 2}": null },
  ],
  [
    "arrays and objects compare by element, then by size; null and MISSING inside count",
    {
      "[n, 1] = [n, 2]": null,
      "[1, n] = [2, n]": false,
      "['a'] = [1, 2]": MISSING,
      "[n, 'a'] = [1, 2]": null,
      "[n] = [n, n]": null,
      "{'a': n} = {'a': 2, 'b': 1}": null,
      "{'a': n} = {'b': n}": false,
      "['a'] IN [[1, 2]]": FAILS,
    },
  ],
  [
    "round takes the float as it is in binary",
    {
      "round(1.005, 2)": 1,
      "round(2.675, 2)": 2.68,
      "round(-5.015, 2)": -5.01,
      "round(2.5)": 3,
      "round(1234.5, -2)": 1200,
      "round(f, 400)": 2.5,
      "round(f, -400)": 0,
    },
  ],
  [
    "duration_format shows seconds; a float counts them, an integer milliseconds",
    {
      "duration_format(1)": "0.001s",
      "duration_format(61.5)": "1m1.5s",
      "duration_format(1500, 'us')": "0.0015s",
      "duration_format(1, 'SECOND')": "1s",
      "duration_format(1, 'hour')": FAILS,
    },
  ],
  [
    "duration_cast reads hours, minutes and seconds in this order",
    {
      "duration_cast('1m30')": 90_000,
      "duration_cast('')": 0,
      "duration_cast('-1')": -1000,
      "duration_cast('30m1h')": FAILS,
      "duration_cast('1h90m')": FAILS,
      "duration_cast('1.5h')": FAILS,
      "duration_cast('1ms')": FAILS,
      "duration_cast('1.0005s')": 1000,
      "type(duration_cast('1h', 'second'))": "float",
      "duration_cast('1.5s', 'ns')": 1_500_000_000,
    },
  ],
  [
    "CAST of a float to text has no exponent",
    {
      "CAST(1e-7 AS STRING)": "0.0000001",
      "CAST(-1.5e-10 AS STRING)": "-0.00000000015",
      "CAST(1.5e25 AS STRING)": "15000000000000000000000000",
      "CAST(1e309 AS STRING)": "inf",
    },
  ],
  [
    "JSON of a float from 1e16 on has one",
    { "serialize_json([1e16, 1e15])": "[1e+16,1000000000000000.0]" },
  ],
  [
    "a LIKE pattern that ends in its escape matches nothing",
    {
      "s LIKE 'abc!' ESCAPE '!'": false,
      "'a!' LIKE 'a!' ESCAPE '!'": false,
      "s SIMILAR TO 'abc!' ESCAPE '!'": true,
    },
  ],
  [
    "an escape of SIMILAR TO is one character",
    { "s SIMILAR TO 'a' ESCAPE s": FAILS, "s SIMILAR TO 'a' ESCAPE SUBSTRING(s FOR 0)": FAILS },
  ],
  [
    "SUBSTRING takes FROM, FOR and commas together",
    { "SUBSTRING(s, 1 FOR 2)": "bc", "SUBSTRING(s FROM 1, 2)": "bc", "SUBSTRING(s FOR 2)": "ab" },
  ],
  [
    "NaN compares with nothing",
    {
      [`${NAN} = ${NAN}`]: MISSING,
      [`1 < ${NAN}`]: MISSING,
      [`1 IN [1, ${NAN}]`]: FAILS,
      [`[${NAN}] = [1]`]: MISSING,
    },
  ],
  [
    "date_diff in years and months goes by the calendar at UTC",
    {
      "date_diff('2026-01-01T00:30:00+02:00', '2025-12-31T20:30:00Z', 'year')": 0,
      "date_diff('2026-01-01T03:30:00+05:00', '2025-12-31T23:30:00+05:00', 'month')": 0,
      "date_diff('2026-01-01T00:30:00Z', '2025-12-31T20:30:00-02:00', 'month')": 1,
    },
  ],
  [
    "date_format: TZD has no colon, the RFC 3339 format shows no zero milliseconds, sss needs its point",
    {
      "date_format(d, 'TZD', 'Asia/Tokyo')": "+0900",
      "date_format('2026-03-15T10:30:45Z', 'YYYY-MM-DDThh:mm:ss.sssTZD')":
        "2026-03-15T10:30:45+00:00",
      "date_format('2026-03-15T10:30:45Z', 'ss.sss')": "45.000",
      "date_format(d, 'sss')": "45s",
      "date_format(d, 'hh TZN', 540)": "19 +09:00",
    },
  ],
  [
    "date_format shows a fraction in whole formats only where there is one",
    {
      "date_format('2026-03-15T10:30:45Z', 'hh:mm:ss.sss')": "10:30:45",
      "date_format('2026-03-15T10:30:45Z', 'YYYY-MM-DD hh:mm:ss.sss')": "2026-03-15 10:30:45",
      "date_format('2026-03-15T10:30:45Z', 'mm:ss.sss')": "30:45.000",
    },
  ],
  [
    "CAST to binary takes every type",
    {
      "CAST(CAST(i AS BINARY) AS STRING)": "[0,0,0,0,0,0,0,3]",
      "CAST(CAST(-1 AS BINARY) AS STRING)": "[255,255,255,255,255,255,255,255]",
      "CAST(CAST(f AS BINARY) AS STRING)": "[64,4,0,0,0,0,0,0]",
      "CAST(CAST(b AS BINARY) AS STRING)": "[1]",
      "CAST(CAST([1] AS BINARY) AS STRING)": "[91,49,93]",
    },
  ],
  [
    "a float is a date to the millisecond, and gives milliseconds",
    {
      "date_add(1.5, 'day', 1)": 86_401_500,
      "date_cast(1.2345)": 1235,
      "date_range(1.5, 3.5, 'second', 1)": [1500, 2500],
    },
  ],
  [
    "a format of letters reads numbers without leading zeros",
    {
      "date_cast('2026-3-5', 'YYYY-MM-DD')": 1_772_668_800_000,
      "date_cast('2026-03-15T10:30:45+0200')": 1_773_563_445_000,
    },
  ],
  [
    "a comparison with the word null or missing is MISSING, whatever the other side is",
    {
      "1 / zero = null": MISSING,
      "null < i": MISSING,
      "1 / zero = missing": MISSING,
      "missing < 1 / zero": MISSING,
    },
  ],
  [
    "so is a comparison with a parameter that is null; not with a field that is",
    {
      "i = :nothing": MISSING,
      ":nothing >= n": MISSING,
      "1 / zero <> :nothing": MISSING,
      ":nothing < 1 / zero": MISSING,
      "i = n": null,
      "i BETWEEN :nothing AND 5": null,
    },
  ],
  [
    "a constant in parentheses takes another sign, unless both are minus",
    { "+(-3)": -3, "-(+3)": -3, "+(+3)": 3, "2 - +(-3)": 5 },
  ],
  [
    "cast fails where its type is no text, also of null and MISSING",
    {
      "cast(n, 3)": FAILS,
      "cast(absent, {'k': 1})": FAILS,
      "cast(i, n)": null,
      "cast(n, absent)": MISSING,
      "cast(n, 'int')": null,
    },
  ],
  [
    "loops go through an object in the order of its names",
    {
      "ARRAY v FOR v IN {'b': 1, 'a': 2} END": [2, 1],
      "ARRAY v FOR v WITHIN {'b': [1], 'a': 2} END": [2, [1], 1],
      "ARRAY p FOR p : v IN {'b': 1, 'a': 2} END": ["a", "b"],
    },
  ],
  [
    "joinstr: the first of arguments and elements that is no text decides",
    {
      "joinstr(',', an, absent)": null,
      "joinstr(',', absent, an)": MISSING,
      "joinstr(n, absent)": null,
      "joinstr(absent, n)": MISSING,
      "joinstr(i, n)": FAILS,
    },
  ],
  ["the timezone of a number is UTC", { "date_part(0, 'timezone')": "UTC" }],
  ["empty text has no position", { "pos('', '')": -1, "pos(s, '')": 0 }],
  ["white space is Unicode's", { "1\u00a0+\u30002": 3 }],
];

test.each(RULES)("%s", async (_, cases) => {
  const found: Record<string, unknown> = {};
  for (const expression of Object.keys(cases)) found[expression] = await valueOf(expression);
  expect(found).toEqual(cases);
});

describe("count", () => {
  test("count(x) skips false as it skips null", async () => {
    const documents = [true, false, null, 0, "", true].map((b, i) => ({ _id: i, b }));
    await rows("INSERT INTO flags DOCUMENTS (:documents), ({'_id': 'none'})", { documents });
    expect(
      await rows("SELECT count(b) AS n, count(*) AS all, count(b = false) AS f FROM flags"),
    ).toEqual([{ n: 4, all: 7, f: 1 }]);
    expect(await rows("SELECT count(DISTINCT b) AS n FROM flags")).toEqual([{ n: 3 }]);
  });
});

describe("ORDER BY", () => {
  test("a name that is both an alias and a field means the alias, except _id", async () => {
    const documents = [1, 2, 3].map((i) => ({ _id: `${i}`, i, o: { k: i } }));
    await rows("INSERT INTO ordered DOCUMENTS (:documents)", { documents });
    const order = async (text: string): Promise<unknown[]> =>
      ((await rows(text)) as { v: unknown }[]).map((row) => Object.values(row)[0]);
    expect(await order("SELECT -i AS i FROM ordered ORDER BY i")).toEqual([-3, -2, -1]);
    expect(await order("SELECT -i AS i FROM ordered ORDER BY ordered.i")).toEqual([-1, -2, -3]);
    expect(await order("SELECT -i AS ordered FROM ordered ORDER BY ordered")).toEqual([-3, -2, -1]);
    expect(await order("SELECT {'k': -i} AS o FROM ordered ORDER BY o.k DESC")).toEqual([
      { k: -1 },
      { k: -2 },
      { k: -3 },
    ]);
    await rows("INSERT INTO failing DOCUMENTS ({'_id': '1', 's': 5}), ({'_id': '2', 's': null})");
    const failing = "SELECT _id, upper(s) AS z FROM failing ORDER BY";
    expect(await order(`${failing} z`), "a column that failed is MISSING").toEqual(["2", "1"]);
    expect(await order(`${failing} upper(s)`), "a term that failed is null").toEqual(["1", "2"]);
    expect(await order("SELECT -i AS _id FROM ordered ORDER BY _id")).toEqual([-1, -2, -3]);
    expect(await order("SELECT sum(-i) AS i FROM ordered GROUP BY i ORDER BY i")).toEqual([
      -3, -2, -1,
    ]);
  });
});

describe("keywords are names where nothing else can occur", () => {
  test.each(["end", "from", "group", "where", "limit", "returning", "like", "and", "in"])(
    "%s",
    async (word) => {
      await rows(`INSERT INTO ${word} DOCUMENTS ({'_id': '1', '${word}': 1})`);
      await rows(`UPDATE ${word} APPLY ${word} INCREMENT BY 2`);
      await rows(
        `UPDATE COLLECTION ${word} (${word} COUNTER) APPLY ${word} INCREMENT BY 2 WHERE true`,
      );
      expect(await rows(`SELECT v.${word} AS n FROM ${word} AS v WHERE v.${word} = 4`)).toEqual([
        { n: 4 },
      ]);
      await rows(`INSERT INTO words DOCUMENTS ({'_id': '${word}', '${word}': 1})`);
      expect(await rows(`SELECT ${word} FROM words WHERE ${word} = 1`)).toEqual([{ [word]: 1 }]);
    },
  );

  test("a missing operand is still an error", async () => {
    expect((await failure("SELECT _id FROM t WHERE a = 1 AND OR b = 2")).message).toContain(
      "expected an expression",
    );
    expect((await failure("SELECT a, FROM t")).message).toContain("expected");
    expect((await failure("SELECT CASE WHEN a THEN ELSE 1 END AS v FROM t")).message).toContain(
      "expected",
    );
  });
});

test("two signs of a constant, and two minus signs anywhere, are refused", async () => {
  for (const text of ["- -3", "+ -3", "-(-3)", "-(-(3))"]) {
    const { message } = await failure(`SELECT ${text} AS v FROM one`);
    expect(message, text).toContain("a constant has at most one sign");
  }
});

test("an ESCAPE literal must be one character", async () => {
  for (const text of ["''", "'ab'", "null", "5"]) {
    const { message } = await failure(`SELECT _id FROM none WHERE s LIKE 'a' ESCAPE ${text}`);
    expect(message, text).toContain("expected one character after ESCAPE");
  }
  expect(await valueOf("s LIKE 'abö%' ESCAPE 'ö'")).toBe(false);
  expect(await valueOf("s LIKE 'abc' ESCAPE i")).toBe(FAILS);
});

test("EXECUTE FUNCTION of a call that fails is an error", async () => {
  expect((await failure("EXECUTE FUNCTION abs('a')")).message).toContain("expected a number");
  expect(await rows("EXECUTE FUNCTION abs(-2)")).toEqual([{ result: 2 }]);
  expect(await rows("EXECUTE FUNCTION abs(missing)")).toEqual([{}]);
});
