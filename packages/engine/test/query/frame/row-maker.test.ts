import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RowMaker } from "../../../src/query/frame/row-maker.ts";
import { anyKey, anyValue, findDifference, objectOf } from "../../contract/any-value.ts";

/** More often than it takes until a shape is compiled. */
const OFTEN = 120;

function expectRow(maker: RowMaker, id: Value, fields: readonly [string, Value][]): void {
  const row = maker.make(id, objectOf(fields));
  expect(findDifference(row, objectOf([["_id", id], ...fields]))).toBeUndefined();
}

test("a row is the id and then the fields in their order, however often their shape is met", () => {
  const maker = new RowMaker();
  const field = fc.tuple(anyKey(), anyValue());
  const fields = fc.uniqueArray(field, { maxLength: 6, selector: ([name]) => name });
  fc.assert(
    fc.property(anyValue(), fields, (id, generated) => {
      // An object has names that are numbers first, wherever they were set.
      const inOrder = Object.entries(objectOf(generated));
      for (let i = 0; i < OFTEN; i++) expectRow(maker, id, inOrder);
    }),
    { numRuns: 40 },
  );
});

test("many shapes in turn, shapes that begin alike, and names that look like code are kept apart", () => {
  const maker = new RowMaker();
  const names = ["a", "b", 'c":1}//', "${d}", "constructor", "e\u2028", "\\", "'", "_id"];
  for (let i = 0; i < OFTEN * 20; i++) {
    const count = i % (names.length + 1);
    const chosen = i % 3 === 0 ? names.slice(0, count) : names.slice(names.length - count);
    const fields = chosen.map((name, j): [string, Value] => [name, name === "_id" ? i : [i, j]]);
    expectRow(maker, i, fields);
  }
});

test("a document with more fields than records have is a row as well", () => {
  const maker = new RowMaker();
  for (let i = 0; i < OFTEN; i++) {
    expectRow(
      maker,
      i,
      Array.from({ length: 100 }, (_, j): [string, Value] => [`field ${j}`, i + j]),
    );
  }
});
