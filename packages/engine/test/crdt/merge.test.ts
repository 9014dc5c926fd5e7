/**
 * Merge: the laws on generated histories, the model, the oracle, and the corners by name.
 */

import { NONE, type Value, ZERO } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { compareAdds, merge, normalize } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_NODE, EMPTY_STATE, type Node } from "../../src/crdt/state.ts";
import { stateOfBytes, stateToBytes } from "../../src/crdt/state-codec.ts";
import { describeState } from "../support/dump.ts";
import { expectLaw } from "../support/expected-law.ts";
import {
  agreesWithModel,
  agreesWithOracle,
  isAssociative,
  isCommutative,
  isIdempotent,
  isNormalStable,
  isOrderFree,
  isSameWhenNothingIsNew,
  leavesItsArguments,
} from "../support/laws.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  shownTogether,
  stampAt,
  unset,
} from "../support/peer.ts";

test("[D10] merge is commutative", () => {
  expectLaw(isCommutative);
  expectLaw(isCommutative, { hasClone: true });
});

test("[D10] merge is associative", () => {
  expectLaw(isAssociative);
  expectLaw(isAssociative, { hasClone: true });
});

test("[D10] merge is idempotent", () => {
  expectLaw(isIdempotent);
});

test("[D10] duplicated and reordered deltas give the same state with the same bytes", () => {
  expectLaw(isOrderFree);
  expectLaw(isOrderFree, { hasClone: true });
});

test("[D10] merge changes neither of its arguments", () => {
  expectLaw(leavesItsArguments);
});

test("[D10] the engine agrees with the model of the definition, entry by entry, and shows the same", () => {
  expectLaw(agreesWithModel);
});

test("[D11] the engine agrees with the model if stamps occur twice, as in copied stores", () => {
  expectLaw(agreesWithModel, { hasClone: true });
});

test("[D16] the engine agrees with the model if sums exceed 64 bits and floats round", () => {
  expectLaw(agreesWithModel, { isLarge: true, isInexact: true });
});

test("[D12] the normal form is stable", () => {
  expectLaw(isNormalStable);
});

test("[D19] merge(a, b) returns the same object a exactly when b brings nothing new", () => {
  expectLaw(isSameWhenNothingIsNew);
});

test("[D13] a merge gives the same result as running all operations in stamp order", () => {
  expectLaw(agreesWithOracle, { count: 2000 });
});

// Equal stamps.

function stateWith(field: Partial<Node>): DocumentState {
  return {
    alive: ZERO,
    dead: NONE,
    seeded: true,
    root: new Map([["a", { ...EMPTY_NODE, ...field }]]),
  };
}

test("[D11] of two entries the larger stamp wins, in either order of arrival", () => {
  const writer = peerAfter(insert({ a: 0 }));
  const [one, two] = [writer.fork(2), writer.fork(3)];
  one.write(set("a", "later"), 20);
  two.write(set("a", "sooner"), 10);
  expect(shownTogether(one, two)).toEqual({ a: "later" });
  expect(shownTogether(two, one)).toEqual({ a: "later" });
  const [low, high] = [writer.fork(4), writer.fork(5)];
  low.write(set("a", "low"), 30);
  high.write(set("a", "high"), 30);
  expect(shownTogether(high, low)).toEqual({ a: "high" });
});

test("[D11] at equal stamps the larger canonical bytes win, in either order of arrival", () => {
  const stamp = stampAt(5, 1);
  // Each of these pairs looks the same to one careless comparison or another.
  const pairs: readonly (readonly [larger: Value, smaller: Value])[] = [
    [2, 1],
    [-0, 0],
    ["1152921504606846976", 2n ** 60n],
    ["b", "a"],
    ["aa", "b"],
    [-1, 500],
    [null, "text"],
    [1.5, 7],
    [[1, 2], [3]],
    [{ b: 1 }, { a: 1 }],
    [true, false],
    [Number.NaN, Number.POSITIVE_INFINITY],
  ];
  for (const [larger, smaller] of pairs) {
    for (const variant of ["reg", "att"] as const) {
      const [a, b] = [larger, smaller].map((value) => stateWith({ [variant]: { stamp, value } }));
      if (a === undefined || b === undefined) throw new Error("two states");
      expect(merge(a, b)).toBe(a);
      expect(describeState(merge(b, a))).toBe(describeState(a));
    }
  }
});

test("[D11] at equal stamps bytes also decide between restarts and between sums, even outside 64 bits", () => {
  const stamp = stampAt(5, 1);
  const amounts: readonly (number | bigint)[] = [
    0,
    1,
    23,
    500,
    -1,
    2n ** 60n,
    -(2n ** 63n),
    2n ** 70n,
    -(2n ** 70n),
  ];
  for (const x of amounts) {
    for (const y of amounts) {
      const resets = [x, y].map((value) =>
        stateWith({ ctr: { reset: { stamp, value }, adds: [] } }),
      );
      const sums = [x, y].map((sum) => {
        return stateWith({ ctr: { reset: undefined, adds: [{ birth: ZERO, stamp, sum }] } });
      });
      for (const [a = EMPTY_STATE, b = EMPTY_STATE] of [resets, sums]) {
        expect(stateToBytes(merge(a, b))).toEqual(stateToBytes(merge(b, a)));
      }
    }
  }
});

