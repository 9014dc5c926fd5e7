import { documentId, type IndexKey, type Operation, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Key } from "../../src/platform.ts";
import { entryKeyOf } from "../../src/store/index-entry.ts";
import {
  attachmentKey,
  HEAD_KEY,
  IDENTITY_KEY,
  indexListKey,
  orphanKey,
  readOrphanKey,
  referenceKey,
} from "../../src/store/keys.ts";
import { UPLOADERS_MAX } from "../../src/store/records.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { dump, type OpenStore, openStore, problems } from "../support/open-store.ts";

const KEYS: readonly IndexKey[] = [
  { path: ["n"], isDescending: false },
  { path: ["m", "x"], isDescending: true },
];

const TOKEN = { id: "used", len: 3 };

async function sample(): Promise<OpenStore> {
  const opened = await openStore();
  const apply = (...operations: Operation[]): Promise<unknown> =>
    opened.store.transact((transaction) => transaction.apply(operations));
  await apply(
    { kind: "insert", collection: "c", id: "a", fields: { n: 1, m: { x: 1 } } },
    { kind: "insert", collection: "c", id: "b", fields: { k: 3 }, types: { k: "counter" } },
    { kind: "insert", collection: "c", id: "gone", fields: {} },
  );
  await apply({ kind: "delete", collection: "c", id: "gone" });
  await apply({ kind: "create_index", collection: "c", name: "by_n", keys: KEYS });
  await apply(
    { kind: "insert", collection: "f", id: 1, fields: { t: TOKEN }, types: { t: "attachment" } },
    { kind: "attach", id: "used", len: 3, by: "ann" },
    { kind: "attach", id: "orphan", len: 3, by: "ann" },
  );
  const steps = [{ time: 5, operations: [{ kind: "delete", collection: "c", id: "x" }] }] as const;
  const digest = uploadDigest(opened.platform, undefined, steps);
  await takeUpload(opened.store, { site: "00000000000000aa", number: 1, digest, steps });
  await opened.store.close();
  return opened;
}

test("[K30] an intact store has no problems and every key is counted", async () => {
  const { storage } = await sample();
  expect(problems(storage)).toEqual([]);
});

test("[K30] the loss of any key is found", async () => {
  const keys = [...dump((await sample()).storage).keys()];
  expect(keys.length).toBeGreaterThan(10);
  for (const key of keys) {
    const { storage } = await sample();
    await storage.commit(new Map([[key, undefined]]));
    expect(problems(storage), `without ${JSON.stringify(key)}`).not.toEqual([]);
  }
});

test("[K30] a wrong value under any key is found", async () => {
  for (const [key, value] of dump((await sample()).storage)) {
    if (value === true) continue;
    const { storage } = await sample();
    await storage.commit(new Map([[key, spoiled(key, value)]]));
    expect(problems(storage), `spoiled ${JSON.stringify(key)}`).not.toEqual([]);
  }
});

function spoiled(key: Key, value: Value): Value {
  if (key === HEAD_KEY) return { ...(value as object), logCount: 99 };
  if (key === IDENTITY_KEY) return { ...(value as object), format: 99 };
  if (key.startsWith("u")) return { ...(value as object), number: 2 };
  if (key.startsWith("w")) return { ...(value as object), txnId: 99 };
  if (value instanceof Uint8Array) return value.map((byte, i) => (i === 3 ? byte ^ 1 : byte));
  if (typeof value === "number") return value + 7;
  if (key.startsWith("t")) return { ...(value as object), size: 1 };
  return key.startsWith("d") ? { other: "content" } : null;
}

