/**
 * Assertions: our own mistakes are plain errors, not PeerErrors.
 */

import { expect, test } from "vitest";
import { assert, unreachable } from "../src/assert.ts";
import { PeerError } from "../src/error.ts";

test("an assertion that holds does nothing, and one that fails says what was expected", () => {
  expect(() => assert(true, "x")).not.toThrow();
  expect(() => assert(false, "a sorted list")).toThrow("assertion failed: a sorted list");
});

test("a case that the compiler excludes fails as an assertion, not as a PeerError", () => {
  const impossible = { kind: "no such" } as never;
  expect(() => unreachable(impossible)).toThrow('assertion failed: unexpected {"kind":"no such"}');
  expect(() => unreachable(impossible)).not.toThrow(PeerError);
});
