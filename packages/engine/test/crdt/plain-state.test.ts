/**
 * Plain states: records to records, and never other than by merging and encoding.
 */

import { type Edit, isObject, type Stamp, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories, runs } from "../../../protocol/test/support/test-size.ts";
import { deltaOf, type StateOperation } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { plainWrite, type StateRecords } from "../../src/crdt/plain-state.ts";
import { simpleWrite } from "../../src/crdt/simple-state.ts";
import { type DocumentState, EMPTY_STATE, isEmptyState } from "../../src/crdt/state.ts";
import { decodeState, encodeState } from "../../src/crdt/state-codec.ts";
import { valueText } from "../support/dump.ts";
import { checkHistories, operationOf, siteName } from "../support/history.ts";
import { insert, peerAfter, set, unset } from "../support/peer.ts";

const VERSION = 300;
const VERSION_SIZE = 2;

function recordsOf(state: DocumentState): StateRecords | undefined {
  if (isEmptyState(state)) return undefined;
  const { shown, meta } = encodeState(state, VERSION);
  return { shown, meta, offset: VERSION_SIZE };
}

function upsert(fields: ValueObject): StateOperation {
  const edits = [{ kind: "set", path: [], value: fields }] as const;
  return { kind: "update", collection: "c", id: 1, edits };
}

/** Whether plainWrite knows what an operation leaves; fails when it knows it wrong. */
function check(view: DocumentState, operation: StateOperation, stamp: Stamp): boolean {
  const records = recordsOf(view);
  // As a store reads it: with the fields in the order of a decoded state.
  const held = records && decodeState(records.shown, records.meta, records.offset);
  const isKnown = checkOn(records, held ?? view, operation, stamp);
  // As in the transaction that wrote it: its state is still in memory.
  const merged = records && { ...records, state: view };
  expect(checkOn(merged, view, operation, stamp)).toBe(isKnown);
  return isKnown;
}

function checkOn(
  records: StateRecords | undefined,
  view: DocumentState,
  operation: StateOperation,
  stamp: Stamp,
): boolean {
  const plain =
    plainWrite(records, operation, stamp, VERSION) ??
    (records && simpleWrite(records, operation, stamp, VERSION));
  if (plain === undefined) return false;
  const merged = merge(view, deltaOf(view, operation, stamp) ?? EMPTY_STATE);
  const after = encodeState(merged, VERSION);
  expect([...plain.meta]).toEqual([...after.meta]);
  expect(orderedText(plain.fields)).toBe(orderedText(after.shown?.fields));
  expect(after.shown?.types).toBe(undefined);
  if (plain.state !== undefined) {
    const { alive, dead, seeded, root } = plain.state;
    expect({ alive, dead, seeded, root }).toEqual(merged);
  }
  return true;
}

/** The order of the fields counts: it is that of the stored record. */
function orderedText(fields: ValueObject | undefined): string {
  return fields === undefined ? "none" : `${namesText(fields)} ${valueText(fields)}`;
}

function namesText(fields: ValueObject): string {
  const names = Object.keys(fields).map((name) => {
    const value = fields[name];
    return isObject(value) ? `${name}{${namesText(value)}}` : name;
  });
  return names.join();
}

test("[D20] the shortcut for plain states gives the same as merging and encoding", () => {
  let known = 0;
  checkHistories({ count: histories(1000) }, ({ writes, replicas }) => {
    for (const { view, stamp, intent } of writes) {
      const operation = operationOf(view, intent);
      if (operation !== undefined) known += Number(check(view, operation, stamp));
      if ("fields" in intent) known += Number(check(view, upsert(intent.fields), stamp));
    }
    for (const { state } of replicas) {
      const fields = encodeState(state).shown?.fields ?? {};
      for (const time of [0, 1, 5, 1000]) {
        for (const site of [1, 9]) {
          const stamp = { time, site: siteName(site) };
          known += Number(check(state, upsert(fields), stamp));
          known += Number(check(state, { kind: "delete", collection: "c", id: 1 }, stamp));
        }
      }
    }
  });
  expect(known).toBeGreaterThan(histories(1000));
});

const scalars = fc.constantFrom<Value>(0, -0, "s", null, 2n ** 60n, Number.NaN, [{ a: 1 }], []);
const names = fc.constantFrom("a", "b", "1", "__proto__", "m", "constructor");
const { fields: anyFields } = fc.letrec<{ value: Value; fields: ValueObject }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalars, tie("fields")),
  fields: fc
    .array(fc.tuple(names, tie("value")), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
}));

test("[D20] a sequence of inserts, upserts and deletes by the shortcut gives the same as merging", () => {
  let known = 0;
  fc.assert(
    fc.property(fc.array(fc.option(anyFields), { maxLength: 8 }), (writes) => {
      let state = EMPTY_STATE;
      for (const [i, fields] of writes.entries()) {
        const stamp = { time: i + 1, site: siteName(1) };
        const operation = operationFor(state, fields);
        known += Number(check(state, operation, stamp));
        state = merge(state, deltaOf(state, operation, stamp) ?? EMPTY_STATE);
        const records = recordsOf(state);
        if (records === undefined) continue;
        // As a store reads it: with the fields in the order of the record.
        state = decodeState(records.shown, records.meta, records.offset);
      }
    }),
    { numRuns: runs(2000) },
  );
  expect(known).toBeGreaterThan(runs(2000) / 2);
});

