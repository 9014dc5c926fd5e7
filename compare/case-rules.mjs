/**
 * Grammar rules of cases: every clause of SELECT, every mutation, indexes, settings, plans, and
 * invalid statements. A case is a list of statements; those from `compared` on are compared.
 */
import { rule } from "./expression-rules.mjs";

const one = (statement, isOrdered = false) => ({ statements: [statement], compared: 0, isOrdered });

/** An expression over every document: its value, whether it is MISSING or fails, and its type. */
function expressionCase(g) {
  const e = g.expression();
  return one(`SELECT _id, ${e} AS v, ifmissing(${e}, 'none') AS c, type(${e}) AS y FROM t`);
}

/** Every function is called equally often. */
function callCase(g) {
  const e = g.anyCall();
  return one(`SELECT _id, ${e} AS v, ifmissing(${e}, 'none') AS c, type(${e}) AS y FROM t`);
}

/** `filter` is the condition alone, so that it can also be selected as a column. */
function whereCase(g, r) {
  const columns = r.pick(["*", "_id", "_id, i AS k", "t.*, MISSING a", "VALUE t"]);
  const filter = g.condition();
  return { ...one(`SELECT ${columns} FROM t WHERE ${filter}`), filter };
}

function orderCase(g, r) {
  const columns = r.pick([
    "_id, i",
    "_id AS id, -i AS i",
    "_id, s AS f",
    "_id, f AS s, i",
    "_id, upper(s) AS s",
  ]);
  const term = r.pick(["i", "s", "f", "x", "a", "o", "b", "d", "absent", g.expression()]);
  const direction = r.pick(["", " ASC", " DESC"]);
  const bounds = r.pick(["", "", " LIMIT 3", " LIMIT 2 OFFSET 1", " OFFSET 2", " LIMIT :number"]);
  return one(`SELECT ${columns} FROM t ORDER BY ${term}${direction}, t._id${bounds}`, true);
}

const KEYS = ["g", "b", "i % 2", "x", "type(x)", "absent", "n", "char_length(s)"];

function groupCase(g, r) {
  const key = r.pick(KEYS);
  const isGrouped = r.chance(0.7);
  const having =
    isGrouped && r.chance(0.25)
      ? ` HAVING count(*) ${r.pick([">", "<=", "="])} ${r.pick(["1", "2"])}`
      : "";
  const filter = r.chance(0.3) ? g.condition() : undefined;
  const where = filter === undefined ? "" : ` WHERE ${filter}`;
  const columns = `${isGrouped ? `${key} AS key, ` : ""}${g.aggregate()} AS n1, ${g.aggregate()} AS n2`;
  const group = isGrouped ? ` GROUP BY ${key}` : "";
  return { ...one(`SELECT ${columns} FROM t${where}${group}${having}`), filter };
}

function distinctCase(g, r) {
  return one(
    `SELECT DISTINCT ${r.pick(["g", "b", "x", "n, g", "type(x) AS y", "b = true AS y"])} FROM t`,
  );
}

function joinCase(g, r) {
  const kind = r.pick(["JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN"]);
  const columns = r.pick([
    "l._id AS l, r._id AS r",
    "l.s, r.s AS other",
    "l.i + r.i AS sum, l._id AS l",
  ]);
  const more = r.chance(0.3) ? ` WHERE l.${r.pick(["i", "f"])} > 0` : "";
  return one(`SELECT ${columns} FROM t l ${kind} t r ON l._id = r._id${more}`);
}

function useCase(g, r) {
  return one(
    `SELECT _id FROM t USE ${r.pick(["IDS '1', '3'", "IDS LIST ['1', '2']", "INDEX ''", "DIRECTIVES '{}'", "IDS :text"])}`,
  );
}

function otherQueryCase(g, r) {
  return one(
    r.pick([
      "SELECT _id FROM t UNION SELECT g AS _id FROM t",
      "SELECT _id FROM t UNION ALL SELECT g AS _id FROM t",
      "SELECT e FROM t UNNEST a AS e",
      "SELECT _id, e FROM t LEFT UNNEST a AS e",
      "SELECT q.i FROM (SELECT i FROM t WHERE i > 0) q",
      "SELECT _id FROM t ORDER BY i NULLS FIRST, _id",
      "SELECT _id FROM t ORDER BY i NULLS LAST, _id",
    ]),
  );
}

function namespaceCase(g, r) {
  return one(
    r.pick([
      `SELECT ${g.expression("number")} AS v FROM system:dual`,
      "SELECT _id FROM default:t",
      "SELECT _id FROM COLLECTION t (o MAP)",
      "SELECT o FROM COLLECTION t (o MAP, i REGISTER)",
      "SELECT _id FROM nowhere",
      `EXECUTE FUNCTION abs(${g.expression("number")})`,
    ]),
  );
}

