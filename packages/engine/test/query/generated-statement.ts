/**
 * Generated statements, as text, over the collections `things` and `others`.
 */
import * as fc from "fast-check";
import { anyExpressions, join } from "./generated-expression.ts";

type Text = fc.Arbitrary<string>;

/** How a collection is named in FROM, and what its fields are then written with. */
const TERMS = [
  { from: "things", prefix: "" },
  { from: "things", prefix: "things." },
  { from: "things x", prefix: "x." },
  { from: "things AS x", prefix: "" },
];

export function anySelect(): Text {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...TERMS).chain(plainSelect) },
    { weight: 3, arbitrary: fc.constantFrom(...TERMS).chain(groupedSelect) },
    { weight: 1, arbitrary: fc.constantFrom(...TERMS).chain(aggregateSelect) },
    { weight: 3, arbitrary: joinSelect() },
  );
}

/** Nothing, as often as something. */
export function optional(text: Text): Text {
  return fc.oneof(fc.constant(""), text);
}

function listOf(text: Text, maxLength: number): Text {
  return fc.array(text, { minLength: 1, maxLength }).map((parts) => parts.join(", "));
}

export function aliased(expressions: readonly string[], first = 1): string {
  return expressions.map((expression, i) => `${expression} AS c${first + i}`).join(", ");
}

export const direction: Text = fc.constantFrom(
  "",
  "",
  "ASC",
  "DESC",
  "DESC",
  "NULLS FIRST",
  "ASC NULLS LAST",
  "DESC NULLS FIRST",
  "DESC NULLS LAST",
);

export const bounds: Text = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("LIMIT 3", "LIMIT 2 OFFSET 1", "OFFSET 4", "OFFSET 1 LIMIT 5"),
  },
  { weight: 1, arbitrary: fc.constantFrom("LIMIT 0", "LIMIT 100", "OFFSET 100", "LIMIT 1") },
);

export function where(condition: Text): Text {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant("") },
    { weight: 4, arbitrary: join("WHERE", condition) },
  );
}

function plainSelect({ from, prefix }: (typeof TERMS)[number]): Text {
  const { condition, value, path } = anyExpressions(prefix);
  const columns = fc.array(value, { minLength: 1, maxLength: 3 }).map((all) => aliased(all));
  const shown = fc.array(path, { minLength: 1, maxLength: 2 }).map((all) => aliased(all));
  const use = fc.constantFrom(
    "",
    "",
    "",
    "",
    "",
    "USE IDS 'd0', 'd2'",
    "USE IDS 'd1', 'none', 'd1'",
  );
  const order = fc.oneof(
    fc.constant(`ORDER BY ${prefix}_id`),
    join("ORDER BY", listOf(join(path, direction), 2)),
    join("ORDER BY", path, direction, `, ${prefix}_id`, direction),
    join("ORDER BY c1", direction, ",", value, direction),
    join("ORDER BY", value, direction, ",", path),
  );
  const head = `FROM ${from}`;
  return fc.oneof(
    join("SELECT", columns, head, use, where(condition), optional(order), bounds),
    join(
      "SELECT *",
      head,
      use,
      where(condition),
      optional(join("ORDER BY", path, direction)),
      bounds,
    ),
    join(
      "SELECT",
      fc
        .constantFrom("a, b, o.p", "_id, s, t[0]", "o.q.r, link, n + 1")
        .map((list) => qualified(list, prefix)),
      head,
      where(condition),
      bounds,
    ),
    join(
      "SELECT",
      `${prefix === "" ? "o" : prefix.slice(0, -1)}.*,`,
      value,
      "AS c1",
      head,
      where(condition),
    ),
    join("SELECT DISTINCT", columns, head, where(condition), bounds),
    // Ordered by what cannot fail: equal rows then have equal keys.
    join("SELECT DISTINCT", shown, head, where(condition), "ORDER BY c1", direction, bounds),
  );
}