test("[D11] every replica decides between seeds of 0 and -0 alike", () => {
  const [one, two] = [new Peer(1), new Peer(2)];
  one.write(initial({ a: 0 }));
  two.write(initial({ a: -0 }));
  expect(stateToBytes(merge(one.state, two.state))).toEqual(
    stateToBytes(merge(two.state, one.state)),
  );
});

// The normal form.

test("[D12] the normal form drops entries at or below a floor and nothing else", () => {
  const state: DocumentState = {
    alive: stampAt(40, 1),
    dead: stampAt(20, 1),
    seeded: false,
    root: new Map<string, Node>([
      ["below", { ...EMPTY_NODE, reg: { stamp: stampAt(19, 9), value: 1 } }],
      ["at", { ...EMPTY_NODE, reg: { stamp: stampAt(20, 1), value: 1 } }],
      ["above", { ...EMPTY_NODE, reg: { stamp: stampAt(20, 2), value: 1 } }],
      ["unset", { ...EMPTY_NODE, removed: stampAt(20, 1) }],
      [
        "later",
        { ...EMPTY_NODE, removed: stampAt(30, 1), reg: { stamp: stampAt(30, 1), value: 1 } },
      ],
      [
        "counter",
        {
          ...EMPTY_NODE,
          ctr: {
            reset: { stamp: stampAt(30, 1), value: 5 },
            adds: [
              { birth: stampAt(29, 1), stamp: stampAt(35, 1), sum: 1 },
              { birth: stampAt(30, 1), stamp: stampAt(35, 1), sum: 2 },
            ],
          },
        },
      ],
      ["empty", { ...EMPTY_NODE, map: { touch: NONE, kids: new Map() } }],
    ]),
  };
  expect(describeState(normalize(state))).toBe(
    "alive 40/1 dead 20/1 seeded false {above: (reg 20/2 1), " +
      "counter: (ctr [30/1=5 30/1+35/1=2]), later: (removed 30/1)}",
  );
  expect(describeState(merge(EMPTY_STATE, state))).toBe(describeState(normalize(state)));
});

test("[D12] entries above the delete of a dead document stay, hidden", () => {
  const writer = new Peer(1);
  writer.write(insert({ a: 1 }), 10);
  const updating = writer.fork(2).write(set("x", 1), 30) ?? EMPTY_STATE;
  writer.write(remove(), 20);
  const inserting = new Peer(3).write(insert({ y: 1 }), 40) ?? EMPTY_STATE;
  const orders = [
    [updating, writer.state, inserting],
    [writer.state, updating, inserting],
    [inserting, writer.state, updating],
    [updating, inserting, writer.state],
  ];
  for (const order of orders) expect(shownTogether(...order)).toEqual({ x: 1, y: 1 });
  const hidden = new Peer(4).take(writer, updating);
  expect(hidden.shown).toBeUndefined();
  expect(hidden.state.root.has("x")).toBe(true);
});

test("[D12] a document alive and dead at one stamp is dead", () => {
  const stamp = stampAt(5, 1);
  const merged = merge({ ...EMPTY_STATE, alive: stamp }, { ...EMPTY_STATE, dead: stamp });
  expect([merged.alive, show(merged)]).toEqual([NONE, undefined]);
});

test("[D24] the seed mark of a document is kept if a larger alive or a delete hides the seed", () => {
  const seed = peerAfter(initial({ a: 1 })).state;
  const inserted = new Peer(2);
  inserted.write(insert({ b: 1 }), 9);
  inserted.write(remove());
  for (const state of [merge(seed, inserted.state), merge(inserted.state, seed)]) {
    expect([state.seeded, state.alive]).toEqual([true, NONE]);
  }
  expect(normalize({ ...EMPTY_STATE, alive: ZERO }).seeded).toBe(true);
  expect(merge(EMPTY_STATE, { ...EMPTY_STATE, alive: ZERO }).seeded).toBe(true);
});

test("[D19] a delta from below the floors brings nothing, and merge returns the same state object", () => {
  const peer = peerAfter(insert({ a: 1, m: { x: 1 } }), increment("k", 1));
  const old = peer.state;
  peer.write(remove());
  expect(merge(peer.state, old)).toBe(peer.state);
  const unsetting = peerAfter(insert({ a: 1, m: { x: 1 } }), restart("k", 1));
  const before = unsetting.fork(2).take(unsetting);
  const late = before.write(increment("k", 5)) ?? EMPTY_STATE;
  for (const intent of [unset("m"), unset("a"), restart("k", 2)]) unsetting.write(intent);
  expect(merge(unsetting.state, old)).toBe(unsetting.state);
  expect(merge(unsetting.state, late)).toBe(unsetting.state);
  expect(merge(unsetting.state, EMPTY_STATE)).toBe(unsetting.state);
  expect(merge(EMPTY_STATE, EMPTY_STATE)).toBe(EMPTY_STATE);
});

