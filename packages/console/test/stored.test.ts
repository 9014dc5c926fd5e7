/**
 * Choices that a browser remembers, when two tabs write them.
 */
import { afterEach, expect, test, vi } from "vitest";
import { stored, update } from "../src/kit/stored.ts";

afterEach(() => vi.unstubAllGlobals());

function isList(value: unknown): boolean {
  return Array.isArray(value);
}

/** `send` tells the tabs of a change, as a browser does some time after it. */
function storage(isFull = false): { readonly send: (key: string) => void } {
  const texts = new Map<string, string>();
  const listeners: ((event: { readonly key: string }) => void)[] = [];
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => {
      if (isFull) throw new Error("full");
      texts.set(key, text);
    },
  });
  vi.stubGlobal("addEventListener", (_: string, listener: (event: { key: string }) => void) => {
    listeners.push(listener);
  });
  return { send: (key) => listeners.forEach((listener) => listener({ key })) };
}

test("a list has what all tabs have added", () => {
  const { send } = storage();
  const [one, other] = [stored("list", [0], isList), stored("list", [0], isList)];
  update(one, (list) => [1, ...list]);
  update(other, (list) => [2, ...list]);
  expect(other.value).toEqual([2, 1, 0]);
  expect(one.value).toEqual([1, 0]);
  send("bigpeer.console.list");
  expect(one.value).toEqual([2, 1, 0]);
  update(one, (list) => [3, ...list]);
  expect(stored("list", [], isList).value).toEqual([3, 2, 1, 0]);
});

test("where nothing can be stored, a list lasts as long as the page", () => {
  storage(true);
  const list = stored("list", [0], isList);
  update(list, (all) => [1, ...all]);
  update(list, (all) => [2, ...all]);
  expect(list.value).toEqual([2, 1, 0]);
});
