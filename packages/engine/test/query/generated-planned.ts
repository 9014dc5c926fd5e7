/**
 * Generated statements that a planner has a choice for, as text, over the collections `things` and
 * `others`: what is looked up, sorted, counted, grouped, joined and changed by fields that may have an
 * index. They also ask what order rows without ORDER BY and rows with equal keys come in.
 */
import * as fc from "fast-check";
import { join } from "./generated-expression.ts";
import { anyLookups, anyOrder, anyWindow, type Lookups } from "./generated-lookup.ts";
import { aliased, optional } from "./generated-statement.ts";

type Text = fc.Arbitrary<string>;

interface Term extends Lookups {
  readonly from: Text;
  readonly prefix: string;
}

const DECLARED = [
  "COLLECTION things (hits COUNTER)",
  "COLLECTION things (hits REGISTER, k REGISTER)",
  "COLLECTION things (o MAP, place REGISTER, tags MAP (x MAP), b REGISTER)",
  "COLLECTION things (k COUNTER, s REGISTER)",
  "COLLECTION things (a MAP, b COUNTER)",
];

const HINTS = [
  "",
  "",
  "",
  "",
  "",
  "",
  "",
  "USE INDEX 'i0'",
  "USE INDEX NULL",
  "USE IDS 'd1', 'd0', 'none', 1, 'd1'",
  "USE IDS LIST :ids",
];

const plainTerm: Term = {
  from: join("things", fc.constantFrom(...HINTS)),
  prefix: "",
  ...anyLookups(""),
};

const namedTerm: Term = {
  from: join("things x", fc.constantFrom(...HINTS)),
  prefix: "x.",
  ...anyLookups("x."),
};

const declaredTerm: Term = {
  from: fc.constantFrom(...DECLARED),
  prefix: "",
  ...anyLookups(""),
};

const TERMS = [plainTerm, plainTerm, namedTerm, declaredTerm];

/** Mostly there is a condition. */
function where({ condition }: Lookups): Text {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant("") },
    { weight: 5, arbitrary: join("WHERE", condition) },
  );
}

function columns({ path }: Lookups, maxLength: number): Text {
  return fc.array(path, { minLength: 1, maxLength }).map((all) => aliased(all));
}

export function anyPlannedQuery(): Text {
  const each = (make: (term: Term) => Text): Text => fc.oneof(...TERMS.map(make));
  return fc.oneof(
    { weight: 8, arbitrary: each(select) },
    { weight: 3, arbitrary: each(aggregate) },
    { weight: 2, arbitrary: each(group) },
    { weight: 2, arbitrary: each(distinct) },
    { weight: 4, arbitrary: joined() },
    { weight: 4, arbitrary: withQueries() },
    { weight: 1, arbitrary: union() },
  );
}

function select(term: Term): Text {
  const { from, prefix, path } = term;
  const shown = fc.oneof(
    fc.constant("*"),
    fc.constant(`${prefix}_id`),
    columns(term, 1),
    columns(term, 3),
    fc.constant(prefix === "" ? "*" : "VALUE x"),
    join(path, "AS c1,", path, "AS c2,", `${prefix}m[0] AS c3`),
    fc.constant(`${prefix}k + 1 AS c1, ${prefix}_id AS c2`),
  );
  const order = fc.oneof(anyOrder(term), fc.constant(`ORDER BY ${prefix}k DESC, ${prefix}b`));
  return fc.oneof(
    join("SELECT", shown, "FROM", from, where(term), optional(order), anyWindow),
    // Equality first, then the order that a composite index has behind it.
    join("SELECT", shown, "FROM", from, `WHERE ${prefix}k = 1`, order, anyWindow),
  );
}

function aggregates({ path }: Lookups): Text {
  const one = fc.oneof(
    fc.constant("count(*)"),
    join(
      fc.constantFrom("count(", "min(", "max(", "sum(", "avg(", "median(", "array_agg("),
      fc.constantFrom("", "", "DISTINCT"),
      path,
      ")",
    ),
  );
  return fc.array(one, { minLength: 1, maxLength: 2 }).map((all) => all.join(" , "));
}

function aggregate(term: Term): Text {
  return fc.oneof(
    join("SELECT count(*) AS c1 FROM", term.from, where(term)),
    join("SELECT", fc.constantFrom("min(", "max("), term.path, ") AS c1 FROM", term.from),
    join("SELECT", aggregates(term), "FROM", term.from, where(term)),
  );
}

