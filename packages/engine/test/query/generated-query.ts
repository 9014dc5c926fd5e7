/**
 * Generated statements with queries inside of them, as text: UNION, queries in FROM, IN and EXISTS,
 * UNNEST. Over the collections `things` and `others`.
 *
 * A window inside of a query is there only with an order that leaves nothing open.
 */
import * as fc from "fast-check";
import { anyExpressions, join } from "./generated-expression.ts";
import { aliased, bounds, direction, LINKS, optional, where } from "./generated-statement.ts";

type Text = fc.Arbitrary<string>;

export function anyNestedQuery(): Text {
  return fc.oneof(
    { weight: 3, arbitrary: unionQuery() },
    { weight: 4, arbitrary: conditionQuery() },
    { weight: 3, arbitrary: sourceQuery() },
    { weight: 3, arbitrary: unnestQuery() },
  );
}

const collection = fc.constantFrom("things", "others");

function paths(prefix: string, count: number): fc.Arbitrary<string[]> {
  const { path } = anyExpressions(prefix);
  return fc.array(path, { minLength: count, maxLength: count });
}

function arm(): Text {
  const { condition, value } = anyExpressions("");
  const simple = fc
    .tuple(paths("", 2), collection, where(condition))
    .map(([columns, from, filter]) => `SELECT ${aliased(columns)} FROM ${from} ${filter}`);
  return fc.oneof(
    { weight: 4, arbitrary: simple },
    { weight: 1, arbitrary: join("SELECT", value, "AS c1 FROM", collection, where(condition)) },
    { weight: 1, arbitrary: join("SELECT * FROM", collection, where(condition)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "SELECT DISTINCT b AS c1 FROM things",
        "SELECT b AS c1, count(*) AS c2 FROM things GROUP BY b",
        "SELECT VALUE x FROM others x",
      ),
    },
  );
}

function unionQuery(): Text {
  const others = fc
    .array(join(fc.constantFrom("UNION", "UNION", "UNION ALL"), arm()), {
      minLength: 1,
      maxLength: 3,
    })
    .map((arms) => arms.join(" "));
  const order = fc.oneof(
    join("ORDER BY c1", direction),
    join("ORDER BY c2", direction, ", c1", direction),
    join("ORDER BY _id", direction, ", a"),
  );
  return join(arm(), others, optional(order), bounds);
}

/** A query of one column about another collection; `y` in it, `x` around it. */
function memberQuery(): Text {
  const { condition } = anyExpressions("y.");
  const link = fc.constantFrom(...LINKS);
  const column = fc.constantFrom("y.a", "y.b", "y.link", "y._id", "y.s", "y.n", "y.f", "y.o.p");
  return fc.oneof(
    join("SELECT", column, "FROM", collection, "y", where(condition)),
    join("SELECT", column, "FROM", collection, "y WHERE", link, "AND", condition),
    join("SELECT", column, "FROM", collection, "y WHERE", link),
    join("SELECT DISTINCT", column, "AS c1 FROM", collection, "y ORDER BY c1"),
    join("SELECT", column, "FROM", collection, "y ORDER BY y._id LIMIT 2"),
    join("SELECT max(y.b) FROM", collection, "y WHERE", link),
    join("SELECT y.b FROM others y UNION SELECT z.b FROM things z WHERE z.b >= x.b"),
  );
}

function existence(): Text {
  const { condition } = anyExpressions("y.");
  const link = fc.constantFrom(...LINKS);
  return fc.oneof(
    join("EXISTS ( SELECT 1 FROM", collection, "y WHERE", link, ")"),
    join("EXISTS ( SELECT * FROM", collection, "y WHERE", condition, ")"),
    join("EXISTS ( SELECT y.a FROM", collection, "y WHERE", link, "AND", condition, ")"),
    join(
      "EXISTS ( SELECT count(*) FROM others y HAVING count(*) >",
      fc.constantFrom("1", "9"),
      ")",
    ),
    join("EXISTS ( SELECT e FROM things y UNNEST x.t AS e WHERE e = y.b )"),
    fc.constant("ANY v IN x.t SATISFIES EXISTS ( SELECT 1 FROM others y WHERE y.b = v ) END"),
    fc.constant(
      "EXISTS ( SELECT 1 FROM others y WHERE y.b = x.b AND y.b NOT IN ( SELECT z.b FROM things z WHERE z.a = x.a AND z._id != y._id ) )",
    ),
  );
}

function conditionWith(): Text {
  const { condition } = anyExpressions("x.");
  const operand = fc.constantFrom("x.a", "x.b", "x.link", "x._id", "x.s", "x.n", "x.f", "x.o.p");
  const test = fc.oneof(
    join(operand, fc.constantFrom("IN (", "NOT IN ("), memberQuery(), ")"),
    existence(),
    join("NOT", existence()),
  );
  return fc.oneof(
    { weight: 4, arbitrary: test },
    { weight: 2, arbitrary: join("(", condition, fc.constantFrom("AND", "OR"), test, ")") },
    { weight: 1, arbitrary: join("(", test, "AND", test, ")") },
  );
}

