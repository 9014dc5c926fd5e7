/**
 * Edits: each does what it says, and its inverse gives the same fields with the same types.
 */

import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import { expect, test } from "vitest";
import { type RealServer, startRealServer } from "../../peer/test/support/real-server.ts";
import {
  type Change,
  type Edit,
  type EditStatement,
  fieldsLike,
  inverseOf,
  objectOf,
  statementOf,
} from "../src/data/edit.ts";
import { markOldCounters, oldCounterStatement } from "../src/data/old-counters.ts";
import { type TypedField, typedFields } from "../src/data/typed-fields.ts";

const INSERT = `INSERT INTO COLLECTION stock (place REGISTER, n COUNTER, m MAP (k COUNTER, o REGISTER))
  DOCUMENTS (:document)`;
const DOCUMENT = {
  _id: "s1",
  place: { row: 1 },
  n: 10,
  text: "x",
  none: null,
  list: [1, { a: 2 }],
  m: { k: 3, o: { b: { c: 1 } }, inner: { z: true } },
  empty: {},
  big: 2n ** 53n + 1n,
  zero: -0,
  ["__proto__"]: { constructor: { a: 1 } },
};
const OLD_COUNTERS = "UPDATE stock APPLY old PN_INCREMENT BY 2.5, m.old PN_INCREMENT BY 3";

