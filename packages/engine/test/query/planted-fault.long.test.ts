/**
 * What compares answers with and without indexes finds mistakes: some are planted, one at a time.
 *
 * By seed: INDEX_SEED starts elsewhere.
 */
import { expect, test, vi } from "vitest";
import type * as RuleKeyModule from "../../src/query/permission/rule-key.ts";
import type * as AccessModule from "../../src/query/plan/access.ts";
import type * as ChooseModule from "../../src/query/run/choose.ts";
import type * as WalkModule from "../../src/query/run/index-walk.ts";
import { seamOf } from "../support/fault-seams.ts";
import { findDifference } from "../support/index-run.ts";
import { PLANTED_FAULTS } from "../support/planted-fault.ts";

const BASE_SEED = Number(process.env["INDEX_SEED"] ?? 1);

/** A fault that takes more scripts to be found is not looked for well enough. */
const SCRIPTS_PER_FAULT = 60;
const ASKED_PER_SCRIPT = 40;

vi.mock("../../src/query/permission/rule-key.ts", async (importOriginal) => {
  const original = await importOriginal<typeof RuleKeyModule>();
  const allowedRanges = seamOf("allowedRanges", original.allowedRanges);
  const knownValuesOf = seamOf("knownValuesOf", original.knownValuesOf);
  return { ...original, allowedRanges, knownValuesOf };
});

vi.mock("../../src/query/plan/access.ts", async (importOriginal) => {
  const original = await importOriginal<typeof AccessModule>();
  const chooseAccess = seamOf("chooseAccess", original.chooseAccess);
  const orderPaths = seamOf("orderPaths", original.orderPaths);
  return { ...original, chooseAccess, orderPaths };
});

vi.mock("../../src/query/run/choose.ts", async (importOriginal) => {
  const original = await importOriginal<typeof ChooseModule>();
  return { ...original, chooseFor: seamOf("chooseFor", original.chooseFor) };
});

vi.mock("../../src/query/run/index-walk.ts", async (importOriginal) => {
  const original = await importOriginal<typeof WalkModule>();
  return { ...original, findDocuments: seamOf("findDocuments", original.findDocuments) };
});

const options = { seed: BASE_SEED, scripts: SCRIPTS_PER_FAULT, asked: ASKED_PER_SCRIPT };

test.each(PLANTED_FAULTS)("a planted fault is found: $name", async ({ plant }) => {
  const mend = plant();
  try {
    expect(await findDifference(options)).not.toBeUndefined();
  } finally {
    mend();
  }
});
