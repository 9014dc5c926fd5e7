/**
 * docs/query-language.md: its examples are run in their order on one store, and what it lists is
 * what there is.
 */
import { readFileSync } from "node:fs";
import { parseJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { FUNCTIONS } from "../../src/query/functions/table.ts";
import { PARAMETERS } from "../../src/query/system/settings.ts";
import { systemCollectionNames } from "../../src/query/system/system-collections.ts";
import { SYNC_VERDICTS } from "../../src/sync/device/sync-explanation.ts";
import { openStatements } from "../support/run-statements.ts";

const text = readFileSync(new URL("../../../../docs/query-language.md", import.meta.url), "utf8");

interface Example {
  readonly statement: string;
  args: Value;
  rows?: Value;
  error?: string;
}

/** A block of SQL, and the blocks after it that say its arguments and what comes of it. */
function readExamples(): Example[] {
  const examples: Example[] = [];
  for (const [, kind, content = ""] of text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (kind === "sql") examples.push({ statement: content, args: {} });
    const last = examples.at(-1);
    if (last === undefined) continue;
    if (kind === "args") last.args = parseJson(content);
    if (kind === "json") last.rows = parseJson(content);
    if (kind === "error") last.error = content.trim();
  }
  return examples;
}

test("every example does what the page says", async () => {
  const { rows, failure } = await openStatements();
  const examples = readExamples();
  expect(examples.length).toBeGreaterThan(25);
  for (const { statement, args, rows: expected, error } of examples) {
    if (error !== undefined) {
      expect((await failure(statement, args)).code, statement).toBe(error);
      continue;
    }
    const found = await rows(statement, args);
    if (expected !== undefined) expect(found, statement).toEqual(expected);
  }
});

/** The part of the page under a heading. */
function section(heading: string): string {
  const start = text.indexOf(`\n## ${heading}\n`);
  expect(start, heading).toBeGreaterThan(0);
  const end = text.indexOf("\n## ", start + 1);
  return text.slice(start, end < 0 ? undefined : end);
}

test("every function is listed", () => {
  const listed = section("Functions");
  const missing = [...FUNCTIONS.keys()].filter(
    (name) => name !== "filter_contains" && !listed.includes(`\`${name}(`),
  );
  expect(missing).toEqual([]);
});

test("every function that is listed exists", () => {
  const named = [...section("Functions").matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)\(/g)].map(([, name = ""]) => name),
  );
  expect(named.filter((name) => !FUNCTIONS.has(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(80);
});

test("every parameter of the system is listed with its default", () => {
  const listed = section("Settings");
  for (const { name, initial } of PARAMETERS) {
    expect(listed, name).toContain(`| \`${name}\` | \`${JSON.stringify(initial)}\` |`);
  }
});

test("every verdict of EXPLAIN SYNC is listed", () => {
  const listed = [...section("Other peers").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(listed).toEqual([...SYNC_VERDICTS]);
});

test("every system collection is listed", () => {
  const listed = section("System collections");
  for (const name of systemCollectionNames()) expect(listed).toContain(`\`system:${name}\``);
});
