import { documentId, ID_SIZE_MAX, type Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { cursorText, readCursor } from "../../src/changes/cursor.ts";

const HISTORY = "0123456789abcdef".repeat(2);

/** Servers refuse headers of more than 16 KiB, and `Last-Event-ID` is one of them. */
const HEADER_LENGTH = 4_096;

describe("[C4] a cursor", () => {
  const ids: [string, Value][] = [
    ["text", "o1"],
    ["a number", 7],
    ["zero bytes", "\0".repeat(500)],
    ["text beyond ASCII", "\u{1f69a} ü"],
    ["an object", { shop: [1, "a-b"], day: true }],
    ["the longest text", "x".repeat(ID_SIZE_MAX - 2)],
  ];
  test.each(ids)("within the rows names an id of %s, and fits into a header", (_, id) => {
    for (const collection of ["orders", "\u{1f69a}".repeat(128)]) {
      const at = { txnId: 7, row: { collection, idKey: documentId(id).key } };
      const text = cursorText(HISTORY, at);
      expect(readCursor(text)).toEqual({ historyId: HISTORY, at });
      expect(text.length).toBeLessThan(HEADER_LENGTH);
    }
  });

  test("may stand before the first row", () => {
    const at = { txnId: 7, row: { collection: "", idKey: "" } };
    expect(readCursor(cursorText(HISTORY, at))).toEqual({ historyId: HISTORY, at });
  });

  test.each(["", "1", HISTORY, `${HISTORY}.`, `${HISTORY}.1.r`, `${HISTORY}.1.r00-`])(
    "is not %s",
    (text) => {
      expect(() => readCursor(text)).toThrow("expected a cursor");
    },
  );
});
