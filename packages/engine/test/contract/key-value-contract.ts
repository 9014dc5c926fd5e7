/**
 * What every KeyValue must keep, as a suite that each adapter runs with a storage of its own.
 */

import { type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { histories, sized } from "../../../protocol/test/support/test-size.ts";
import {
  KEY_SIZE_MAX,
  type Key,
  type KeyRange,
  type KeyValue,
  type Reader,
  type Snapshot,
  type Writes,
} from "../../src/platform.ts";
import {
  anyKey,
  anyValue,
  findDifference,
  findPartDifference,
  objectOf,
  oddValues,
} from "./any-value.ts";

/** A place where a storage lies. It is opened again after it was closed, with what was in it. */
export interface StoragePlace {
  open(): KeyValue | Promise<KeyValue>;
  /** Removes everything; the storage is closed by then. */
  remove(): void;
  /** Ends the storage as a power loss does, which may lose relaxed commits. Left out: untested. */
  crash?(): void | Promise<void>;
}

const ALL: KeyRange = { from: "\0", to: "\xff".repeat(KEY_SIZE_MAX) };

export function keyValueContract(name: string, createPlace: () => StoragePlace): void {
  const check = (title: string, body: (context: Context) => Promise<void>): void => {
    test(`${name}: ${title}`, async () => {
      expect.hasAssertions();
      const place = createPlace();
      const context = new Context(place, await place.open());
      try {
        await body(context);
      } finally {
        await context.end();
      }
    });
  };
  checkReadsAndWrites(check);
  checkRanges(check);
  checkSnapshots(check);
  checkCommits(check);
  checkDurability(check);
  checkValues(check);
  checkFields(check);
  checkModel(check);
}

type Check = (title: string, body: (context: Context) => Promise<void>) => void;

class Context {
  readonly #place: StoragePlace;
  storage: KeyValue;

  constructor(place: StoragePlace, storage: KeyValue) {
    this.#place = place;
    this.storage = storage;
  }

  async put(entries: Record<Key, Value | undefined>): Promise<void> {
    await this.storage.commit(new Map(Object.entries(entries)));
  }

  read<T>(body: (snapshot: Snapshot) => T): T {
    const snapshot = this.storage.snapshot();
    try {
      return body(snapshot);
    } finally {
      snapshot.close();
    }
  }

  async reopen(): Promise<void> {
    await this.storage.close();
    this.storage = await this.#place.open();
  }

  /** False if the place cannot lose its power. */
  async crash(): Promise<boolean> {
    if (this.#place.crash === undefined) return false;
    await this.#place.crash();
    this.storage = await this.#place.open();
    return true;
  }

  async end(): Promise<void> {
    await this.storage.close();
    this.#place.remove();
  }
}

function keysIn(reader: Reader, range: KeyRange = ALL): Key[] {
  return [...reader.keys(range)];
}

function entriesIn(reader: Reader, range: KeyRange = ALL): [Key, Value][] {
  return Array.from(reader.entries(range), ({ key, value }) => [key, value]);
}

function checkReadsAndWrites(check: Check): void {
  check("a new storage is empty", async (context) => {
    context.read((snapshot) => {
      expect(snapshot.get("a")).toBeUndefined();
      expect(snapshot.has("a")).toBe(false);
      expect(keysIn(snapshot)).toEqual([]);
      expect(entriesIn(snapshot, { ...ALL, reverse: true })).toEqual([]);
    });
  });

  check("a stored key is found, and no other", async (context) => {
    await context.put({ b: 1, ba: { x: [1, "two"] } });
    context.read((snapshot) => {
      expect(snapshot.get("b")).toBe(1);
      expect(snapshot.get("ba")).toEqual({ x: [1, "two"] });
      expect(snapshot.has("ba")).toBe(true);
      for (const key of ["a", "b\0", "bb", "c"]) {
        expect(snapshot.get(key)).toBeUndefined();
        expect(snapshot.has(key)).toBe(false);
      }
    });
  });

  check("null and other empty values are found", async (context) => {
    const empty = { a: null, b: false, c: 0, d: "", e: [], f: {}, g: new Uint8Array(0) };
    await context.put(empty);
    context.read((snapshot) => {
      for (const [key, value] of Object.entries(empty)) {
        expect(snapshot.has(key)).toBe(true);
        expect(snapshot.get(key)).toEqual(value);
      }
    });
  });

  check("a value can be replaced by one of another type and size", async (context) => {
    await context.put({ a: "x".repeat(50_000) });
    await context.put({ a: 7 });
    expect(context.read((snapshot) => snapshot.get("a"))).toBe(7);
    await context.put({ a: new Uint8Array(90_000) });
    const found = context.read((snapshot) => snapshot.get("a"));
    expect(findDifference(found, new Uint8Array(90_000))).toBeUndefined();
  });

  check("a removed key is gone, and removing it again changes nothing", async (context) => {
    await context.put({ a: 1, b: 2 });
    await context.put({ a: undefined });
    await context.put({ a: undefined, c: undefined });
    expect(context.read((snapshot) => entriesIn(snapshot))).toEqual([["b", 2]]);
  });

  check("an empty commit succeeds", async (context) => {
    await context.storage.commit(new Map());
    expect(context.read((snapshot) => keysIn(snapshot))).toEqual([]);
  });

  check("keys are any bytes, up to the largest size", async (context) => {
    const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
    const keys = [...bytes, "\0".repeat(KEY_SIZE_MAX), "\xff".repeat(KEY_SIZE_MAX), bytes.join("")];
    await context.storage.commit(new Map(keys.map((key) => [key, key.length])));
    context.read((snapshot) => {
      for (const key of keys) expect(snapshot.get(key)).toBe(key.length);
      expect(keysIn(snapshot, { from: "\0", to: "\xff" })).toHaveLength(keys.length - 2);
    });
  });

  check("a key that is empty, too long or not of bytes is refused", async (context) => {
    for (const key of ["", "a".repeat(KEY_SIZE_MAX + 1), "\u0100"]) {
      const writes = new Map([
        ["good", 1],
        [key, 1],
      ]);
      await expect(context.storage.commit(writes)).rejects.toThrow("assertion failed");
    }
    await context.put({ a: 1 });
    expect(context.read((snapshot) => keysIn(snapshot))).toEqual(["a"]);
  });
}

function checkRanges(check: Check): void {
  const keys = ["\0", "\0\0", "a", "a\0", "a\xff", "b", "b\x80", "\x7f", "\x80", "\xff", "\xff\0"];
  const fill = async (context: Context): Promise<Key[]> => {
    await context.storage.commit(new Map(keys.toReversed().map((key, i) => [key, i])));
    // JS orders strings by their units, which here are bytes.
    return keys.toSorted();
  };

  check("keys and entries are in byte order, and in reverse", async (context) => {
    const sorted = await fill(context);
    context.read((snapshot) => {
      expect(keysIn(snapshot)).toEqual(sorted);
      expect(keysIn(snapshot, { ...ALL, reverse: true })).toEqual(sorted.toReversed());
      expect(entriesIn(snapshot).map(([key]) => key)).toEqual(sorted);
    });
  });

  check(
    "a range includes its lower bound and excludes its upper one, in both directions",
    async (context) => {
      const sorted = await fill(context);
      const bounds = [...keys, "\0\0\0", "A", "a\x01", "c", "\xfe", "\xff\xff"];
      context.read((snapshot) => {
        for (const from of bounds) {
          for (const to of bounds) {
            const expected = sorted.filter((key) => key >= from && key < to);
            expect(keysIn(snapshot, { from, to })).toEqual(expected);
            expect(keysIn(snapshot, { from, to, reverse: true })).toEqual(expected.toReversed());
          }
        }
      });
    },
  );

  check("a range from the empty string starts with the first key", async (context) => {
    const sorted = await fill(context);
    context.read((snapshot) => {
      expect(keysIn(snapshot, { from: "", to: "b" })[0]).toBe(sorted[0]);
      expect(keysIn(snapshot, { from: "", to: "b", reverse: true }).at(-1)).toBe(sorted[0]);
      expect(keysIn(snapshot, { from: "", to: "" })).toEqual([]);
    });
  });

  check(
    "the same range can be walked again, and two walks do not disturb each other",
    async (context) => {
      const sorted = await fill(context);
      context.read((snapshot) => {
        const range = snapshot.keys(ALL);
        const pairs: [Key, Key][] = [];
        for (const a of range) for (const b of range) pairs.push([a, b]);
        expect(pairs).toEqual(sorted.flatMap((a) => sorted.map((b) => [a, b])));
      });
    },
  );

  check("a walk reads other keys on its way", async (context) => {
    await fill(context);
    context.read((snapshot) => {
      const read = Array.from(snapshot.entries(ALL), ({ key, value }) => [
        snapshot.get(key),
        value,
      ]);
      expect(read).toHaveLength(keys.length);
      for (const [got, value] of read) expect(got).toBe(value);
    });
  });

  check("thousands of interrupted walks leave nothing behind", async (context) => {
    await fill(context);
    for (let i = 0; i < 3000; i++) {
      context.read((snapshot) => {
        for (const key of snapshot.keys(ALL)) if (key > "\0") break;
        for (const { key } of snapshot.entries({ ...ALL, reverse: true })) if (key < "b") break;
      });
    }
    await context.put({ z: 1 });
    expect(context.read((snapshot) => snapshot.get("z"))).toBe(1);
  });

  check("an error thrown inside a walk is passed on, and reading continues", async (context) => {
    await fill(context);
    const walk = (snapshot: Snapshot): void => {
      for (const key of snapshot.keys(ALL)) if (key === "a") throw new Error("mine");
    };
    context.read((snapshot) => {
      expect(() => walk(snapshot)).toThrow("mine");
      expect(keysIn(snapshot)).toHaveLength(keys.length);
    });
  });
}

function checkSnapshots(check: Check): void {
  check("a snapshot does not change while commits continue", async (context) => {
    await context.put({ a: 1, b: 1 });
    const before = context.storage.snapshot();
    await context.put({ a: 2, b: undefined, c: 2 });
    const after = context.storage.snapshot();
    for (let i = 0; i < 50; i++) await context.put({ a: i, [`more ${i}`]: "x".repeat(3000) });
    expect(entriesIn(before)).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    expect(entriesIn(after)).toEqual([
      ["a", 2],
      ["c", 2],
    ]);
    before.close();
    after.close();
  });

  check(
    "snapshots that name one state read the same, and closed ones name none",
    async (context) => {
      await context.put({ a: 1 });
      const [first, second] = [context.storage.snapshot(), context.storage.snapshot()];
      await context.put({ a: 2 });
      const third = context.storage.snapshot();
      expect(first.state).toBe(second.state);
      expect(first.state === undefined || first.state !== third.state).toBe(true);
      const state = first.state;
      first.close();
      expect(first.state).toBeUndefined();
      expect(second.state).toBe(state);
      second.close();
      third.close();
      expect([second.state, third.state]).toEqual([undefined, undefined]);
    },
  );

  check("a walk continues in its snapshot while commits change the keys ahead", async (context) => {
    await context.put({ a: 1, b: 1, c: 1 });
    const snapshot = context.storage.snapshot();
    const seen: [Key, Value][] = [];
    for (const { key, value } of snapshot.entries(ALL)) {
      seen.push([key, value]);
      await context.put({ a: undefined, b: seen.length + 1, c: undefined, d: 1 });
    }
    snapshot.close();
    expect(seen).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ]);
  });

  check(
    "a snapshot taken while a commit is under way shows the state before it",
    async (context) => {
      await context.put({ a: 1 });
      const commit = context.put({ a: 2 });
      const early = context.storage.snapshot();
      expect(early.get("a")).toBe(1);
      await commit;
      const late = context.storage.snapshot();
      expect(early.get("a")).toBe(1);
      expect(late.get("a")).toBe(2);
      early.close();
      late.close();
    },
  );

  check("no snapshot shows a commit before it is acknowledged", async (context) => {
    await context.put({ a: 0 });
    for (let i = 1; i <= sized(10, 60); i++) {
      const state = { isAcknowledged: false };
      const commit = context.put({ a: i, b: "x".repeat(5000) }).then(() => {
        state.isAcknowledged = true;
      });
      while (!state.isAcknowledged) {
        expect(context.read((snapshot) => snapshot.get("a"))).toBe(i - 1);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await commit;
      expect(context.read((snapshot) => snapshot.get("a"))).toBe(i);
    }
  });

  check("a closed snapshot may be closed again, and reading it throws", async (context) => {
    await context.put({ a: 1, b: 2 });
    const snapshot = context.storage.snapshot();
    const other = context.storage.snapshot();
    const entries = snapshot.entries(ALL);
    const walk = snapshot.keys(ALL)[Symbol.iterator]();
    walk.next();
    snapshot.close();
    snapshot.close();
    const reads = [
      () => snapshot.get("a"),
      () => snapshot.has("a"),
      () => snapshot.keys(ALL),
      () => snapshot.entries(ALL),
      () => [...entries],
      () => walk.next(),
    ];
    for (const read of reads) expect(codeOf(read)).toBe("store.closed");
    expect(other.get("a")).toBe(1);
    other.close();
  });

  check("many snapshots of many states can be held at a time", async (context) => {
    const held: Snapshot[] = [];
    for (let i = 0; i < sized(40, 150); i++) {
      await context.put({ a: i });
      held.push(context.storage.snapshot(), context.storage.snapshot());
    }
    expect(held.map((snapshot) => snapshot.get("a"))).toEqual(held.map((_, i) => i >> 1));
    for (const snapshot of held) snapshot.close();
  });
}

function checkCommits(check: Check): void {
  check("committed data is there after the storage is opened again", async (context) => {
    await context.put({ a: 1, b: { c: [true] }, c: 3 });
    await context.put({ a: 2, c: undefined });
    for (let i = 0; i < 3; i++) {
      await context.reopen();
      expect(context.read((snapshot) => entriesIn(snapshot))).toEqual([
        ["a", 2],
        ["b", { c: [true] }],
      ]);
    }
  });

  check("a commit of thousands of keys is visible as a whole or not at all", async (context) => {
    const count = sized(2000, 5000);
    for (const round of [1, 2, 3]) {
      const writes = new Map<Key, Value>();
      for (let i = 0; i < count; i++) writes.set(`key ${i}`, { round, text: "x".repeat(i % 200) });
      const commit = context.storage.commit(writes);
      const during = context.read((snapshot) => entriesIn(snapshot));
      expect(during).toHaveLength(round === 1 ? 0 : count);
      expect(new Set(during.map(([, value]) => (value as { round: number }).round)).size).toBe(
        round === 1 ? 0 : 1,
      );
      await commit;
    }
    const after = context.read((snapshot) => entriesIn(snapshot));
    expect(after).toHaveLength(count);
    expect(after.every(([, value]) => (value as { round: number }).round === 3)).toBe(true);
  });

  check("hundreds of commits follow each other", async (context) => {
    const count = sized(100, 200);
    for (let i = 0; i < count; i++) {
      await context.put({ [`key ${i % 50}`]: i, [`key ${(i + 25) % 50}`]: undefined });
    }
    expect(context.read((snapshot) => snapshot.get("key 49"))).toBe(count - 1);
    expect(context.read((snapshot) => keysIn(snapshot))).toHaveLength(25);
  });

  check("a storage can be emptied and filled again", async (context) => {
    for (let round = 0; round < sized(2, 4); round++) {
      const keys = Array.from({ length: 2000 }, (_, i) => `key ${i * 7919}`);
      await context.storage.commit(new Map(keys.map((key) => [key, [key, round]])));
      expect(context.read((snapshot) => keysIn(snapshot))).toHaveLength(2000);
      await context.storage.commit(new Map(keys.map((key) => [key, undefined])));
      expect(context.read((snapshot) => keysIn(snapshot))).toEqual([]);
    }
  });

  check("close waits for the commit under way, and may be called again", async (context) => {
    let isCommitted = false;
    const commit = context.put({ a: 1 }).then(() => {
      isCommitted = true;
    });
    await context.storage.close();
    await context.storage.close();
    await commit;
    expect(isCommitted).toBe(true);
    await context.reopen();
    expect(context.read((snapshot) => snapshot.get("a"))).toBe(1);
  });

  check("a closed storage refuses to read and to write", async (context) => {
    await context.put({ a: 1 });
    const snapshot = context.storage.snapshot();
    await context.storage.close();
    expect(codeOf(() => context.storage.snapshot())).toBe("store.closed");
    expect(codeOf(() => snapshot.get("a"))).toBe("store.closed");
    snapshot.close();
    await expect(context.put({ a: 2 })).rejects.toMatchObject({ code: "store.closed" });
  });
}

function checkDurability(check: Check): void {
  check(
    "[K6] a relaxed commit is visible when it is acknowledged, and not before",
    async (context) => {
      await context.put({ a: 1 });
      const commit = context.storage.commit(new Map([["a", 2]]), { durability: "relaxed" });
      expect(context.read((snapshot) => snapshot.get("a"))).toBe(1);
      await commit;
      expect(context.read((snapshot) => snapshot.get("a"))).toBe(2);
      await context.storage.commit(new Map([["a", undefined]]), { durability: "relaxed" });
      expect(context.read((snapshot) => snapshot.has("a"))).toBe(false);
    },
  );

  check("[K6] relaxed commits are there after a close", async (context) => {
    for (let i = 0; i < 20; i++) {
      const durability = i % 7 === 3 ? "strict" : "relaxed";
      await context.storage.commit(new Map([[`key ${i}`, i]]), { durability });
    }
    await context.reopen();
    expect(context.read((snapshot) => keysIn(snapshot))).toHaveLength(20);
  });

  check("[K6] a crash loses a suffix of relaxed commits at most", async (context) => {
    let count = 0;
    for (let round = 0; round < sized(5, 20); round++) {
      const strictAt = count + (round % 4);
      for (const end = count + 6; count < end; count++) {
        const durability = count === strictAt ? "strict" : "relaxed";
        const writes = new Map([
          [`key ${count}`, count],
          [`twin ${count}`, count],
        ]);
        await context.storage.commit(writes, { durability });
      }
      if (!(await context.crash())) await context.reopen();
      const left = context.read((snapshot) => keysIn(snapshot)).length / 2;
      expect(left).toBeGreaterThan(strictAt);
      expect(left).toBeLessThanOrEqual(count);
      for (let i = 0; i < left; i++) {
        const found = context.read((snapshot) => [
          snapshot.get(`key ${i}`),
          snapshot.get(`twin ${i}`),
        ]);
        expect(found).toEqual([i, i]);
      }
      count = left;
    }
  });
}

function checkValues(check: Check): void {
  /** Puts each value under a key of its own, and compares what comes back, also after reopening. */
  const expectExact = async (context: Context, values: readonly Value[]): Promise<void> => {
    const entries = values.map((value, i): [Key, Value] => [`value ${i}`, value]);
    await context.storage.commit(new Map(entries));
    for (let round = 0; round < 2; round++) {
      context.read((snapshot) => {
        for (const [key, value] of entries) {
          expect(findDifference(snapshot.get(key), value)).toBeUndefined();
        }
        const walked = new Map(entriesIn(snapshot));
        for (const [key, value] of entries) {
          expect(findDifference(walked.get(key), value)).toBeUndefined();
        }
      });
      await context.reopen();
    }
  };

  check("unusual values, which storages tend to change, are read back exactly", async (context) => {
    await expectExact(context, oddValues());
  });

  check("every value is read back exactly", async (context) => {
    const values = fc.array(anyValue(), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(values, (generated) => expectExact(context, generated)),
      { numRuns: histories(60), endOnFailure: true },
    );
  });

  check("a value that was read does not change when others are read", async (context) => {
    const bytes = Array.from({ length: 100 }, (_, i) => new Uint8Array(500).fill(i));
    await context.storage.commit(new Map(bytes.map((value, i) => [`${i}`, [value, `text ${i}`]])));
    const read = context.read((snapshot) => bytes.map((_, i) => snapshot.get(`${i}`)));
    context.read((snapshot) => entriesIn(snapshot));
    for (const [i, value] of bytes.entries()) {
      expect(findDifference(read[i], [value, `text ${i}`])).toBeUndefined();
    }
  });

  check("values of the maximum depth are read back", async (context) => {
    let array: Value = 1;
    let object: Value = -0;
    for (let depth = 0; depth < 64; depth++) {
      array = [array];
      object = { deeper: object };
    }
    await expectExact(context, [array, object]);
  });

  check("values of megabytes are read back exactly", async (context) => {
    const items = Array.from({ length: sized(10_000, 40_000) }, (_, i) => ({
      number: i,
      text: `item ${i} `,
    }));
    const binary = new Uint8Array(sized(1_500_000, 6_000_000)).map((_, i) => i % 251);
    await expectExact(context, [{ items }, { binary }, "é".repeat(sized(600_000, 2_500_000))]);
  });

  check("thousands of objects of different shapes are read back exactly", async (context) => {
    const shapes = Array.from({ length: sized(1000, 5000) }, (_, i) => ({
      [`a${i}`]: i,
      [`b${i}`]: { [`c${i}`]: i },
    }));
    // Often enough that a storage which learns shapes has learned what it can.
    for (let round = 0; round < 8; round++) {
      const entries = shapes.map((value, i): [Key, Value] => [`${round} ${i}`, value]);
      await context.storage.commit(new Map(entries));
    }
    await context.reopen();
    context.read((snapshot) => {
      for (let round = 0; round < 8; round++) {
        for (const [i, value] of shapes.entries()) {
          expect(findDifference(snapshot.get(`${round} ${i}`), value)).toBeUndefined();
        }
      }
    });
  });

  check("objects used as growing maps are read back exactly", async (context) => {
    const fields: [string, Value][] = [];
    for (let i = 0; i < sized(100, 300); i++) {
      fields.push([`user-${(i * 7919) % 1000}`, { count: i, since: `day ${i}` }]);
      await context.put({ map: objectOf(fields), [`copy ${i % 7}`]: objectOf(fields) });
    }
    await context.reopen();
    const read = context.read((snapshot) => snapshot.get("map"));
    expect(findDifference(read, objectOf(fields))).toBeUndefined();
  });
}

function checkFields(check: Check): void {
  const expectParts = (
    context: Context,
    values: ReadonlyMap<Key, Value>,
    fields: readonly string[],
  ): void => {
    context.read((snapshot) => {
      const walked = new Map(
        Array.from(snapshot.entries(ALL, fields), ({ key, value }) => [key, value]),
      );
      for (const [key, value] of values) {
        expect(findPartDifference(walked.get(key), value, fields)).toBeUndefined();
        expect(findPartDifference(snapshot.get(key, fields), value, fields)).toBeUndefined();
      }
    });
  };

  check("a read of some fields returns them as they are in the whole value", async (context) => {
    // Each under several keys, so that a storage which learns shapes learns these.
    const putCopies = async (values: readonly Value[]): Promise<Map<Key, Value>> => {
      const copies = Array.from({ length: values.length * 8 }, (_, i): [Key, Value] => [
        `copy ${i}`,
        values[i % values.length] ?? null,
      ]);
      const entries = new Map(copies);
      await context.storage.commit(entries);
      return entries;
    };
    const values = fc.array(anyValue(), { minLength: 1, maxLength: 10 });
    const fields = fc.uniqueArray(anyKey(), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(values, fields, async (generated, names) => {
        const entries = await putCopies(generated);
        expectParts(context, entries, names);
        await context.reopen();
        expectParts(context, entries, names);
      }),
      { numRuns: histories(40), endOnFailure: true },
    );
  });

  check("fields are found before, between and after every other value", async (context) => {
    const values = oddValues().flatMap((other): Value[] => [
      { a: 1, other, b: { c: other }, c: "last" },
      [{ a: -0, other }, { b: -0 }, 7],
    ]);
    const entries = new Map(values.map((value, i): [Key, Value] => [`${i}`, value]));
    await context.storage.commit(entries);
    for (const fields of [[], ["a"], ["c"], ["absent", "other", "c"]]) {
      expectParts(context, entries, fields);
    }
  });

  check("fields of thousands of values of one shape and of many are read", async (context) => {
    const values = Array.from({ length: 2000 }, (_, i): [Key, Value] => [
      `${i}`,
      {
        name: `name ${i % 40}`,
        [`extra ${i % 50}`]: i,
        mark: i % 2 === 0 ? -0 : 2n ** 60n + BigInt(i),
        "": [`text ${i}`, { name: i }],
      },
    ]);
    await context.storage.commit(new Map(values));
    for (const fields of [["mark", "name", "extra 7"], [""]]) {
      expectParts(context, new Map(values), fields);
    }
  });
}

/** One step of the model test: keys to change, whether to keep a snapshot, whether to reopen. */
interface Step {
  readonly writes: readonly (readonly [Key, Value | undefined])[];
  readonly action: "none" | "keep" | "reopen";
}

function checkModel(check: Check): void {
  const key = fc.oneof(
    fc.integer({ min: 0, max: 40 }).map((i) => `key ${i}`),
    fc
      .array(fc.constantFrom("\0", "a", "\x80", "\xff"), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join("")),
  );
  const value = fc.option(fc.oneof(fc.nat(), fc.string({ maxLength: 3000 }), anyValue()), {
    nil: undefined,
    freq: 2,
  });
  const step: fc.Arbitrary<Step> = fc.record({
    writes: fc.array(fc.tuple(key, value), { maxLength: 30 }),
    action: fc.constantFrom("none" as const, "none" as const, "keep" as const, "reopen" as const),
  });

  check("random commits, snapshots and reopenings agree with a sorted map", async (context) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) => runModel(context, steps)),
      { numRuns: histories(25), endOnFailure: true },
    );
  });
}