test("[K30] a document that does not show what its last update set is found", async () => {
  const { store, storage } = await openStore();
  const place = { collection: "c", id: "a" } as const;
  const edits = [{ kind: "set", path: [], value: { n: 2, m: { y: 1 } } }] as const;
  const insert = { kind: "insert", ...place, fields: { n: 1, m: { x: 1 } } } as const;
  await store.transact((transaction) => transaction.apply([insert]));
  await store.transact((transaction) => transaction.apply([{ kind: "update", ...place, edits }]));
  expect(problems(storage)).toEqual([]);
  const [key, record] = [...dump(storage)].findLast(([each]) => each.startsWith("t")) ?? [];
  const text = JSON.stringify(record).replace('"n":2', '"n":3');
  await storage.commit(new Map([[key ?? "", JSON.parse(text) as Value]]));
  const message = 'expected its document "a" to show what it wrote';
  expect(problems(storage)).toEqual([`t:0000000000000002 ${message}`]);
});

test("[K30] an unknown key is found", async () => {
  const { storage } = await sample();
  await storage.commit(new Map([["zz", 1]]));
  expect(problems(storage)).toEqual(["z:7a expected a key of the storage format"]);
});

const BY_N = { name: "by_n", number: 1, keys: KEYS };
const LIST = indexListKey(1);

function entryOf(id: Value, fields: Record<string, Value>, number = 1): Key {
  return entryKeyOf({ ...BY_N, number }, fields, documentId(id).key);
}

/** What verify says of the sample after such a change. */
async function problemsAfter(...changes: [Key, Value | undefined][]): Promise<string[]> {
  const { storage } = await sample();
  await storage.commit(new Map(changes));
  return problems(storage).map((problem) => problem.replace(/^(.):\S*/, "$1"));
}

test("[K30] [K41] an index entry without its document, or a document without its entry, is found", async () => {
  const own = entryOf("a", { n: 1, m: { x: 1 } });
  const none = "x expected a document with this place in the index by_n";
  expect((await sample()).storage.snapshot().get(own)).toBe(true);
  expect(await problemsAfter([own, undefined])).toEqual(["d expected an entry in the index by_n"]);
  // Of another value, of a document that does not show, of one that never was.
  expect(await problemsAfter([entryOf("a", { n: 2, m: { x: 1 } }), true])).toEqual([none]);
  expect(await problemsAfter([entryOf("gone", {}), true])).toEqual([none]);
  expect(await problemsAfter([entryOf("nobody", { n: 1 }), true])).toEqual([none]);
  const moved = await problemsAfter([own, undefined], [entryOf("a", { n: 2 }), true]);
  expect(moved).toEqual(["d expected an entry in the index by_n", none]);
  expect(await problemsAfter([own, 1])).toEqual(["x expected an entry without content"]);
  expect(await problemsAfter([`${own}z`, true])).toEqual([none]);
  expect(await problemsAfter(["x\0", true])).toHaveLength(1);
});

test("[K30] [K40] a malformed list of indexes is found", async () => {
  const list = "i expected a list of indexes";
  const malformed: Value[] = [
    null,
    [],
    {},
    [1],
    [{ ...BY_N, name: "" }],
    [{ ...BY_N, name: 5 }],
    [{ ...BY_N, number: 0 }],
    [{ ...BY_N, number: 1.5 }],
    [{ name: "by_n", number: 1 }],
    [{ ...BY_N, keys: [] }],
    [{ ...BY_N, keys: [{ path: [], isDescending: false }] }],
    [{ ...BY_N, keys: [{ path: [1], isDescending: false }] }],
    [{ ...BY_N, keys: [{ path: ["n"] }] }],
  ];
  for (const value of malformed) {
    expect((await problemsAfter([LIST, value]))[0], JSON.stringify(value)).toBe(list);
  }
  expect(await problemsAfter([`${LIST}z`, [BY_N]])).toEqual([list]);
});

