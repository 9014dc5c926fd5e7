/**
 * Which contents a state names, and the quick question whether two states may differ in them.
 */

import type { Edit, Operation, Stamp, Types, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { attachmentIds, mayDifferInAttachments } from "../../src/crdt/attachments.ts";
import { deltaOf, type StateOperation } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateOfBytes, stateToBytes } from "../../src/crdt/state-codec.ts";
import { stateOfMerge } from "../../src/crdt/state-parts.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomMerge } from "../support/workload.ts";

const PLACE = { collection: "c", id: "a" };

function at(time: number, site = "00000000000000aa"): Stamp {
  return { time, site };
}

function insert(fields: Record<string, Value>, types?: Types): StateOperation {
  return { kind: "insert", ...PLACE, fields, ...(types === undefined ? {} : { types }) };
}

function update(...edits: Edit[]): StateOperation {
  return { kind: "update", ...PLACE, edits };
}

/** A document that one site wrote, one operation after the other. */
function stateOf(...operations: StateOperation[]): DocumentState {
  return operations.reduce((state, operation, i) => {
    const delta = deltaOf(state, operation, at(i + 1));
    return delta === undefined ? state : merge(state, delta);
  }, EMPTY_STATE);
}

function idsOf(state: DocumentState): string[] {
  return [...attachmentIds(state)].sort();
}

test("[K46] attachment tokens are found at any depth, each content once", () => {
  const state = stateOf(
    insert(
      { f: { id: "one" }, m: { g: { id: "two" }, n: { h: { id: "one" } } }, text: "three" },
      { f: "attachment", m: { g: "attachment", n: { h: "attachment" } } },
    ),
  );
  expect(idsOf(state)).toEqual(["one", "two"]);
});

test("[K46] a value that only resembles a token is not a token", () => {
  const state = stateOf(
    insert(
      { map: { id: "x", len: 1 }, reg: { id: "y" }, list: [{ id: "z" }] },
      { reg: "register" },
    ),
  );
  expect(idsOf(state)).toEqual([]);
});

test("[K46] a token in a hidden variant counts; one ended by an UNSET or another token does not", () => {
  const first = insert({ f: { id: "one" } }, { f: "attachment" });
  const hide: Edit = { kind: "set", path: ["f"], value: 5 };
  expect(idsOf(stateOf(first, update(hide)))).toEqual(["one"]);
  const replace: Edit = { kind: "set", path: ["f"], value: { id: "two" }, types: "attachment" };
  expect(idsOf(stateOf(first, update(replace)))).toEqual(["two"]);
  expect(idsOf(stateOf(first, update({ kind: "unset", path: ["f"] })))).toEqual([]);
  expect(idsOf(stateOf(first, update(hide), { kind: "delete", ...PLACE }))).toEqual([]);
});

test("[K46] a token above a tombstone counts: an insert can bring it back", () => {
  const born = stateOf(insert({ n: 1 }));
  const edit: Edit = { kind: "set", path: ["f"], value: { id: "late" }, types: "attachment" };
  const written = deltaOf(born, update(edit), at(9)) ?? EMPTY_STATE;
  const deleted = stateOf(insert({ n: 1 }), { kind: "delete", ...PLACE });
  expect(idsOf(deleted)).toEqual([]);
  expect(idsOf(merge(deleted, written))).toEqual(["late"]);
});

test("[K46] only ids of 1 to 128 characters count, whatever the text", () => {
  const ids = ["", "a", "\u{1f4ce}", "a\0b", "x".repeat(128), "x".repeat(129)];
  const tokens: [string, Value][] = ids.map((id, i) => [`f${i}`, { id }]);
  const others: [string, Value][] = [
    ["none", {}],
    ["number", { id: 7 }],
  ];
  const fields = Object.fromEntries([...tokens, ...others]);
  const types = Object.fromEntries(
    Object.keys(fields).map((name) => [name, "attachment"] as const),
  );
  expect(idsOf(stateOf(insert(fields, types)))).toEqual(ids.slice(1, 5).sort());
});

test("a comparison detects states with different tokens, also if one of them lost a whole map", () => {
  const token = { m: { f: { id: "one" } }, n: 1 };
  const types = { m: { f: "attachment" } } as const;
  const before = stateOf(insert(token, types));
  const same = stateOf(insert(token, types), update({ kind: "set", path: ["n"], value: 2 }));
  expect(mayDifferInAttachments(before, before)).toBe(false);
  expect(mayDifferInAttachments(EMPTY_STATE, stateOf(insert({ a: { b: 1 } })))).toBe(false);
  expect(mayDifferInAttachments(EMPTY_STATE, before)).toBe(true);
  expect(mayDifferInAttachments(before, EMPTY_STATE)).toBe(true);
  const edit = update({ kind: "set", path: ["n"], value: 2 });
  const next = merge(before, deltaOf(before, edit, at(7)) ?? EMPTY_STATE);
  expect(idsOf(next)).toEqual(idsOf(same));
  expect(mayDifferInAttachments(before, next)).toBe(false);
});

function mergedState(operation: Operation): DocumentState {
  return operation.kind === "merge" ? stateOfMerge(operation.state) : EMPTY_STATE;
}

test("states that may not differ in tokens never do, and encoding a state keeps its tokens", () => {
  const random = seededRandom(11);
  let same = 0;
  for (let i = 0; i < runs(3000); i++) {
    const before = mergedState(randomMerge(random, "00000000000000bb", 5));
    const after = merge(before, mergedState(randomMerge(random, "00000000000000cc", 6)));
    expect(idsOf(stateOfBytes(stateToBytes(after)))).toEqual(idsOf(after));
    for (const [a, b] of [
      [before, after],
      [after, before],
    ] as const) {
      if (mayDifferInAttachments(a, b)) continue;
      same++;
      expect(idsOf(a)).toEqual(idsOf(b));
    }
  }
  expect(same).toBeGreaterThan(runs(3000) / 30);
});