function group(term: Term): Text {
  const { from, path } = term;
  const by = fc.uniqueArray(path, { minLength: 1, maxLength: 2 });
  const rest = fc.tuple(aggregates(term), from, where(term), fc.nat(3), anyWindow);
  return fc.tuple(by, rest).map(([keys, [values, source, filter, kind, window]]) => {
    const key = keys[0] ?? "";
    const ends = [
      "",
      `ORDER BY ${key}`,
      `ORDER BY ${key} DESC`,
      `HAVING count(*) > 1 ORDER BY count(*) DESC`,
    ];
    const shown = aliased(keys);
    const tail = `GROUP BY ${keys.join(", ")} ${ends[kind] ?? ""} ${window}`;
    return `SELECT ${shown}, ${values} FROM ${source} ${filter} ${tail}`;
  });
}

function distinct(term: Term): Text {
  return join(
    "SELECT DISTINCT",
    columns(term, 2),
    "FROM",
    term.from,
    where(term),
    optional(fc.constantFrom("ORDER BY c1", "ORDER BY c1 DESC")),
    anyWindow,
  );
}

/** `x` and `y` by fields that may be null, absent or of another type. */
const JOINS = [
  "y.k = x.k",
  "x.b = y.b",
  "y.a = x.a",
  "y.s = x.s",
  "y.link = x.link",
  "y._id = x.link",
  "y._id = x.link",
  "x.link = y._id",
  "y.link = x._id",
  "y.o.p = x.o.p",
  "y.u = x.u",
  "y.k = x.k AND y.b = x.b",
  "y.k = x.k AND y.b > x.b",
  "y.k = x.k AND y.b BETWEEN 0 AND x.b",
  "y.b = x.b AND y.k = 1",
  "y.b > x.b AND y.b < 3",
  "y.s = x.s AND x.k = 1",
  "y.b = x.k + 1",
  "y.b IN [x.b, x.k]",
  "y.s LIKE x.s || '%'",
  "y.k = x.k OR y.b = x.b",
  "y.b = 1",
  "y.hits = x.hits",
];

const named = anyLookups("x.");
const others = anyLookups("y.");

function joined(): Text {
  const kind = fc.constantFrom("JOIN", "LEFT JOIN", "RIGHT JOIN");
  const link = fc.constantFrom(...JOINS);
  const on = fc.oneof(
    { weight: 3, arbitrary: link },
    { weight: 1, arbitrary: join(link, "AND", others.condition) },
    { weight: 1, arbitrary: join(link, "AND", named.condition) },
  );
  const from = join("FROM things x", kind, "others y ON", on);
  const third = fc.constantFrom("", "", "", "LEFT JOIN things z ON z.k = y.k AND z.b = x.b");
  const condition = fc.oneof(
    where(named),
    where(others),
    join("WHERE", named.condition, fc.constantFrom("AND", "OR"), others.condition),
    fc.constant("WHERE y IS MISSING"),
  );
  const order = fc.oneof(
    fc.constant(""),
    anyOrder(named),
    anyOrder(others),
    join("ORDER BY", named.path, ",", others.path, "DESC"),
    // A document of the left side may stand in several rows.
    fc.constantFrom("ORDER BY x._id, y.b DESC", "ORDER BY x.k, x._id DESC, y.b, y._id"),
  );
  const shown = fc.oneof(
    fc.constant("x._id AS c1, y._id AS c2"),
    join(named.path, "AS c1,", others.path, "AS c2"),
    fc.constant("*"),
  );
  return fc.oneof(
    {
      weight: 4,
      arbitrary: join("SELECT", shown, from, third, condition, order, anyWindow),
    },
    {
      weight: 1,
      arbitrary: join("SELECT count(*) AS c1, max(y.b) AS c2", from, condition),
    },
    {
      weight: 1,
      arbitrary: join("SELECT x.k AS c1, count(y._id) AS c2", from, condition, "GROUP BY x.k"),
    },
  );
}

/** A query about `others` inside of one about `things`, of its own or about the row around it. */
function inner(): Text {
  const link = fc.constantFrom(...JOINS);
  const filter = fc.oneof(
    join("WHERE", others.condition),
    join("WHERE", link),
    join("WHERE", link, "AND", others.condition),
  );
  return fc.oneof(
    join("SELECT", others.path, "FROM others y", filter),
    join("SELECT", others.path, "FROM others y", filter, anyOrder(others), "LIMIT 2"),
    join("SELECT max(", others.path, ") FROM others y", filter),
    join("SELECT count(*) FROM others y", filter),
  );
}

