/**
 * Attacks with statements that are long or have large results: wide and deep text, joins of
 * everything with everything, sorting and grouping of all documents.
 */
import { runStatements } from "./functions.mjs";

const LENGTH_MAX = 1024 * 1024 - 200;

/** Repeats `part` up to the size limit of a statement. */
function long(first, part, last, max = LENGTH_MAX) {
  return first + part.repeat(Math.floor((max - first.length - last.length) / part.length)) + last;
}

const DUAL = " FROM system:dual";

const LONG_STATEMENTS = [
  long("SELECT 1", "+1", DUAL),
  long("SELECT ", "(", DUAL),
  long("SELECT ", "-", `1${DUAL}`),
  long("SELECT ", "NOT ", `true${DUAL}`),
  long("SELECT a", "[0]", DUAL),
  long("SELECT a", ".a", DUAL),
  long("SELECT [", "[],", `[]]${DUAL}`),
  long("SELECT {'a':1", ",'a':1", `}${DUAL}`),
  long("SELECT 1 IN (0", ",0", `)${DUAL}`),
  long(`SELECT 1${DUAL} WHERE true`, " AND a=1", ""),
  long(`SELECT 1${DUAL} WHERE false`, " OR a LIKE '%a%'", ""),
  long("SELECT CASE", " WHEN a THEN 1", ` END${DUAL}`),
  long("SELECT concat('a'", ",'a'", `)${DUAL}`),
  long("SELECT coalesce(a", ",a", `)${DUAL}`),
  long("SELECT 1", ",1", DUAL),
  long("SELECT 1 AS a", ",a.b.c", DUAL),
  long(`SELECT 1${DUAL} ORDER BY a`, ",a", ""),
  long(`SELECT 1${DUAL} GROUP BY a`, ",a", ""),
  long(`SELECT 1${DUAL}`, ` UNION SELECT 1${DUAL}`, ""),
  long(`SELECT 1${DUAL} d`, " JOIN system:dual ON true", ""),
  long("", "/*", ""),
  long("SELECT 1", " ", DUAL),
  long("SELECT '", "\\u0041", `'${DUAL}`),
  long("SELECT '", "a", DUAL),
  long("SELECT `", "``", "`"),
  long("SELECT 0.", "3", DUAL),
  long("SELECT ", "7", DUAL),
  long("SELECT 1e", "9", DUAL),
  long("SELECT :a", "+:a", DUAL),
  long("SELECT ", "ANY x IN a SATISFIES ", `true${DUAL}`),
  long("SELECT ", "upper(", `a${DUAL}`),
  long("SELECT 1 WHERE EXISTS ", "(SELECT 1 FROM a WHERE EXISTS ", ""),
  long("INSERT INTO a DOCUMENTS ({})", ",({})", ""),
  long('/*+ {"#max_joins": [', "0,", `0]} */ SELECT 1${DUAL}`),
  long("SELECT DISTINCT ", "a||", `a${DUAL}`),
];

const N = {
  n: Array.from({ length: 20_000 }, (_, i) => i),
  w: Array.from({ length: 20_000 }, (_, i) => `w${i}`),
  t: "some text ".repeat(10_000),
};

/** A key without permissions can read only `system:` collections and its own arguments. */
const EMPTY_JOINS = [
  "SELECT COUNT(*) AS n FROM system:dual UNNEST :n AS a UNNEST :n AS b WHERE a + b = -1",
  "SELECT COUNT(*) AS n FROM system:dual UNNEST :n AS a UNNEST :n AS b UNNEST :n AS c",
  "SELECT a, b FROM system:dual UNNEST :n AS a UNNEST :n AS b ORDER BY a + b DESC LIMIT 100000",
  "SELECT DISTINCT a, b FROM system:dual UNNEST :n AS a UNNEST :n AS b",
  "SELECT array_agg(a) AS x FROM system:dual UNNEST :n AS a UNNEST :n AS b GROUP BY b",
  "SELECT COUNT(*) AS n FROM system:request_history a JOIN system:request_history b ON true",
  "SELECT COUNT(*) AS n FROM (SELECT a FROM system:dual UNNEST :n AS a) t JOIN (SELECT b FROM system:dual UNNEST :n AS b) u ON t.a < u.b",
  "SELECT :t AS a, :t AS b, :t AS c FROM system:dual UNNEST :n AS x",
  "SELECT upper(:t) AS a FROM system:dual UNNEST :n AS x ORDER BY a DESC",
  "SELECT array_agg(x || :t) AS a FROM system:dual UNNEST :w AS x",
  "SELECT 1 AS a FROM system:dual WHERE EXISTS (SELECT 1 FROM system:dual UNNEST :n AS a UNNEST :n AS b WHERE a + b = -1)",
];

