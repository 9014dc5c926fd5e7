/**
 * Attacks with functions and operators over the largest possible texts and arrays, by a key without
 * read permission. Each attack repeats a list of statements, several at once.
 */

const AT_ONCE = 4;
const MILLION = 1_000_000;
const LONG = 5 * MILLION;

/** The largest possible computed text: repeated twice and joined. */
const HUGE = "repeat(:k, 60000)";
const VAST = `concat(${HUGE}, ${HUGE}, ${HUGE}, ${HUGE}, ${HUGE}, ${HUGE}, ${HUGE}, ${HUGE})`;
/** Just below the size of a document. */
const LARGE = "repeat(:k, 4800)";

const TEXT_ARGS = {
  k: "ab".repeat(500),
  t: "a".repeat(LONG),
  p: "a".repeat(2_000),
  s: "a".repeat(1_000),
  d: "7".repeat(200_000),
};

const PARTS = Array.from({ length: 2_000 }, (_, i) => `'${"a".repeat(1 + (i % 300))}b${i}'`).join(
  ", ",
);
const LIKE_PARTS = "%a".repeat(400);

const GROUPS = {
  "functions-contains": [
    `contains(${VAST}, ${PARTS})`,
    `contains(${LARGE}, ${PARTS})`,
    `contains(:t, ${PARTS})`,
    `contains(:t, :p || 'b')`,
    `position(:p || 'b' IN :t)`,
    `pos(${LARGE}, :p)`,
    `ends_with(${VAST}, :p)`,
  ],
  "functions-like": [
    `:t LIKE '${LIKE_PARTS}b'`,
    `:t ILIKE '${LIKE_PARTS}b'`,
    `${VAST} LIKE '%ba%aa%'`,
    `${VAST} ILIKE '%Ba%aA_%'`,
    `${LARGE} LIKE '%${"_a".repeat(200)}%c'`,
    `${LARGE} ILIKE '%${"_a".repeat(200)}%c'`,
    `${LARGE} SIMILAR TO '(a|b)*(ab|ba)*c'`,
    `:t LIKE (:p || '%' || :p || '%' || :p || 'b')`,
  ],
  "functions-trim": [
    `ltrim(${VAST}, 'ab')`,
    `rtrim(${VAST}, 'ba')`,
    `ltrim(:t, :t)`,
    `ltrim(:t, :p || 'bcdefgh')`,
    `trim(${HUGE})`,
    `ltrim(repeat(' ', 60000000))`,
    `lpad('a', 60000000, :p)`,
    `rpad(${LARGE}, 60000000, 'é')`,
  ],
  "functions-cast": [
    `CAST(:d AS integer)`,
    `CAST(:d AS float)`,
    `CAST('0.' || :d AS float)`,
    `CAST(repeat('7', 5000000) AS integer)`,
    `CAST('0.' || repeat('3', 5000000) AS float)`,
    `CAST(repeat('3', 60000000) AS integer)`,
    `CAST(repeat(' ', 60000000) AS integer)`,
    `CAST(${VAST} AS binary)`,
    `CAST(CAST(${LARGE} AS binary) AS string)`,
    `CAST(${VAST} AS boolean)`,
  ],
  "functions-replace": [
    `replace(${VAST}, 'a', 'bbbbbbbbbb')`,
    `replace(${LARGE}, 'a', :s)`,
    `replace(:t, 'a', 'b')`,
    `replace(:t, :p || 'b', 'c')`,
    `replace(replace(replace(:t, 'a', 'aa'), 'a', 'aa'), 'a', 'aa')`,
    `upper(lower(upper(${VAST})))`,
    `split(:t, 'a')`,
    `split(${LARGE}, '')`,
    `joinstr(:t, split(:t, 'a'))`,
    `char_length(${VAST})`,
    `substr(${VAST}, -5, 2)`,
    `byte_length(${VAST})`,
  ],
  "functions-regexp": [
    `regexp_like(${VAST}, '(a|b)*c')`,
    `regexp_like(${LARGE}, '(.*)(.*)(.*)(.*)(.*)x')`,
    `regexp_like(:t, '(a?){500}a{500}b')`,
    `regexp_like(:t, '((a{0,50}){0,10}){0,2}b')`,
    `regexp_replace(${LARGE}, 'a', '$0$0$0$0$0$0$0$0$0$0')`,
    `regexp_replace(:t, '(a)(a)?', '$2$1$2$1$2$1$2$1$2$1$2$1')`,
    `regexp_replace(:t, '', '${"x".repeat(200)}')`,
    `regexp_like(:t, :p || '|' || :s || 'b')`,
    `regexp_like('a', :t)`,
    `regexp_like(:t, '((((a{9}){9}){9}){9})b')`,
    `regexp_like(:t, repeat('(a|', 1000) || 'a' || repeat(')', 1000))`,
    `regexp_like(:t, repeat('[a-y]?', 900) || 'z')`,
    `:t SIMILAR TO repeat('a?', 900) || 'b'`,
  ],
  "functions-concat": [
    VAST,
    `concat(${VAST}, ${VAST}, ${VAST}, ${VAST})`,
    `${VAST} || ${VAST} || ${VAST}`,
    `length(${VAST} || ${VAST} || ${VAST})`,
    `joinstr(',', ${VAST}, ${VAST})`,
    `repeat(${VAST}, 100)`,
    `${VAST} = ${VAST}`,
    `${VAST} < ${VAST}`,
    `{'a': ${VAST}, 'b': ${VAST}, 'c': ${VAST}}`,
    `[${VAST}, ${VAST}, ${VAST}, ${VAST}]`,
  ],
  "functions-json": [
    `deserialize_json('{"a":0.' || repeat('3', 256000) || '}')`,
    `deserialize_json('0.' || repeat('3', 5000000))`,
    `deserialize_json('[' || repeat('[],', 1500000) || '0]')`,
    `deserialize_json('[' || repeat('{},', 1500000) || '0]')`,
    `deserialize_json(repeat('[', 5000000))`,
    `deserialize_json('"' || repeat('\\\\u0041', 800000) || '"')`,
    `deserialize_json(repeat(' ', 60000000))`,
    `deserialize_json('[' || repeat('12345678901234567890,', 200000) || '0]')`,
    `serialize_json(deserialize_json('[' || repeat('0,', 2000000) || '0]'))`,
    `serialize_json(${VAST})`,
    `serialize_json(repeat('"', 60000000))`,
  ],
};

