/**
 * Makes the golden folder of the current format: a data folder with every kind of record, and what
 * must be found in it for ever.
 *
 * It is made once for each format, by hand, and then only read:
 *
 *   MAKE_GOLDEN=1 npx vitest run --project unit packages/server/test/golden/golden.test.ts
 *
 * A golden folder that has left this repository is not made again: from then on a change of what is
 * written is a new format, with a migration.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  deltaOf,
  EMPTY_STATE,
  type StateOperation,
  type Store,
  stateToBytes,
  type Transaction,
  takeUpload,
  type UploadStep,
  uploadDigest,
} from "@bigpeer/engine/store";
import { openStore } from "@bigpeer/node";
import { type Operation, timeOfMs, type UploadOperation, type Value } from "@bigpeer/protocol";
import {
  START_MS,
  type TestPlatform,
  testPlatform,
} from "../../../engine/test/support/test-platform.ts";
import { appStoreFolder, markDataFolder, prepareDataFolder } from "../../src/config/data-folder.ts";
import type { RegistryHost } from "../../src/registry/apps.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { OpenedStore } from "../../src/stores/stores.ts";

const DAY_MS = 86_400_000;

/** A site that was away too long. */
const LATE_SITE = "00000000000000dd";

/** When the last record was written. */
export const GOLDEN_MS: number = START_MS + 40 * DAY_MS;

export const OTHER_SITE = "00000000000000aa";

/** The content that nobody refers to. */
export const GOLDEN_ORPHAN = "0a3e";

const TOKEN = { id: "5f70bf18a086007016e948b04aed3b82", len: 7, metadata: { name: "a.jpg" } };

export interface GoldenDocument {
  readonly id: Value;
  readonly fields: Value;
  readonly types: Value | undefined;
}

/** What shows, by collection, in the order of the ids. */
export const GOLDEN_DOCUMENTS: { readonly [collection: string]: readonly GoldenDocument[] } = {
  types: [
    { id: false, fields: {}, types: undefined },
    {
      id: 42,
      fields: { sum: 12n ** 15n, half: 2.5, fresh: 5 },
      types: { sum: "counter", half: "pn_counter", fresh: "counter" },
    },
    { id: new Uint8Array([1, 2, 255]), fields: { colour: "red" }, types: undefined },
    {
      id: "registers",
      fields: {
        nothing: null,
        yes: true,
        small: -7,
        large: 9_223_372_036_854_775_807n,
        float: 0.1,
        text: "grün \u{1f697}",
        bytes: new Uint8Array([0, 127, 128, 255]),
        list: [1, "two", { three: [4] }],
        whole: { an: "object" },
        map: { inner: { deep: 1 }, empty: {} },
      },
      types: { whole: "register" },
    },
    { id: [1, "two"], fields: { photo: TOKEN }, types: { photo: "attachment" } },
    { id: { a: 1, b: 2 }, fields: { field: { shown: 3 }, left: 1 }, types: undefined },
  ],
  lives: [
    { id: "again", fields: { life: 2 }, types: undefined },
    { id: "merged", fields: { from: "elsewhere" }, types: undefined },
    { id: "seed", fields: { a: 1, b: 3 }, types: undefined },
    { id: "uploaded", fields: { n: 1, count: 5 }, types: { count: "counter" } },
  ],
  größe: [{ id: "x", fields: { l: 1 }, types: undefined }],
};

/** Writes the golden folder anew. */
export async function makeGolden(dataDir: string): Promise<void> {
  rmSync(dataDir, { recursive: true, force: true });
  const platform = testPlatform();
  const host: RegistryHost = { platform, log: () => {}, options: {} };
  prepareDataFolder(dataDir);
  markDataFolder(dataDir);
  const registry = await Registry.open(dataDir, host);
  const opened: OpenedStore[] = [registry.storeFolder];
  for (const app of registry.apps.list()) {
    const storeFolder = await openStore(appStoreFolder(dataDir, app.id), host);
    opened.push(storeFolder);
    await fill(storeFolder.store, platform);
  }
  for (const storeFolder of opened.toReversed()) {
    await storeFolder.close();
    // LMDB's own; it is made again by whoever opens the store.
    rmSync(join(storeFolder.folder, "lock.mdb"));
  }
}

async function fill(store: Store, platform: TestPlatform): Promise<void> {
  await writeForgotten(store, platform);
  platform.nowMs = GOLDEN_MS;
  await writeTypes(store);
  await writeLives(store);
  await writeUploads(store, platform);
  await write(store, { kind: "catalog", section: "index", name: "by-colour", value: ["colour"] });
  await write(store, insert("größe", "x", { l: 1 }));
  await writeAttachments(store);
  const keys = [{ path: ["colour"], isDescending: true }];
  await write(store, { kind: "create_index", collection: "types", name: "by_colour", keys });
  // A guard: the outcome rests on a document that the transaction does not change.
  await store.transact((transaction) => {
    transaction.get("lives", "seed");
    transaction.apply([{ kind: "catalog", section: "index", name: "by-size", value: ["l"] }]);
  });
}

/** A content that a document refers to, and one that nobody does. */
async function writeAttachments(store: Store): Promise<void> {
  const { id, len } = TOKEN;
  await write(
    store,
    { kind: "attach", id, len, by: "ann" },
    { kind: "attach", id: GOLDEN_ORPHAN, len: 1, by: "bob" },
  );
}

