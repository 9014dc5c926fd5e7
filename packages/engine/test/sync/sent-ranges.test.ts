/**
 * Told: ranges of ids, each as of a transaction, against a plain map of all ids.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SentRanges } from "../../src/sync/sent-ranges.ts";

const KEYS = ["a", "b", "c", "d", "e", "f"];

test("[S15] nothing was told of ids that no piece has reached", () => {
  const told = new SentRanges();
  expect([told.at("a"), told.isWhole, told.oldest]).toEqual([undefined, false, Infinity]);
  told.add("c", 5);
  expect([told.at("c"), told.at("d"), told.isWhole, told.oldest]).toEqual([5, undefined, false, 5]);
  told.add(undefined, 7);
  expect([told.at("c"), told.at("d"), told.isWhole, told.oldest]).toEqual([5, 7, true, 5]);
});

test("[S15] each id was told as of the last piece or catch-up that covered it", () => {
  const key = fc.constantFrom(...KEYS);
  const renewal = fc.record({
    after: fc.oneof(fc.constant(""), key),
    through: fc.oneof(fc.constant(undefined), key),
  });
  const pieces = fc.uniqueArray(key).map((keys) => keys.toSorted());
  fc.assert(
    fc.property(pieces, fc.boolean(), fc.array(renewal), (ends, isWhole, renewals) => {
      const told = new SentRanges();
      const expected = new Map<string, number>();
      let txn = 0;
      let from = "";
      for (const through of [...ends, ...(isWhole ? [undefined] : [])]) {
        txn++;
        told.add(through, txn);
        for (const each of KEYS) {
          if (each > from && (through === undefined || each <= through)) expected.set(each, txn);
        }
        from = through ?? "z";
      }
      for (const { after, through } of renewals) {
        txn++;
        told.renew(after, through, txn);
        for (const each of expected.keys()) {
          if (each > after && (through === undefined || each <= through)) expected.set(each, txn);
        }
      }
      expect(KEYS.map((each) => told.at(each))).toEqual(KEYS.map((each) => expected.get(each)));
      expect(told.isWhole).toBe(isWhole);
    }),
  );
});