const READER_STATEMENTS = [
  "SELECT COUNT(*) AS n FROM orders a JOIN orders b ON a.total < b.total",
  "SELECT COUNT(*) AS n FROM orders a JOIN orders b ON a.city = b.city WHERE a.number + b.number = -1",
  "SELECT COUNT(*) AS n FROM orders a WHERE EXISTS (SELECT 1 FROM orders b JOIN orders c ON b.city = c.city WHERE b.number > a.number AND c.number < 0)",
  "SELECT * FROM orders ORDER BY note, city, total DESC",
  "SELECT * FROM orders ORDER BY upper(note) || serialize_json(lines)",
  "SELECT city, status, array_agg(note) AS notes, COUNT(DISTINCT number) AS n FROM orders GROUP BY city, status",
  "SELECT DISTINCT lines, tags, note FROM orders",
  "SELECT median(total) AS m, array_agg(DISTINCT placed) AS p FROM orders",
  "SELECT * FROM orders UNION SELECT * FROM orders UNION SELECT * FROM orders",
  "SELECT number FROM orders WHERE note LIKE '%neighbours%floor%twice%none%'",
  "SELECT number FROM orders WHERE regexp_like(note, '(a|e|i)*.*(z|y)+q')",
  "SELECT number FROM orders WHERE number IN (SELECT number FROM orders WHERE total > 1)",
  "SELECT o.number, l.sku FROM orders o UNNEST o.lines AS l UNNEST o.lines AS m ORDER BY l.sku, m.sku",
];

/** Makes each text different, so that the server parses each. */
async function longStatements(target) {
  await target.many(8, (i, round) => {
    const at = (i * 5 + round) % LONG_STATEMENTS.length;
    return target.execute(target.keys.empty, `${LONG_STATEMENTS[at]} --${i} ${round}`);
  });
}

/** Reads large answers, which cost encoding and compression. */
async function largeAnswers(target) {
  const statement = "SELECT * FROM orders";
  const body = Buffer.from(JSON.stringify({ statement }));
  await target.many(8, (i) =>
    target.send({
      path: "/api/v4/store/execute",
      key: target.keys.reader,
      body,
      headers: { "accept-encoding": ["identity", "br", "gzip"][i % 3] },
    }),
  );
}

export const STATEMENT_ATTACKS = [
  {
    name: "long-statements",
    credential: "empty key",
    what: "statements of 1 MB, wide and deep in every way, eight at once",
    run: longStatements,
  },
  {
    name: "joins-empty",
    credential: "empty key",
    what: "joins of large arrays with each other, six at once",
    run: (target) =>
      runStatements(target, {
        statements: EMPTY_JOINS,
        args: N,
        key: target.keys.empty,
        atOnce: 6,
      }),
  },
  {
    name: "joins",
    credential: "reader's key",
    what: "joins, sorting and grouping of all documents, six at once",
    run: (target) =>
      runStatements(target, {
        statements: READER_STATEMENTS,
        args: {},
        key: target.keys.reader,
        atOnce: 6,
      }),
  },
  {
    name: "joins-crowd",
    credential: "reader's key",
    what: "joins, sorting and grouping of all documents, sixty at once",
    run: (target) =>
      runStatements(target, {
        statements: READER_STATEMENTS,
        args: {},
        key: target.keys.reader,
        atOnce: 60,
      }),
  },
  {
    name: "large-answers",
    credential: "reader's key",
    what: "all documents as an answer, compressed and not, eight at once",
    run: largeAnswers,
  },
];
