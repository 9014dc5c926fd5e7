/**
 * How long a peer of a stopping server waits before it returns.
 */

import { expect, test } from "vitest";
import { returnDelayMs } from "../../../src/sync/session/return-delay.ts";

function delayOf(high: number, low: number): number {
  return returnDelayMs({ random: () => Uint8Array.of(high, low) });
}

test("[S6] peers of a stopping server return after 1 to 6 s", () => {
  expect(delayOf(0, 0)).toBe(1000);
  expect(delayOf(128, 0)).toBe(3500);
  expect(delayOf(255, 255)).toBe(5999);
});

test("[S6] the times of return are spread evenly", () => {
  const delays = Array.from({ length: 256 }, (_, high) => delayOf(high, 0));
  const perSecond = [1, 2, 3, 4, 5].map(
    (second) => delays.filter((delay) => Math.floor(delay / 1000) === second).length,
  );
  for (const count of perSecond) expect(count).toBeGreaterThanOrEqual(51);
});
