/**
 * Statements that are nearly right: recorded ones with words left out, doubled, exchanged, put in,
 * two of them spliced, or with something that goes very deep or very far. A few are right and only
 * ask for too much.
 */
import type { Random } from "../support/random.ts";

const TOKEN = /\s+|[A-Za-z_]\w*|\d+(?:\.\d+)?|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|./gsu;

const WORDS = [
  ..."SELECT FROM WHERE UNION ALL UNNEST EXISTS AND OR NOT IN IS NULL MISSING LIKE BETWEEN CASE WHEN THEN ELSE END".split(
    " ",
  ),
  ..."GROUP BY HAVING ORDER LIMIT OFFSET ASC DESC DISTINCT JOIN LEFT RIGHT ON AS USE IDS".split(
    " ",
  ),
  ..."INSERT INTO DOCUMENTS VALUES INITIAL CONFLICT DO UPDATE SET UNSET APPLY INCREMENT".split(" "),
  ..."RESTART WITH DELETE EVICT RETURNING CREATE DROP INDEX IF EXISTS EXPLAIN PROFILE".split(" "),
  ..."ADVISE SHOW ALTER SYSTEM RESET ALL ANY EVERY SATISFIES ARRAY OBJECT FOR WITHIN".split(" "),
  ..."COLLECTION MAP REGISTER COUNTER PN_COUNTER ATTACHMENT RAW VALUE CAST INT STRING".split(" "),
  ..."count sum avg min max median upper substr date_range repeat lpad split regexp_like".split(
    " ",
  ),
  ..."array_flatten array_insert array_zip object_set object_concat deserialize_json clock".split(
    " ",
  ),
  ..."true false things others _id a b system:dual system:indexes :p :l :d0 ESCAPE SIMILAR".split(
    " ",
  ),
];

const MARKS = [
  ..."( ) [ ] { } , . : ; = == != <> < <= > >= + - * / % || ' \" ` \\ -- /* */ --+ /*+".split(" "),
  ..."0 1 -1 1.5 .5 5. 1e309 0x 9223372036854775808 18446744073709551616 1e999999 00".split(" "),
  ..."'' '%' '(' '[' '\\u0000' '\\uD800' '\\u' ? $ @ # & | ^ ~ !".split(" "),
];

const ODD_CHARACTERS = [
  "\0",
  "\u00e9",
  "\u{1f600}",
  "\ud800",
  "\udfff",
  "\ufeff",
  "\u2028",
  "\u00a0",
  "\n",
  "\t",
  "\r",
];

/** Each puts something around or behind an expression, as often as is said. */
const DEEP: readonly ((times: number) => string)[] = [
  (times) => `${"(".repeat(times)}1${")".repeat(times)}`,
  (times) => `${"[".repeat(times)}1${"]".repeat(times)}`,
  (times) => `${"{'a':".repeat(times)}1${"}".repeat(times)}`,
  (times) => `${"NOT ".repeat(times)}true`,
  (times) => `${"- ".repeat(times)}a`,
  (times) => `${"abs(".repeat(times)}a${")".repeat(times)}`,
  (times) => `${"CASE WHEN true THEN ".repeat(times)}1${" END".repeat(times)}`,
  (times) => `${"ANY x IN [1] SATISFIES ".repeat(times)}true${" END".repeat(times)}`,
  (times) => `a${".a".repeat(times)}`,
  (times) => `a${"[0]".repeat(times)}`,
  (times) => `1${" + 1".repeat(times)}`,
  (times) => `a = 1${" OR a = 2".repeat(times)}`,
  (times) => `true${" AND b > 1".repeat(times)}`,
  (times) => `'a'${" || 'a'".repeat(times)}`,
  (times) => `1 IN (1${", 1".repeat(times)})`,
  (times) => `concat('a'${", 'a'".repeat(times)})`,
  (times) => `'${"x".repeat(times)}'`,
  (times) => `repeat('ab', ${times}${"0".repeat(times % 12)})`,
  (times) => `date_range(0, ${times}${"0".repeat(times % 12)}, 'second', 1)`,
  (times) => `date_range(${times}, 0, 'second', -1)`,
  (times) => `'${"a".repeat(times % 300)}' LIKE '${"%a".repeat(times % 60)}b'`,
  (times) => `regexp_like('${"a".repeat(times % 300)}', '(a+)+b')`,
  (times) => "EXPLAIN ".repeat(times),
  (times) => `${"/*".repeat(times)}${"*/".repeat(times)}`,
];

