/**
 * PeerError: code, place and cause.
 */

import { expect, test } from "vitest";
import { ERROR_CODES, PeerError } from "../src/error.ts";

test("an error has its code, its place in the message, and its cause", () => {
  const cause = new Error("disk");
  const error = new PeerError("store.full", "expected room", { at: "line 1", cause });
  expect(error).toBeInstanceOf(Error);
  expect([error.name, error.code, error.message, error.at]).toEqual([
    "PeerError",
    "store.full",
    "expected room at line 1",
    "line 1",
  ]);
  expect(error.cause).toBe(cause);
});

test("an error without place and cause has neither", () => {
  const error = new PeerError("store.busy", "try again");
  expect([error.message, error.at]).toEqual(["try again", undefined]);
  expect("cause" in error).toBe(false);
});

test("codes are readable names, and unique", () => {
  expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length);
  for (const code of ERROR_CODES) expect(code).toMatch(/^[a-z]+\.[a-z_]+$/);
});