function qualified(list: string, prefix: string): string {
  return list
    .split(", ")
    .map((path) => prefix + path)
    .join(", ");
}

/** Keys that never fail. */
function keys(prefix: string): Text {
  return fc.constantFrom("a", "b", "s", "f", "o.p", "link", "t").map((name) => prefix + name);
}

/** Aggregates of what never fails. */
function aggregates(prefix: string): Text {
  const path = fc.constantFrom("a", "b", "n", "s", "f", "o.p", "t").map((name) => prefix + name);
  const number = fc.oneof(
    path,
    fc.constant(`${prefix}b * 2`),
    fc.constant(`${prefix}n + ${prefix}b`),
  );
  const plain = fc.oneof(
    fc.constant("count(*)"),
    join(fc.constantFrom("count(", "min(", "max("), fc.constantFrom("", "DISTINCT"), path, ")"),
    join(
      fc.constantFrom("sum(", "avg(", "median("),
      fc.constantFrom("", "", "DISTINCT"),
      number,
      ")",
    ),
    // In which order the rows come is not promised.
    join("array_sort( array_agg(", fc.constantFrom("", "DISTINCT"), path, "))"),
  );
  return fc.oneof(
    { weight: 5, arbitrary: plain },
    { weight: 1, arbitrary: join("(", plain, "+ 1 )") },
    { weight: 1, arbitrary: join("(", plain, "IS MISSING )") },
    { weight: 1, arbitrary: join("coalesce(", plain, ", 'none')") },
  );
}

function having(key: string, prefix: string): Text {
  return fc.oneof(
    fc.constantFrom(
      "count(*) > 1",
      "true",
      "null",
      `${key} IS NOT MISSING`,
      `${key} = 1 OR count(*) = 1`,
    ),
    join(
      aggregates(prefix),
      fc.constantFrom("=", ">", "<="),
      fc.constantFrom("1", "2", "'a'", "2.5"),
    ),
  );
}

function groupedSelect({ from, prefix }: (typeof TERMS)[number]): Text {
  const { condition } = anyExpressions(prefix);
  return fc.uniqueArray(keys(prefix), { minLength: 1, maxLength: 2 }).chain((by) => {
    const key = by[0] ?? "";
    const shown = fc.constantFrom(
      [...by],
      [key],
      [`type(${key})`],
      [`[${key}, 1]`],
      [`ifmissing(${key}, 'gone')`],
    );
    const columns = fc
      .tuple(shown, fc.array(aggregates(prefix), { maxLength: 2 }))
      .map(([first, rest]) => aliased([...first, ...rest]));
    const order = fc.oneof(
      join("ORDER BY", fc.constantFrom(...by), direction),
      join("ORDER BY", aggregates(prefix), direction, ",", fc.constantFrom("c1", ...by), direction),
    );
    return join(
      fc.constantFrom("SELECT", "SELECT", "SELECT", "SELECT DISTINCT").map((word) => word),
      columns,
      `FROM ${from}`,
      where(condition),
      `GROUP BY ${by.join(", ")}`,
      optional(join("HAVING", having(key, prefix))),
      optional(order),
      bounds,
    ).map(withoutHiddenOrder);
  });
}

/** Under DISTINCT, only what is shown can say which of two equal rows comes first. */
function withoutHiddenOrder(statement: string): string {
  if (!statement.startsWith("SELECT DISTINCT")) return statement;
  return statement.replace(/ORDER BY .*?(?=LIMIT|OFFSET|$)/, "ORDER BY c1 ");
}

function aggregateSelect({ from, prefix }: (typeof TERMS)[number]): Text {
  const { condition } = anyExpressions(prefix);
  const columns = fc
    .array(aggregates(prefix), { minLength: 1, maxLength: 3 })
    .map((all) => aliased(all));
  return join(
    "SELECT",
    columns,
    `FROM ${from}`,
    where(condition),
    optional(join("HAVING", aggregates(prefix), "> 0")),
  );
}

