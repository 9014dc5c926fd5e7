/**
 * The storage of a browser on a simulated IndexedDB: the contract of every KeyValue, crashes at any
 * moment, and the faults of browsers.
 */

import type { KeyValue } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { keyValueContract } from "../../../../engine/test/contract/key-value-contract.ts";
import { histories, isFullSize, sized } from "../../../../protocol/test/support/test-size.ts";
import { deleteAll } from "../../../src/web/storage/indexed-database.ts";
import {
  type IndexedKeyValue,
  type IndexedStorageOptions,
  openIndexedKeyValue,
} from "../../../src/web/storage/indexed-key-value.ts";
import { SimulatedDisk, type TransactionFault } from "../../support/simulated-indexed-db.ts";

const NAME = "store";

async function open(
  disk: SimulatedDisk,
  options: Partial<IndexedStorageOptions> = {},
): Promise<IndexedKeyValue> {
  const opened = await openIndexedKeyValue({
    name: NAME,
    db: disk.start(),
    id: "identity",
    ...options,
  });
  if (opened.kind !== "opened") throw new Error("expected IndexedDB", { cause: opened.cause });
  return opened.storage;
}

/** A checkpoint after every few commits, in as many transactions as it can have. */
const OFTEN = { checkpoint: { size: 200_000, count: 5, batchSize: 1 } };

/** `npm test` tries the contract on each storage once, as it is used. */
const LIMITS = sized(
  { IndexedDB: {} },
  { IndexedDB: {}, "IndexedDB with a checkpoint every few commits": OFTEN },
);

for (const [name, options] of Object.entries(LIMITS)) {
  keyValueContract(name, () => {
    const disk = new SimulatedDisk();
    return { open: () => open(disk, options), remove: () => {} };
  });
}

async function put(storage: KeyValue, entries: Record<string, Value | undefined>): Promise<void> {
  await storage.commit(new Map(Object.entries(entries)));
}

function read(storage: KeyValue): Record<string, Value> {
  const snapshot = storage.snapshot();
  try {
    const entries = [...snapshot.entries({ from: "\0", to: "\xff" })];
    return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
  } finally {
    snapshot.close();
  }
}

/** One commit of a history: what it writes, how durable, and what the disk does with it. */
interface Step {
  readonly keys: readonly number[];
  readonly durability: "strict" | "relaxed";
  readonly fault: TransactionFault | undefined;
  /** Every transaction meets it until the commit has an answer, not only the first one. */
  readonly isLasting: boolean;
  readonly size: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  keys: fc.uniqueArray(fc.nat({ max: 30 }), { minLength: 1, maxLength: 12 }),
  durability: fc.constantFrom("strict", "relaxed"),
  fault: fc.option(
    fc.constantFrom<TransactionFault[]>(
      "abort",
      "quota",
      "unknown",
      "closed",
      "closed after commit",
    ),
    { freq: 6, nil: undefined },
  ),
  isLasting: fc.boolean(),
  size: fc.constantFrom(1, 200, 3000, 25_000, 60_000),
});

const TURNS_MAX = 40;

