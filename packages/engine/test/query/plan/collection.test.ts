/**
 * What the collections of a statement stand for, and what may be done with them.
 */
import { NAME_SIZE_MAX, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { locate } from "../../../src/query/fault.ts";
import { type CollectionPurpose, resolveCollection } from "../../../src/query/plan/collection.ts";
import type { CollectionRef } from "../../../src/query/syntax/tree.ts";
import {
  systemCollection,
  systemCollectionNames,
} from "../../../src/query/system/system-collections.ts";

const PURPOSES: readonly CollectionPurpose[] = ["read", "write", "delete"];

function ref(namespace: string | undefined, name: string): CollectionRef {
  return { name, at: 14, ...(namespace === undefined ? {} : { namespace }) };
}

function refusalOf(collection: CollectionRef, use: CollectionPurpose): PeerError {
  try {
    resolveCollection(collection, use);
  } catch (error) {
    const located = locate(error, "SELECT * FROM system:nope");
    if (located instanceof PeerError) return located;
    throw error;
  }
  throw new Error("expected a refusal");
}

test.each(PURPOSES)(
  "a name without a namespace or with default: is a stored collection, to %s",
  (use) => {
    for (const namespace of [undefined, "default"]) {
      const resolved = { kind: "stored", name: "cars" };
      expect(resolveCollection(ref(namespace, "cars"), use)).toEqual(resolved);
    }
  },
);

test("system: can be read", () => {
  for (const name of systemCollectionNames()) {
    const collection = systemCollection(name);
    expect(resolveCollection(ref("system", name), "read")).toEqual({
      kind: "system",
      collection,
    });
  }
});

test("system: cannot be written", () => {
  for (const name of systemCollectionNames()) {
    expect(refusalOf(ref("system", name), "write").code).toBe("query.semantic");
  }
});

test("only requests can be deleted from system:, which stops running ones", () => {
  for (const name of systemCollectionNames()) {
    if (name === "request_history" || name === "active_requests") continue;
    expect(refusalOf(ref("system", name), "delete").code).toBe("query.semantic");
  }
  const collection = systemCollection("request_history");
  expect(resolveCollection(ref("system", "completed_requests"), "delete")).toEqual({
    kind: "system",
    collection,
  });
});

test.each(PURPOSES)("an unknown system: collection is refused, to %s", (use) => {
  for (const name of ["nope", "functions", "keywords", "DUAL", "", "constructor"]) {
    expect(refusalOf(ref("system", name), use).code).toBe("query.semantic");
  }
});

test("the error has the place and a suggested name", () => {
  const refusal = refusalOf(ref("system", "indices"), "read");
  expect(refusal.message).toMatch(
    /^unknown system collection 'indices' at .*; did you mean indexes\?$/,
  );
  expect(refusal.place).toMatchObject({ line: 1, column: 15 });
});

test.each(PURPOSES)("any other namespace is refused, to %s", (use) => {
  for (const namespace of ["bogus", "", "SYSTEM"]) {
    expect(refusalOf(ref(namespace, "cars"), use).code).toBe("query.evaluation");
  }
});

test("an invalid collection name is refused before the storage sees it", () => {
  for (const name of ["", "x".repeat(NAME_SIZE_MAX + 1), "\ud800"]) {
    expect(refusalOf(ref(undefined, name), "read").code).toBe("query.store");
    expect(refusalOf(ref(undefined, name), "write").code).toBe("query.evaluation");
    expect(refusalOf(ref("default", name), "delete").code).toBe("query.evaluation");
  }
});
