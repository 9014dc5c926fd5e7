/**
 * Code that is loaded late: by which statements, once, and again after a failure.
 */
import { PLAN_EXPLAINER } from "@bigpeer/engine/explain";
import { PatternCompiler } from "@bigpeer/engine/pattern";
import { mayUsePatterns } from "@bigpeer/engine/query";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Compiler, LazyCode, lazyParts } from "../../src/web/lazy-code.ts";

const USER = "SELECT * FROM c WHERE regexp_like(a, :pattern)";

function lazyPatterns(load: () => Promise<Compiler>): LazyCode<Compiler> {
  return new LazyCode({ name: "patterns", isNeeded: mayUsePatterns, load });
}

test("code is loaded once, for the first statement that can use it", async () => {
  let loads = 0;
  const patterns = lazyPatterns(async () => {
    loads++;
    return new PatternCompiler();
  });
  expect(patterns.loadFor("SELECT * FROM c WHERE a LIKE 'x%'")).toBeUndefined();
  expect(patterns.loaded).toBeUndefined();
  const first = patterns.loadFor(USER);
  expect(patterns.loadFor("SELECT * FROM c WHERE a SIMILAR TO 'x'")).toBe(first);
  await first;
  expect(patterns.loadFor(USER)).toBeUndefined();
  expect(loads).toBe(1);
  expect(
    patterns
      .get()
      .compile("b+", "")
      ?.isFoundIn("abba", () => undefined),
  ).toBe(true);
});

test("a load that failed fails the use of the code, and the next statement tries again", async () => {
  const answers: (() => Promise<Compiler>)[] = [
    () => Promise.reject(new Error("Failed to fetch")),
    () => Promise.resolve(new PatternCompiler()),
  ];
  const patterns = lazyPatterns(() => (answers.shift() as () => Promise<Compiler>)());
  await patterns.loadFor(USER);
  expect(() => patterns.get()).toThrow(
    expect.objectContaining({
      code: "query.busy",
      message: expect.stringContaining("failed to load the code for patterns: Failed to fetch"),
    }),
  );
  await patterns.loadFor(USER);
  expect(patterns.get().compile("a", "")).toBeDefined();
});

test("each part is loaded from its own file", async () => {
  const entry = (name: string): string => import.meta.resolve(`@bigpeer/engine/${name}`);
  const parts = lazyParts({
    patternsUrl: entry("pattern"),
    explainUrl: entry("explain"),
    attachmentsUrl: "not loaded here",
  });
  await parts.patterns.loadFor(USER);
  expect(parts.patterns.get().compile("a", "")).toBeDefined();
  expect(parts.explainer.loaded).toBeUndefined();
  await parts.explainer.loadFor("EXPLAIN SELECT * FROM c");
  expect(parts.explainer.get()).toBe(PLAN_EXPLAINER);
});

test("a file that cannot be loaded is loaded again by the next use", async () => {
  const url =
    "data:text/javascript,if (!globalThis.isThere) throw 1; export const PLAN_EXPLAINER = 2";
  const { explainer } = lazyParts({ patternsUrl: "", explainUrl: url, attachmentsUrl: "" });
  const statement = "EXPLAIN SELECT * FROM c";
  for (let i = 0; i < 2; i++) await explainer.loadFor(statement);
  expect(() => explainer.get()).toThrow(expect.objectContaining({ code: "query.busy" }));
  vi.stubGlobal("isThere", true);
  onTestFinished(() => void vi.unstubAllGlobals());
  await explainer.loadFor(statement);
  expect(explainer.get()).toBe(2);
});