const BIG_TEXT = "repeat('ab,', 30000)";
const BIG_LIST = "date_range(0, 30000000, 'second', 1)";

/** Small texts that ask for much work, or for much memory. */
const HEAVY: readonly ((times: number) => string)[] = [
  (times) => nested("ANY x IN [1,2,3,4,5,6,7,8] SATISFIES ", times % 40, "false", " END"),
  (times) => nested("EVERY x IN [1,2,3,4,5,6,7,8] SATISFIES ", times % 40, "true", " END"),
  (times) => nested("ARRAY ", times % 40, "1", " FOR x IN [1,2,3,4,5,6,7,8] END"),
  (times) => nested("repeat(", times % 12, "'ab'", ", 1000)"),
  (times) => nested("array_concat(", times % 40, "[1]", ", [2])"),
  (times) => `lpad('a', ${times}${"0".repeat(times % 12)})`,
  () => `split(${BIG_TEXT}, ',')`,
  () => `array_length(split(${BIG_TEXT}, 'b'))`,
  () => `${BIG_TEXT} LIKE '%a%a%a%a%x'`,
  () => `${BIG_TEXT} SIMILAR TO '(a|b|,)*x'`,
  () => `regexp_like(${BIG_TEXT}, '(a*)*(b*)*x')`,
  () => `position('abx' IN ${BIG_TEXT})`,
  () => `array_sort(${BIG_LIST})`,
  () => `array_union(${BIG_LIST}, ${BIG_LIST})`,
  () => `array_intersect(${BIG_LIST}, ${BIG_LIST})`,
  () => `array_except(${BIG_LIST}, ${BIG_LIST})`,
  () => `array_remove(${BIG_LIST}, 1, 2, 3)`,
  () => `array_replace(${BIG_LIST}, 1, ${BIG_LIST})`,
  () => `array_zip(${BIG_LIST}, ${BIG_LIST})`,
  () => `array_flatten([[${BIG_LIST}]], 9)`,
  () => `1 IN ${BIG_LIST}`,
  () => `${BIG_LIST} = ${BIG_LIST}`,
  () => `serialize_json(${BIG_LIST})`,
  () => `deserialize_json(concat('[', repeat('[],', 30000), '1]'))`,
  () => `deserialize_json(repeat('[', 30000))`,
  () => `OBJECT CAST(x AS STRING) : x FOR x IN ${BIG_LIST} END`,
  () => `ANY x WITHIN ${BIG_LIST} SATISFIES x IN ${BIG_LIST} END`,
  () => `date_range(0, 1e18, 'millisecond', 1)`,
  () => `date_range('2020-01-31T00:00:00Z', '9999-01-01T00:00:00Z', 'day', 1)`,
];

function nested(before: string, times: number, inside: string, after: string): string {
  return before.repeat(times) + inside + after.repeat(times);
}

const PLACES: readonly ((expression: string) => string)[] = [
  (expression) => `SELECT ${expression} AS r FROM system:dual`,
  (expression) => `SELECT ${expression} AS r, _id FROM things`,
  (expression) => `SELECT DISTINCT _id FROM things WHERE ${expression} IS NOT NULL`,
  (expression) => `SELECT _id FROM things ORDER BY ${expression}, _id LIMIT 2`,
  (expression) => `SELECT count(*) AS n FROM things GROUP BY ${expression}`,
  (expression) => `SELECT max(${expression}) AS n FROM things`,
  (expression) => `SELECT x._id FROM things x JOIN others y ON x.a = ${expression}`,
  (expression) => `UPDATE things SET fresh = ${expression} WHERE a > 2`,
  (expression) => `DELETE FROM things WHERE ${expression} IS MISSING RETURNING ${expression}`,
  (expression) => `INSERT INTO things DOCUMENTS ({'v': ${expression}})`,
  (expression) => `SELECT _id FROM things WHERE a IN (SELECT ${expression} AS r FROM others)`,
  (expression) => `SELECT EXISTS (SELECT 1 FROM others WHERE a = ${expression}) AS r FROM things`,
  (expression) => `SELECT * FROM (SELECT ${expression} AS r FROM things) t WHERE r = 1`,
  (expression) => `SELECT e FROM things UNNEST ${expression} AS e ORDER BY e NULLS FIRST`,
  (expression) => `SELECT ${expression} AS r FROM things UNION SELECT b FROM others ORDER BY r`,
  (expression) => `EXPLAIN SELECT * FROM things WHERE a = ${expression}`,
  (expression) => `EXECUTE FUNCTION type(${expression})`,
];

