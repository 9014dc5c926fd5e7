/**
 * Verify on indexes that are not finished: what may be so is no problem, everything else is found.
 */

import { documentId, type IndexKey, type Operation, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Key } from "../../src/platform.ts";
import { entryKeyOf } from "../../src/store/index-entry.ts";
import { droppedIndexKey, entryPrefix, HEAD_KEY, indexListKey } from "../../src/store/keys.ts";
import type { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { dump, openStore, problems } from "../support/open-store.ts";

const KEYS: readonly IndexKey[] = [{ path: ["n"], isDescending: false }];
const LIST = indexListKey(1);
const BUILDING = { name: "half", number: 2, keys: KEYS, building: { after: keyOf(3), done: 3 } };

function keyOf(id: Value): string {
  return documentId(id).key;
}

/** Five documents; an index of which one entry is left, and one that has come to the third. */
async function sample(): Promise<MemoryKeyValue> {
  const { store, storage } = await openStore({ isBuildHeld: true });
  const inserts = [1, 2, 3, 4, 5].map(
    (id): Operation => ({ kind: "insert", collection: "c", id, fields: { n: id * 10 } }),
  );
  const index = { collection: "c", keys: KEYS } as const;
  await store.transact((transaction) => {
    transaction.apply(inserts);
    transaction.apply([{ kind: "create_index", ...index, name: "gone" }]);
    transaction.apply([{ kind: "drop_index", collection: "c", name: "gone", limit: 4 }]);
    transaction.apply([{ kind: "create_index", ...index, name: "half", limit: 3 }]);
  });
  await store.close();
  return storage;
}

async function problemsAfter(...changes: [Key, Value | undefined][]): Promise<string[]> {
  const storage = await sample();
  await storage.commit(new Map(changes));
  return problems(storage).map((problem) => problem.replace(/^(.):\S*/, "$1"));
}

function entryOf(id: number, n: number): Key {
  return entryKeyOf(BUILDING, { n }, keyOf(id));
}

test("[K30] [K53] [K54] an index that is being built or removed is not a problem", async () => {
  const storage = await sample();
  expect(problems(storage)).toEqual([]);
  const kept = dump(storage);
  expect(kept.get(LIST)).toEqual([BUILDING]);
  expect(kept.get(droppedIndexKey(1))).toBe(true);
  expect([...kept.keys()].filter((key) => key.startsWith(entryPrefix(1)))).toHaveLength(1);
  expect([...kept.keys()].filter((key) => key.startsWith(entryPrefix(2)))).toHaveLength(3);
});

test("[K30] [K53] the loss of any key of a store with unfinished indexes is found", async () => {
  const keys = [...dump(await sample()).keys()];
  for (const key of keys) {
    expect(await problemsAfter([key, undefined]), `without ${JSON.stringify(key)}`).not.toEqual([]);
  }
});

test("[K30] [K53] wrong entries on both sides of the progress of a build are found, and no others", async () => {
  const missing = "d expected an entry in the index half";
  const wrong = "x expected a document with this place in the index half";
  expect(await problemsAfter([entryOf(3, 30), undefined])).toEqual([missing]);
  expect(await problemsAfter([entryOf(3, 31), true])).toEqual([wrong]);
  expect(await problemsAfter([entryOf(9, 90), true])).toEqual([wrong]);
  expect(await problemsAfter([entryOf(4, 41), true])).toEqual([wrong]);
  expect(await problemsAfter([entryOf(4, 40), true])).toEqual([
    "x expected a document that has come into the index half",
  ]);
  const short = { ...BUILDING, building: { after: keyOf(2), done: 2 } };
  expect(await problemsAfter([LIST, [short]])).toEqual([
    "x expected a document that has come into the index half",
  ]);
  const far = { ...BUILDING, building: { after: keyOf(4), done: 4 } };
  expect(await problemsAfter([LIST, [far]])).toEqual([missing]);
});

test("[K30] [K53] malformed progress is found", async () => {
  const { building, ...complete } = BUILDING;
  const malformed: Value[] = [
    null,
    {},
    { ...building, after: "" },
    { ...building, after: 5 },
    { after: building.after },
    { ...building, done: 0 },
    { ...building, done: 1.5 },
    { ...building, done: "3" },
  ];
  for (const value of malformed) {
    const [first] = await problemsAfter([LIST, [{ ...complete, building: value }]]);
    expect(first, JSON.stringify(value)).toBe("i expected a list of indexes");
  }
});

test("[K30] [K54] a wrong mark of a dropped index is found", async () => {
  const mark = droppedIndexKey(1);
  const count = "h expected 3 indexes that are not finished, found 2";
  const number = "y expected the number of an index that was dropped";
  const empty = "y expected an index that still has entries";
  expect(await problemsAfter([droppedIndexKey(2), true])).toEqual([number, count]);
  expect(await problemsAfter([droppedIndexKey(7), true])).toEqual([number, empty, count]);
  expect(await problemsAfter([mark, 1])).toEqual(["y expected the mark of a dropped index"]);
  expect(await problemsAfter([`${mark}z`, true])).toContain(
    "y expected the mark of a dropped index",
  );
  expect(await problemsAfter([mark, undefined])).toEqual([
    "x expected an index of number 1",
    "h expected 1 indexes that are not finished, found 2",
  ]);
});

test("[K30] [K54] a wrong count of unfinished indexes is found", async () => {
  const head = dump(await sample()).get(HEAD_KEY) as object;
  expect(head).toMatchObject({ indexes: 2, unfinished: 2 });
  expect(await problemsAfter([HEAD_KEY, { ...head, unfinished: 0 }])).toEqual([
    "h expected 2 indexes that are not finished, found 0",
  ]);
});
