/**
 * The listed differences of `npm run compare`: each explains the statement and the two outcomes that it is
 * about, and nothing else that differs in a statement with the same words.
 */
import { expect, test } from "vitest";
import { DIFFERENCES, type Found, findDifference } from "../../../../compare/differences.mjs";

type Row = Readonly<Record<string, unknown>>;

const rows = (...items: Row[]): Found["ours"] => ({ items });
const error = (message: string): Found["ours"] => ({ error: "query/invalid", message });

const TIMEOUT = { error: "query.timeout", message: "the evaluation of one row took too long" };

/** A column over one document; a failure has nothing but the id. */
function column(expression: string, ours: Row, reference: Row): Found {
  const text = `SELECT _id, ${expression} AS v, ifmissing(${expression}, 'none') AS c FROM t`;
  return {
    rule: "expression",
    text,
    ours: rows({ _id: "1", ...ours }),
    reference: rows({ _id: "1", ...reference }),
  };
}

const statement = (text: string, ours: Found["ours"], reference: Found["ours"]): Found => {
  return { rule: "statement", text, ours, reference };
};

/** What is listed, and the same construct with outcomes that differ in another way. */
const EXAMPLES: Readonly<Record<string, readonly [listed: Found, other: Found]>> = {
  "more functions": [
    statement("SELECT uuid() AS v FROM t", rows({}), error('Function "uuid" not found')),
    statement("SELECT uuid() AS v FROM t", rows({}), error('Function "upper" not found')),
  ],
  "more queries": [
    statement("SELECT a FROM t UNION SELECT b FROM t", rows({}), error("Unexpected token UNION")),
    statement("SELECT a FROM t UNION SELECT b FROM t", rows({ a: 1 }), rows({ a: 2 })),
  ],
  "more names": [
    statement("SELECT value FROM t", rows({}), error("Unexpected token t")),
    statement("SELECT list FROM t", rows({}), error("Unexpected token t")),
  ],
  "minus before constants": [
    statement(
      "SELECT (-({'k': 1})) AS v FROM t",
      rows({}),
      error("`-({'k': 1}) is not supported`"),
    ),
    statement("SELECT (-({'k': 1})) AS v FROM t", rows({}), error("Unexpected token (")),
  ],
  "constant keys": [
    statement("SELECT {1: 1} AS v FROM t", error("the key of an object is a string"), rows({})),
    statement("SELECT {1: 1} AS v FROM t", error("expected an expression"), rows({})),
  ],
  "filters are columns": [
    {
      ...statement("SELECT _id FROM t WHERE NOT (b OR true)", rows(), rows({ _id: "1" })),
      filter: { ours: "", reference: "1", column: "" },
    },
    {
      ...statement("SELECT _id FROM t WHERE NOT (b OR true)", rows(), rows({ _id: "1" })),
      filter: { ours: "", reference: "1", column: "1" },
    },
  ],
  "groups of no rows": [
    statement("SELECT count(*) AS n FROM t WHERE false GROUP BY g", rows(), rows({ n: 0 })),
    statement("SELECT count(*) AS n FROM t WHERE false GROUP BY g", rows(), rows({ n: 1 })),
  ],
  "a key that fails": [
    statement("SELECT i % 2 AS key FROM t GROUP BY i % 2", rows({ key: 1 }, {}), rows({ key: 1 })),
    statement("SELECT i % 2 AS key FROM t GROUP BY i % 2", rows({ key: 1 }, {}), rows({ key: 0 })),
  ],
  "UNSET below nothing": [
    statement("UPDATE m UNSET o.k; SELECT * FROM m", rows({ _id: "1" }), rows({ _id: "1", o: {} })),
    statement("UPDATE m UNSET o.k; SELECT * FROM m", rows({ _id: "1" }), rows({ _id: "1", o: 1 })),
  ],
  "local difference of an empty object": [
    statement(
      "INSERT INTO m DOCUMENTS ({'_id': '1', 'i': {}}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
      rows({ _id: "1", i: {} }),
      rows({ _id: "1", i: 5 }),
    ),
    statement(
      "INSERT INTO m DOCUMENTS ({'_id': '1', 'i': {}}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
      rows({ _id: "1", i: 6 }),
      rows({ _id: "1", i: 5 }),
    ),
  ],
  split: [
    column("split('a,', ',')", { v: ["a", ""] }, { v: ["a"] }),
    column("split('a,', ',')", { v: ["a", "b"] }, { v: ["a"] }),
  ],
  nanoseconds: [
    column("duration_format(f)", { v: "1m0s" }, { v: "59.9999999999s" }),
    column("duration_format(f)", { v: "1m0s" }, { v: "59.9s" }),
  ],
  "a step of nothing": [
    column("date_range(0, 9, 'day', 0)", {}, { v: [] }),
    column("date_range(0, 9, 'day', 0)", {}, { v: [0] }),
  ],
  "equality of 1 and 1.0": [
    column("nullif(1, 1.0)", { v: null }, { v: 1 }),
    column("nullif(1, 1.0)", { v: 1 }, { v: null }),
  ],
  "ANY goes on": [
    column("(ANY v IN x SATISFIES v > 2 END)", { v: true }, { v: false }),
    column("(ANY v IN x SATISFIES v > 2 END)", { v: false }, { v: true }),
  ],
  "WITHIN goes on": [
    column("(ARRAY v FOR v WITHIN a WHEN v > 0 END)", { v: [1, 2] }, { v: [1] }),
    column("(ARRAY v FOR v WITHIN a WHEN v > 0 END)", { v: [1] }, { v: [1, 2] }),
  ],
  "null IN a failure": [
    column("(n IN trim(1))", { v: null }, {}),
    column("(n IN trim(1))", { v: false }, {}),
  ],
  "trims of nothing": [
    column("rtrim(s, '')", { v: "a " }, { v: "a" }),
    column("rtrim(s, '')", { v: "ab" }, { v: "a" }),
  ],
  "long ranges": [
    statement("SELECT date_range(0, d, 'hour', 1) AS v FROM t", TIMEOUT, rows({})),
    statement("SELECT array_sort(a) AS v FROM t", TIMEOUT, rows({})),
  ],
  "AND hides a failure": [
    column("(1 / i AND b)", { v: false }, {}),
    column("(1 / i AND b)", { v: true }, {}),
  ],
  "whole floats as integers": [
    column("repeat('a', 2.0)", { v: "aa" }, {}),
    column("repeat('a', 2.0)", { v: "aa" }, { v: "a" }),
  ],
};

