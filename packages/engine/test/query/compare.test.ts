/**
 * The generator of `npm run compare`, without the reference engine: what it makes covers the grammar
 * and every function, and what is listed as a difference is documented.
 */
import { readFileSync } from "node:fs";
import { expect, describe as group, test } from "vitest";
import { DIFFERENCES } from "../../../../compare/differences.mjs";
import { Generator, RULE_NAMES } from "../../../../compare/generate.mjs";
import { parseOptions } from "../../../../compare/options.mjs";
import { describe } from "../../../../compare/outcome.mjs";
import { Report } from "../../../../compare/report.mjs";
import { AGGREGATE_NAMES } from "../../src/query/functions/aggregate.ts";
import { FUNCTION_NAMES } from "../../src/query/functions/table.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import type { Expression, Statement } from "../../src/query/syntax/tree.ts";

const CASES = 12_000;

/** Nodes of expressions; slots are made by binding. The compiler knows when one is forgotten. */
const NODES: Readonly<Record<Exclude<Expression["kind"], "slot">, true>> = {
  literal: true,
  missing: true,
  parameter: true,
  name: true,
  field: true,
  element: true,
  array: true,
  object: true,
  unary: true,
  binary: true,
  is: true,
  in: true,
  between: true,
  like: true,
  case: true,
  cast: true,
  quantifier: true,
  comprehension: true,
  call: true,
  subquery: true,
};

/** Statements of a store; those about devices are not the reference engine's. */
const STATEMENTS: Readonly<
  Record<Exclude<Statement["kind"], "explain_sync" | "sync_context">, true>
> = {
  select: true,
  union: true,
  insert: true,
  update: true,
  remove: true,
  create_index: true,
  drop_index: true,
  explain: true,
  profile: true,
  advise: true,
  execute_function: true,
  show: true,
  alter_system: true,
};

const WORDS = ["operator", "quantifier", "method", "conflict", "what", "type", "purpose", "nulls"];

/** Clauses and parts that may be left out, and what is said with a word. */
const PARTS = [
  "joins where groupBy having orderBy limit offset returning",
  "key position subject otherwise condition escape alias use types namespace apply set unset",
  "isNegated isDistinct isRaw isDescending isInitial isStar isDeep isOuter isAll",
].flatMap((line) => line.split(" "));

/** Every kind, operator, clause and the like of a tree. */
function collect(node: unknown, seen: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const part of node) collect(part, seen);
    return;
  }
  for (const [key, part] of Object.entries(node)) {
    if (part !== undefined && part !== false && (part as { length?: number }).length !== 0) {
      seen.add(`part ${key}`);
    }
    if (key === "kind" && typeof part === "string") seen.add(part);
    else if (WORDS.includes(key) && typeof part === "string") seen.add(`${key} ${part}`);
    else collect(part, seen);
  }
}

const generator = new Generator(1);
const made = Array.from({ length: CASES }, () => generator.next());

test("every rule of the generator is used, and every function and aggregate has one", () => {
  const unused = RULE_NAMES.filter((name) => !generator.used.has(name));
  expect(unused).toEqual([]);
  const functions = FUNCTION_NAMES.filter((name) => !generator.used.has(`function ${name}`));
  expect(functions).toEqual([]);
  const aggregates = AGGREGATE_NAMES.filter((name) => !generator.used.has(`aggregate ${name}`));
  expect(aggregates).toEqual([]);
});

test("every node, operator and statement of the grammar is generated", () => {
  const seen = new Set<string>();
  for (const statement of new Set(made.flatMap(({ statements }) => statements))) {
    try {
      collect(parseStatement(statement), seen);
    } catch {
      // Some are wrong on purpose.
    }
  }
  const wanted = [
    ...Object.keys(NODES),
    ...Object.keys(STATEMENTS),
    ...["+", "-", "*", "/", "%", "||", "and", "or", "=", "!=", "<", "<=", ">", ">=", "not"].map(
      (operator) => `operator ${operator}`,
    ),
    ...["like", "ilike", "similar"].map((operator) => `operator ${operator}`),
    ...["any", "every", "any_and_every"].map((quantifier) => `quantifier ${quantifier}`),
    ...["increment", "pn_increment", "restart", "delete", "evict", "tombstone"].map(
      (method) => `method ${method}`,
    ),
    ...["fail", "nothing", "update", "merge", "update_local_diff"].map(
      (conflict) => `conflict ${conflict}`,
    ),
    "ids",
    "id_list",
    "index",
    "directives",
    "all",
    "all_of",
    "column",
    ...["inner", "left", "right", "unnest"].map((type) => `type ${type}`),
    "what null",
    "what missing",
    "purpose exists",
    "purpose members",
    "nulls first",
    "nulls last",
    ...PARTS.map((part) => `part ${part}`),
  ];
  expect(wanted.filter((each) => !seen.has(each))).toEqual([]);
});

test("a seed generates the same statements again, another seed generates others", () => {
  const statementsOf = (seed: number): string[] => {
    const again = new Generator(seed);
    return Array.from({ length: 50 }, () => again.next().statements.join(";"));
  };
  expect(statementsOf(1)).toEqual(made.slice(0, 50).map(({ statements }) => statements.join(";")));
  expect(statementsOf(2)).not.toEqual(statementsOf(1));
});

test("every listed difference is in docs/query-language.md with its reason", () => {
  const text = readFileSync(new URL("../../../../docs/query-language.md", import.meta.url), "utf8");
  // The page is wrapped: a reason may go over several lines.
  const section = text.slice(text.indexOf("## Differences")).replaceAll(/\s+/g, " ");
  for (const { name, reason } of DIFFERENCES) expect(section, name).toContain(`- ${reason}`);
});

group("a comparison", () => {
  test("compares rows in any order unless they are ordered, and numbers by value", () => {
    const rows = { items: [{ a: 1 }, { b: 2n, a: 0.1 + 0.2 }] };
    const others = { items: [{ a: 0.3, b: 2 }, { a: 1 }] };
    expect(describe(rows)).toBe(describe(others));
    expect(describe(rows, { isOrdered: true })).not.toBe(describe(others, { isOrdered: true }));
    expect(describe({ error: "query.syntax" })).toBe(describe({ error: "query/invalid" }));
    expect(describe({ items: [], ids: ["1"] })).not.toBe(describe({ items: [], ids: [] }));
  });

  test("counts agreement separately from listed differences", () => {
    const report = new Report();
    const found = { rule: "where", text: "SELECT", oursText: "1", referenceText: "2" };
    for (let i = 0; i < 97; i++) report.agree();
    report.differ(found, { name: "listed" });
    report.differ(found, { name: "listed" });
    report.differ(found, undefined);
    expect(report.statements).toBe(100);
    expect(report.listedCount).toBe(2);
    expect(report.agreement).toBe(97 / 98);
    expect(report.text()).toContain("100 statements: 98.98 % agree");
  });

  test("refuses options that are not whole numbers", () => {
    expect(parseOptions(["--seed", "7"])).toMatchObject({ seed: 7, statements: 20_000 });
    expect(() => parseOptions(["--statements", "many"])).toThrow(
      "expected a whole number after --statements, found many",
    );
  });
});