test("[K30] [K40] a list of indexes with repeated or unissued numbers, or not sorted by name, is found", async () => {
  const again = await problemsAfter([LIST, [BY_N, { ...BY_N, name: "c" }]]);
  expect(again).toContain("i expected a number of its own for the index c");
  const more = await problemsAfter([LIST, [BY_N, { ...BY_N, name: "c", number: 2 }]]);
  expect(more).toContain("i expected a number of its own for the index c");
  expect(more).toContain("d expected an entry in the index c");
  const unsorted = await problemsAfter([LIST, [BY_N, { ...BY_N, name: "a", number: 2 }]]);
  expect(unsorted).toContain("i expected indexes in the order of their names");
  expect(await problemsAfter([indexListKey(9), [{ ...BY_N, number: 1 }]])).toContain(
    "n expected a name for the collection",
  );
  expect(await problemsAfter([entryOf("a", {}, 5), true])).toEqual([
    "x expected an index of number 5",
  ]);
});

const ONE = documentId(1).key;
const USED = referenceKey("used", 2, ONE);

/** Since when the orphan of the sample is one. */
async function orphanTime(): Promise<number> {
  const keys = [...dump((await sample()).storage).keys()];
  return readOrphanKey(keys.find((key) => key.startsWith("o")) ?? "").time;
}

test("[K30] [K46] a token without its reference and a reference without its token are found", async () => {
  expect(await problemsAfter([USED, undefined])).toEqual([
    "b expected the time since when no document refers to the attachment",
    "m expected a reference to the attachment used",
  ]);
  const none = "r expected a document with this attachment";
  expect(await problemsAfter([referenceKey("other", 2, ONE), true])).toEqual([none]);
  expect(await problemsAfter([referenceKey("used", 2, documentId(2).key), true])).toEqual([none]);
  expect(await problemsAfter([referenceKey("used", 9, ONE), true])).toEqual([none]);
  expect(await problemsAfter([`${USED}z`, true])).toEqual([none]);
  expect(await problemsAfter(["r", true])).toHaveLength(1);
  expect(await problemsAfter([USED, 1])).toEqual(["r expected a reference without content"]);
});

test("[K30] [K47] a wrong orphan, and a missing one, is found", async () => {
  const time = await orphanTime();
  const none = "o expected an attachment without a reference since then";
  expect(await problemsAfter([orphanKey(time, "orphan"), undefined])).toEqual([
    "b expected an entry among the unreferenced attachments",
  ]);
  expect(await problemsAfter([orphanKey(time, "used"), true])).toEqual([none]);
  expect(await problemsAfter([orphanKey(time + 1, "orphan"), true])).toEqual([none]);
  expect(await problemsAfter([orphanKey(time, "nobody"), true])).toEqual([none]);
  expect(await problemsAfter([orphanKey(time, "orphan"), 1])).toEqual([
    "o expected an entry without content",
  ]);
  const marked = { len: 3, by: ["ann"], orphanedAt: time };
  expect(
    await problemsAfter([attachmentKey("used"), marked], [orphanKey(time, "used"), true]),
  ).toEqual(["b expected no time in the record of an attachment that is referred to"]);
});

test("[K30] [K45] a malformed attachment record, and a wrong count, is found", async () => {
  const record = { len: 3, by: ["ann"] };
  const malformed: Value[] = [
    null,
    [],
    { len: 3 },
    { ...record, len: -1 },
    { ...record, len: 1.5 },
    { ...record, by: [] },
    { ...record, by: [1] },
    { ...record, by: Array.from({ length: UPLOADERS_MAX + 1 }, String) },
    { ...record, orphanedAt: "now" },
  ];
  for (const value of malformed) {
    const found = await problemsAfter([attachmentKey("used"), value]);
    expect(found, JSON.stringify(value)).toEqual(["b expected the record of an attachment"]);
  }
  const counted = await problemsAfter([attachmentKey("used"), undefined]);
  expect(counted).toEqual(["h expected 1 attachments, found 2"]);
  const unknown = await problemsAfter([attachmentKey("x".repeat(200)), record]);
  expect(unknown).toEqual([
    "b expected the id of an attachment",
    "h expected 3 attachments, found 2",
  ]);
});
