/**
 * Resolve: an operation that crossed to another store says what its writer meant.
 */

import { type Stamp, type UploadOperation, ZERO } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { deltaOf } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { resolveOperation } from "../../src/crdt/resolve.ts";
import { isShown, show } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { checkHistories, type History, type Intent, operationOf } from "../support/history.ts";
import { bytesText, fail, shownText } from "../support/laws.ts";
import {
  increment,
  initial,
  insert,
  type Peer,
  peerAfter,
  remove,
  restart,
  set,
  stampAt,
  unset,
} from "../support/peer.ts";

const COUNT = histories(1500);
const AT = 50;

/** Merges what an operation comes to in a state. */
function applied(state: DocumentState, operation: UploadOperation | undefined, stamp: Stamp) {
  const delta = operation === undefined ? undefined : deltaOf(state, operation, stamp);
  return delta === undefined ? state : merge(state, delta);
}

function writtenOps(history: History) {
  return history.writes.flatMap((write) => {
    const operation = operationOf(write.view, write.intent);
    return operation === undefined ? [] : [{ ...write, operation }];
  });
}

test("[S24] a resolved operation has the same effect for its writer", () => {
  let resolvedCount = 0;
  checkHistories({ count: COUNT }, (history) => {
    for (const { view, operation, stamp, delta } of writtenOps(history)) {
      const resolved = resolveOperation(view, operation);
      const again = resolved === undefined ? undefined : deltaOf(view, resolved, stamp);
      const [found, expected] = [again, delta].map((each) => (each ? bytesText(each) : "nothing"));
      if (found !== expected) fail("the same delta", found ?? "", expected ?? "");
      if (resolved !== operation) resolvedCount++;
    }
  });
  expect(resolvedCount).toBeGreaterThan((2 * COUNT) / 3);
});

test("[S24] over concurrent writes of others it shows as the writer's own change would", () => {
  let compared = 0;
  checkHistories({ count: COUNT }, (history) => {
    for (const { view, operation, stamp, delta } of writtenOps(history)) {
      const others = history.writes.filter((other) => other.stamp.site !== stamp.site);
      const more = others.reduce((state, other) => merge(state, other.delta ?? EMPTY_STATE), view);
      // What is not shown is a matter of the store that takes it: it starts clean, or not at all.
      if (delta === undefined || !isShown(more) || operation.kind === "initial") continue;
      const found = applied(more, resolveOperation(view, operation), stamp);
      const expected = merge(more, delta);
      compared++;
      if (shownText(found) === shownText(expected)) continue;
      fail("the same to see", shownText(found), shownText(expected));
    }
  });
  expect(compared).toBeGreaterThan((2 * COUNT) / 3);
});

/** What a store that holds `there` shows after the writer's last intent came to it. */
function crossed(writer: Peer, intent: Intent, there: DocumentState): unknown {
  const operation = operationOf(writer.state, intent);
  const resolved = operation && resolveOperation(writer.state, operation);
  return show(applied(there, resolved, stampAt(AT, writer.site)))?.fields;
}

test("[S24] an insert over a tombstone ends the fields that the other store still shows", () => {
  const writer = peerAfter(insert({ a: 1, b: 1 }), remove());
  const behind = peerAfter(insert({ a: 1, b: 1 })).state;
  expect(crossed(writer, insert({ c: 1 }), behind)).toEqual({ c: 1 });
});

test("[S24] a first insert merges with the fields that the other store shows", () => {
  const there = peerAfter(insert({ a: 1 })).state;
  expect(crossed(peerAfter(), insert({ b: 1 }), there)).toEqual({ a: 1, b: 1 });
});

test("[S24] an increment belongs to the restart that its writer knew, and ends with a later one", () => {
  const base = peerAfter(insert({ k: 5 }, { k: "counter" }));
  const writer = base.fork(2);
  const restarted = base.fork(3);
  restarted.write(restart("k", 100), 20);
  expect(crossed(writer, increment("k", 1), base.state)).toEqual({ k: 6 });
  expect(crossed(writer, increment("k", 1), restarted.state)).toEqual({ k: 100 });
  // The writer saw the restart that the other store has not heard of.
  expect(crossed(restarted, increment("k", 1), base.state)).toEqual({ k: 6 });
});

test("[S24] an increment does not outlive the document that its writer saw", () => {
  const base = peerAfter(insert({ k: 5 }, { k: "counter" }));
  const reborn = base.fork(3);
  reborn.write(remove(), 20);
  reborn.write(insert({ n: 1 }), 21);
  expect(crossed(base.fork(2), increment("k", 1), reborn.state)).toEqual({ n: 1 });
});

test("[S24] an increment of a seeded document belongs to the seed", () => {
  const writer = peerAfter(initial({ a: 1 }));
  const operation = operationOf(writer.state, increment("k", 2));
  expect(operation && resolveOperation(writer.state, operation)).toEqual({
    ...operation,
    edits: [{ kind: "increment", path: ["k"], by: 2, birth: [ZERO.time, ZERO.site] }],
  });
});

test("[S24] a birth that is already there stays", () => {
  const { state } = peerAfter(insert({ a: 1 }));
  const edits = [
    { kind: "increment", path: ["k"], by: 2, birth: [1, "00000000000000aa"] },
  ] as const;
  const operation = { kind: "update", collection: "c", id: 1, edits } as const;
  expect(resolveOperation(state, operation)).toEqual(operation);
});

test("[S24] an UNSET in a map of its writer also ends the field where another value shows", () => {
  const base = peerAfter(insert({ m: { x: 1, y: 2 } }));
  const there = base.fork(3);
  there.write(set("m", 7), 20);
  const writer = base.fork(2);
  const after = { m: { y: 2 } };
  expect(crossed(writer, unset("m.x"), base.state)).toEqual(after);
  expect(crossed(writer, unset("m.x"), there.state)).toEqual(after);
});

test("[S24] operations without effect at their writer are not sent", () => {
  const gone = peerAfter(insert({ a: 1 }), remove());
  const here = peerAfter(insert({ a: 1, n: 1 }));
  const nothing: (readonly [Peer, Intent])[] = [
    [gone, set("a", 2)],
    [gone, remove()],
    [gone, initial({ a: 3 })],
    [here, initial({ b: 3 })],
    [here, unset("n.deep")],
  ];
  for (const [writer, intent] of nothing) {
    const operation = operationOf(writer.state, intent);
    expect(operation && resolveOperation(writer.state, operation)).toBeUndefined();
  }
});
