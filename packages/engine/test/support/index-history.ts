/**
 * Histories of a store with indexes, from a seed: documents come, change and go in every way while
 * indexes are made and dropped, at once or in pieces. And what an index must be at any time: all
 * documents of its collection, or those that it has come to, sorted by the values at its keys.
 */

import {
  compareValues,
  documentId,
  type IndexKey,
  type Operation,
  timeOfMs,
  type UploadOperation,
  type Value,
} from "@bigpeer/protocol";
import { expect } from "vitest";
import type { KeyValue } from "../../src/platform.ts";
import type { IndexDefinition, IndexEntry, IndexRange } from "../../src/store/index-entry.ts";
import type { Bound } from "../../src/store/keys.ts";
import { Store } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import type { StoredDocument, View } from "../../src/store/view.ts";
import { type Random, seededRandom, type TestPlatform, testPlatform } from "./test-platform.ts";
import {
  randomAttachmentOperation,
  randomMerge,
  randomOperation,
  randomUploadOperation,
} from "./workload.ts";

const DAY_MS = 86_400_000;
const COLLECTIONS = ["cars", "dogs"];
const NAMES = ["a", "b", "a\0", "größe", "one.two"];
const PATHS: readonly (readonly string[])[] = [
  ["n"],
  ["k"],
  ["m"],
  ["m", "x"],
  ["m", "y", "z"],
  ["p"],
  ["t"],
  ["_id"],
  ["_id", "k"],
  ["never"],
];

const LONG = "x".repeat(800);

/** Values where keys could go wrong: zeros in text, text that begins text, values too long to keep. */
export const EDGE_VALUES: readonly Value[] = [
  null,
  false,
  true,
  -1,
  0,
  2.5,
  2n ** 60n,
  Number.NaN,
  new Uint8Array([0]),
  new Uint8Array([0, 0]),
  "",
  "\0",
  "a",
  "a\0",
  "a\0b",
  "a\u0001",
  "ab",
  "é",
  LONG,
  `${LONG}\0`,
  `${LONG}b`,
  "\0".repeat(400),
  `${"y".repeat(765)}\0\0`,
  `${"y".repeat(766)}\0`,
  "y".repeat(766),
  "x".repeat(766),
  "x".repeat(767),
  "x".repeat(768),
  "\u{1f697}".repeat(300),
  `x${"\u{1f697}".repeat(500)}`,
  [],
  ["a"],
  ["a\0"],
  [LONG, 1],
  {},
  { x: 1 },
];

export interface HistoryOptions {
  readonly seed: number;
  readonly turns: number;
  /** Called after each turn with what is durable then. */
  readonly onTurn: (view: View, random: Random) => void;
}

/**
 * A store on `storage` lives through a random history. The store is open when it is given back.
 * Nothing is built in the background: pieces come as the seed says.
 */
export async function indexHistory(storage: KeyValue, options: HistoryOptions): Promise<Store> {
  const random = seededRandom(options.seed);
  const platform = testPlatform(options.seed);
  const store = await Store.open(storage, platform, { isBuildHeld: true });
  const uploads: UploadChain = { number: 0, digest: undefined, time: 0 };
  for (let turn = 0; turn < options.turns; turn++) {
    platform.nowMs += random.below(50);
    if (random.chance(0.1)) await sendUpload(store, platform, random, uploads);
    else if (random.chance(0.03)) await forget(store, platform);
    else await write(store, platform, random);
    store.read((snapshot) => options.onTurn(snapshot, random));
  }
  return store;
}

async function write(store: Store, platform: TestPlatform, random: Random): Promise<void> {
  const time = timeOfMs(platform.nowMs) - random.below(1000);
  const operations = Array.from({ length: 1 + random.below(4) }, (): Operation => {
    if (random.chance(0.2)) return randomIndexOperation(random);
    if (random.chance(0.1)) return randomAttachmentOperation(random);
    if (random.chance(0.2)) return randomMerge(random, "00000000000000ee", time);
    return random.chance(0.5) ? randomOperation(random) : randomText(random);
  });
  const isFailing = random.chance(0.1);
  await store
    .transact((transaction) => {
      for (const operation of operations) transaction.apply([operation]);
      if (isFailing) throw new Error("the request fails");
    })
    .catch((error: unknown) => {
      if (!isFailing) throw error;
    });
}

