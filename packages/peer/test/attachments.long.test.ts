/**
 * A short run of the proof of attachments: files between two peers and a server, with connections that
 * are cut and processes that are killed.
 */

import { expect, test } from "vitest";
import { transfer } from "../../../prove/attachments/transfers.mjs";

test("files arrive whole, though connections are cut and processes killed", async () => {
  const result = await transfer({
    files: 10,
    sizeMax: 100_000_000,
    large: 1_000_000_000,
    cutMs: 1000,
    killMs: 8000,
    seed: 26,
  });
  expect(result.failures).toEqual([]);
  expect(result.kills).toBeGreaterThan(0);
  expect(result.cuts).toBeGreaterThan(0);
  expect(Math.max(...Object.values(result.memory))).toBeLessThan(200e6);
  expect(result.sent).toBeLessThan(result.bytes * 1.05);
  expect(result.received).toBeLessThan(result.bytes * 1.05);
}, 600_000);
