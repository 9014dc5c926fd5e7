/**
 * Ids of requests: what they look like, and that no two are the same.
 */

import { expect, test } from "vitest";
import { nextRequestId } from "../../src/http/request-id.ts";

test("each id is a unique UUID, over several draws of random bytes", () => {
  const ids = Array.from({ length: 10_000 }, nextRequestId);
  expect(new Set(ids).size).toBe(ids.length);
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
});

test("the ids of different draws have nothing in common", () => {
  const starts = Array.from({ length: 12_288 }, () => nextRequestId().slice(0, -3));
  expect(new Set(starts).size).toBeGreaterThanOrEqual(3);
});
