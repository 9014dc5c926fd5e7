import { expect, test } from "vitest";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Overlay } from "../../src/store/overlay.ts";
import { PARTED_AT, WriteSet } from "../../src/store/write-set.ts";

function keyOf(i: number): string {
  return `d\x01key ${i}`;
}

test("a large set is split into parts, so that only some keys are copied when it grows", () => {
  const count = 300_000;
  const set = new WriteSet();
  for (let i = 0; i < count; i++) set.put(keyOf(i), i);
  expect(set.size).toBe(count);
  expect(set.partSize).toBeLessThan(PARTED_AT / 2);
});

test("a set returns the last write, before and after it is split", () => {
  const set = new WriteSet();
  const model = new Map<string, number | undefined>();
  for (let i = 0; i < 3 * PARTED_AT; i++) {
    const key = keyOf((i * 7_919) % (2 * PARTED_AT));
    const value = i % 5 === 0 ? undefined : i;
    if (set.put(key, value) === model.has(key)) expect.fail(`expected ${key} to be new once`);
    model.set(key, value);
  }
  expect(set.size).toBe(model.size);
  expect(new Map(set)).toEqual(model);
  const seen = new Map<string, unknown>();
  set.forEach((value, key) => seen.set(key, value));
  expect(seen).toEqual(model);
  expect(new Set(set.keys())).toEqual(new Set(model.keys()));
  expect(Array.from(set.values()).length).toBe(model.size);
  expect(Array.from(model.keys(), (key) => set.get(key))).toEqual([...model.values()]);
  expect(set.has(keyOf(0))).toBe(true);
  expect(set.has("none")).toBe(false);
});

test("the keys of an overlay are in order, also when it is split", () => {
  const snapshot = new MemoryKeyValue().snapshot();
  const overlay = new Overlay(snapshot);
  for (let i = 0; i < PARTED_AT + 10; i++) overlay.put(keyOf(i), i);
  const keys = Array.from(overlay.keys({ from: "d", to: "e" }));
  expect(keys.length).toBe(PARTED_AT + 10);
  expect(keys).toEqual(keys.toSorted());
  snapshot.close();
});
