/**
 * The law of permissions on generated stores: with rules on everything is as without rules on what
 * they allow.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import {
  anyCommand,
  anyFinding,
  anyPermissionCase,
  anyReading,
  anyWriting,
  commandDifference,
  findingDifference,
  openWorlds,
  readingDifference,
  writingDifference,
} from "../../support/permission-cases.ts";

const STATEMENTS = 20;

test("[P5] reads are answered as on a store with only the readable documents", async () => {
  let count = 0;
  const statements = fc.array(anyReading(), { minLength: STATEMENTS, maxLength: STATEMENTS });
  await fc.assert(
    fc.asyncProperty(anyPermissionCase(), statements, async (given, texts) => {
      const worlds = await openWorlds(given);
      for (const text of texts) {
        count++;
        const found = await readingDifference(worlds, text);
        if (found !== undefined) throw new Error(`${text}\n${found}`);
      }
    }),
    { numRuns: histories(40) },
  );
  expect(count).toBeGreaterThan(STATEMENTS);
});

test("[P5] find, count and findById return only readable documents", async () => {
  const findings = fc.array(anyFinding(), { minLength: 8, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(anyPermissionCase(), findings, async (given, all) => {
      const worlds = await openWorlds(given);
      for (const finding of all) {
        const found = await findingDifference(worlds, finding);
        if (found !== undefined) throw new Error(`${JSON.stringify(finding)}\n${found}`);
      }
    }),
    { numRuns: histories(60) },
  );
});

test("[P10] [P11] [P12] writes affect readable documents, or are refused as a whole", async () => {
  await fc.assert(
    fc.asyncProperty(anyPermissionCase(), anyWriting(), async (given, writing) => {
      const found = await writingDifference(given, writing);
      if (found !== undefined) throw new Error(`${writing.statement}\n${found}`);
    }),
    { numRuns: histories(200) },
  );
});

test("[P10] [P14] commands write the writable documents, and count the other readable ones", async () => {
  await fc.assert(
    fc.asyncProperty(anyPermissionCase(), anyCommand(), async (given, command) => {
      const found = await commandDifference(given, command);
      if (found !== undefined) throw new Error(`${JSON.stringify(command)}\n${found}`);
    }),
    { numRuns: histories(100) },
  );
});
