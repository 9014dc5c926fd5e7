import { expect, test } from "vitest";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { keyValueContract } from "../contract/key-value-contract.ts";

keyValueContract("memory", () => {
  const disk = new MemoryDisk();
  let crashes = 0;
  return {
    open: () => new MemoryKeyValue(disk),
    remove: () => undefined,
    crash: () => disk.crash({ relaxedLost: crashes++ % 4 }),
  };
});

test("a storage without its own disk shares nothing with another", async () => {
  const first = new MemoryKeyValue();
  await first.commit(new Map([["a", 1]]));
  expect(new MemoryKeyValue().snapshot().has("a")).toBe(false);
});

test("a value is returned as the same object that was put", async () => {
  const storage = new MemoryKeyValue();
  const value = { list: [new Uint8Array([1])] };
  await storage.commit(new Map([["a", value]]));
  expect(storage.snapshot().get("a")).toBe(value);
});

test("two commits at a time are refused", async () => {
  const storage = new MemoryKeyValue();
  const first = storage.commit(new Map([["a", 1]]));
  await expect(storage.commit(new Map([["b", 1]]))).rejects.toThrow("one commit at a time");
  await first;
  await storage.commit(new Map([["b", 1]]));
  expect(storage.snapshot().get("b")).toBe(1);
});