function column(expression) {
  return `SELECT length(cast(type(${expression}), 'string')) AS a FROM system:dual`;
}

/** In a condition, whose constants might be evaluated during preparation. */
function condition(expression) {
  return `SELECT 1 AS a FROM system:dual WHERE (${expression}) IS NOT NULL`;
}

/** A different text each time, so that no cache applies. */
function fresh(statement, i, round) {
  return `/* ${i} ${round} */ ${statement}`;
}

function argsOf(statement, args) {
  const used = Object.entries(args).filter(([name]) => new RegExp(`:${name}\\b`).test(statement));
  return Object.fromEntries(used);
}

/** Runs the statements in turn. */
export async function runStatements(target, { statements, args, key, atOnce = AT_ONCE }) {
  const bodies = statements.map((statement) => argsOf(statement, args));
  await target.many(atOnce, (i, round) => {
    const at = (i + round) % statements.length;
    return target.execute(key, fresh(statements[at], i, round), bodies[at]);
  });
}

function textAttack([name, expressions]) {
  return {
    name,
    credential: "empty key",
    what: `${name.slice("functions-".length)} and similar functions over computed text`,
    run: (target) =>
      runStatements(target, {
        statements: expressions.flatMap((one) => [column(one), condition(one)]),
        args: TEXT_ARGS,
        key: target.keys.empty,
      }),
  };
}

const NUMBERS = Array.from({ length: 400_000 }, (_, i) => (i * 7_919) % 400_009);
const WORDS = Array.from({ length: 100_000 }, (_, i) => `w${(i * 7_919) % 100_003}`);
const ARRAYS = Array.from({ length: 100_000 }, (_, i) => [i % 1_000]);
const FIELDS = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`f${i}`, i]));
const SAME = Array.from({ length: 3_000 }, () => "a".repeat(1_000));
const FEW = Array.from({ length: 3_000 }, (_, i) => i);

const ARRAY_ARGS = { n: NUMBERS, w: WORDS, r: ARRAYS, s: SAME, f: FEW };
const ARRAY_EXPRESSIONS = [
  "array_sort(:n)",
  "array_sort(array_concat(:n, :n, :n, :n, :n, :n))",
  "array_union(:n, :w, :n, :w)",
  "array_intersect(:n, :n, :n)",
  "array_except(:n, :w)",
  "array_except(:r, array_reverse(:r))",
  "array_remove(:n, 1, 2, 3, 4, 5, 6, 7, 8)",
  "array_replace(:n, 1, :n)",
  "array_position(:s, 'b')",
  "array_contains(:r, [1001])",
  "array_flatten(:r, 100)",
  "array_zip(:n, :w)",
  "array_insert(:n, 0, :n, :n)",
  "array_append(:n, :n, :n, :n)",
  "array_sort(:s)",
  ":n = array_reverse(array_reverse(:n))",
  ":n < :n",
  "1000000 IN :n",
  "ANY x IN :n SATISFIES x = -1 END",
  "ANY x IN :f SATISFIES ANY y IN :f SATISFIES x + y = -1 END END",
  "ANY x IN :f SATISFIES ANY y IN :f SATISFIES ANY z IN :f SATISFIES x + y + z = -1 END END END",
  "ARRAY x FOR x IN :n WHEN x IN :n END",
  "ARRAY (ARRAY y FOR y IN :f END) FOR x IN :f END",
  "ARRAY contains(x, 'b', 'c') FOR x IN :s END",
  "array_concat(:n, :n, :n, :n, :n, :n, :n, :n, :n, :n, :n, :n)",
  "joinstr(',', :w, :w, :w, :w)",
];

