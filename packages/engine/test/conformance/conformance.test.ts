/**
 * The statement language against the recorded cases, on the memory store.
 */
import { existsSync, readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { openStore } from "../support/open-store.ts";
import { readGroups } from "./cases.ts";
import { DIFFERENCES } from "./differences.ts";
import { complainAbout, type Executor } from "./runner.ts";

const groups = readGroups();
const cases = [...groups.values()].flat();
let executor: Executor;

beforeAll(async () => {
  const { store, platform } = await openStore();
  const runner = new StatementRunner({ store, platform, appId: "conformance" });
  executor = { execute: (statement, args) => runner.execute({ statement, args }) };
});

test("the corpus has 2,658 cases with unique names", () => {
  expect(cases).toHaveLength(2_658);
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});

test.each([...groups.keys()])(
  "%s has the recorded result, or is a known difference",
  async (group) => {
    expect(await complainAbout(groups.get(group) ?? [], executor, DIFFERENCES)).toEqual([]);
  },
);

test("at least 99 % of the cases that must match do match", () => {
  const required = cases.filter(
    ({ suspect, superset }) => suspect === undefined && superset !== true,
  );
  const differing = required.filter(({ name }) => DIFFERENCES.has(name));
  expect(differing.length).toBeLessThanOrEqual(required.length / 100);
});

test("every known difference names a case and has a reason", () => {
  const names = new Set(cases.map(({ name }) => name));
  for (const [name, reason] of DIFFERENCES) {
    expect(names.has(name), name).toBe(true);
    expect(reason.length, name).toBeGreaterThan(10);
  }
});

test("the known differences are those that docs/query-language.md lists", () => {
  const path = new URL("../../../../docs/query-language.md", import.meta.url);
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const [, section = ""] = /^## Differences\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text) ?? [];
  const listed = [...section.matchAll(/`([a-z-]+\/[^`\s]+)`/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual([...DIFFERENCES.keys()].toSorted());
});
