import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  anyKey,
  anyValue,
  findDifference,
  findPartDifference,
  objectOf,
  oddValues,
} from "../../../engine/test/contract/any-value.ts";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { ShapeTable } from "../../src/lmdb/shape-table.ts";
import { ValueEncoder } from "../../src/lmdb/stored-value.ts";
import { FieldSet, ValueDecoder } from "../../src/lmdb/value-decoder.ts";

/** Encodes into memory that is lent, with other bytes behind the value, as lmdb does. */
class Lender {
  readonly table: ShapeTable = new ShapeTable();
  readonly decoder: ValueDecoder = new ValueDecoder(() => this.table.shapes);
  readonly #encoder: ValueEncoder = new ValueEncoder(this.table);
  #lent: Uint8Array = new Uint8Array(64);

  lend(value: Value, owner = ""): { bytes: Uint8Array; size: number } {
    this.#encoder.release();
    const { chunk, start, size } = this.#encoder.encode(value, owner);
    if (size + 8 > this.#lent.length) this.#lent = new Uint8Array(2 * size + 8);
    this.#lent.set(chunk.subarray(start, start + size));
    this.#lent.fill(0x91, size);
    return { bytes: this.#lent, size };
  }

  whole(value: Value, owner?: string): Value {
    const { bytes, size } = this.lend(value, owner);
    return this.decoder.decode(bytes, size);
  }

  part(value: Value, fields: FieldSet, owner?: string): Value {
    const { bytes, size } = this.lend(value, owner);
    return this.decoder.decodePart(bytes, size, fields);
  }
}

test("values and parts of them are decoded exactly, as maps and as records, also by compiled plans", () => {
  const lender = new Lender();
  const fields = fc.uniqueArray(anyKey(), { maxLength: 4 });
  fc.assert(
    fc.property(anyValue(), fields, (value, names) => {
      const wanted = new FieldSet(names);
      for (const [i, whole] of [value, [value, value], { a: value, b: 1 }].entries()) {
        for (let owner = 0; owner < 8; owner++) {
          const name = `${i} ${owner}`;
          expect(findDifference(lender.whole(whole, name), whole)).toBeUndefined();
          const part = lender.part(whole, wanted, name);
          expect(findPartDifference(part, whole, names)).toBeUndefined();
        }
      }
    }),
    { numRuns: sized(25, 100) },
  );
  expect(lender.table.shapes.length).toBeGreaterThan(sized(5, 20));
});

test("unusual values are decoded exactly, and skipped to the fields after them", () => {
  const lender = new Lender();
  lender.table.load([["first", "odd", "last"]]);
  const wanted = new FieldSet(["last"]);
  for (const odd of oddValues()) {
    expect(findDifference(lender.whole(odd), odd)).toBeUndefined();
    const record = { first: 1, odd, last: -0 };
    expect(findDifference(lender.part(record, wanted), { last: -0 })).toBeUndefined();
    const map = { odd, last: "end", more: 1 };
    expect(findDifference(lender.part(map, wanted), { last: "end" })).toBeUndefined();
    const two = [record, { last: "marks" }];
    expect(findDifference(lender.part(two, wanted), [{ last: -0 }, { last: "marks" }])).toBe(
      undefined,
    );
  }
});

test("a partial read returns only its wanted fields, however often the record is read", () => {
  const lender = new Lender();
  lender.table.load([["make", "", 'a"]);//', "constructor", "year"]]);
  const wanted = new FieldSet(["year", 'a"]);//', "constructor", "absent"]);
  for (let i = 0; i < 500; i++) {
    const value = objectOf([
      ["make", `make ${i}`],
      ["", [i, { i }]],
      ['a"]);//', `text ${i % 3}`],
      ["constructor", i],
      ["year", 1900 + i],
    ]);
    expect(lender.part(value, wanted)).toEqual({
      'a"]);//': `text ${i % 3}`,
      constructor: i,
      year: 1900 + i,
    });
    expect(findDifference(lender.whole(value), value)).toBeUndefined();
  }
});

test("similar texts are not confused", () => {
  const lender = new Lender();
  const texts = Array.from({ length: sized(5_000, 20_000) }, (_, i) =>
    `t${(i * 7919) % 9973} é`.slice(0, i % 9),
  );
  const names = Array.from({ length: sized(5_000, 20_000) }, (_, i) =>
    String.fromCharCode(i % 128, i >> 7),
  );
  for (const text of [...texts, ...names]) expect(lender.whole(text)).toBe(text);
});

test("looking up shapes may change the memory that holds the bytes", () => {
  const lender = new Lender();
  const { table } = lender;
  table.load([["a", "b", "c"], ["x"], ["y"]]);
  const value = { a: { x: "some text" }, b: { y: [1, 2] }, c: "last" };
  for (const known of [1, 2, 3]) {
    for (const names of [["a"], ["b"], ["c"]]) {
      const { bytes, size } = lender.lend(value);
      let count = known;
      const decoder = new ValueDecoder(() => {
        bytes.fill(0);
        return table.shapes.slice(0, count++);
      });
      const part = decoder.decodePart(bytes, size, new FieldSet(names));
      expect(findPartDifference(part, value, names)).toBeUndefined();
    }
  }
  const { bytes, size } = lender.lend(value);
  const decoder = new ValueDecoder(() => {
    bytes.fill(0);
    return table.shapes;
  });
  expect(decoder.decode(bytes, size)).toEqual(value);
});

test("damaged bytes give an error, not a value and not a long walk", () => {
  const lender = new Lender();
  lender.table.load([["a", "b", "c"]]);
  const { bytes, size } = lender.lend({ a: "some text", b: [1, "two", { x: 2 ** 40 }], c: 3 });
  const whole = bytes.slice(0, size);
  const wanted = new FieldSet(["c"]);
  for (let length = 1; length < size; length++) {
    expect(() => lender.decoder.decode(whole, length)).toThrow(Error);
    expect(() => lender.decoder.decodePart(whole, length, wanted)).toThrow(Error);
  }
  for (const hex of [
    "7f05",
    "c1",
    "40ddffffffff01",
    "40dbffffffff",
    "40c900000001ff01",
    "c70143",
  ]) {
    const damaged = Buffer.from(hex, "hex");
    expect(() => lender.decoder.decode(damaged, damaged.length)).toThrow(Error);
    expect(() => lender.decoder.decodePart(damaged, damaged.length, wanted)).toThrow(Error);
  }
  expect(lender.decoder.decode(whole, size)).toEqual({
    a: "some text",
    b: [1, "two", { x: 2 ** 40 }],
    c: 3,
  });
});

test("a text is not read as the one whose characters are its bytes, which has the same place in the table", () => {
  const text = "ɶƗê";
  const alike = Buffer.from(text).toString("latin1");
  const lender = new Lender();
  for (let i = 0; i < 3; i++) expect(lender.whole(alike)).toBe(alike);
  expect(lender.whole(text)).toBe(text);
});