test("each listed difference explains its outcomes, but not others of the same construct", () => {
  const names = DIFFERENCES.map(({ name }) => name);
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(names.toSorted());
  for (const [name, [listed, other]] of Object.entries(EXAMPLES)) {
    expect(findDifference(listed)?.name, name).toBe(name);
    expect(findDifference(other)?.name, `${name}, other outcomes`).toBeUndefined();
  }
});

test("a difference inside another call is not explained by the call", () => {
  const inner = column("upper(repeat('a', 2.0) || 1)", { v: null }, {});
  expect(findDifference(inner)).toBeUndefined();
  expect(findDifference(column("(n IN a[1])", { v: null }, {}))).toBeUndefined();
});

test("the word `missing` next to AND, a NaN duration and rows of ANY in a filter are explained", () => {
  const kept = statement(
    "SELECT _id FROM t WHERE (ANY v IN x SATISFIES v END)",
    rows({ _id: "1" }, { _id: "2" }),
    rows({ _id: "1" }),
  );
  expect(findDifference(kept)?.name).toBe("ANY goes on");
  expect(findDifference({ ...kept, ours: kept.reference, reference: kept.ours })).toBeUndefined();
  const negated = "SELECT _id FROM t WHERE (NOT (b AND missing))";
  expect(findDifference({ ...kept, text: negated })?.name).toBe("AND hides a failure");
  const nested = column("[(b AND missing)]", { v: [false] }, { v: [null] });
  expect(findDifference(nested)?.name).toBe("AND hides a failure");
  expect(findDifference(column("duration_format(f)", {}, { v: "NaNs" }))?.name).toBe("nanoseconds");
});
