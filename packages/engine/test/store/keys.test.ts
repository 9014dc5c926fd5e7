import { compareText, documentId } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  attachmentKey,
  attachmentOfKey,
  attachmentRange,
  changedKey,
  changedRange,
  collectionKey,
  collectionOfKey,
  documentKey,
  documentRange,
  entryKey,
  entryPrefix,
  orphanKey,
  orphanRange,
  prefixRange,
  readChangedKey,
  readEntryKey,
  readOrphanKey,
  readReferenceKey,
  readTombstoneKey,
  referenceKey,
  referenceRange,
  tombstoneKey,
  tombstoneRange,
  transactionKey,
  transactionRange,
  txnIdOfKey,
} from "../../src/store/keys.ts";

const txnIds = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 2 });
const collections = fc.integer({ min: 0, max: 0xffffffff });
const ids = fc.oneof(fc.string({ unit: "binary" }), fc.integer()).map((id) => documentId(id).key);

test("[K2] keys of transactions sort like their numbers", () => {
  fc.assert(
    fc.property(txnIds, txnIds, (a, b) => {
      expect(transactionKey(a) < transactionKey(b)).toBe(a < b);
      expect(txnIdOfKey(transactionKey(a))).toBe(a);
    }),
  );
});

test("[K2] documents of one collection are adjacent, in the order of their ids", () => {
  fc.assert(
    fc.property(collections, collections, ids, ids, (c, other, a, b) => {
      const range = documentRange(c);
      const key = documentKey(c, a);
      expect(key >= range.from && key < range.to).toBe(true);
      expect(collectionOfKey(key)).toBe(c);
      expect(key < documentKey(c, b)).toBe(a < b);
      const foreign = documentKey(other, a);
      expect(foreign >= range.from && foreign < range.to).toBe(other === c);
    }),
  );
});

test("[K2] keys of the change index and of tombstones decode to their parts", () => {
  fc.assert(
    fc.property(collections, txnIds, ids, (collection, number, idKey) => {
      const changed = changedKey(collection, number, idKey);
      expect(readChangedKey(changed)).toEqual({ txnId: number, idKey });
      const range = changedRange(collection, number);
      expect(changed < range.from).toBe(true);
      const tombstone = tombstoneKey(number, collection, idKey);
      expect(readTombstoneKey(tombstone)).toEqual({ time: number, collection, idKey });
      expect(tombstone < tombstoneRange(number).to).toBe(true);
      expect(tombstone < tombstoneRange(number - 1).to).toBe(
        number === 0 && tombstone < tombstoneRange(-1).to,
      );
    }),
  );
});

test("[K2] entries of one index are adjacent and decode to their parts", () => {
  fc.assert(
    fc.property(collections, collections, fc.string({ unit: "binary-ascii" }), ids, (...parts) => {
      const [index, other, position, idKey] = parts;
      const key = entryKey(index, position, idKey);
      expect(readEntryKey(key)).toEqual({ index, position, idKey });
      const range = prefixRange(entryPrefix(other));
      expect(key >= range.from && key < range.to).toBe(index === other);
    }),
  );
});

/** Zeros often: they are what text in a key has to escape. */
const contents = fc
  .array(fc.constantFrom("a", "b", "\0", "\u{1f4ce}", "\xff"))
  .map((parts) => parts.join(""));

test("[K2] [K3] references to one content are adjacent and decode to their parts", () => {
  // A collection gets its number by counting up, so the largest ones are never given.
  const given = fc.integer({ min: 0, max: 0xfeffffff });
  fc.assert(
    fc.property(contents, contents, given, ids, (attachment, other, collection, idKey) => {
      const key = referenceKey(attachment, collection, idKey);
      expect(readReferenceKey(key)).toEqual({ attachment, collection, idKey });
      const range = referenceRange(other);
      expect(key >= range.from && key < range.to).toBe(attachment === other);
    }),
  );
});

test("[K2] attachments are in the order of their ids, orphans in the order of their times", () => {
  fc.assert(
    fc.property(contents, contents, txnIds, txnIds, (a, b, time, later) => {
      expect(attachmentOfKey(attachmentKey(a))).toBe(a);
      const behind = attachmentRange(a);
      const key = attachmentKey(b);
      expect(key >= behind.from && key < behind.to).toBe(compareText(b, a) > 0);
      expect(key >= attachmentRange().from && key < attachmentRange().to).toBe(true);
      const orphan = orphanKey(time, a);
      expect(readOrphanKey(orphan)).toEqual({ time, attachment: a });
      expect(orphan < orphanRange(later).to).toBe(time <= later);
    }),
  );
});

test("[K3] a name that is a prefix of another has its own range", () => {
  expect(collectionKey("car")).not.toBe(
    collectionKey("cars").slice(0, collectionKey("car").length),
  );
  expect(collectionKey("a\u0000b").startsWith(collectionKey("a"))).toBe(true);
  expect(collectionKey("a\u0000b")).not.toBe(collectionKey("a"));
});

test("[K2] a range of a prefix ends right after it, also when it ends in ff", () => {
  expect(prefixRange("ab")).toEqual({ from: "ab", to: "ac" });
  expect(prefixRange("a\xff\xff")).toEqual({ from: "a\xff\xff", to: "b" });
  const range = transactionRange(4, 6);
  const inside = [3, 4, 5, 6, 7].filter((txnId) => {
    const key = transactionKey(txnId);
    return key >= range.from && key < range.to;
  });
  expect(inside).toEqual([5, 6]);
});