test("[K89] after a crash at any moment there is a prefix of the commits, with all strict ones", async () => {
  const seen = { lost: 0, checkpoints: 0, large: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
      fc.nat({ max: TURNS_MAX * 10 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (steps, crashAfter, lost) => {
        const run = new CrashRun(steps);
        await run.until(crashAfter);
        await run.checkAfterCrash(lost);
        if (run.lostCount > 0) seen.lost++;
        if (run.pageCount > 0) seen.checkpoints++;
        if (run.pageCount > 2) seen.large++;
      },
    ),
    { numRuns: histories(800) },
  );
  expect(seen.lost).toBeGreaterThan(0);
  expect(seen.checkpoints).toBeGreaterThan(0);
  if (isFullSize) expect(seen.large).toBeGreaterThan(0);
});

type State = Readonly<Record<string, Value>>;

/** A history of commits on a disk that crashes in the middle of it. */
class CrashRun {
  readonly #disk = new SimulatedDisk();
  readonly #steps: readonly Step[];
  /** The state after each commit that was acknowledged, the empty one first. */
  readonly #states: State[] = [{}];
  /** The last acknowledged strict one. */
  #strictIndex = 0;
  /** The states of commits that were begun, and not answered or refused since the last strict one. */
  #uncertain: State[] = [];
  #isCrashed = false;
  lostCount = 0;
  pageCount = 0;

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }

  /** Lets it run for so many turns of the event loop. */
  async until(turns: number): Promise<void> {
    const writing = this.#write();
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    this.#isCrashed = true;
    writing.catch(() => {});
  }

  async #write(): Promise<void> {
    const storage = await open(this.#disk, { ...OFTEN, wait: nextTurn });
    for (const [index, each] of this.#steps.entries()) {
      if (this.#isCrashed) return;
      const { keys, durability, fault, isLasting, size } = each;
      let faults = fault === undefined ? [] : [fault];
      this.#disk.faultAt = () => (isLasting ? faults[0] : faults.shift());
      const before = this.#states.at(-1) ?? {};
      const after: Record<string, Value> = { ...before };
      const writes = new Map<string, Value | undefined>();
      for (const key of keys) {
        const isRemoved = (key + index) % 4 === 0;
        const value = isRemoved ? undefined : [index, "x".repeat(size)];
        writes.set(`key ${key}`, value);
        if (value === undefined) delete after[`key ${key}`];
        else after[`key ${key}`] = value;
      }
      this.#uncertain.push(after);
      try {
        await storage.commit(writes, { durability });
      } catch {
        if (this.#isCrashed) return;
        expectState(storage, before);
        continue;
      }
      if (this.#isCrashed) return;
      this.#states.push(after);
      if (durability === "strict") {
        this.#strictIndex = this.#states.length - 1;
        this.#uncertain = [];
      }
      expectState(storage, after);
      faults = [];
    }
  }

  async checkAfterCrash(lost: number): Promise<void> {
    this.pageCount = this.#disk.records(NAME, "page").size;
    this.#disk.crash(Math.floor(lost * (this.#disk.unsyncedCount + 1)));
    this.#disk.faultAt = () => undefined;
    const storage = await open(this.#disk, OFTEN);
    const found = read(storage);
    const allowed = [...this.#uncertain, ...this.#states.slice(this.#strictIndex)];
    const index = allowed.findLastIndex((state) => isSame(state, found));
    if (index === -1) throw new Error(`of ${allowed.length} states none is the one found`);
    if (index >= this.#uncertain.length) this.lostCount = allowed.length - 1 - index;
    await put(storage, { after: 1 });
    await storage.close();
    const again = await open(this.#disk, OFTEN);
    expectState(again, { ...found, after: 1 });
    await again.close();
  }
}

function expectState(storage: KeyValue, state: State): void {
  expect(read(storage)).toEqual(state);
}

/** The values begin with the number of their commit, so their length need not be compared. */
function isSame(a: State, b: State): boolean {
  const keys = Object.keys(a);
  const commitOf = (state: State, key: string): unknown => (state[key] as Value[] | undefined)?.[0];
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => commitOf(a, key) === commitOf(b, key))
  );
}

test("[K90] a quota that is reached is store.full for the commit that met it, and changes nothing", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  await put(storage, { a: 1 });
  disk.faultAt = () => "quota";
  await expect(put(storage, { a: 2, b: 2 })).rejects.toMatchObject({ code: "store.full" });
  expectState(storage, { a: 1 });
  disk.faultAt = () => undefined;
  await put(storage, { c: 3 });
  await storage.close();
  expectState(await open(disk), { a: 1, c: 3 });
});

test("[K90] a relaxed commit that cannot be written stays visible, and the next commit meets the error", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  disk.faultAt = () => "quota";
  await storage.commit(new Map([["a", 1]]), { durability: "relaxed" });
  await settle();
  expectState(storage, { a: 1 });
  for (const durability of ["relaxed", "strict"] as const) {
    const commit = storage.commit(new Map([["b", 1]]), { durability });
    await expect(commit).rejects.toMatchObject({ code: "store.full" });
    expectState(storage, { a: 1 });
  }
  disk.faultAt = () => undefined;
  await put(storage, { c: 1 });
  await storage.close();
  expectState(await open(disk), { a: 1, c: 1 });
});

test("[K88] relaxed commits share a transaction, and a strict one writes them with itself", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  const before = disk.transactionCount;
  for (let i = 0; i < 20; i++) {
    await storage.commit(new Map([[`key ${i}`, i]]), { durability: "relaxed" });
  }
  await put(storage, { last: 1 });
  expect(disk.transactionCount - before).toBeLessThanOrEqual(2);
  disk.crash(disk.unsyncedCount);
  expect(Object.keys(read(await open(disk)))).toHaveLength(21);
});

test("an aborted transaction is store.write_failed, and a later commit succeeds", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  await put(storage, { a: 1 });
  disk.faultAt = () => "abort";
  await expect(put(storage, { a: 2 })).rejects.toMatchObject({ code: "store.write_failed" });
  disk.faultAt = () => undefined;
  expectState(storage, { a: 1 });
  await put(storage, { b: 1 });
  await storage.close();
  expectState(await open(disk), { a: 1, b: 1 });
});

test("[K93] a connection that the browser drops is opened again, and the commit is there once", async () => {
  for (const fault of ["closed", "closed after commit", "unknown"] as const) {
    const disk = new SimulatedDisk();
    const storage = await open(disk);
    await put(storage, { a: 1 });
    disk.dropConnections();
    await put(storage, { b: 1 });
    const faults: TransactionFault[] = [fault];
    disk.faultAt = () => faults.shift();
    await put(storage, { c: 1 });
    expect(faults).toEqual([]);
    await put(storage, { d: 1 });
    await storage.close();
    expectState(await open(disk), { a: 1, b: 1, c: 1, d: 1 });
  }
});

test("[K93] a commit is repeated although the browser has not said yet that it closed the connection", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk, { wait: () => Promise.resolve() });
  const faults: TransactionFault[] = ["closed after commit"];
  disk.faultAt = () => faults.shift();
  await put(storage, { a: 1 });
  disk.crash(disk.unsyncedCount);
  expectState(await open(disk), { a: 1 });
});