/** Deletes are collected: entries must not notice. */
async function forget(store: Store, platform: TestPlatform): Promise<void> {
  platform.nowMs += DAY_MS;
  const { txnId } = store.read((snapshot) => snapshot.head);
  await store.transact((transaction) => {
    transaction.apply([{ kind: "trim", upTo: Math.floor(txnId / 2) }]);
    transaction.apply([{ kind: "horizon", time: timeOfMs(platform.nowMs - DAY_MS / 2) }]);
  });
}

interface UploadChain {
  number: number;
  digest: Uint8Array | undefined;
  time: number;
}

async function sendUpload(
  store: Store,
  platform: TestPlatform,
  random: Random,
  chain: UploadChain,
): Promise<void> {
  const operation: UploadOperation = randomUploadOperation(random);
  chain.time = Math.max(chain.time + 1, timeOfMs(platform.nowMs));
  const steps = [{ time: chain.time, operations: [operation] }];
  chain.digest = uploadDigest(platform, chain.digest, steps);
  chain.number++;
  const { digest, number } = chain;
  await takeUpload(store, { site: "00000000000000aa", number, digest, steps });
}

function randomText(random: Random): Operation {
  const place = { collection: random.pick(COLLECTIONS), id: random.below(12) };
  const value = random.pick(EDGE_VALUES);
  const edits = [{ kind: "set", path: ["t"], value, types: "register" }] as const;
  if (random.chance(0.4)) return { kind: "update", ...place, edits };
  return {
    kind: "insert",
    ...place,
    fields: { t: value, n: random.below(3) },
    types: { t: "register" },
  };
}

export function randomIndexOperation(random: Random): Operation {
  const collection = random.pick(COLLECTIONS);
  const name = random.pick(NAMES);
  const limit = 1 + random.below(4);
  const first = random.chance(0.5) ? { limit } : {};
  if (random.chance(0.25)) return { kind: "drop_index", collection, name, ...first };
  if (random.chance(0.3)) return { kind: "build_index", collection, name, limit };
  if (random.chance(0.1)) return { kind: "clear_index", number: 1 + random.below(9), limit };
  const keys = Array.from({ length: 1 + random.below(3) }, (): IndexKey => {
    return { path: random.pick(PATHS), isDescending: random.chance(0.4) };
  });
  return { kind: "create_index", collection, name, keys, ...first };
}

/** Every index of the view is what its documents say, as a whole and in random ranges. */
export function checkIndexes(view: View, random: Random, where: string): void {
  for (const { building, ...index } of view.indexes()) {
    const documents = [...view.scan(index.collection)].filter(
      ({ id }) => building === undefined || documentId(id).key <= building.after,
    );
    checkScan(view, { index, documents, range: {}, where });
    for (let i = 0; i < 4; i++) {
      checkScan(view, { index, documents, range: randomRange(random, index), where });
    }
  }
}

export function randomRange(random: Random, index: IndexDefinition): IndexRange {
  const equal = Array.from({ length: random.below(index.keys.length) }, () => anyValue(random));
  const reverse = random.chance(0.5);
  const bound = (): Bound => ({ value: anyValue(random), isIncluded: random.chance(0.5) });
  switch (random.below(5)) {
    case 0:
      return { equal: [...equal, anyValue(random)], reverse };
    case 1:
      return { equal, low: bound(), reverse };
    case 2:
      return { equal, high: bound(), reverse };
    case 3:
      return { equal, startsWith: random.pick(["", "a", "a\0", "y", LONG, "\0"]), reverse };
    default:
      return { equal, low: bound(), high: bound() };
  }
}