function operationFor(state: DocumentState, fields: ValueObject | null): StateOperation {
  const document = { collection: "c", id: 1 };
  if (fields === null) return { kind: "delete", ...document };
  return encodeState(state).shown === undefined
    ? { kind: "insert", ...document, fields }
    : upsert(fields);
}

/** Most writes meet a document of several stamps, some of which no field has any more. */
test("[D20] a sequence of SETs of fields and deletes by the shortcut gives the same as merging", () => {
  let sets = 0;
  let deletes = 0;
  const setsOf = fc.dictionary(names, scalars, { minKeys: 1, maxKeys: 3 });
  const wide = { p: 1, 2: 1, q: { x: 1, y: { z: 1 } }, r: 1, s: 1 };
  const more = fc.constantFrom<ValueObject>({}, wide, wide);
  const write = fc.record({ skip: fc.constantFrom(1, 1, 1, 0, -2), site: fc.nat(2), sets: setsOf });
  fc.assert(
    fc.property(
      anyFields,
      more,
      fc.array(write, { minLength: 4, maxLength: 12 }),
      (some, others, writes) => {
        let time = 10;
        let { state } = peerAfter(insert({ ...some, ...others }));
        for (const { skip, site, sets: values } of writes) {
          time += skip;
          const stamp = { time, site: siteName(site + 1) };
          const operation = setFields(values);
          sets += Number(check(state, operation, stamp));
          deletes += Number(check(state, { kind: "delete", collection: "c", id: 1 }, stamp));
          state = merge(state, deltaOf(state, operation, stamp) ?? EMPTY_STATE);
        }
      },
    ),
    { numRuns: runs(2000) },
  );
  expect(sets).toBeGreaterThan(runs(2000) / 2);
  expect(deletes).toBeGreaterThan(runs(2000) / 2);
});

function setFields(values: ValueObject): StateOperation {
  const edits = Object.entries(values).map(([name, value]): Edit => {
    return { kind: "set", path: [name], value };
  });
  return { kind: "update", collection: "c", id: 1, edits };
}

test("the shortcut handles a SET of fields of a document that was updated before", () => {
  const { state } = peerAfter(insert({ a: 1, b: 1, c: 1, m: { x: 1 } }), set("a", 2));
  const stamp = { time: 50, site: siteName(1) };
  expect(check(state, setFields({ a: 3 }), stamp)).toBe(true);
  expect(check(state, setFields({ b: 3 }), stamp)).toBe(true);
  expect(check(state, setFields({ a: 3, d: [1] }), stamp)).toBe(true);
});

test("the shortcut leaves a SET that is late, reaches into a map, or changes most fields to merge", () => {
  const { state } = peerAfter(insert({ a: 1, b: 1, c: 1, m: { x: 1 } }), set("a", 2));
  const stamp = { time: 50, site: siteName(1) };
  expect(check(state, setFields({ a: 3 }), { time: 0, site: siteName(9) })).toBe(false);
  expect(check(state, setFields({ a: { x: 1 } }), stamp)).toBe(false);
  expect(check(state, setFields({ m: 3 }), stamp)).toBe(false);
  expect(check(state, setFields({ a: 3, b: 3, c: 3, d: 3, e: 3 }), stamp)).toBe(false);
  const inMap = { kind: "set", path: ["m", "x"], value: 3 } as const;
  expect(check(state, { ...setFields({}), edits: [inMap] } as StateOperation, stamp)).toBe(false);
  expect(check(state, setFields({}), stamp)).toBe(false);
});

test("the shortcut handles a delete of a document with fields of several stamps", () => {
  const stamp = { time: 50, site: siteName(1) };
  const remove = { kind: "delete", collection: "c", id: 1 } as const;
  const updated = peerAfter(insert({ a: 1, m: { x: 1, y: 1 } }), set("a", 2), set("m.x", 2));
  expect(check(updated.state, remove, stamp)).toBe(true);
  const removed = peerAfter(insert({ a: 1, m: { x: 1 } }), unset("m.x"));
  expect(check(removed.state, remove, stamp)).toBe(false);
});

test("the shortcut handles an upsert of all shown fields, or of more fields", () => {
  const { state } = peerAfter(insert({ a: 1, m: { x: 1 } }));
  const stamp = { time: 50, site: siteName(1) };
  expect(check(state, upsert({ a: 2, m: { x: 2 } }), stamp)).toBe(true);
  expect(check(state, upsert({ a: 2, m: { x: 2, y: 3 }, b: 4 }), stamp)).toBe(true);
  expect(check(state, { kind: "delete", collection: "c", id: 1 }, stamp)).toBe(true);
});

test("the shortcut leaves an upsert that omits a field or changes a type or the order to merge", () => {
  const { state } = peerAfter(insert({ a: 1, m: { x: 1 } }));
  const stamp = { time: 50, site: siteName(1) };
  for (const fields of [{ a: 2 }, { m: { x: 2 }, a: 2 }, { a: 2, m: 3 }, { a: {}, m: { x: 2 } }]) {
    expect(check(state, upsert(fields), stamp)).toBe(false);
  }
  expect(check(state, upsert({ a: 2, m: {} }), stamp)).toBe(false);
});

test("the shortcut leaves documents with several stamps or removed fields to merge", () => {
  const stamp = { time: 50, site: siteName(1) };
  const several = peerAfter(insert({ a: 1, b: 1 }), set("a", 2));
  const removed = peerAfter(insert({ a: 1, b: 1 }), unset("b"));
  expect(check(several.state, upsert({ b: 3, a: 3 }), stamp)).toBe(false);
  expect(check(removed.state, upsert({ a: 3 }), stamp)).toBe(false);
});