test("[K93] reopening is given up after a bounded number of attempts, and tried again by the next commit", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  await put(storage, { a: 1 });
  disk.dropConnections();
  let openings = 0;
  disk.openFault = () => {
    openings++;
    return "UnknownError";
  };
  await expect(put(storage, { b: 1 })).rejects.toMatchObject({ code: "store.write_failed" });
  expect(openings).toBeLessThan(30);
  disk.openFault = () => undefined;
  await put(storage, { c: 1 });
  expectState(storage, { a: 1, c: 1 });
  await storage.close();
  expectState(await open(disk), { a: 1, c: 1 });
});

test("[K93] a database that is deleted while it is open is reported, and not created again", async () => {
  const disk = new SimulatedDisk();
  const ends: string[] = [];
  const storage = await open(disk, { onEnd: (end) => ends.push(end) });
  await put(storage, { a: 1 });
  await deleteAll(disk.start(), NAME);
  expect(ends).toEqual(["deleted"]);
  await expect(put(storage, { b: 1 })).rejects.toMatchObject({ code: "store.closed" });
  expectState(storage, { a: 1 });
  expect(disk.databases.size).toBe(0);
  await storage.close();
});

test("[K93] a database that is gone, or is another one, when it is opened again is reported as deleted", async () => {
  for (const isReplaced of [false, true]) {
    const disk = new SimulatedDisk();
    const ends: string[] = [];
    const storage = await open(disk, { onEnd: (end) => ends.push(end) });
    await put(storage, { a: 1 });
    disk.dropConnections();
    disk.databases.clear();
    if (isReplaced) await open(disk, { id: "another" });
    await expect(put(storage, { b: 1 })).rejects.toMatchObject({ code: "store.closed" });
    expect(ends).toEqual(["deleted"]);
    await storage.close();
  }
});