function conditionQuery(): Text {
  const order = join("ORDER BY x.a", direction, ", x._id");
  const columns = paths("x.", 2).map((all) => aliased(all));
  return fc.oneof(
    {
      weight: 4,
      arbitrary: join(
        "SELECT",
        columns,
        "FROM things x WHERE",
        conditionWith(),
        optional(order),
        bounds,
      ),
    },
    {
      weight: 1,
      arbitrary: join("SELECT x._id AS c1,", conditionWith(), "AS c2 FROM things x", bounds),
    },
    {
      weight: 1,
      arbitrary: join("SELECT x._id FROM things x ORDER BY", conditionWith(), ", x._id", bounds),
    },
    {
      weight: 1,
      arbitrary: join(
        "SELECT x.f AS c1, count(*) AS c2 FROM things x WHERE",
        conditionWith(),
        "GROUP BY x.f HAVING count(*) IN ( SELECT n FROM others ) OR count(*) < 3",
      ),
    },
    {
      weight: 1,
      arbitrary: join(
        "SELECT",
        conditionWith(),
        "AS c1, count(*) AS c2 FROM things x GROUP BY",
      ).map((text) => {
        const key = text.slice("SELECT ".length, text.lastIndexOf(" AS c1"));
        return `${text} ${key}`;
      }),
    },
    {
      weight: 1,
      arbitrary: join(
        "SELECT x._id AS c1, z._id AS c2 FROM things x",
        fc.constantFrom("JOIN", "LEFT JOIN"),
        "others z ON z.b = x.b AND",
        conditionWith(),
      ),
    },
  );
}

function source(): Text {
  const { condition } = anyExpressions("");
  return fc.oneof(
    paths("", 2).chain((columns) =>
      join(`SELECT ${aliased(columns)} FROM`, collection, where(condition)),
    ),
    fc.constantFrom(
      "SELECT b AS c1, count(*) AS c2 FROM things GROUP BY b",
      "SELECT *, 1 AS c1 FROM (SELECT a AS c1 FROM others) u".replace("*, 1", "u.c1"),
      "SELECT _id, b AS c1, s AS c2 FROM things ORDER BY _id DESC LIMIT 3",
      "SELECT b AS c1 FROM things UNION SELECT b AS c1 FROM others",
      "SELECT VALUE y FROM others y",
    ),
  );
}

function sourceQuery(): Text {
  const from = join("FROM (", source(), ") t");
  const condition = fc.constantFrom(
    "t.c1 IS NOT MISSING",
    "c1 = 1 OR c2 = 'a'",
    "t.c1 > 0",
    "EXISTS ( SELECT 1 FROM others y WHERE y.b = t.c1 )",
    "_id IS MISSING",
  );
  return fc.oneof(
    join("SELECT *", from, where(condition), bounds),
    join(
      "SELECT c1, c2, _id AS id",
      from,
      where(condition),
      "ORDER BY c1",
      direction,
      ", c2",
      bounds,
    ),
    join("SELECT c1, count(*) AS n", from, where(condition), "GROUP BY c1"),
    join("SELECT t.c1 AS c1, x._id AS id", from, "JOIN things x ON x.b = t.c1"),
    join("SELECT x._id AS id, t.c1 AS c1 FROM things x LEFT JOIN (", source(), ") t ON t.c1 = x.b"),
    join("SELECT t.*", from, where(condition)),
  );
}

function unnestQuery(): Text {
  const { condition } = anyExpressions("x.");
  const from = join("FROM things x", fc.constantFrom("UNNEST", "LEFT UNNEST"), "x.t AS e");
  const filter = fc.oneof(
    condition,
    fc.constantFrom("e = 1", "e IS NOT MISSING", "e.k = 1", "e > x.b", "type(e) = 'string'"),
    fc.constant("e IN ( SELECT y.b FROM others y )"),
  );
  return fc.oneof(
    join("SELECT x._id AS c1, e AS c2", from, where(filter), bounds),
    join("SELECT _id, e, type(e) AS c1", from, where(filter), "ORDER BY e", direction, ", _id"),
    join("SELECT *", from, where(filter)),
    join("SELECT VALUE e", from, where(filter)),
    join("SELECT e AS c1, count(*) AS c2", from, where(filter), "GROUP BY e"),
    join("SELECT e, y._id AS c1", from, "JOIN others y ON y.b = e", where(filter)),
    fc.constant("SELECT e, g FROM things UNNEST [t, [1]] AS e UNNEST e AS g"),
  );
}

/** A mutation whose documents a query chooses. */
export function anyNestedMutation(): Text {
  const test = conditionWith().filter((text) => !text.includes("LIMIT"));
  return fc.oneof(
    join("UPDATE things x SET a = 1, fresh = 'new' WHERE", test),
    join("DELETE FROM things x WHERE", test),
    join("UPDATE things x SET f =", existence(), "WHERE x.b > 0"),
  );
}
