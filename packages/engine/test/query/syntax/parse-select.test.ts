/**
 * SELECT: its clauses, their order, and which words are names.
 */
import { expect, test } from "vitest";
import type { SelectStatement, UnionStatement } from "../../../src/query/syntax/tree.ts";
import { faultOf, parsed } from "./parsed.ts";

const name = (text: string): unknown => ({ kind: "name", name: text });
const column = (text: string, alias?: string): unknown => ({
  kind: "column",
  expression: name(text),
  ...(alias !== undefined && { alias }),
});

test("a plain SELECT has a collection and columns, and no clauses that were not written", () => {
  expect(parsed("SELECT a, b AS c FROM d")).toEqual({
    kind: "select",
    isDistinct: false,
    isRaw: false,
    projections: [column("a"), column("b", "c")],
    from: { collection: { name: "d" } },
    joins: [],
    orderBy: [],
  });
});

test("clauses have a fixed order", () => {
  const text =
    "SELECT DISTINCT a FROM b WHERE c GROUP BY d, e HAVING f ORDER BY g DESC, h ASC LIMIT 1 OFFSET :o";
  expect(parsed(text)).toMatchObject({
    isDistinct: true,
    where: name("c"),
    groupBy: [name("d"), name("e")],
    having: name("f"),
    orderBy: [
      { expression: name("g"), isDescending: true },
      { expression: name("h"), isDescending: false },
    ],
    limit: { kind: "literal", value: 1 },
    offset: { kind: "parameter", name: "o" },
  });
  expect(faultOf("SELECT a FROM b ORDER BY c WHERE d").message).toContain('found "WHERE"');
});

test("LIMIT and OFFSET may be in either order, each once, and are not expressions", () => {
  expect(parsed("SELECT a FROM b OFFSET 1 LIMIT 2")).toEqual(
    parsed("SELECT a FROM b LIMIT 2 OFFSET 1"),
  );
  for (const text of ["LIMIT 1 LIMIT 2", "LIMIT -1", "LIMIT 1.0", "LIMIT 1 + 1", "LIMIT '1'"]) {
    expect(faultOf(`SELECT a FROM b ${text}`).code).toBe("query.syntax");
  }
});

test("an alias needs no AS, unless the word could be a clause", () => {
  expect(parsed("SELECT a b FROM c d")).toEqual(parsed("SELECT a AS b FROM c AS d"));
  expect(parsed("SELECT a `from` FROM c")).toMatchObject({ projections: [column("a", "from")] });
  expect(parsed("SELECT a AS count FROM c AS desc")).toMatchObject({ from: { alias: "desc" } });
  expect(faultOf("SELECT a AS from FROM c").message).toBe('expected an alias, found "from"');
});

test("a star means all fields, or all fields of a path", () => {
  expect(parsed("SELECT a.*, b.c.*, * FROM d")).toMatchObject({
    projections: [
      { kind: "all_of", of: name("a") },
      { kind: "all_of", of: { kind: "field", of: name("b"), name: "c" } },
      { kind: "all" },
    ],
  });
  expect(faultOf("SELECT a + b.* FROM c").code).toBe("query.syntax");
  expect(faultOf("SELECT a FROM c WHERE b.* = 1").code).toBe("query.syntax");
});

test("a path in parentheses is marked as wrapped, unless it has an alias", () => {
  expect(parsed("SELECT (a), ((b.c)), (d) AS e, (f + g), (h).i FROM c")).toMatchObject({
    projections: [{ isWrapped: true }, { isWrapped: true }, { alias: "e" }, {}, {}],
  });
  expect(parsed("SELECT (d) AS e, (f + g), (h).i, (j)[0] FROM c")).toEqual(
    parsed("SELECT d AS e, f + g, h.i, j[0] FROM c"),
  );
});

test("MISSING with a name drops a column of an earlier star", () => {
  expect(parsed("SELECT c.*, MISSING notes FROM c")).toMatchObject({
    projections: [
      { kind: "all_of" },
      { kind: "column", expression: { kind: "missing" }, alias: "notes" },
    ],
  });
});

test("VALUE, RAW and ELEMENT before the alias of a collection return the rows themselves", () => {
  expect(parsed("SELECT VALUE t FROM c t")).toMatchObject({
    isRaw: true,
    projections: [column("t")],
  });
  expect(parsed("SELECT raw c FROM c")).toEqual(parsed("SELECT ELEMENT c FROM c"));
  expect(parsed("SELECT value, raw.a, element AS e FROM c")).toMatchObject({ isRaw: false });
});

test("ALL before the columns has no effect; alone it is a field", () => {
  expect(parsed("SELECT ALL a FROM c")).toEqual(parsed("SELECT a FROM c"));
  expect(parsed("SELECT all, b FROM c")).toMatchObject({
    projections: [column("all"), column("b")],
  });
});