async function post(server: RealServer, path: string, body: object): Promise<unknown> {
  const { running, content } = server;
  const response = await fetch(`${running.url}/api/v4/store/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
    body: stringifyExact(body),
  });
  const answer = parseExact(await response.text());
  if (!response.ok) throw new Error(stringifyExact(answer));
  return answer;
}

async function fieldsOf(server: RealServer, id = "s1"): Promise<readonly TypedField[] | null> {
  const body = { collection: "stock", id, serializedAs: "latestValuesAndTypes" };
  const { fields } = (await post(server, "findbyid", body)) as {
    fields: Record<string, unknown> | null;
  };
  if (fields === null) return null;
  const typed = typedFields(fields);
  const { text, args } = oldCounterStatement({ collection: "stock", id }, typed) ?? NO_STATEMENT;
  const { items } = (await post(server, "execute", { statement: text, args })) as {
    items: Record<string, unknown>[];
  };
  return markOldCounters(typed, items[0] ?? {});
}

const NO_STATEMENT = { text: "SELECT 1", args: {} };

/** A server with the document. */
async function startWithStock(): Promise<RealServer> {
  const server = await startRealServer();
  await post(server, "execute", { statement: INSERT, args: { document: DOCUMENT } });
  await post(server, "execute", { statement: OLD_COUNTERS, args: {} });
  return server;
}

async function run(server: RealServer, edit: Edit): Promise<void> {
  const all = statementOf(edit);
  for (let next: EditStatement | undefined = all; next !== undefined; next = next.next) {
    await post(server, "execute", { statement: next.text, args: next.args });
  }
}

function inverse(edit: Edit, fields: readonly TypedField[]): Edit {
  const found = inverseOf(edit, fields);
  if (found === undefined) throw new Error("expected an edit that can be undone");
  return found;
}

const CHANGES: readonly (readonly [title: string, change: Change])[] = [
  ["a text", { kind: "set", path: ["text"], value: "it's" }],
  ["a text to an object", { kind: "set", path: ["text"], value: { a: 1 } }],
  ["a register that is an object", { kind: "set", path: ["place"], value: { bin: 2 } }],
  ["a number beyond 2^53", { kind: "set", path: ["big"], value: 2n ** 53n + 2n }],
  ["a zero", { kind: "set", path: ["zero"], value: 1 }],
  ["a counter by a number beyond 2^53", { kind: "increment", path: ["n"], by: 2n ** 53n + 1n }],
  ["an old counter", { kind: "increment", path: ["old"], by: 0.5, isOld: true }],
  ["the removal of an old counter", { kind: "unset", path: ["old"] }],
  ["the removal of a field with an odd name", { kind: "unset", path: ["__proto__"] }],
  ["a field inside of a map", { kind: "set", path: ["m", "inner", "z"], value: null }],
  ["a new field", { kind: "set", path: ["odd name", "x"], value: 1 }],
  ["a counter", { kind: "increment", path: ["n"], by: -4 }],
  ["a counter inside of a map", { kind: "increment", path: ["m", "k"], by: 2.0 }],
  ["the removal of a text", { kind: "unset", path: ["text"] }],
  ["the removal of a counter", { kind: "unset", path: ["n"] }],
  ["the removal of a map", { kind: "unset", path: ["m"] }],
  ["the removal of an empty map", { kind: "unset", path: ["empty"] }],
  ["a new counter", { kind: "restore", fields: [{ path: ["new"], type: "counter", value: 3 }] }],
  ["the removal of the document", { kind: "delete" }],
];

test("the inverse of an edit gives the same fields with the same types", async () => {
  const server = await startWithStock();
  const before = await fieldsOf(server);
  expect(before?.map(({ path, type }) => [path.join("."), type])).toEqual([
    ["__proto__", "map"],
    ["__proto__.constructor", "map"],
    ["__proto__.constructor.a", "register"],
    ["big", "register"],
    ["empty", "map"],
    ["list", "register"],
    ["m", "map"],
    ["m.inner", "map"],
    ["m.inner.z", "register"],
    ["m.k", "counter"],
    ["m.o", "register"],
    ["m.old", "counter"],
    ["n", "counter"],
    ["none", "register"],
    ["old", "counter"],
    ["place", "register"],
    ["text", "register"],
    ["zero", "register"],
  ]);
  for (const [title, change] of CHANGES) {
    const edit: Edit = { title, collection: "stock", id: "s1", change };
    await run(server, edit);
    expect(await fieldsOf(server), title).not.toEqual(before);
    await run(server, inverse(edit, before ?? []));
    const after = await fieldsOf(server);
    // A map stays when all that was in it is removed.
    expect(
      after?.filter(({ path }) => path[0] !== "odd name"),
      title,
    ).toEqual(before);
  }
});

test("a clone has the types of its original", async () => {
  const server = await startWithStock();
  const original = (await fieldsOf(server)) ?? [];
  const fields = fieldsLike(objectOf(original), original);
  await run(server, {
    title: "",
    collection: "stock",
    id: "s2",
    change: { kind: "insert", fields },
  });
  expect(await fieldsOf(server, "s2")).toEqual(original);
});

test("a field of a clone that was changed to another kind of value is a plain one", () => {
  const original: readonly TypedField[] = [
    { path: ["n"], type: "counter", value: 1 },
    { path: ["place"], type: "register", value: { row: 1 } },
  ];
  expect(fieldsLike({ n: "one", place: [1], more: { a: null } }, original)).toEqual([
    { path: ["n"], type: "register", value: "one" },
    { path: ["place"], type: "register", value: [1] },
    { path: ["more"], type: "map", value: {} },
    { path: ["more", "a"], type: "register", value: null },
  ]);
});

test("the inverse of an insert is a delete", () => {
  const insert: Edit = {
    title: "",
    collection: "c",
    id: 1,
    change: { kind: "insert", fields: [] },
  };
  expect(inverse(insert, []).change).toEqual({ kind: "delete" });
  expect(statementOf(inverse(insert, [])).text).toBe("DELETE FROM c WHERE _id = :id");
});

test("an edit cannot be undone if that would write a value that JSON cannot hold", () => {
  const fields = typedFields({
    bytes: { register: { cbor: "QwECAw==" } },
    text: { register: { value: "x" } },
  });
  expect(fields.map(({ isOpaque = false }) => isOpaque)).toEqual([true, false]);
  const edit = (change: Change): Edit => ({ title: "", collection: "c", id: 1, change });
  expect(inverseOf(edit({ kind: "delete" }), fields)).toBeUndefined();
  expect(inverseOf(edit({ kind: "unset", path: ["bytes"] }), fields)).toBeUndefined();
  expect(inverseOf(edit({ kind: "unset", path: ["text"] }), fields)).toBeDefined();
});
