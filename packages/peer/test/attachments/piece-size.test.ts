/**
 * The size of a request follows the rate, is small after a cut, and has bounds.
 */

import { expect, test } from "vitest";
import { PieceSize } from "../../src/attachments/piece-size.ts";

const KIB = 1024;

/** Requests at a rate in bytes a millisecond. */
function send(size: PieceSize, rate: number, count: number): void {
  for (let i = 0; i < count; i++) size.done(size.bytes, size.bytes / rate);
}

test("requests get longer while all goes well, up to a bound", () => {
  const size = new PieceSize(8192 * KIB);
  expect(size.bytes).toBe(128 * KIB);
  send(size, 10_000, 3);
  expect(size.bytes).toBe(250_000);
  send(size, 5000, 100);
  expect(size.bytes).toBe(8_000_000);
  send(size, 100_000, 10);
  expect(size.bytes).toBe(8192 * KIB);
});

test("after a cut a request has what a fortieth of a second brings", () => {
  const size = new PieceSize(8192 * KIB);
  send(size, 10_000, 110);
  size.failed();
  send(size, 10_000, 2);
  expect(size.bytes).toBe(250_000);
});

test("on a slow connection requests have the smallest size", () => {
  const size = new PieceSize(8192 * KIB);
  send(size, 10, 40);
  size.failed();
  expect(size.bytes).toBe(128 * KIB);
});
