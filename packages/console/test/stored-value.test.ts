/**
 * Choices that a browser remembers, when two tabs write them.
 */
import { expect, test } from "vitest";
import { StoredValue, type TextStorage } from "../src/values/stored-value.ts";

function isList(value: unknown): boolean {
  return Array.isArray(value);
}

function newStorage(): TextStorage {
  const texts = new Map<string, string>();
  return {
    getItem: (key) => texts.get(key) ?? null,
    setItem: (key, text) => void texts.set(key, text),
  };
}

function openTab(storage: TextStorage): StoredValue<readonly number[]> {
  return new StoredValue({ key: "list", initial: [0], isValid: isList, storage: () => storage });
}

function add(tab: StoredValue<readonly number[]>, item: number): void {
  tab.refresh();
  tab.set([item, ...tab.value]);
}

test("a list has what all tabs have added", () => {
  const storage = newStorage();
  const [one, other] = [openTab(storage), openTab(storage)];
  add(one, 1);
  add(other, 2);
  expect(other.value).toEqual([2, 1, 0]);
  expect(one.value).toEqual([1, 0]);
  expect(one.refresh()).toBe(true);
  expect(one.value).toEqual([2, 1, 0]);
  expect(one.refresh()).toBe(false);
  add(one, 3);
  expect(openTab(storage).value).toEqual([3, 2, 1, 0]);
});

test("what another version has stored is not taken", () => {
  const storage = newStorage();
  for (const text of ["{}", "not JSON"]) {
    storage.setItem("list", text);
    expect(openTab(storage).value).toEqual([0]);
  }
});

test("where nothing can be stored, a list lasts as long as the page", () => {
  const full = (): void => {
    throw new Error("full");
  };
  const tab = openTab({ ...newStorage(), setItem: full });
  add(tab, 1);
  add(tab, 2);
  expect(tab.value).toEqual([2, 1, 0]);
});
