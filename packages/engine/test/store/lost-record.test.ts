import { documentId, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Key } from "../../src/platform.ts";
import { documentKey, metaKey } from "../../src/store/keys.ts";
import type { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore } from "../support/open-store.ts";

const COLLECTION = 1;

async function filled(): Promise<{ store: Store; storage: MemoryKeyValue }> {
  const { store, storage } = await openStore();
  await store.transact((transaction) => {
    for (const id of ["a", "b", "c"]) {
      transaction.apply([{ kind: "insert", collection: "cars", id, fields: { n: 1 } }]);
    }
    transaction.apply([{ kind: "delete", collection: "cars", id: "c" }]);
  });
  return { store, storage };
}

/** As a damaged page hides it. */
async function hide(storage: MemoryKeyValue, key: Key): Promise<void> {
  await storage.commit(new Map([[key, undefined]]));
}

async function codeOf(body: () => unknown): Promise<string> {
  try {
    await body();
  } catch (error) {
    return error instanceof PeerError ? error.code : `no PeerError: ${String(error)}`;
  }
  return "no error";
}

function insert(store: Store, id: string): Promise<unknown> {
  return store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id, fields: { n: 2 } }]);
  });
}

test("[K72] a document without its fields is not reported as absent, nor overwritten", async () => {
  const { store, storage } = await filled();
  await hide(storage, documentKey(COLLECTION, documentId("b").key));
  expect(await codeOf(() => store.read((view) => view.get("cars", "b")))).toBe("store.corrupt");
  expect(await codeOf(() => store.read((view) => view.getByKey("cars", documentId("b").key)))).toBe(
    "store.corrupt",
  );
  expect(await codeOf(() => insert(store, "b"))).toBe("store.corrupt");
  expect(store.read((view) => view.get("cars", "a")?.fields)).toEqual({ n: 1 });
  expect(store.read((view) => view.get("cars", "c"))).toBeUndefined();
  expect(store.read((view) => view.get("cars", "never"))).toBeUndefined();
});

test("[K72] a document without its metadata is not overwritten", async () => {
  const { store, storage } = await filled();
  await hide(storage, metaKey(COLLECTION, documentId("b").key));
  expect(await codeOf(() => insert(store, "b"))).toBe("store.corrupt");
  expect(await codeOf(() => insert(store, "new"))).toBe("no error");
});

test("[K72] a scan of a whole collection fails if a document is missing", async () => {
  const { store, storage } = await filled();
  const ids = (fields?: readonly string[]): unknown[] =>
    store.read((view) => Array.from(view.scan("cars", { fields }), ({ id }) => id));
  for (const fields of [undefined, [], ["n"]]) expect(ids(fields)).toEqual(["a", "b"]);
  await hide(storage, documentKey(COLLECTION, documentId("b").key));
  for (const fields of [undefined, [], ["n"]]) {
    expect(await codeOf(() => ids(fields))).toBe("store.corrupt");
  }
});