test("a second writer of the same database is refused with store.in_use", async () => {
  const disk = new SimulatedDisk();
  const first = await open(disk);
  const second = await open(disk);
  await put(first, { a: 1 });
  await expect(put(second, { b: 1 })).rejects.toMatchObject({ code: "store.in_use" });
});

test("a browser without IndexedDB, or one that cannot open it, is a result of its own", async () => {
  const none = await openIndexedKeyValue({ name: NAME, db: undefined, id: "identity" });
  expect(none).toMatchObject({ kind: "unavailable" });
  const disk = new SimulatedDisk();
  disk.openFault = () => "SecurityError";
  const refused = await openIndexedKeyValue({ name: NAME, db: disk.start(), id: "identity" });
  expect(refused).toMatchObject({ kind: "unavailable", cause: { name: "SecurityError" } });
});

test("a database that cannot be read for a moment is opened at a later attempt", async () => {
  for (const fault of ["UnknownError", "InvalidStateError", "AbortError"]) {
    const disk = new SimulatedDisk();
    const before = await open(disk);
    await put(before, { a: 1 });
    await before.close();
    const faults = [fault, undefined, fault];
    disk.readFault = () => faults.shift();
    const after = await open(disk, { wait: nextTurn });
    expect(read(after)).toEqual({ a: 1 });
    expect(faults).toEqual([]);
    await after.close();
  }
});

test("[K92] a database that can never be read is store.corrupt, and is not replaced by memory", async () => {
  for (const fault of ["UnknownError", "InvalidStateError", "DataError"]) {
    const disk = new SimulatedDisk();
    await (await open(disk)).close();
    let count = 0;
    disk.readFault = () => {
      count++;
      return fault;
    };
    await expect(open(disk, { wait: nextTurn })).rejects.toMatchObject({ code: "store.corrupt" });
    expect(count).toBe(fault === "DataError" ? 1 : 3);
  }
});

test("[K1] a newer format, an unknown one and a foreign database are refused and left unchanged", async () => {
  const metas = [
    [{ product: "bigpeer", format: 2, id: "x", sequence: 0 }, "store.format_newer"],
    [{ product: "bigpeer", format: 0, id: "x", sequence: 0 }, "store.corrupt"],
    [{ product: "bigpeer", format: 1, id: "x" }, "store.corrupt"],
    [{ other: true }, "store.foreign"],
  ] as const;
  for (const [meta, code] of metas) {
    const disk = await filledDisk();
    disk.records(NAME, "meta").set("store", meta);
    await expect(open(disk)).rejects.toMatchObject({ code });
    expect(disk.records(NAME, "meta").get("store")).toEqual(meta);
  }
  const later = await filledDisk();
  Object.assign(later.databases.get(NAME) ?? {}, { version: 7 });
  await expect(open(later)).rejects.toMatchObject({ code: "store.format_newer" });
  const foreign = await filledDisk();
  foreign.databases.get(NAME)?.stores.delete("page");
  await expect(open(foreign)).rejects.toMatchObject({ code: "store.foreign" });
});

/** With pages, and a log of three commits after them. */
async function filledDisk(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  const storage = await open(disk, { checkpoint: { size: 1e9, count: 20 } });
  const keys = Array.from({ length: 200 }, (_, i) => `key ${i}`);
  for (let round = 0; round < 20; round++) {
    const entries = keys.map((key): [string, Value] => [key, [key, "x".repeat(5000), round]]);
    await storage.commit(new Map(entries.slice(round * 10, round * 10 + 10)));
  }
  await settle();
  for (const key of ["a", "b", "c"]) await put(storage, { [key]: key });
  await storage.close();
  expect(disk.records(NAME, "page").size).toBeGreaterThan(2);
  expect(disk.records(NAME, "log").size).toBe(3);
  return disk;
}

