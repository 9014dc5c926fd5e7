/**
 * The page of the tests of the storage in real browsers: runs the contract suite, and reads, writes
 * and breaks a store as the tests ask for from outside.
 */

import type { Value } from "@bigpeer/protocol";
import { keyValueContract } from "../../../engine/test/contract/key-value-contract.ts";
import { deleteAll, type IndexedDb, openIndexedKeyValue } from "../../src/web/storage/index.ts";
import type { IndexedKeyValue } from "../../src/web/storage/indexed-key-value.ts";
import { runTests } from "./vitest-in-page.ts";

interface PageGlobals extends IndexedDb {
  readonly location: { reload(): void };
  readonly IDBDatabase: { prototype: Record<string, unknown> };
  readonly IDBObjectStore: { prototype: Record<string, unknown> };
}

const page = globalThis as unknown as PageGlobals;

/** Small, so that every test has checkpoints. */
const CHECKPOINT = { size: 100_000, count: 20 };

const ends: string[] = [];

async function open(name: string): Promise<IndexedKeyValue> {
  const opened = await openIndexedKeyValue({
    name,
    db: page,
    id: crypto.randomUUID(),
    checkpoint: CHECKPOINT,
    onEnd: (end) => ends.push(end),
  });
  if (opened.kind !== "opened")
    throw new Error("IndexedDB is unavailable", { cause: opened.cause });
  return opened.storage;
}

let places = 0;
keyValueContract("in the browser", () => {
  const name = `contract ${places++}`;
  return { open: () => open(name), remove: () => void deleteAll(page, name) };
});

let storage: IndexedKeyValue | undefined;

async function use(name: string): Promise<IndexedKeyValue> {
  storage ??= await open(name);
  return storage;
}

async function put(name: string, entries: Record<string, Value | null>): Promise<string> {
  try {
    await (await use(name)).commit(new Map(Object.entries(entries)));
    return "committed";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

async function read(name: string): Promise<Record<string, Value>> {
  const snapshot = (await use(name)).snapshot();
  const entries = [...snapshot.entries({ from: "\0", to: "\xff" })];
  snapshot.close();
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}

async function keyCount(name: string): Promise<number> {
  const snapshot = (await use(name)).snapshot();
  const count = [...snapshot.keys({ from: "\0", to: "\xff" })].length;
  snapshot.close();
  return count;
}

/** Commits random bytes under numbered keys until one commit is refused: its number and its code. */
async function fill(name: string, size: number): Promise<{ count: number; code: string }> {
  for (let count = 0; ; count++) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 65_536)
      crypto.getRandomValues(bytes.subarray(at, at + 65_536));
    const code = await put(name, { [`key ${count}`]: bytes });
    if (code !== "committed") return { count, code };
  }
}

/** The code of the error with which a store is opened, or "opened". */
async function openCode(name: string): Promise<string> {
  try {
    await (await open(name)).close();
    return "opened";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

async function close(): Promise<void> {
  await storage?.close();
  storage = undefined;
}

/** Commits of counted numbers until the page ends. Each changes many keys, so pages are large. */
async function countUp(name: string): Promise<void> {
  const store = await use(name);
  const snapshot = store.snapshot();
  let number = (snapshot.get("counter") as number | undefined) ?? 0;
  snapshot.close();
  for (;;) {
    number++;
    await store.commit(countedWrites(number));
    Object.assign(globalThis, { countedTo: number });
  }
}

const COUNTED_KEYS = 40;

function countedWrites(number: number): Map<string, Value> {
  const writes = new Map<string, Value>([["counter", number]]);
  for (let i = 0; i < COUNTED_KEYS; i++) writes.set(`key ${i}`, [number, "x".repeat(5000)]);
  return writes;
}

/** The number that all keys of a counted store have, or what is wrong. */
async function counted(name: string): Promise<number | string> {
  const all = await read(name);
  const number = (all["counter"] as number | undefined) ?? 0;
  const numbers = Object.entries(all).filter(([key]) => key !== "counter");
  if (number > 0 && numbers.length !== COUNTED_KEYS) return `${numbers.length} keys`;
  const other = numbers.find(([, value]) => (value as [number, string])[0] !== number);
  return other === undefined ? number : `${other[0]} is not of commit ${number}`;
}

/** Reloads the page when it writes to an object store for the given time. */
function reloadAt(store: string, time: number): void {
  let times = 0;
  for (const method of ["add", "put"]) {
    const original = page.IDBObjectStore.prototype[method] as (...words: unknown[]) => unknown;
    page.IDBObjectStore.prototype[method] = function (this: { name: string }, ...words: unknown[]) {
      if (this.name === store && ++times === time) page.location.reload();
      return original.apply(this, words);
    };
  }
}

interface Aborted {
  abort(): void;
}

/** The next transactions fail: one is aborted, or throws an error of that name. */
function failNext(fault: string, times: number): void {
  let left = times;
  const original = page.IDBDatabase.prototype["transaction"] as (...words: unknown[]) => object;
  page.IDBDatabase.prototype["transaction"] = function (this: object, ...words: unknown[]) {
    const transaction = original.apply(this, words);
    if (words[1] !== "readwrite" || left-- <= 0) return transaction;
    if (fault !== "abort") throw new DOMException("injected", fault);
    return Object.assign(transaction, { commit: () => (transaction as Aborted).abort() });
  };
}

/** Changes the record with the format of a closed store. */
async function setFormat(name: string, format: number): Promise<void> {
  const request = page.indexedDB.open(name, 1);
  await new Promise<void>((resolve) => {
    request.addEventListener("success", () => {
      const transaction = request.result.transaction(["meta"], "readwrite");
      const meta = transaction.objectStore("meta");
      const stored = meta.get("store");
      stored.addEventListener("success", () => {
        meta.put({ ...(stored.result as object), format }, "store");
      });
      transaction.addEventListener("complete", () => resolve());
    });
  });
  request.result.close();
}

Object.assign(globalThis, {
  storagePage: {
    runTests,
    put,
    read,
    keyCount,
    fill,
    close,
    countUp,
    counted,
    reloadAt,
    failNext,
    setFormat,
    openCode,
    ends,
    deleteAll: (name: string) => deleteAll(page, name),
  },
});
