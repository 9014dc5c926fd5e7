/**
 * Events of a stream, and changes as they are shown.
 */
import { expect, test } from "vitest";
import { EventReader } from "../src/values/event-stream.ts";
import {
  addChanges,
  addCounts,
  changedFields,
  countsText,
  type LiveChange,
  NO_CHANGES,
  writerName,
} from "../src/values/live-change.ts";

function change(key: number, size = 10): LiveChange {
  return { key, size, type: "update", collection: "a", id: key, txnId: key, at: "", by: null };
}

test("an event keeps what JSON leaves unescaped", () => {
  const data = JSON.stringify({ text: "a\u2028b\u2029c" });
  expect(new EventReader().push(`id: a.1\ndata: ${data}\n\n`)).toEqual([{ id: "a.1", data }]);
});

test("a field with the name of something that all objects have is one that came", () => {
  expect(changedFields({}, { constructor: 1 })).toEqual([
    { path: "constructor", before: undefined, after: 1 },
  ]);
});

test("events are whole however the stream is cut", () => {
  const text = 'id: a.1\ndata: {"x":1}\n\n\nid: a.2\ndata: {"y":\ndata: 2}\n\n: note\n\n';
  const whole = [
    { id: "a.1", data: '{"x":1}' },
    { id: "a.2", data: '{"y":\n2}' },
  ];
  for (let size = 1; size <= text.length; size++) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < text.length; at += size)
      found.push(...reader.push(text.slice(at, at + size)));
    expect(found).toEqual(whole);
  }
});

test("changed fields have paths into objects, with both values", () => {
  const before = { _id: 1, a: 1, b: { c: 1, d: [1] }, old: null, same: { x: [1] } };
  const after = { _id: 1, a: 2, b: { c: 1, d: [1, 2] }, new: "", same: { x: [1] } };
  expect(changedFields(before, after)).toEqual([
    { path: "a", before: 1, after: 2 },
    { path: "b.d", before: [1], after: [1, 2] },
    { path: "new", before: undefined, after: "" },
    { path: "old", before: null, after: undefined },
  ]);
});

test("the list has the newest first and is bounded by number and size", () => {
  const few = addChanges([change(1)], [change(2), change(3)]);
  expect(few.map(({ key }) => key)).toEqual([3, 2, 1]);
  const many = addChanges(
    [],
    Array.from({ length: 700 }, (_, key) => change(key)),
  );
  expect([many.length, many[0]?.key]).toEqual([500, 699]);
  const large = addChanges([], [change(1), change(2, 15_000_000), change(3, 15_000_000)]);
  expect(large.map(({ key }) => key)).toEqual([3]);
  expect(addChanges([], [change(1, 99_000_000)])).toHaveLength(1);
});

test("a summary counts each kind", () => {
  const counts = addCounts(NO_CHANGES, [change(1), change(2), { ...change(3), type: "insert" }]);
  expect(countsText(counts)).toBe("3 changes: 1 insert, 2 updates");
  expect(countsText(NO_CHANGES)).toBe("no changes");
});

test.each([
  [{ credential: "till" }, "till"],
  [{ provider: "staff", user: "ada" }, "ada of staff"],
  [{ peer: "pk:0123456789abcdef" }, "pk:012345678…"],
  [null, "—"],
])("the writer %j is %s", (by, name) => {
  expect(writerName(by)).toBe(name);
});