const KEYWORDS = [
  "end",
  "order",
  "group",
  "value",
  "index",
  "count",
  "like",
  "in",
  "list",
  "date",
  "limit",
];

function keywordCase(g, r) {
  const word = r.pick(KEYWORDS);
  return one(
    r.pick([
      `SELECT ${word} FROM t`,
      `SELECT _id FROM t WHERE ${word} IS MISSING`,
      `SELECT _id FROM ${word}`,
      `SELECT t.${word} FROM t`,
      `SELECT _id FROM t WHERE ${word} = 1 ORDER BY _id`,
      `UPDATE t SET ${word} = 1 WHERE false`,
      `UPDATE t APPLY ${word} INCREMENT BY 1 WHERE false`,
    ]),
  );
}

/** Invalid statements: both engines refuse them, or both accept them. */
function wrongCase(g, r) {
  return one(
    r.pick([
      `SELECT ${g.expression()} FROM`,
      `SELECT FROM t WHERE ${g.condition()}`,
      `SELECT _id FROM t WHERE ${g.condition()} GROUP`,
      `SELECT nosuch(${g.expression()}) AS v FROM t`,
      `SELECT upper(${g.expression("text")}, 1, 2, 3) AS v FROM t`,
      "SELECT *, i FROM t",
      "SELECT i, i FROM t",
      "SELECT i FROM t GROUP BY g",
      `SELECT ${g.expression()} AS v FROM t WHERE :unknown = 1`,
      "SELECT 'it''s' AS v FROM t",
      "SELECT _id FROM t LIMIT -1",
      `SELECT (${g.expression()} AS v FROM t`,
      "INSERT INTO m DOCUMENTS (5)",
      "UPDATE m WHERE true",
      "DELETE m",
      "SELECT {'a': 1, 'a': 2} AS v FROM t",
    ]),
  );
}

/** A mutation of a collection in a known state: rows, ids, and the collection afterwards. */
function mutation(statement) {
  return {
    statements: ["DELETE FROM m", "INSERT INTO m DOCUMENTS (:start)", statement, "SELECT * FROM m"],
    compared: 2,
    isOrdered: false,
  };
}

const POLICIES = [
  "",
  "",
  " ON ID CONFLICT DO NOTHING",
  " ON ID CONFLICT DO UPDATE",
  " ON ID CONFLICT DO MERGE",
  " ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
  " ON ID CONFLICT FAIL",
];
const RETURNING = ["", "", "", " RETURNING _id, i", " RETURNING count(*) AS n", " RETURNING *"];

const VALUES = ["1", "'z'", "null", "[1, 2]", "{'q': 1}", "2.5", "true", ":text", ":object", "{}"];

function insertCase(g, r) {
  const document = () =>
    `{'_id': '${r.pick(["1", "2", "7", "8"])}', 'i': ${r.pick(VALUES)}, 'o': ${r.pick(VALUES)}}`;
  const source = r.weighed([
    [4, () => `DOCUMENTS (${document()})`],
    [2, () => `DOCUMENTS (${document()}), (${document()})`],
    [1, () => "VALUES (:document)"],
    [1, () => "DOCUMENTS (:documents)"],
    [1, () => `SELECT _id, i AS w FROM t WHERE ${r.pick(["i > 0", "_id IN ['1', '9']", "false"])}`],
  ])();
  return mutation(`INSERT INTO m ${source}${r.pick(POLICIES)}${r.pick(RETURNING)}`);
}

function initialCase(g, r) {
  return mutation(
    `INSERT INTO m INITIAL DOCUMENTS ({'_id': '${r.pick(["1", `s${r.below(2 ** 30)}`])}', 'v': 1})${r.pick(RETURNING)}`,
  );
}

const TARGETS = ["i", "s", "o", "o.k", "o.p.q", "w", "w.z", "a", "o.k.deep", "n"];