/** A statement that is right and asks for far too much. */
function demanding(random: Random): string {
  if (random.oneIn(8)) {
    const joins = Array.from({ length: random.below(20) }, (_, i) => ` JOIN others j${i} ON true`);
    return `SELECT count(*) AS n FROM things x${joins.join("")}`;
  }
  const expression = random.pick(random.oneIn(3) ? DEEP : HEAVY)(random.below(200));
  return random.pick(PLACES)(expression);
}

/** One or a few changes; the same seed gives the same statement. */
export function mangle(statements: readonly string[], random: Random): string {
  if (random.oneIn(400)) return demanding(random);
  let tokens = tokensOf(random.pick(statements));
  const changes = random.oneIn(3) ? 2 + random.below(3) : 1;
  for (let i = 0; i < changes; i++) tokens = change(tokens, statements, random);
  return tokens.join("");
}

function tokensOf(statement: string): string[] {
  return statement.match(TOKEN) ?? [];
}

function change(
  tokens: readonly string[],
  statements: readonly string[],
  random: Random,
): string[] {
  const at = random.below(tokens.length + 1);
  const other = random.below(tokens.length + 1);
  const [from, to] = at < other ? [at, other] : [other, at];
  switch (random.below(18)) {
    case 0:
    case 1:
      return tokens.toSpliced(at, 1);
    case 2:
      return tokens.toSpliced(from, Math.min(to - from, 6));
    case 3:
      return [...tokens.slice(0, to), ...tokens.slice(from)];
    case 4:
      return exchange(tokens, at, other);
    case 5:
    case 6:
      return tokens.toSpliced(at, 0, ` ${random.pick(WORDS)} `);
    case 7:
      return tokens.toSpliced(at, 0, random.pick(MARKS));
    case 8:
      return tokens.toSpliced(at, 1, random.pick(random.oneIn(2) ? WORDS : MARKS));
    case 9:
      return [...tokens.slice(0, at), " ", ...spliced(statements, random)];
    case 10:
      return tokens.toSpliced(at, random.below(2), deep(random));
    case 11:
      return tokens.toSpliced(at, 0, oddText(random));
    default:
      return alike(tokens, tokensOf(random.pick(statements)), random);
  }
}

function exchange(tokens: readonly string[], at: number, other: number): string[] {
  const changed = [...tokens];
  const [a, b] = [tokens[at], tokens[other]];
  if (a !== undefined && b !== undefined) {
    changed[at] = b;
    changed[other] = a;
  }
  return changed;
}

const KINDS = [/^[A-Z_]+$/, /^[a-z_]\w*$/, /^\d/, /^['"]/, /^[^\w\s]$/];

/** A word, a number or a sign in the place of another of its kind: it often stays a statement. */
function alike(tokens: readonly string[], others: readonly string[], random: Random): string[] {
  const kind = random.pick(KINDS);
  const [at = -1] = random.shuffle([...tokens.keys()].filter((i) => kind.test(tokens[i] ?? "")));
  const [other] = random.shuffle(others.filter((token) => kind.test(token)));
  return at < 0 || other === undefined ? [...tokens] : tokens.toSpliced(at, 1, other);
}

/** The end of another statement. */
function spliced(statements: readonly string[], random: Random): string[] {
  const tokens = tokensOf(random.pick(statements));
  return tokens.slice(random.below(tokens.length + 1));
}

/** Mostly a few times, seldom thousands of times. */
function deep(random: Random): string {
  const times = random.oneIn(20) ? random.below(20_000) : random.below(80);
  return ` ${random.pick(DEEP)(times)} `;
}

function oddText(random: Random): string {
  return Array.from({ length: 1 + random.below(3) }, () => {
    if (random.oneIn(2)) return random.pick(ODD_CHARACTERS);
    return String.fromCodePoint(random.below(0x11_0000));
  }).join("");
}