function anyValue(random: Random): Value | undefined {
  if (random.chance(0.1)) return undefined;
  return random.chance(0.3) ? random.below(5) : random.pick([...EDGE_VALUES, "s", [1, 2]]);
}

export interface ScanCheck {
  readonly index: IndexDefinition;
  readonly documents: readonly StoredDocument[];
  readonly range: IndexRange;
  readonly where: string;
}

/** A scan gives the documents of its range in order; near misses only where it says so. */
export function checkScan(view: View, { index, documents, range, where }: ScanCheck): void {
  const context = `${where}: ${JSON.stringify([index.name, index.keys])}`;
  const byKey = new Map(documents.map((each) => [documentId(each.id).key, each]));
  const direction = range.reverse === true ? -1 : 1;
  const compare = (a: StoredDocument, b: StoredDocument): number =>
    compareIn(index.keys, a, b) * direction;
  const found: StoredDocument[] = [];
  let shared: { readonly position: string; readonly documents: StoredDocument[] } | undefined;
  // Entries that share a place, because they are cut, are sorted by whoever reads them.
  const settle = (): void => {
    found.push(...(shared?.documents.sort(compare) ?? []));
    shared = undefined;
  };
  for (const entry of view.scanIndex(index, range)) {
    const document = byKey.get(entry.idKey);
    if (document === undefined) throw new Error(`${context}: an entry without a document`);
    checkEntry(index, entry, document, context);
    if (shared?.position !== entry.position) settle();
    if (entry.isExact) found.push(document);
    else if (isInRange(index.keys, range, document)) {
      shared ??= { position: entry.position, documents: [] };
      shared.documents.push(document);
    }
  }
  settle();
  const expected = documents.filter((each) => isInRange(index.keys, range, each)).sort(compare);
  expect(idsOf(found), context).toEqual(idsOf(expected));
}

function idsOf(documents: readonly StoredDocument[]): Value[] {
  return documents.map(({ id }) => id);
}

function checkEntry(
  { keys }: IndexDefinition,
  entry: IndexEntry,
  document: StoredDocument,
  context: string,
): void {
  const values = keys.map(({ path }) => valueOf(document, path));
  expect(compareValues(entry.id, document.id), context).toBe(0);
  if (entry.isExact) expect(compareRows(entry.values() ?? [], values), context).toBe(0);
  else expect(entry.values(), context).toBeUndefined();
}

function compareRows(a: readonly (Value | undefined)[], b: readonly (Value | undefined)[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (const [i, value] of a.entries()) {
    const order = compareValues(value, b[i]);
    if (order !== 0) return order;
  }
  return 0;
}

function valueOf(document: StoredDocument, path: readonly string[]): Value | undefined {
  let value: Value | undefined = { ...document.fields, _id: document.id };
  for (const name of path) {
    const isMap: boolean = typeof value === "object" && value !== null && !Array.isArray(value);
    value = isMap ? (value as { [name: string]: Value | undefined })[name] : undefined;
  }
  return value;
}

function compareIn(keys: readonly IndexKey[], a: StoredDocument, b: StoredDocument): number {
  for (const { path, isDescending } of keys) {
    const order = compareValues(valueOf(a, path), valueOf(b, path));
    if (order !== 0) return isDescending ? -order : order;
  }
  return compareValues(a.id, b.id);
}

function isInRange(
  keys: readonly IndexKey[],
  { equal = [], low, high, startsWith }: IndexRange,
  document: StoredDocument,
): boolean {
  const values = keys.map(({ path }) => valueOf(document, path));
  if (!equal.every((value, i) => compareValues(values[i], value) === 0)) return false;
  const next = values[equal.length];
  if (startsWith !== undefined) return typeof next === "string" && next.startsWith(startsWith);
  return (
    (low === undefined || compareValues(next, low.value) >= (low.isIncluded ? 0 : 1)) &&
    (high === undefined || compareValues(next, high.value) <= (high.isIncluded ? 0 : -1))
  );
}
