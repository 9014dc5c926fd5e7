/**
 * Which statements can use code that a host loads late, by their text: all that do, and few others.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mayUseExplainer, mayUsePatterns } from "../../src/query/code-use.ts";
import { REGEXP_FUNCTIONS } from "../../src/query/functions/regexp.ts";

const QUERY = new URL("../../src/query/", import.meta.url);

/** The sources of the language that contain a text. */
function filesWith(text: string): string[] {
  const files = readdirSync(QUERY, { recursive: true, encoding: "utf8" });
  const found = files.filter((name) => {
    if (!name.endsWith(".ts")) return false;
    return readFileSync(new URL(name, QUERY), "utf8").includes(text);
  });
  return found.map((name) => name.replaceAll("\\", "/")).toSorted();
}

test("a statement with a function on patterns, or with SIMILAR TO, can use one", () => {
  expect(REGEXP_FUNCTIONS.length).toBeGreaterThan(0);
  for (const { name } of REGEXP_FUNCTIONS) {
    expect(mayUsePatterns(`SELECT ${name}(a, b) FROM c`)).toBe(true);
    expect(mayUsePatterns(`SELECT \`${name.toUpperCase()}\`(a, b) FROM c`)).toBe(true);
  }
  expect(mayUsePatterns("SELECT * FROM c WHERE a NOT similar TO 'x'")).toBe(true);
});

test("a statement without one does not wait for patterns", () => {
  expect(mayUsePatterns("SELECT * FROM c WHERE a LIKE 'x%' AND contains(b, 'y')")).toBe(false);
});

test("nothing else of the language makes patterns", () => {
  expect(filesWith("makePattern(")).toEqual([
    "compile/like.ts",
    "functions/regexp.ts",
    "value/user-pattern.ts",
  ]);
});

test.each([
  "EXPLAIN SELECT * FROM c",
  "-- why?\nexplain\tUPDATE c SET a = 1",
  "PROFILE SELECT * FROM c",
  "#max_scans(1) advise SELECT * FROM c",
  "SELECT plan FROM system:active_requests",
  "SELECT plan FROM system:actives",
])("a statement that shows a plan can use the explainer: %s", (statement) => {
  expect(mayUseExplainer(statement)).toBe(true);
});

test("a statement that shows no plan does not wait for the explainer", () => {
  expect(mayUseExplainer("SELECT isActive, profiles FROM c WHERE advised = 'explained'")).toBe(
    false,
  );
});

test("nothing else of the language uses the explainer", () => {
  expect(filesWith("explainerOf(")).toEqual([
    "run/plan-explainer.ts",
    "statement/advice.ts",
    "statement/explain.ts",
    "task/filter-task.ts",
  ]);
});