async function runModel(context: Context, steps: readonly Step[]): Promise<void> {
  const clear: Writes = new Map(
    context.read((snapshot) => keysIn(snapshot).map((key) => [key, undefined])),
  );
  await context.storage.commit(clear);
  const model = new Map<Key, Value>();
  let kept: { snapshot: Snapshot; state: Map<Key, Value> }[] = [];
  for (const { writes, action } of steps) {
    const changes = new Map(writes);
    await context.storage.commit(changes);
    for (const [key, value] of changes) {
      if (value === undefined) model.delete(key);
      else model.set(key, value);
    }
    if (action === "keep") {
      kept.push({ snapshot: context.storage.snapshot(), state: new Map(model) });
    }
    if (action === "reopen") {
      kept = [];
      await context.reopen();
    }
    context.read((snapshot) => expectState(snapshot, model));
    for (const { snapshot, state } of kept) expectState(snapshot, state);
  }
  for (const { snapshot } of kept) snapshot.close();
}

function expectState(reader: Reader, state: ReadonlyMap<Key, Value>): void {
  const sorted = [...state.keys()].toSorted();
  expect(keysIn(reader)).toEqual(sorted);
  expect(keysIn(reader, { ...ALL, reverse: true })).toEqual(sorted.toReversed());
  const from = sorted[Math.floor(sorted.length / 3)] ?? "a";
  const to = sorted[Math.floor((sorted.length * 2) / 3)] ?? "b";
  const part = sorted.filter((key) => key >= from && key < to);
  expect(entriesIn(reader, { from, to }).map(([key]) => key)).toEqual(part);
  for (const key of sorted) {
    expect(findDifference(reader.get(key), state.get(key))).toBeUndefined();
  }
}
