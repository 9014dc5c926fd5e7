/**
 * Sent ranges: ranges of ids, each as of a transaction, against a plain map of all ids.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SentRanges } from "../../../src/sync/stream/sent-ranges.ts";

const KEYS = ["a", "b", "c", "d", "e", "f"];

test("[S15] ids that no piece has reached count as not sent", () => {
  const reported = new SentRanges();
  expect([reported.at("a"), reported.isWhole, reported.oldest]).toEqual([
    undefined,
    false,
    Infinity,
  ]);
  reported.add("c", 5);
  expect([reported.at("c"), reported.at("d"), reported.isWhole, reported.oldest]).toEqual([
    5,
    undefined,
    false,
    5,
  ]);
  reported.add(undefined, 7);
  expect([reported.at("c"), reported.at("d"), reported.isWhole, reported.oldest]).toEqual([
    5,
    7,
    true,
    5,
  ]);
});

test("[S15] each id was sent as of the last piece or catch-up that covered it", () => {
  const key = fc.constantFrom(...KEYS);
  const renewal = fc.record({
    after: fc.oneof(fc.constant(""), key),
    through: fc.oneof(fc.constant(undefined), key),
  });
  const pieces = fc.uniqueArray(key).map((keys) => keys.toSorted());
  fc.assert(
    fc.property(pieces, fc.boolean(), fc.array(renewal), (ends, isWhole, renewals) => {
      const reported = new SentRanges();
      const expected = new Map<string, number>();
      let txn = 0;
      let from = "";
      for (const through of [...ends, ...(isWhole ? [undefined] : [])]) {
        txn++;
        reported.add(through, txn);
        for (const each of KEYS) {
          if (each > from && (through === undefined || each <= through)) expected.set(each, txn);
        }
        from = through ?? "z";
      }
      for (const { after, through } of renewals) {
        txn++;
        reported.renew(after, through, txn);
        for (const each of expected.keys()) {
          if (each > after && (through === undefined || each <= through)) expected.set(each, txn);
        }
      }
      expect(KEYS.map((each) => reported.at(each))).toEqual(KEYS.map((each) => expected.get(each)));
      expect(reported.isWhole).toBe(isWhole);
    }),
  );
});
