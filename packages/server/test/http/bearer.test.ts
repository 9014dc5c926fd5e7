/**
 * The credential in the header Authorization.
 */

import { expect, test } from "vitest";
import { bearerOf } from "../../src/http/bearer.ts";

test.each([
  ["Bearer abc", "abc"],
  ["bearer  abc ", "abc"],
  ["BEARER a.b_c-d", "a.b_c-d"],
])("[A1] %j has a bearer token", (header, expected) => {
  expect(bearerOf(header)).toBe(expected);
});

test.each([undefined, "", "Bearer", "Bearer ", "abc", "Basic abc", "Bearer a b", "Bearerabc"])(
  "[A1] %j has no bearer token",
  (header) => {
    expect(bearerOf(header)).toBeUndefined();
  },
);
