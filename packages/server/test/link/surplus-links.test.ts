/**
 * Of several links between two stores one stays, and both sides choose the same.
 */

import { assert, pre, property, string } from "fast-check";
import { expect, test } from "vitest";
import { type RivalLink, surplusLinks } from "../../src/link/surplus-links.ts";

const link = (side: RivalLink["side"], partner: string, linkedMs: number): RivalLink => {
  return { side, partner, linkedMs };
};

test("[S84] of two links the one dialled by the store with the smaller history stays", () => {
  const dialled = link("dial", "m", 2);
  const accepted = link("accept", "m", 1);
  expect(surplusLinks("a", [accepted, dialled], 3)).toEqual([accepted]);
  expect(surplusLinks("z", [accepted, dialled], 3)).toEqual([dialled]);
});

test("[S84] both sides end the same link, in every case", () => {
  assert(
    property(string({ minLength: 1 }), string({ minLength: 1 }), (one, other) => {
      pre(one !== other);
      const ofOne = [link("dial", other, 0), link("accept", other, 0)];
      const ofOther = [link("accept", one, 0), link("dial", one, 0)];
      const [endedByOne] = surplusLinks(one, ofOne, 0);
      const [endedByOther] = surplusLinks(other, ofOther, 0);
      // The first of each pair is the connection that `one` has dialled.
      expect(ofOne.findIndex((each) => each === endedByOne)).toBe(
        ofOther.findIndex((each) => each === endedByOther),
      );
    }),
  );
});

test("links to different partners do not affect each other", () => {
  const links = [link("dial", "m", 0), link("dial", "n", 0), link("accept", "o", 0)];
  expect(surplusLinks("a", links, 10_000)).toEqual([]);
});

test("a store that dialled another at two addresses ends the later link", () => {
  const first = link("dial", "m", 1);
  const second = link("dial", "m", 2);
  expect(surplusLinks("a", [second, first], 2)).toEqual([second]);
  expect(surplusLinks("z", [second, first], 2)).toEqual([second]);
});

test("a store that was dialled twice ends the earlier link when the later has lasted for a while", () => {
  const first = link("accept", "m", 1);
  const second = link("accept", "m", 2);
  for (const own of ["a", "z"]) {
    expect(surplusLinks(own, [second, first], 5_001)).toEqual([]);
    expect(surplusLinks(own, [second, first], 5_002)).toEqual([first]);
  }
});
