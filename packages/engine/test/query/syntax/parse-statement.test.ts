/**
 * Statements about the store, statements about statements, and what surrounds all of them.
 */
import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { STATEMENT_LENGTH_MAX, TOKENS_MAX } from "../../../src/limits.ts";
import { parseFilter } from "../../../src/query/syntax/parse-filter.ts";
import { parseInSteps, parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { printStatement } from "../../../src/query/syntax/print.ts";
import { faultOf, parsed } from "./parsed.ts";

test("CREATE INDEX has keys with a direction", () => {
  expect(parsed("CREATE INDEX IF NOT EXISTS `odd name` ON default:c (a, b.c DESC, d ASC)")).toEqual(
    {
      kind: "create_index",
      name: "odd name",
      collection: { name: "c" },
      keys: [
        { path: ["a"], isDescending: false },
        { path: ["b", "c"], isDescending: true },
        { path: ["d"], isDescending: false },
      ],
      ifNotExists: true,
    },
  );
  for (const key of ["a[0]", "a + 1", "lower(a)", ""]) {
    expect(faultOf(`CREATE INDEX i ON c (${key})`).code).toBe("query.syntax");
  }
});

test("DROP INDEX names the collection before or after the index", () => {
  const dropped = { kind: "drop_index", name: "i", collection: { name: "c" }, ifExists: false };
  expect(parsed("DROP INDEX i ON c")).toEqual(dropped);
  expect(parsed("DROP INDEX c.i")).toEqual(dropped);
  expect(parsed("DROP INDEX IF EXISTS i ON c")).toEqual({ ...dropped, ifExists: true });
  expect(parsed("DROP INDEX if ON c")).toMatchObject({ name: "if" });
  expect(faultOf("DROP INDEX i").message).toBe('expected "." or ON, found the end');
});

test("SHOW has a name, or ALL with a pattern", () => {
  expect(parsed("SHOW dql_strict_mode")).toEqual({ kind: "show", name: "dql_strict_mode" });
  expect(parsed("SHOW ALL")).toEqual({ kind: "show" });
  expect(parsed("SHOW `ALL`")).toEqual({ kind: "show", name: "ALL" });
  expect(parsed("SHOW ALL ILIKE 'a!%' ESCAPE '!'")).toEqual({
    kind: "show",
    pattern: { operator: "ilike", pattern: "a!%", escape: "!" },
  });
});

test("ALTER SYSTEM sets and resets", () => {
  const set = { kind: "alter_system", name: "a", value: { kind: "literal", value: true } };
  expect(parsed("ALTER SYSTEM SET a = true")).toEqual(set);
  expect(parsed("ALTER SYSTEM SET a TO true")).toEqual(set);
  expect(parsed("ALTER SYSTEM SET a = DEFAULT")).toEqual({ kind: "alter_system", name: "a" });
  expect(parsed("ALTER SYSTEM RESET a")).toEqual({ kind: "alter_system", name: "a" });
  expect(parsed("ALTER SYSTEM RESET ALL")).toEqual({ kind: "alter_system" });
  expect(faultOf("ALTER SYSTEM SET a = null").code).toBe("query.semantic");
});

test("EXECUTE FUNCTION takes a call and nothing else", () => {
  expect(parsed("EXECUTE FUNCTION Upper('a')")).toEqual({
    kind: "execute_function",
    call: { kind: "call", name: "upper", args: [{ kind: "literal", value: "a" }] },
  });
  expect(faultOf("EXECUTE FUNCTION upper").message).toBe('expected "(", found the end');
});

test("EXPLAIN, PROFILE and ADVISE precede a statement", () => {
  const statement = parsed("SHOW a");
  const select = parsed("SELECT a FROM b");
  expect(parsed("EXPLAIN SELECT a FROM b")).toEqual({ kind: "explain", statement: select });
  expect(parsed("PROFILE EXPLAIN SELECT a FROM b")).toEqual({
    kind: "profile",
    statement: { kind: "explain", statement: select },
  });
  expect(parsed("PROFILE SHOW a")).toEqual({ kind: "profile", statement });
  expect(parsed("ADVISE SELECT a FROM b")).toEqual({
    kind: "advise",
    isProvision: false,
    statement: select,
  });
  expect(parsed("ADVISE AND PROVISION SELECT a FROM b")).toMatchObject({ isProvision: true });
});

test("SYNC CONTEXT selects peers for a statement", () => {
  expect(
    parsed("SYNC CONTEXT ( PEERS WHERE peerKeyString = 'pk' ) SELECT * FROM cars"),
  ).toMatchObject({
    kind: "sync_context",
    where: { kind: "binary" },
    statement: { kind: "select" },
  });
  expect(parsed("sync context (peers) SHOW ALL")).toEqual({
    kind: "sync_context",
    statement: { kind: "show" },
  });
});

test("directive comments are kept, wherever they are", () => {
  const text = `/*+ {"#max_scans": 1} */ SELECT --+ {"a": 2}\n * FROM c /* none */`;
  expect(parseStatement(text).directives).toEqual(['{"#max_scans": 1}', '{"a": 2}']);
  expect(parseStatement("SHOW ALL").directives).toEqual([]);
});

test("one semicolon may end a statement, and nothing may follow", () => {
  expect(parsed("SHOW ALL ; -- done")).toEqual(parsed("SHOW ALL"));
  expect(faultOf("SHOW ALL;;").message).toBe('expected the end of the statement, found ";"');
  expect(faultOf("SHOW ALL; SHOW ALL").code).toBe("query.syntax");
});

test("a text that is not a statement gets an error with the statements and a suggestion", () => {
  expect(faultOf("SELEC * FROM c")).toMatchObject({ code: "query.syntax", offset: 0 });
  expect(faultOf("SELEC * FROM c").message).toContain('found "SELEC"; did you mean SELECT?');
  expect(faultOf("  ").message).toMatch(/^expected SELECT, INSERT, .* or SYNC, found the end$/);
  expect(faultOf("  ").expected).toMatch(/^SELECT, INSERT/);
  expect(faultOf("é").offset).toBe(0);
});

test("the first error of a text is reported", () => {
  expect(faultOf("SELECT a b c FROM 'open").offset).toBe("SELECT a b ".length);
});

test("statements nest no deeper than expressions", () => {
  expect(faultOf("EXPLAIN ".repeat(100_000)).code).toBe("query.too_large");
  expect(parsed(`${"EXPLAIN ".repeat(50)} DELETE FROM c`)).toMatchObject({ kind: "explain" });
  expect(faultOf(`SELECT a FROM COLLECTION c (${"m MAP(".repeat(100_000)}`).code).toBe(
    "query.too_large",
  );
  expect(faultOf(`INSERT INTO c DOCUMENTS (a${"+a".repeat(1_000)})`).code).toBe("query.too_large");
  expect(faultOf(`EXPLAIN DELETE FROM c WHERE a${".b".repeat(1_000)}`).code).toBe(
    "query.too_large",
  );
});

test("a statement that is too long is not parsed", () => {
  const rest = " ".repeat(STATEMENT_LENGTH_MAX - "SHOW ALL".length);
  expect(parsed(`SHOW ALL${rest}`)).toEqual({ kind: "show" });
  expect(faultOf(`SHOW ALL ${rest}`).code).toBe("query.too_large");
});

test("a statement of the maximum length is parsed and printed", () => {
  const documents = Array.from({ length: 20_000 }, (_, i) => `({'_id': ${i}, 'a': [1, 'x']})`);
  const text = `INSERT INTO c DOCUMENTS ${documents.join(", ")}`;
  expect(printStatement(parseStatement(text).statement)).toBe(text);
});

test.runIf(isFullSize)(
  "the number of tokens of a statement is limited; each document of an INSERT has a limit of its own",
  () => {
    const list = (count: number): string => Array.from({ length: count }, () => "0").join();
    const half = list(TOKENS_MAX / 2 - 20);
    expect(faultOf(`SELECT * FROM c WHERE a IN (${list(TOKENS_MAX)})`).code).toBe(
      "query.too_large",
    );
    expect(parsed(`SELECT * FROM c WHERE a IN (${half})`)).toMatchObject({ kind: "select" });
    const documents = Array.from({ length: sized(2, 8) }, () => `({'a': [${half}]})`).join();
    expect(parsed(`INSERT INTO c DOCUMENTS ${documents}`)).toMatchObject({ kind: "insert" });
    expect(
      faultOf(`INSERT INTO c DOCUMENTS ${documents}, ({'a': [${list(TOKENS_MAX)}]})`).code,
    ).toBe("query.too_large");
    expect(faultOf(`a IN (${list(TOKENS_MAX)})`, parseFilter).code).toBe("query.too_large");
  },
);

test("parsing pauses between the documents of an INSERT, also inside other statements", () => {
  const documents = Array.from({ length: sized(5_000, 20_000) }, () => "({'a': [1, 'x']})").join();
  for (const before of ["", "EXPLAIN ", "PROFILE ", "SYNC CONTEXT (PEERS) "]) {
    const steps = parseInSteps(`${before}INSERT INTO c DOCUMENTS ${documents}`);
    let pauses = 0;
    while (steps.next().done !== true) pauses++;
    expect(pauses, before).toBeGreaterThan(sized(37, 150));
  }
});

test("text must consist of whole characters", () => {
  expect(faultOf("SHOW ALL LIKE '\ud800'")).toMatchObject({ code: "query.syntax", offset: 15 });
});