/** Conditions that join `x` and `y`. */
export const LINKS: readonly string[] = [
  "x.link = y._id",
  "y._id = x.link",
  "y._id = x.link AND y.b > 0",
  "x.b = y.b",
  "y.a = x.a AND y.f = true",
  "y.b < x.b",
  "x.s = y.s OR y.b = 1",
  "x.o.p = y.o.p",
  "true",
  "y._id = 'd1' AND x.b = 1",
  "x._id = y._id AND x.t = y.t",
];

function joinSelect(): Text {
  const [left, right] = [anyExpressions("x."), anyExpressions("y.")];
  const value = fc.oneof(left.value, right.value, left.path, right.path, fc.constantFrom("x", "y"));
  const condition = fc.oneof(
    left.condition,
    right.condition,
    join("(", left.condition, fc.constantFrom("AND", "OR"), right.condition, ")"),
    fc.constantFrom("y IS MISSING", "x.b = y.b"),
  );
  const type = fc.constantFrom("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN");
  const from = join("FROM things x", type, "others y ON", fc.constantFrom(...LINKS));
  const third = fc.constantFrom(
    "",
    "",
    "",
    "JOIN things z ON z._id = y.link",
    "LEFT JOIN others z ON z.b = x.b",
  );
  const order = fc.constantFrom(
    "",
    "ORDER BY x._id",
    "ORDER BY y._id DESC, x._id",
    "ORDER BY x.a, y.b, x._id, y._id",
  );
  const columns = fc.array(value, { minLength: 1, maxLength: 3 }).map((all) => aliased(all));
  return fc.oneof(
    { weight: 4, arbitrary: join("SELECT", columns, from, third, where(condition), order, bounds) },
    { weight: 1, arbitrary: join("SELECT *", from, where(condition), order) },
    { weight: 1, arbitrary: join("SELECT x.*, y.b AS c1", from, where(condition), order, bounds) },
    {
      weight: 1,
      arbitrary: join(
        "SELECT y.b AS c1, count(*) AS c2, max(x.a) AS c3",
        from,
        where(condition),
        "GROUP BY y.b",
      ),
    },
    {
      weight: 1,
      arbitrary: join("SELECT count(*) AS c1, count(y._id) AS c2", from, where(condition)),
    },
  );
}

/** A mutation of scalars, for which it can be said without the merge rules what it leaves. */
export function anyMutation(): Text {
  const { condition, number, text } = anyExpressions("");
  const scalar = fc.oneof(
    number,
    text,
    condition,
    fc.constantFrom("null", "a", "b", "s", "f", ":flag"),
  );
  const set = fc
    .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "s", "f", "fresh"), scalar), {
      minLength: 1,
      maxLength: 3,
      selector: ([name]) => name,
    })
    .map((items) => `SET ${items.map(([name, value]) => `${name} = ${value}`).join(", ")}`);
  const unset = fc
    .subarray(["n", "o", "t", "absent"], { minLength: 1, maxLength: 2 })
    .map((names) => `UNSET ${names.join(", ")}`);
  const rest = fc.constantFrom(
    "",
    "",
    "ORDER BY a, _id LIMIT 2",
    "ORDER BY b DESC, _id LIMIT 3 OFFSET 1",
    "ORDER BY a NULLS FIRST, _id LIMIT 2",
  );
  return fc.oneof(
    { weight: 3, arbitrary: join("UPDATE things", set, where(condition), rest) },
    { weight: 1, arbitrary: join("UPDATE things", set, unset, where(condition), rest) },
    { weight: 1, arbitrary: join("UPDATE things", unset, where(condition), rest) },
    {
      weight: 2,
      arbitrary: join(fc.constantFrom("DELETE", "EVICT"), "FROM things", where(condition), rest),
    },
  );
}