test("[K92] a damaged page or log record is store.corrupt with its place, and never wrong data", async () => {
  const sound = read(await open(await filledDisk()));
  const pages = await filledDisk();
  for (const [name, record] of pages.records(NAME, "page")) {
    const { keys, ends, values } = record as {
      keys: string;
      ends: Uint32Array;
      values: Uint8Array;
    };
    const damages: Record<string, unknown>[] = [
      { keys: `${keys.slice(0, -1)}\x01` },
      { keys: keys.slice(1) },
      { ends: ends.map((end, i) => (i === 0 ? end + 1 : end)) },
      { values: values.with(100, (values[100] ?? 0) ^ 1) },
      { values: values.subarray(1) },
      { keySum: undefined },
    ];
    for (const damage of damages) {
      pages.records(NAME, "page").set(name, { ...(record as object), ...damage });
      await expect(readAll(pages)).rejects.toMatchObject({
        code: "store.corrupt",
        message: expect.stringContaining(`page "${String(name)}"`),
      });
    }
    pages.records(NAME, "page").set(name, record);
  }
  const log = pages.records(NAME, "log");
  const numbers = [...log.keys()];
  for (const [index, number] of numbers.entries()) {
    const bytes = log.get(number) as Uint8Array;
    for (const damaged of [bytes.with(5, 0), bytes.subarray(1), bytes.with(1, 1), "text"]) {
      log.set(number, damaged);
      await expect(readAll(pages)).rejects.toMatchObject({
        code: "store.corrupt",
        message: expect.stringContaining(`log record ${number}`),
      });
    }
    log.delete(number);
    if (index < 2) await expect(readAll(pages)).rejects.toMatchObject({ code: "store.corrupt" });
    log.set(number, bytes);
  }
  expect(await readAll(pages)).toEqual(sound);
});

test("[K92] a page that lies under another name is store.corrupt", async () => {
  const disk = await filledDisk();
  const pages = disk.records(NAME, "page");
  const names = [...pages.keys()].map(String).toSorted();
  pages.set(`${names[0]}!`, pages.get(names[1] ?? ""));
  await expect(readAll(disk)).rejects.toMatchObject({ code: "store.corrupt" });
});

async function readAll(disk: SimulatedDisk): Promise<Record<string, Value>> {
  const storage = await open(disk);
  try {
    return read(storage);
  } finally {
    await storage.close();
  }
}

