/**
 * Values that are decoded at their first read, and how many of them stay decoded.
 */

import { encodeCbor } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { codeOf } from "../../../../protocol/test/support/failure.ts";
import {
  DecodedValues,
  StoredValue,
  type ValueBytes,
} from "../../../src/web/storage/stored-value.ts";

function source(bytes: Uint8Array, check?: () => boolean): ValueBytes {
  return { bytes, place: 'page "a" of the database', check };
}

test("a value is decoded once while it is kept, and decoded again after it was dropped", () => {
  const bytes = encodeCbor({ text: "x".repeat(1000) });
  const decoded = new DecodedValues(10_000);
  const first = new StoredValue(source(bytes), 0, bytes.length);
  const value = decoded.read(first);
  expect(decoded.read(first)).toBe(value);
  for (let i = 0; i < 100; i++) decoded.read(new StoredValue(source(bytes), 0, bytes.length));
  expect(first.decoded).toBeUndefined();
  expect(decoded.read(first)).toEqual(value);
});

test("the decoded values of two generations are bounded, small ones too", () => {
  const bytes = encodeCbor(1);
  const decoded = new DecodedValues(3200);
  const all = Array.from({ length: 2000 }, () => new StoredValue(source(bytes), 0, bytes.length));
  for (const stored of all) decoded.read(stored);
  expect(all.filter((stored) => stored.decoded !== undefined).length).toBeLessThan(250);
});

test("the bytes are checked before the first read and once", () => {
  const bytes = encodeCbor("text");
  let checks = 0;
  const from = source(bytes, () => ++checks > 0);
  const values = [0, 1].map(() => new StoredValue(from, 0, bytes.length));
  expect(values.map((stored) => stored.decode())).toEqual(["text", "text"]);
  expect(checks).toBe(1);
  const damaged = new StoredValue(
    source(bytes, () => false),
    0,
    bytes.length,
  );
  for (let i = 0; i < 2; i++) expect(codeOf(() => damaged.decode())).toBe("store.corrupt");
});

test("bytes that are no value are store.corrupt with their place", () => {
  const broken = Uint8Array.of(0xff);
  const stored = new StoredValue(source(broken), 0, 1);
  expect(() => stored.decode()).toThrow('the page "a" of the database differs');
});