test("[D19] unchanged parts of a merge are the same objects as in the first argument", () => {
  const peer = peerAfter(insert({ a: 1, m: { x: { z: 1 }, y: 2 } }));
  const before = peer.state;
  const delta = peer.fork(2).write(set("m.y", 3)) ?? EMPTY_STATE;
  const after = merge(before, delta);
  expect(after.root.get("a")).toBe(before.root.get("a"));
  expect(after.root.get("m")?.map?.kids.get("x")).toBe(before.root.get("m")?.map?.kids.get("x"));
});

test("adds are sorted by birth, then site; an absent one comes last", () => {
  const add = (birth: number, site: number) => ({
    birth: stampAt(birth, 1),
    stamp: stampAt(50, site),
    sum: 1,
  });
  expect(compareAdds(add(1, 9), add(2, 1))).toBe(-1);
  expect(compareAdds(add(1, 2), add(1, 1))).toBe(1);
  expect(compareAdds(add(1, 1), add(1, 1))).toBe(0);
  expect([compareAdds(undefined, add(1, 1)), compareAdds(add(1, 1), undefined)]).toEqual([1, -1]);
});

// The exceptions to "running in stamp order", and its corners (test/support/oracle.ts).

test("[D13] first inserts of a never-deleted id merge by field", () => {
  const [one, two] = [new Peer(1), new Peer(2)];
  one.write(insert({ a: 1, b: 1 }), 10);
  two.write(insert({ b: 2, c: 2 }), 12);
  expect(shownTogether(one, two)).toEqual({ a: 1, b: 2, c: 2 });
});

test("[D13] a delete wins over an update that had not seen it, but not over one after a re-insert", () => {
  const writer = new Peer(1);
  writer.write(insert({ a: 1 }), 10);
  const other = writer.fork(2).write(set("x", 1), 30) ?? EMPTY_STATE;
  writer.write(remove(), 20);
  expect(shownTogether(writer, other)).toBeUndefined();
  // In stamp order the update comes after the re-insert, and so it shows.
  writer.write(insert({ y: 1 }), 25);
  expect(shownTogether(writer, other)).toEqual({ x: 1, y: 1 });
});

test("[D13] corner case: an insert that knew neither a delete nor the entries it hid reveals them", () => {
  const writer = new Peer(1);
  writer.write(insert({ a: 1 }), 10);
  const hidden = writer.fork(2).write(set("x", 1), 30) ?? EMPTY_STATE;
  writer.write(remove(), 20);
  const unknowing = new Peer(3);
  unknowing.write(insert({ y: 1 }), 40);
  // In stamp order the update at 30 would find no document.
  expect(shownTogether(writer, hidden, unknowing)).toEqual({ x: 1, y: 1 });
});

test("[D13] corner case: a clean insert does not end writes of another site in the same tick", () => {
  const writer = new Peer(5);
  writer.write(insert({ a: 1 }), 10);
  const sameTick = writer.fork(2).write(set("x", 1), 40) ?? EMPTY_STATE;
  writer.write(remove(), 20);
  writer.write(insert({ y: 1 }), 40);
  // The update has the smaller site: in stamp order it would find no document.
  expect(shownTogether(writer, sameTick)).toEqual({ x: 1, y: 1 });
});

test("[D13] corner case: the effect of an UNSET depends on the view of its writer", () => {
  const writer = peerAfter(insert({ m: { x: 1, y: 1 } }));
  const other = writer.fork(2).write(set("m", 5), 20) ?? EMPTY_STATE;
  writer.write(unset("m.x"), 30);
  // In stamp order the UNSET would find no map and write nothing; so it makes the map the newest.
  expect(shownTogether(writer, other)).toEqual({ m: { y: 1 } });
});

test("[D13] corner case: an increment belongs to the count that its writer saw", () => {
  const writer = peerAfter(insert({}), increment("k", 5));
  const other = writer.fork(2).write(increment("k", 1), 30) ?? EMPTY_STATE;
  writer.write(restart("k", 3), 20);
  // In stamp order the increment would come after the restart: 4.
  expect(shownTogether(writer, other)).toEqual({ k: 3 });
});

test("[D20] equal states have equal bytes, in whatever order their maps were filled", () => {
  const [one, two] = [
    peerAfter(insert({ a: 1, b: { x: 1, y: 2 } })),
    peerAfter(insert({ b: { y: 2, x: 1 }, a: 1 })),
  ];
  expect(stateToBytes(one.state)).toEqual(stateToBytes(two.state));
  const back = stateOfBytes(stateToBytes(one.state));
  expect(merge(one.state, back)).toBe(one.state);
});