const OBJECT_ARGS = { o: FIELDS };
const OBJECT_EXPRESSIONS = [
  "object_keys(:o)",
  "object_values(:o)",
  "object_size(:o)",
  "object_concat(:o, :o, :o, :o)",
  "object_content(:o, :o)",
  "object_rename(:o, 'f1', 'g')",
  "object_set(:o, 'g', :o)",
  "object_unset(:o, 'f1')",
  ":o = :o",
  ":o < :o",
  "ANY x WITHIN :o SATISFIES x = -1 END",
  "OBJECT k : v FOR k : v IN :o WHEN v > -1 END",
  "serialize_json(:o)",
  "array_sort([:o, :o, :o, :o, :o, :o, :o, :o])",
  "array_union([:o], [:o], [:o], [:o])",
];

const DATE_ARGS = { f: "YYYY-MM-DD hh:mm:ss.sss TZD ".repeat(20_000), t: "2024-01-31T10:00:00Z" };
const DATE_EXPRESSIONS = [
  "date_range('1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z', 'millisecond', 1)",
  "date_range('1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z', 'day', 1)",
  "date_range(0, 9000000000000, 'second', 1)",
  "date_format(:t, :f)",
  "date_format(:t, :f, 'Europe/Rome')",
  "date_format(:t, repeat('%Y', 2000000))",
  "clock(:f)",
  "date_cast(repeat('2', 5000000))",
  "date_cast(:t, :f)",
  "date_add(:t, 'month', 9007199254740991)",
  "date_add(:t, 'millisecond', -9007199254740991)",
  "date_diff('9999-01-01T00:00:00Z', '0001-01-01T00:00:00Z', 'month')",
  "duration_cast(repeat('1h', 2000000))",
  "duration_cast(repeat('9', 5000000) || 'h')",
  "duration_format(9007199254740991, 'hour')",
  "round(1.5, -2147483648)",
  "round(9007199254740991, 9007199254740991)",
];

/** The same in rows: a hundred times over an array, and in filters of find and count. */
async function inFilters(target) {
  const filters = [
    "contains(:t, :p) || contains(:t, :q)",
    "regex(:t, '(a|aa)*b')",
    "starts_with(:t, :t) && ends_with(:t, :t)",
    ":t LIKE '%a%a%a%a%b'",
  ];
  const args = { t: TEXT_ARGS.t, p: `${TEXT_ARGS.p}b`, q: `${TEXT_ARGS.s}c` };
  await target.many(AT_ONCE, (i, round) => {
    const query = filters[(i + round) % filters.length];
    const operation = (i + round) % 2 === 0 ? "find" : "count";
    const body = { collection: "orders", query, args: argsOf(query, args) };
    return target.json(`/api/v4/store/${operation}`, target.keys.reader, body);
  });
}

export const FUNCTION_ATTACKS = [
  ...Object.entries(GROUPS).map(textAttack),
  {
    name: "functions-arrays",
    credential: "empty key",
    what: "functions, comprehensions and quantifiers over arrays of 400,000 values",
    run: (target) =>
      runStatements(target, {
        statements: ARRAY_EXPRESSIONS.map(column),
        args: ARRAY_ARGS,
        key: target.keys.empty,
      }),
  },
  {
    name: "functions-objects",
    credential: "empty key",
    what: "functions over objects of 100,000 fields",
    run: (target) =>
      runStatements(target, {
        statements: OBJECT_EXPRESSIONS.map(column),
        args: OBJECT_ARGS,
        key: target.keys.empty,
      }),
  },
  {
    name: "functions-dates",
    credential: "empty key",
    what: "dates: long ranges, formats and numbers",
    run: (target) =>
      runStatements(target, {
        statements: DATE_EXPRESSIONS.map(column),
        args: DATE_ARGS,
        key: target.keys.empty,
      }),
  },
  {
    name: "functions-crowd",
    credential: "empty key",
    what: "all text functions over computed text, forty at once",
    run: (target) =>
      runStatements(target, {
        statements: Object.values(GROUPS).flat().map(column),
        args: TEXT_ARGS,
        key: target.keys.empty,
        atOnce: 40,
      }),
  },
  {
    name: "filters",
    credential: "reader's key",
    what: "expensive filters of find and count over 50,000 documents",
    run: inFilters,
  },
];
