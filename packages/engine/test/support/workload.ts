/**
 * Workload: random requests for a store, from a seed: every kind of operation, several documents in
 * one request, requests that fail, uploads of other sites, merges of foreign states, attachments.
 */

import type { DocumentOperation, Edit, Operation, UploadOperation, Value } from "@bigpeer/protocol";
import { deltaOf } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import type { Random } from "./test-platform.ts";

const COLLECTIONS = ["cars", "dogs"];
const IDS: readonly Value[] = ["a", "b", 7, ["x", 1], { k: true }];
const PATHS: readonly (readonly string[])[] = [
  ["n"],
  ["k"],
  ["m"],
  ["m", "x"],
  ["m", "y", "z"],
  ["p"],
  ["f"],
];

/** Few contents, so that many documents refer to one; the last ones are never recorded. */
const CONTENTS = ["c0", "c1", "c2", "c3"];
const TOKENS: readonly Value[] = [
  ...[...CONTENTS, "elsewhere", "c\0", "\u{1f4ce}"].map((id) => ({ id, len: 3, metadata: {} })),
  { id: "x".repeat(200), len: 1 },
  { id: 7 },
  {},
];

/** A content comes or goes; whether it may go is the store's business. */
export function randomAttachmentOperation(random: Random): Operation {
  const id = random.pick(CONTENTS);
  if (random.chance(0.4)) return { kind: "detach", id };
  return { kind: "attach", id, len: 3, by: random.pick(["ann", "bob"]) };
}

export function randomOperation(random: Random): DocumentOperation {
  const place = { collection: random.pick(COLLECTIONS), id: random.pick(IDS) };
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return {
        kind: "insert",
        ...place,
        fields: { ...randomFields(random), f: random.pick(TOKENS) },
        types: { p: "counter", f: "attachment" },
      };
    case 3:
      return { kind: "initial", ...place, fields: { n: random.below(3) } };
    case 4:
      return { kind: "delete", ...place };
    case 5:
      return random.chance(0.3) ? { kind: "evict", ...place } : { kind: "delete", ...place };
    default:
      return { kind: "update", ...place, edits: [randomEdit(random)] };
  }
}

function randomFields(random: Random): Record<string, Value> {
  const fields: Record<string, Value> = { n: random.below(5), p: random.below(9) };
  if (random.chance(0.5)) fields["m"] = { x: random.below(3), y: { z: random.below(3) } };
  return fields;
}

function randomEdit(random: Random): Edit {
  const path = random.pick(PATHS);
  const counter = random.chance(0.3) ? "pn_counter" : "counter";
  switch (random.below(7)) {
    case 0:
      return { kind: "unset", path };
    case 1:
      return { kind: "increment", path, by: random.below(9) - 3, counter };
    case 2:
      return { kind: "restart", path, value: random.below(4), counter };
    case 3:
      return { kind: "set", path, value: { x: random.below(4) }, types: "register" };
    case 4:
      return { kind: "set", path, value: { x: random.below(4), w: [1, -0] } };
    case 5:
      return { kind: "set", path, value: random.pick(TOKENS), types: "attachment" };
    default:
      return { kind: "set", path, value: random.pick<Value>([1, "s", null, [1, 2], 2n ** 60n]) };
  }
}

export function randomUploadOperation(random: Random): UploadOperation {
  for (;;) {
    const operation = randomOperation(random);
    const { kind } = operation;
    if (kind !== "evict" && kind !== "merge" && kind !== "layer") return operation;
  }
}

/** A state that grew elsewhere, written by `site` around `time`. */
export function randomMerge(random: Random, site: string, time: number): Operation {
  const target = randomOperation(random);
  let state: DocumentState = EMPTY_STATE;
  for (let i = 0; i < 1 + random.below(4); i++) {
    const operation = { ...randomUploadOperation(random), id: target.id };
    const delta = deltaOf(state, operation, { time: time + i, site });
    if (delta !== undefined) state = merge(state, delta);
  }
  return {
    kind: "merge",
    collection: target.collection,
    id: target.id,
    state: stateToBytes(state),
  };
}