function updateCase(g, r) {
  const kind = r.pick(["set", "set", "set", "unset", "apply", "both"]);
  const value = () =>
    r.chance(0.6)
      ? r.pick(VALUES)
      : r.pick(["i + 1", "concat(s, 'x')", "b", "i", "array_append(a, 1)", "coalesce(n, 0)"]);
  const set = () =>
    `SET ${r.pick(TARGETS)} = ${value()}${r.chance(0.25) ? `, y = ${value()}` : ""}`;
  const unset = () => `UNSET ${r.pick(["i", "s", "o", "o.k", "a", "g", "absent"])}`;
  const apply = () =>
    `APPLY ${r.pick(["c", "d"])} ${r.pick(["INCREMENT BY 1", "INCREMENT BY -2", "RESTART", "RESTART WITH 5", "PN_INCREMENT BY 1.5", "INCREMENT BY 1.5"])}`;
  const body =
    kind === "set"
      ? set()
      : kind === "unset"
        ? unset()
        : kind === "apply"
          ? apply()
          : `${apply()} ${set()} ${unset()}`;
  const where = r.chance(0.6)
    ? ` WHERE ${r.pick(["i = 1", "g = 'red'", "b", "_id IN ['1', '3']", "true", "i > 0"])}`
    : "";
  const bounds = r.chance(0.1) ? " ORDER BY _id LIMIT 1" : "";
  return mutation(`UPDATE m ${body}${where}${bounds}${r.pick(RETURNING)}`);
}

function typedUpdateCase(g, r) {
  return mutation(
    `UPDATE COLLECTION m (${r.pick(["o MAP", "o REGISTER", "c COUNTER", "p PN_COUNTER", "o MAP(p MAP)", "h ATTACHMENT"])}) ${r.pick(
      [
        "SET o = {'z': 1}",
        "SET o.k = 2",
        "APPLY c INCREMENT BY 3",
        "APPLY p PN_INCREMENT BY 2",
        "SET w = 1",
      ],
    )} WHERE _id = '1'`,
  );
}

function removeCase(g, r) {
  const where = r.pick([
    " WHERE i = 1",
    " WHERE g = 'red'",
    " WHERE b",
    " WHERE _id = '2'",
    "",
    " WHERE false",
    " WHERE i > 0",
  ]);
  const bounds = r.chance(0.2) ? " ORDER BY _id LIMIT 1" : "";
  const word = r.weighed([
    [5, "DELETE"],
    [4, "EVICT"],
    [0.2, "TOMBSTONE"],
  ]);
  return mutation(`${word} FROM m${where}${bounds}${r.pick(RETURNING)}`);
}

function planCase(g, r) {
  const plan = r.pick(["EXPLAIN ", "ADVISE "]);
  return {
    ...one(`${plan}SELECT _id FROM t WHERE ${r.pick(["i = 1", "s > 'a'", "_id = '1'"])}`),
    onlyKeys: true,
  };
}

function profileCase() {
  return { ...one("PROFILE SELECT count(*) AS n FROM t"), onlyKeys: true };
}

function settingCase(g, r) {
  const name = r.pick(["dql_strict_mode", "DQL_STRICT_MODE", "dql_restrict_subscriptions"]);
  return one(
    r.pick([
      `SHOW ${name}`,
      "SHOW ALL LIKE 'dql_strict%'",
      "SHOW nosuch",
      "ALTER SYSTEM SET dql_strict_mode = false",
      "ALTER SYSTEM RESET dql_strict_mode",
      "ALTER SYSTEM SET nosuch = 1",
    ]),
  );
}

function indexCase(g, r) {
  const name = r.pick(["ix_a", "ix_b"]);
  return {
    statements: [
      `DROP INDEX IF EXISTS ${name} ON k`,
      `CREATE INDEX ${r.chance(0.3) ? "IF NOT EXISTS " : ""}${name} ON k (${r.pick(["i", "s DESC", "o.k", "i, s"])})`,
      r.pick([
        `CREATE INDEX ${name} ON k (i)`,
        `CREATE INDEX IF NOT EXISTS ${name} ON k (j)`,
        `DROP INDEX ${name} ON k`,
        `DROP INDEX nosuch ON k`,
        `SELECT _id FROM k WHERE i > ${r.pick(["0", "1", ":number"])}`,
        "SELECT _id FROM k WHERE s LIKE 'a%'",
      ]),
    ],
    compared: 1,
    isOrdered: false,
  };
}

/** Rules with many possible differences have higher weights. */
export const CASES = [
  rule(30, "expression", expressionCase),
  rule(24, "function call", callCase),
  rule(12, "where", whereCase),
  rule(5, "order by", orderCase),
  rule(5, "group by", groupCase),
  rule(1, "distinct", distinctCase),
  rule(2, "join", joinCase),
  rule(1, "use", useCase),
  rule(0.2, "other query", otherQueryCase),
  rule(1, "namespace", namespaceCase),
  rule(2, "keyword", keywordCase),
  rule(2, "wrong", wrongCase),
  rule(4, "insert", insertCase),
  rule(0.4, "initial", initialCase),
  rule(5, "update", updateCase),
  rule(0.8, "typed update", typedUpdateCase),
  rule(2, "remove", removeCase),
  rule(0.4, "plan", planCase),
  rule(0.2, "profile", profileCase),
  rule(0.5, "setting", settingCase),
  rule(0.6, "index", indexCase),
];