test("a collection may have a namespace and types", () => {
  expect(parsed("SELECT a FROM default:c")).toEqual(parsed("SELECT a FROM COLLECTION c"));
  expect(parsed("SELECT a FROM system:`dual`")).toMatchObject({
    from: { collection: { namespace: "system", name: "dual" } },
  });
  const text =
    "SELECT a FROM COLLECTION c (m MAP(n COUNTER, `o p` map()), q PN_COUNTER, r ATTACHMENT, s REGISTER, t MAP) AS x";
  expect(parsed(text)).toMatchObject({
    from: {
      alias: "x",
      collection: {
        types: {
          m: { n: "counter", "o p": {} },
          q: "pn_counter",
          r: "attachment",
          s: "register",
          t: "map",
        },
      },
    },
  });
  expect(faultOf("SELECT a FROM COLLECTION c (m MAP, m MAP)").code).toBe("query.semantic");
  expect(faultOf("SELECT a FROM c (m MAP)").code).toBe("query.syntax");
});

test("a type for a field called __proto__ is an ordinary type", () => {
  const { from } = parsed("SELECT a FROM COLLECTION c (__proto__ MAP)") as {
    from: { collection: { types: object } };
  };
  expect(Object.keys(from.collection.types)).toEqual(["__proto__"]);
});

test("joins have a kind, a term and a condition", () => {
  const text =
    "SELECT a FROM b JOIN c ON x INNER JOIN d AS e ON y LEFT OUTER JOIN f g ON z RIGHT JOIN h ON w";
  expect(parsed(text)).toMatchObject({
    joins: [
      { type: "inner", term: { collection: { name: "c" } }, on: name("x") },
      { type: "inner", term: { alias: "e" }, on: name("y") },
      { type: "left", term: { alias: "g" }, on: name("z") },
      { type: "right", term: { collection: { name: "h" } }, on: name("w") },
    ],
  });
  expect(faultOf("SELECT a FROM b JOIN c").message).toBe("expected AS, USE or ON, found the end");
  expect(faultOf("SELECT a FROM b LEFT c ON x").message).toBe(
    'expected OUTER, UNNEST or JOIN, found "c"',
  );
});

test("USE names ids, a list of ids, an index, none, or directives", () => {
  const use = (text: string): unknown =>
    (parsed(`SELECT a FROM b USE ${text}`) as { from: { use: unknown } }).from.use;
  expect(use("IDS 'x', :y")).toMatchObject({ kind: "ids", ids: [{ value: "x" }, { name: "y" }] });
  expect(use("IDS LIST :ids")).toMatchObject({ kind: "id_list", list: { name: "ids" } });
  expect(use("INDEX ix")).toEqual({ kind: "index", names: ["ix"] });
  expect(use("INDEX 'ix'")).toEqual({ kind: "index", names: ["ix"] });
  expect(use("INDEX ''")).toEqual({ kind: "index", names: [] });
  expect(use("INDEX null")).toEqual({ kind: "index", names: [] });
  expect(use(`DIRECTIVES '{"a": 1}'`)).toEqual({ kind: "directives", json: '{"a": 1}' });
  expect(faultOf("SELECT a FROM b USE INDEX (ix)").code).toBe("query.syntax");
  expect(faultOf("SELECT a FROM b USE IDS ('x', 'y')").code).toBe("query.semantic");
});

test.each([
  ["SELECT * FORM c", 'expected FROM, found "FORM"'],
  ["SELECT a FORM c", 'expected "," or FROM, found "c"; did you mean FROM instead of "FORM"?'],
  ["SELECT a FROM c WHER b = 1", 'found "b"; did you mean WHERE instead of "WHER"?'],
  ["SELECT a FROM c ORDR BY b", 'found "BY"; did you mean ORDER instead of "ORDR"?'],
  ["SELECT a FROM c WHERE b GRUOP BY d", 'found "GRUOP"; did you mean GROUP?'],
  ["SELECT FROM c", 'expected DISTINCT or an expression, found "FROM"'],
  ["SELECT 1 AS x", 'expected "," or FROM, found the end'],
  ["SELECT a FROM 5", 'expected the name of a collection, found "5"'],
])("%s is refused: %s", (text, message) => {
  const fault = faultOf(text);
  expect(fault.code).toBe("query.syntax");
  expect(fault.message).toContain(message);
});

test("UNION combines the arms before it; order and window apply to the whole", () => {
  const text = "SELECT a FROM b UNION SELECT c FROM d UNION ALL SELECT e FROM f ORDER BY a LIMIT 1";
  const { first, others, orderBy, limit } = parsed(text) as UnionStatement;
  expect([first.orderBy, first.limit]).toEqual([[], undefined]);
  expect(others.map(({ isAll }) => isAll)).toEqual([false, true]);
  expect([orderBy.length, limit]).toEqual([1, { kind: "literal", value: 1 }]);
  expect(faultOf("SELECT a FROM b LIMIT 1 UNION SELECT c FROM d").message).toContain(
    'found "UNION"',
  );
  expect(faultOf("SELECT a FROM b UNION").message).toBe("expected ALL or SELECT, found the end");
});

test("keywords of subqueries are names elsewhere", () => {
  for (const text of [
    "SELECT exists, unnest, nulls FROM c",
    "SELECT a FROM c WHERE exists = 1 AND select IN (1, select)",
    "SELECT a FROM c WHERE a IN (select - 1)",
    "SELECT first, last FROM c ORDER BY first, last",
  ]) {
    expect((parsed(text) as SelectStatement).kind, text).toBe("select");
  }
});
