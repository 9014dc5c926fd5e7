/**
 * JSON of requests: what JSON cannot hold is refused with its place.
 */

import { expect, test } from "vitest";
import { BigPeerError } from "../src/error.ts";
import { stringify } from "../src/json.ts";

const endless: Record<string, unknown> = {};
endless["self"] = endless;

test.each([
  [{ args: { photo: new Uint8Array(2) } }, "args.photo"],
  [{ args: { list: [1, Number.NaN] } }, "args.list[1]"],
  [{ args: { most: Number.POSITIVE_INFINITY } }, "args.most"],
  [{ args: { tags: new Set() } }, "args.tags"],
  [{ args: { buffer: new ArrayBuffer(1) } }, "args.buffer"],
])("%j is refused with its place", (value, at) => {
  const error = thrownBy(() => stringify(value));
  expect([error.code, error.at, error.status]).toEqual(["value.invalid", at, 0]);
});

test("a value that contains itself is refused", () => {
  expect(thrownBy(() => stringify(endless)).code).toBe("value.invalid");
});

test("dates and undefined are as in JSON", () => {
  const date = new Date(0);
  expect(stringify({ date, big: 1n, none: undefined })).toBe(
    '{"date":"1970-01-01T00:00:00.000Z","big":1}',
  );
});

function thrownBy(work: () => unknown): BigPeerError {
  try {
    work();
  } catch (error) {
    if (error instanceof BigPeerError) return error;
  }
  throw new Error("expected a BigPeerError");
}