function withQueries(): Text {
  const member = join(named.path, fc.constantFrom("IN (", "IN (", "NOT IN ("), inner(), ")");
  const existence = join(fc.constantFrom("EXISTS (", "NOT EXISTS ("), inner(), ")");
  const test = fc.oneof(
    member,
    existence,
    join("(", named.condition, fc.constantFrom("AND", "OR"), member, ")"),
    join("(", existence, "AND", named.condition, ")"),
  );
  const source = fc.oneof(
    join("( SELECT", columns(plainTerm, 2), "FROM things", where(plainTerm), ") t"),
    join("( SELECT * FROM things", where(plainTerm), anyOrder(plainTerm), "LIMIT 6 ) t"),
  );
  const outer = fc.constantFrom("", "WHERE t.c1 = 1", "WHERE t.k = 1 AND t.b > 0");
  return fc.oneof(
    { weight: 3, arbitrary: join("SELECT x._id AS c1 FROM things x WHERE", test, anyWindow) },
    {
      weight: 1,
      arbitrary: join("SELECT x._id AS c1,", test, "AS c2 FROM things x", where(named)),
    },
    { weight: 1, arbitrary: join("SELECT * FROM", source, outer, anyWindow) },
    {
      weight: 1,
      arbitrary: join("SELECT t.c1 AS c1, y._id AS c2 FROM", source, "JOIN others y ON y.b = t.c1"),
    },
    {
      weight: 1,
      arbitrary: join(
        "SELECT x._id AS c1, e AS c2 FROM things x UNNEST x.t AS e",
        where(named),
        fc.constantFrom("ORDER BY e, x.k", "ORDER BY x._id, e DESC"),
        anyWindow,
      ),
    },
  );
}

function union(): Text {
  const arm = fc.oneof(
    join("SELECT", columns(plainTerm, 1), "FROM things", where(plainTerm)),
    join("SELECT", columns(plainTerm, 1), "FROM others", where(plainTerm)),
  );
  return join(
    arm,
    fc.constantFrom("UNION", "UNION ALL"),
    arm,
    optional(fc.constantFrom("ORDER BY c1", "ORDER BY c1 DESC")),
    anyWindow,
  );
}

/** Changes of the very fields that the documents are found by. */
const CHANGES = [
  "UPDATE things SET k = k + 1",
  "UPDATE things SET b = b + 1, k = 1",
  "UPDATE things SET a = 1",
  "UPDATE things SET a = b, b = a",
  "UPDATE things SET s = s || 'a'",
  "UPDATE things SET s = :long",
  "UPDATE things SET u = :zero, n = -0.0",
  "UPDATE things SET o.p = k, o.q.r = 2",
  "UPDATE things SET link = 'd1'",
  "UPDATE things SET tags.x.y = 2",
  "UPDATE things SET a = :none, s = 'b'",
  "UPDATE things UNSET a, s",
  "UPDATE things UNSET o.p",
  "UPDATE things SET b = upper(s)",
  "UPDATE COLLECTION things (hits COUNTER) APPLY hits INCREMENT BY 1",
  "UPDATE COLLECTION things (hits COUNTER) APPLY hits RESTART WITH 1 SET k = 2",
  "UPDATE others SET k = 1, b = b + 1",
];

/** Whoever walks along the index that he changes meets the same document again. */
const WALKS = [
  "UPDATE things SET k = k + 1 WHERE k >= 0",
  "UPDATE things SET k = k - 1 WHERE k > 0 AND k < 9 ORDER BY k DESC",
  "UPDATE things SET b = b + 1 WHERE b > 0 ORDER BY b LIMIT 4",
  "UPDATE things SET s = s || 'a' WHERE s LIKE 'a%'",
  "UPDATE things SET s = s || 'b' WHERE s >= '' ORDER BY s, k LIMIT 5",
  "UPDATE COLLECTION things (hits COUNTER) APPLY hits INCREMENT BY 1 WHERE hits >= 0",
];

const REMOVALS = ["DELETE FROM things", "EVICT FROM things", "TOMBSTONE FROM things"];

const returning = fc.constantFrom("", "", "RETURNING *", "RETURNING _id, k, b");

export function anyPlannedMutation(): Text {
  const term = plainTerm;
  const filter = join("WHERE", term.condition);
  const some = join(anyOrder(term), fc.constantFrom("LIMIT 1", "LIMIT 3", "LIMIT 2 OFFSET 1"));
  const ofQuery = join("WHERE b IN ( SELECT y.b FROM others y WHERE", others.condition, ")");
  const chosen = fc.oneof(
    { weight: 4, arbitrary: filter },
    { weight: 2, arbitrary: join(filter, some) },
    { weight: 1, arbitrary: some },
    { weight: 1, arbitrary: ofQuery },
  );
  // Those that remove take few: the rest is asked about again.
  const few = join(optional(filter), some);
  return fc.oneof(
    { weight: 4, arbitrary: join(fc.constantFrom(...CHANGES), chosen, returning) },
    { weight: 1, arbitrary: join(fc.constantFrom(...WALKS), returning) },
    { weight: 2, arbitrary: join(fc.constantFrom(...REMOVALS), few, returning) },
    {
      weight: 1,
      arbitrary: join("INSERT INTO others SELECT * FROM things", filter, "LIMIT 3", policy),
    },
  );
}

const policy = fc.constantFrom("ON ID CONFLICT DO NOTHING", "ON ID CONFLICT DO UPDATE");
