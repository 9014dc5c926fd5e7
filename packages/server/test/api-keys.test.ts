/**
 * API keys: what they look like, what is kept of them, and which texts open something.
 */

import { MemoryKeyValue, Store } from "@bigpeer/engine";
import { expect, test } from "vitest";
import { ApiKeys, FULL_PERMISSIONS, isEverything } from "../src/api-keys.ts";
import { nodePlatform } from "../src/node-platform.ts";

const KEY = { appId: "6bb92a35-e1bf-41a2-afc7-2067df0c701d", permissions: FULL_PERMISSIONS };

async function openKeys(): Promise<{ keys: ApiKeys; store: Store }> {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  return { keys: new ApiKeys(store, nodePlatform), store };
}

/** The text with its character at `index` replaced by another one. */
function change(text: string, index: number): string {
  return text.slice(0, index) + (text[index] === "a" ? "b" : "a") + text.slice(index + 1);
}

test("[H15] a key says that it is one, how it is found, and 256 bits that nobody guesses", async () => {
  const { keys } = await openKeys();
  const texts = Array.from({ length: 50 }, () => keys.draw());
  for (const text of texts) expect(text).toMatch(/^bp_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/);
  expect(new Set(texts.map((text) => text.slice(-43))).size).toBe(50);
});

test("a text that was drawn opens nothing before it is added", async () => {
  const { keys } = await openKeys();
  const text = keys.draw();
  expect(keys.find(text)).toBeUndefined();
  expect(keys.count()).toBe(0);
  await keys.add(text, KEY);
  expect(keys.find(text)).toEqual({ id: text.slice(3, 11), ...KEY });
  expect(keys.count()).toBe(1);
});

test("[H2] a text that differs anywhere opens nothing", async () => {
  const { keys } = await openKeys();
  const text = keys.draw();
  await keys.add(text, KEY);
  for (let i = 0; i < text.length; i++)
    expect(keys.find(change(text, i)), `at ${i}`).toBeUndefined();
  for (const other of [
    "",
    text.slice(0, -1),
    `${text}a`,
    ` ${text}`,
    `${text}\n`,
    text.slice(0, 11),
  ]) {
    expect(keys.find(other)).toBeUndefined();
  }
});

test("[H15] only the SHA-256 of a key is kept", async () => {
  const { keys, store } = await openKeys();
  const text = keys.draw();
  await keys.add(text, KEY);
  const found = store.read((snapshot) => snapshot.get("api_keys", text.slice(3, 11)));
  expect(found?.fields).toEqual({
    ...KEY,
    hash: nodePlatform.sha256(new Uint8Array(Buffer.from(text))),
    createdAt: expect.any(Number),
  });
});

test("a key whose id is taken is neither drawn nor added", async () => {
  const { keys, store } = await openKeys();
  const draws = [1, 2, 1, 3, 4, 5].values();
  const random = (size: number): Uint8Array => new Uint8Array(size).fill(draws.next().value ?? 0);
  const scripted = new ApiKeys(store, { ...nodePlatform, random });
  const first = scripted.draw();
  expect(first.slice(3, 11)).toBe("01010101");
  await scripted.add(first, KEY);
  expect(scripted.draw().slice(3, 11)).toBe("04040404");
  await expect(keys.add(first, KEY)).rejects.toMatchObject({ code: "operation.refused" });
  await expect(keys.add("bp_1", KEY)).rejects.toMatchObject({ code: "value.invalid" });
});

test("only everything, to read and to write, is everything", () => {
  const everything = { everything: true };
  expect(isEverything(FULL_PERMISSIONS)).toBe(true);
  expect(isEverything({ read: everything, write: everything, remoteQuery: false })).toBe(true);
  for (const permissions of [
    {},
    { read: everything },
    { write: everything },
    { read: everything, write: { everything: false } },
    { read: everything, write: { queriesByCollection: { cars: ["true"] } } },
    { read: true, write: true },
  ]) {
    expect(isEverything(permissions)).toBe(false);
  }
});