/** A delete that is collected and a log that is trimmed: horizon and floor are above zero. */
async function writeForgotten(store: Store, platform: TestPlatform): Promise<void> {
  await write(store, insert("lives", "forgotten", { n: 1 }));
  await write(store, { kind: "delete", collection: "lives", id: "forgotten" });
  // In steps that no clock is suspected for.
  for (let step = 0; step < 2; step++) {
    platform.nowMs += 19 * DAY_MS;
    await write(store, { kind: "catalog", section: "past", name: "step", value: step });
  }
  await store.maintain();
}

async function writeTypes(store: Store): Promise<void> {
  const [empty, , binary, registers, list, object] = GOLDEN_DOCUMENTS["types"] ?? [];
  for (const document of [empty, binary, registers, list]) {
    if (document === undefined) continue;
    await write(store, {
      kind: "insert",
      collection: "types",
      id: document.id,
      fields: document.fields as never,
      ...(document.types === undefined ? {} : { types: document.types as never }),
    });
  }
  await writeCounters(store);
  const id = object?.id ?? null;
  await write(store, insert("types", id, { field: "hidden", left: 1, gone: 1 }));
  await write(store, update("types", id, { kind: "set", path: ["field"], value: { shown: 3 } }));
  await write(store, update("types", id, { kind: "unset", path: ["gone"] }));
}

async function writeCounters(store: Store): Promise<void> {
  const fields = { sum: 0, half: 1, fresh: 100 };
  const types = { sum: "counter", half: "pn_counter", fresh: "counter" } as const;
  await write(store, { kind: "insert", collection: "types", id: 42, fields, types });
  const half = { kind: "increment", path: ["half"], by: 0.75, counter: "pn_counter" } as const;
  await write(
    store,
    update("types", 42, { kind: "increment", path: ["sum"], by: 12n ** 15n }, half),
    update("types", 42, half),
  );
  await write(store, update("types", 42, { kind: "restart", path: ["fresh"], value: 5 }));
}

async function writeLives(store: Store): Promise<void> {
  await write(store, insert("lives", "dead", { n: 1 }));
  await write(store, { kind: "delete", collection: "lives", id: "dead" });
  await write(store, insert("lives", "again", { life: 1, old: true }));
  await write(store, { kind: "delete", collection: "lives", id: "again" });
  await write(store, insert("lives", "again", { life: 2 }));
  await write(store, { kind: "initial", collection: "lives", id: "seed", fields: { a: 1, b: 2 } });
  await write(store, update("lives", "seed", { kind: "set", path: ["b"], value: 3 }));
  await write(store, insert("lives", "evicted", { n: 1 }));
  await write(store, update("lives", "evicted", { kind: "increment", path: ["mine"], by: 4 }));
  await write(store, { kind: "evict", collection: "lives", id: "evicted" });
  const merged: StateOperation = {
    kind: "insert",
    collection: "lives",
    id: "merged",
    fields: { from: "elsewhere" },
  };
  const stamp = { time: timeOfMs(GOLDEN_MS) - 7, site: "00000000000000bb" };
  const state = stateToBytes(deltaOf(EMPTY_STATE, merged, stamp) ?? EMPTY_STATE);
  await write(store, { kind: "merge", collection: "lives", id: "merged", state });
}

/** One upload that is applied, one that is refused, and one that comes too late. */
async function writeUploads(store: Store, platform: TestPlatform): Promise<void> {
  const count: UploadOperation = update("lives", "uploaded", {
    kind: "increment",
    path: ["count"],
    by: 5,
  });
  const now = timeOfMs(GOLDEN_MS);
  const unset = update("lives", "unknown", { kind: "unset", path: ["n"] });
  const inserted = insert("lives", "uploaded", { n: 1 });
  const uploads: UploadStep[][] = [
    [
      { time: now - 100, operations: [inserted] },
      { time: now - 99, operations: [count] },
    ],
    [{ time: now - 90, operations: [unset] }],
  ];
  await uploadAll(store, platform, OTHER_SITE, uploads);
  const late: UploadStep = { time: timeOfMs(START_MS), operations: [insert("lives", "late", {})] };
  await uploadAll(store, platform, LATE_SITE, [[late]]);
}

async function uploadAll(
  store: Store,
  platform: TestPlatform,
  site: string,
  uploads: readonly UploadStep[][],
): Promise<void> {
  let digest: Uint8Array | undefined;
  for (const [i, steps] of uploads.entries()) {
    digest = uploadDigest(platform, digest, steps);
    const by = { provider: "corp", user: "ann", peer: "pk:1" };
    await takeUpload(store, { site, number: i + 1, digest, steps }, undefined, { by });
  }
}

async function write(store: Store, ...operations: Operation[]): Promise<void> {
  const apply = (transaction: Transaction): void => {
    for (const operation of operations) transaction.apply([operation]);
  };
  await store.transact(apply, { by: { credential: "k1" } });
}

function insert(
  collection: string,
  id: Value,
  fields: { readonly [name: string]: Value },
): InsertLike {
  return { kind: "insert", collection, id, fields };
}

function update(collection: string, id: Value, ...edits: UpdateLike["edits"]): UpdateLike {
  return { kind: "update", collection, id, edits };
}

type InsertLike = Extract<UploadOperation, { kind: "insert" }>;
type UpdateLike = Extract<UploadOperation, { kind: "update" }>;