/** Waits that end when a test says so. */
class Waits {
  readonly #ends: (() => void)[] = [];
  readonly wait = (): Promise<void> => new Promise((resolve) => this.#ends.push(resolve));

  get count(): number {
    return this.#ends.length;
  }

  async end(): Promise<void> {
    this.#ends.shift()?.();
    await settled();
  }
}

/** Until the simulated browser has nothing more to do. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const HALF_MB = { value: "x".repeat(500_000) };

test("[K91] a log is moved into pages when no commit came for a while, at the next start if need be", async () => {
  const disk = new SimulatedDisk();
  const waits = new Waits();
  const storage = await open(disk, waits);
  await storage.commit(new Map(Object.entries(HALF_MB)), { durability: "relaxed" });
  await put(storage, { a: 1 });
  expect(waits.count).toBe(1);
  await put(storage, { b: 2 });
  await waits.end();
  // A commit came while it waited.
  expect(disk.records(NAME, "log").size).toBe(3);
  await waits.end();
  expect(disk.records(NAME, "log").size).toBe(0);
  expect(waits.count).toBe(0);
  await put(storage, HALF_MB);
  await storage.close();
  await waits.end();
  expect(disk.records(NAME, "log").size).toBe(1);
  const again = await open(disk, waits);
  await waits.end();
  expect(disk.records(NAME, "log").size).toBe(0);
  expectState(again, { ...HALF_MB, a: 1, b: 2 });
  await again.close();
});

test("a small log, and one with scattered changes, wait for more", async () => {
  const disk = new SimulatedDisk();
  const waits = new Waits();
  const value = new Uint8Array(10_000);
  const entries = Array.from({ length: 1000 }, (_, i) => [String(i).padStart(4, "0"), value]);
  const filled = await open(disk, { checkpoint: { size: 1, count: 1 } });
  await put(filled, Object.fromEntries(entries));
  await settled();
  await filled.close();
  const storage = await open(disk, waits);
  await put(storage, { small: 1 });
  expect(waits.count).toBe(0);
  // One change on each of its pages: 27 of 10 KB, for which 10 MB would be written.
  const scattered = entries.filter((_, i) => i % 37 === 0);
  await put(storage, Object.fromEntries(scattered));
  expect(waits.count).toBe(1);
  await waits.end();
  expect(disk.records(NAME, "log").size).toBe(2);
  await storage.close();
});

test("[K91] a checkpoint that fails leaves everything in the log, and is done later", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk, { checkpoint: { size: 1e9, count: 10 } });
  disk.faultAt = ({ stores }) => (stores.includes("page") ? "quota" : undefined);
  for (let i = 0; i < 15; i++) await put(storage, { [`key ${i}`]: i });
  await settle();
  expect(disk.records(NAME, "log").size).toBe(15);
  expect(disk.records(NAME, "page").size).toBe(0);
  disk.faultAt = () => undefined;
  for (let i = 15; i < 40; i++) await put(storage, { [`key ${i}`]: i });
  await settle();
  expect(disk.records(NAME, "log").size).toBeLessThan(15);
  expect(disk.records(NAME, "page").size).toBeGreaterThan(0);
  const expected = read(storage);
  await storage.close();
  expectState(await open(disk), expected);
  expect(Object.keys(expected)).toHaveLength(40);
});

/** A store of several pages, with nothing in the log, and a checkpoint after the next commit. */
async function openOnPages(disk: SimulatedDisk): Promise<IndexedKeyValue> {
  const storage = await open(disk, { checkpoint: { size: 1, count: 1, batchSize: 1 } });
  await storage.commit(allKeys(0));
  await settle();
  expect(disk.records(NAME, "page").size).toBeGreaterThan(4);
  expect(disk.records(NAME, "log").size).toBe(0);
  return storage;
}

/** One commit that changes every page. */
function allKeys(number: number): Map<string, Value> {
  const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`);
  return new Map(keys.map((key) => [key, [number, "x".repeat(50_000)]]));
}

function numbersIn(storage: KeyValue): unknown[] {
  return [...new Set(Object.values(read(storage)).map((value) => (value as Value[])[0]))];
}

test("[K91] a checkpoint that ends between its transactions leaves the newest state", async () => {
  for (const written of [1, 3]) {
    const disk = new SimulatedDisk();
    const storage = await openOnPages(disk);
    let batches = 0;
    disk.faultAt = ({ stores }) =>
      stores.includes("page") && ++batches > written ? "quota" : undefined;
    await storage.commit(allKeys(1));
    await settle();
    expect(batches).toBe(written + 1);
    disk.crash(0);
    expect(numbersIn(await open(disk))).toEqual([1]);
  }
});

test("[K91] a checkpoint writes no commit that is not in the log", async () => {
  const disk = new SimulatedDisk();
  const storage = await openOnPages(disk);
  // The second commit comes during the checkpoint of the first one, and stays in the log.
  await storage.commit(allKeys(0));
  await put(storage, { other: [0] });
  await settle();
  expect(disk.records(NAME, "log").size).toBe(1);
  let batches = 0;
  disk.faultAt = ({ stores }) => {
    if (!stores.includes("page")) return "quota";
    return ++batches > 2 ? "quota" : undefined;
  };
  await storage.commit(allKeys(1), { durability: "relaxed" });
  await settle();
  expect(batches).toBeGreaterThan(0);
  disk.crash(0);
  expect(numbersIn(await open(disk))).toEqual([0]);
});

test("[K91] a checkpoint that was written although the browser reported a failure loses nothing at a crash in the next one", async () => {
  const disk = new SimulatedDisk();
  const options = { checkpoint: { size: 1, count: 1, batchSize: 1 }, wait: nextTurn };
  const storage = await open(disk, options);
  await storage.commit(sizesOf({ a: 45_000, b: 45_000, c: 45_000, d: 50_000, e: 90_000 }));
  await settle();
  expect([...disk.records(NAME, "page").keys()]).toEqual(["", "c", "e"]);
  let isWritten = true;
  let batchMax = 0;
  let batches = 0;
  disk.faultAt = ({ stores }) => {
    if (!stores.includes("page") || ++batches <= batchMax) return undefined;
    return isWritten ? "closed after commit" : "abort";
  };
  // The first two pages become one, which is on the disk, and the storage does not know it.
  await storage.commit(sizesOf({ a: 1, b: 1, c: 1 }));
  await settle();
  expect(new Set(disk.records(NAME, "page").keys())).toEqual(new Set(["", "e"]));
  // They become two pages of the same names as before, of which the first one alone is written.
  isWritten = false;
  batchMax = 1;
  batches = 0;
  await storage.commit(sizesOf({ a: 45_000, b: 45_000, c: 45_000, e: 90_001 }));
  await settle();
  expect(batches).toBeGreaterThan(1);
  disk.crash(0);
  const found = Object.entries(read(await open(disk)));
  const lengths = found.map(([key, value]) => [key, (value as Uint8Array).length]);
  const expected = { a: 45_000, b: 45_000, c: 45_000, d: 50_000, e: 90_001 };
  expect(Object.fromEntries(lengths)).toEqual(expected);
});

test("[K91] a log that was trimmed although the browser reported a failure gets no old record again", async () => {
  const disk = new SimulatedDisk();
  const waits = new Waits();
  const storage = await open(disk, waits);
  disk.faultAt = ({ stores }) => (stores.includes("page") ? "closed after commit" : undefined);
  await storage.commit(new Map(Object.entries(HALF_MB)), { durability: "relaxed" });
  await settled();
  while (waits.count > 0) await waits.end();
  expect(disk.records(NAME, "log").size).toBe(0);
  await storage.close();
  expectState(await open(disk), HALF_MB);
});

/** Writes of values of so many bytes. */
function sizesOf(sizes: Record<string, number>): Map<string, Value> {
  return new Map(Object.entries(sizes).map(([key, size]) => [key, new Uint8Array(size)]));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("[K90] a commit that was refused although it was written shows after a crash, if no commit came after it", async () => {
  for (const isFollowed of [false, true]) {
    const disk = new SimulatedDisk();
    const storage = await open(disk, { wait: nextTurn });
    await put(storage, { a: 1 });
    disk.faultAt = () => "closed after commit";
    await expect(put(storage, { b: 1 })).rejects.toMatchObject({ code: "store.write_failed" });
    disk.faultAt = () => undefined;
    if (isFollowed) await put(storage, { c: 1 });
    disk.crash(0);
    expectState(await open(disk), isFollowed ? { a: 1, c: 1 } : { a: 1, b: 1 });
  }
});

test("[K93] a commit that was refused although it was written is removed by the next one", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  await put(storage, { a: 1 });
  disk.faultAt = () => "closed after commit";
  await expect(put(storage, { b: 1 })).rejects.toMatchObject({ code: "store.write_failed" });
  expectState(storage, { a: 1 });
  disk.faultAt = () => undefined;
  await put(storage, { c: 1 });
  await storage.close();
  expectState(await open(disk), { a: 1, c: 1 });
});

test("flush makes relaxed commits durable that were written already", async () => {
  const disk = new SimulatedDisk();
  const storage = await open(disk);
  await storage.commit(new Map([["a", 1]]), { durability: "relaxed" });
  await settle();
  expect(disk.unsyncedCount).toBe(1);
  await storage.flush();
  expect(disk.unsyncedCount).toBe(0);
});

/** Lets transactions end that no caller waits for. */
async function settle(): Promise<void> {
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
}
