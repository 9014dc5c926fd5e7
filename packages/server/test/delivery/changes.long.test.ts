/**
 * Two minutes of `npm run prove -- changes`: readers of the change feed and receivers of webhooks are
 * killed at random while changes are written, beside 1,000 readers of which 100 do not read.
 *
 * It writes for 90 seconds. The start, and what is left to arrive at the end, take the rest.
 */

import { expect, test } from "vitest";
import { follow } from "../../../../prove/changes/followers.mjs";

const MEMORY_MB_MAX = 700;

test("[C11] killed readers and receivers get each change once and in order", async () => {
  const result = await follow({
    changes: 1_000_000,
    writeMs: 90_000,
    readers: 1_000,
    deaf: 100,
    killMs: 1_000,
    seed: 28,
  });
  expect(result.failures).toEqual([]);
  expect(result.kills).toBeGreaterThan(10);
  expect(result.repeats).toBeGreaterThan(0);
  expect(result.memoryMb).toBeLessThan(MEMORY_MB_MAX);
}, 600_000);
