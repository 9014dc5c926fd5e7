/**
 * Edit: what each operation comes to, by what its writer sees; and the cases of the model.
 */

import { DEPTH_MAX, NONE, type Path, type TypeMark, type Value, ZERO } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { deltaOf, findNode, type StateOperation } from "../../src/crdt/edit.ts";
import { merge } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { describeState } from "../support/dump.ts";
import type { Intent } from "../support/history.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  shownAfter,
  shownTogether,
  stampAt,
  unset,
  update,
  upsert,
} from "../support/peer.ts";

const BASE = { a: 1, o: { p: { q: 1, r: 2 }, t: "k" } };

/** The assertions of the runnable model of the definition, one replica. */
const SEQUENCES: readonly (readonly [rule: string, intents: readonly Intent[], shown: unknown])[] =
  [
    [
      "[D8] a field set below a scalar shows the map again, with what was in it",
      [insert(BASE), set("o", 5), set("o.z", 1)],
      { a: 1, o: { p: { q: 1, r: 2 }, t: "k", z: 1 } },
    ],
    [
      "[D8] SET of an empty object merges with the existing map",
      [insert(BASE), set("o", {})],
      BASE,
    ],
    [
      "[D9] UNSET ends all below its path, and what is set later is alone",
      [insert(BASE), unset("o"), set("o.z", 1)],
      { a: 1, o: { z: 1 } },
    ],
    [
      "[D17] a map that was written stays, empty, when all its fields go",
      [insert(BASE), unset("o.p.q"), unset("o.p.r")],
      { a: 1, o: { p: {}, t: "k" } },
    ],
    [
      "[D14] an increment after a SET shows the counter again, with its sum",
      [insert({}), increment("k", 5), set("k", 7), increment("k", 1)],
      { k: 6 },
    ],
    [
      "[D6] an increment after an UNSET starts a new count",
      [insert({}), increment("k", 5), unset("k"), increment("k", 1)],
      { k: 1 },
    ],
    [
      "[D7] an increment after a RESTART counts from there",
      [insert({}), increment("k", 5), restart("k", 3), increment("k", 1)],
      { k: 4 },
    ],
    [
      "[D3] a re-insert starts clean, counters too",
      [insert({ a: 1 }), increment("k", 5), remove(), insert({ b: 2 })],
      { b: 2 },
    ],
    ["[D5] INITIAL shows", [initial({ a: 1 })], { a: 1 }],
    [
      "[D5] INITIAL after a delete does nothing",
      [initial({ a: 1 }), remove(), initial({ a: 1 })],
      undefined,
    ],
    [
      "[D5] a real insert after the delete of a seed shows",
      [initial({ a: 1 }), remove(), insert({ a: 5 })],
      { a: 5 },
    ],
    [
      "[D9] an update after a delete writes nothing",
      [insert({ a: 1 }), remove(), set("a", 5)],
      undefined,
    ],
  ];

test.each(SEQUENCES)("%s", (_title, intents, shown) => {
  expect(shownAfter(...intents)).toEqual(shown);
});

test("[D9] a later update that had not seen a delete stays deleted, and a re-insert does not contain it", () => {
  const writer = peerAfter(insert({ a: 1 }));
  const [deleting, updating] = [writer.fork(2), writer.fork(3)];
  deleting.write(remove());
  updating.write(set("x", 1), 7);
  const both = new Peer(9).take(deleting, updating);
  expect(both.shown).toBeUndefined();
  both.write(insert({ y: 1 }), 51);
  expect(both.shown).toEqual({ y: 1 });
});

test("[D6] increments of two sites add up", () => {
  const writer = peerAfter(insert({}));
  const [one, two] = [writer.fork(2), writer.fork(3)];
  one.write(increment("k", 1));
  two.write(increment("k", 1));
  expect(shownTogether(one, two)).toEqual({ k: 2 });
});

test("[D6] increments of two first inserts add up, though their births differ", () => {
  const [one, two] = [new Peer(2), new Peer(3)];
  one.write(insert({}));
  one.write(increment("k", 1));
  two.write(insert({}), 4);
  two.write(increment("k", 1));
  expect(shownTogether(one, two)).toEqual({ k: 2 });
  expect(shownTogether(two, one)).toEqual({ k: 2 });
});

test("[D5] equal seeds of two devices are one write, and their increments add up", () => {
  const [one, two] = [new Peer(2), new Peer(3)];
  for (const peer of [one, two]) {
    peer.write(initial({ c: 1 }));
    peer.write(increment("k", 1));
  }
  expect(shownTogether(one, two)).toEqual({ c: 1, k: 2 });
});

test("[D6] increments from before a delete do not count after a re-insert", () => {
  const peer = peerAfter(insert({}), increment("k", 9), remove());
  const next = peer.fork(2);
  next.write(insert({}));
  next.write(increment("k", 1));
  expect(shownTogether(next, peer)).toEqual({ k: 1 });
});

test("[D3] an insert makes the document alive and sets every field at one tick", () => {
  const delta = new Peer(1).write(insert({ a: 1, m: { x: 2 } }), 10);
  expect(delta && describeState(delta)).toBe(
    "alive 10/1 dead - seeded false {a: (reg 10/1 1), m: (map 10/1 {x: (reg 10/1 2)})}",
  );
});

test("[D3] an insert over a tombstone ends everything older, also writes that arrive later", () => {
  const first = new Peer(1);
  first.write(insert({ a: 1 }), 10);
  const other = first.fork(2);
  first.write(remove(), 20);
  const late = other.write(set("x", 1), 30);
  first.write(insert({ y: 1 }), 40);
  expect(first.state.dead).toEqual(stampAt(40, 0));
  expect(shownTogether(first, late ?? EMPTY_STATE)).toEqual({ y: 1 });
  expect(shownTogether(late ?? EMPTY_STATE, first)).toEqual({ y: 1 });
});

test("[D3] an insert over hidden entries without a tombstone starts clean too", () => {
  const other = peerAfter(insert({ a: 1 }));
  const delta = other.write(set("x", 1), 30);
  const peer = new Peer(3).take(delta ?? EMPTY_STATE);
  expect(peer.shown).toBeUndefined();
  peer.write(insert({ y: 1 }), 40);
  expect(peer.shown).toEqual({ y: 1 });
});

test("[D3] a first insert has no floor: a delete that it did not know may be older or newer", () => {
  const known = new Peer(1);
  known.write(insert({ a: 1 }), 10);
  known.write(remove(), 20);
  const [before, after] = [new Peer(2), new Peer(3)];
  before.write(insert({ b: 1 }), 15);
  after.write(insert({ c: 1 }), 25);
  expect(after.state.dead).toBe(NONE);
  expect(shownTogether(known, before)).toBeUndefined();
  expect(shownTogether(known, after)).toEqual({ c: 1 });
});

test("[D3] an upload marked `clean` ends everything older, whatever the applier sees", () => {
  const operation: StateOperation = {
    kind: "insert",
    collection: "c",
    id: 1,
    fields: { b: 1 },
    clean: true,
  };
  const view = peerAfter(insert({ a: 1 })).state;
  const delta = deltaOf(view, operation, stampAt(9, 2)) ?? EMPTY_STATE;
  expect(show(merge(view, delta))?.fields).toEqual({ b: 1 });
});

test("[D4] an upsert of a shown document is an update: a delete that its writer did not know wins", () => {
  const writer = peerAfter(insert({ a: 1, b: 1 }));
  const other = writer.fork(2);
  writer.write(remove(), 20);
  other.write(upsert({ a: 2 }), 30);
  expect(other.shown).toEqual({ a: 2, b: 1 });
  expect(other.state.alive).toEqual(stampAt(1, 1));
  expect(shownTogether(writer, other)).toBeUndefined();
});

test("[D4] an upsert of a document that does not show is an insert", () => {
  expect(shownAfter(upsert({ a: 1 }))).toEqual({ a: 1 });
  expect(shownAfter(insert({ a: 1, b: 1 }), remove(), upsert({ c: 1 }))).toEqual({ c: 1 });
});

test("[D5] INITIAL writes at ZERO, below every real write", () => {
  const seeding = new Peer(1);
  const delta = seeding.write(initial({ a: 1, b: 1 }), 50);
  expect(delta?.alive).toEqual(ZERO);
  const other = new Peer(2);
  other.write(insert({ a: 2 }), 1);
  expect(shownTogether(seeding, other)).toEqual({ a: 2, b: 1 });
});

test("[D5] different seeds merge by field, and the larger canonical bytes win", () => {
  const [one, two] = [new Peer(1), new Peer(2)];
  one.write(initial({ a: 1, b: "x" }));
  two.write(initial({ a: 2, c: null }));
  expect(shownTogether(one, two)).toEqual({ a: 2, b: "x", c: null });
  expect(stateToBytes(new Peer(3).take(one, two).state)).toEqual(
    stateToBytes(new Peer(3).take(two, one).state),
  );
});

test("[D5] INITIAL does nothing where the document shows or a tombstone is known", () => {
  expect(peerAfter(insert({ a: 1 })).write(initial({ b: 1 }))).toBeUndefined();
  expect(peerAfter(insert({ a: 1 }), remove()).write(initial({ b: 1 }))).toBeUndefined();
  const unknowing = new Peer(2);
  unknowing.write(initial({ b: 1 }));
  const deleted = peerAfter(insert({ a: 1 }), remove());
  expect(shownTogether(deleted, unknowing)).toBeUndefined();
});

test("[D6] the birth of an increment is the newest of insert, UNSET on its path, and restart", () => {
  const birthAfter = (...intents: Intent[]): unknown => {
    const delta = peerAfter(...intents).write(increment("m.k", 1), 99) ?? EMPTY_STATE;
    return findNode(delta, ["m", "k"]).node?.ctr?.adds[0]?.birth.time;
  };
  expect(birthAfter(initial({}))).toBe(0);
  expect(birthAfter(insert({}))).toBe(1);
  expect(birthAfter(insert({ m: {} }), set("a", 1), unset("m.k"))).toBe(3);
  expect(birthAfter(insert({ m: {} }), set("a", 1), unset("m"))).toBe(3);
  expect(birthAfter(insert({}), restart("m.k", 5))).toBe(2);
  expect(birthAfter(insert({}), restart("m.k", 5, "pn_counter"))).toBe(1);
  expect(birthAfter(insert({}), restart("m.k", 5), unset("m.k"))).toBe(3);
  expect(birthAfter(insert({}), remove(), insert({}))).toBe(3);
});

test("[D6] a peer that does not know the tombstone counts from its own insert", () => {
  const known = new Peer(1);
  known.write(insert({}), 10);
  known.write(increment("k", 9));
  known.write(remove(), 20);
  const unknowing = new Peer(2);
  unknowing.write(insert({}), 40);
  unknowing.write(increment("k", 2));
  expect(shownTogether(known, unknowing)).toEqual({ k: 2 });
});

test("[D6] each site has one sum for each birth, and later increments replace it", () => {
  const peer = peerAfter(insert({}), increment("k", 1), increment("k", 2));
  const before = peer.state;
  peer.write(increment("k", 4));
  expect(findNode(peer.state, ["k"]).node?.ctr?.adds).toEqual([
    { birth: stampAt(1, 1), stamp: stampAt(4, 1), sum: 7 },
  ]);
  expect(show(merge(peer.state, before))?.fields).toEqual({ k: 7 });
});

test("[D6] [S30] an increment that is already in the sum adds nothing when it is offered again", () => {
  const peer = peerAfter(insert({}), increment("k", 1), increment("k", 2));
  const again = (by: number): StateOperation => ({
    kind: "update",
    collection: "c",
    id: 1,
    edits: [{ kind: "increment", path: ["k"], by, birth: [1, stampAt(1, 1).site] }],
  });
  for (const [time, by] of [
    [2, 1],
    [3, 2],
  ] as const) {
    const delta = deltaOf(peer.state, again(by), stampAt(time, 1)) ?? EMPTY_STATE;
    expect(merge(peer.state, delta)).toBe(peer.state);
  }
  const next = deltaOf(peer.state, again(4), stampAt(4, 1)) ?? EMPTY_STATE;
  expect(show(merge(peer.state, next))?.fields).toEqual({ k: 7 });
});

test("[D6] a restart, UNSET or re-insert ends the increments that had not seen it", () => {
  const ends: readonly (readonly [Intent[], unknown])[] = [
    [[restart("k", 3)], { a: 1, k: 3 }],
    [[unset("k")], { a: 1 }],
    [[remove(), insert({ a: 1 })], { a: 1 }],
  ];
  for (const [intents, shown] of ends) {
    const writer = peerAfter(insert({ a: 1 }), increment("k", 5));
    const other = writer.fork(2);
    for (const intent of intents) writer.write(intent);
    const late = other.write(increment("k", 1), 50) ?? EMPTY_STATE;
    expect(shownTogether(writer, late)).toEqual(shown);
    expect(shownTogether(late, writer)).toEqual(shown);
  }
});

test("[D6] an increment may name its birth, but none later than itself", () => {
  const view = peerAfter(insert({}), restart("k", 3)).state;
  const operation = (birth: readonly [number, string]): StateOperation => ({
    kind: "update",
    collection: "c",
    id: 1,
    edits: [{ kind: "increment", path: ["k"], by: 1, birth }],
  });
  const site = stampAt(1, 7).site;
  const old = deltaOf(view, operation([1, site]), stampAt(9, 7)) ?? EMPTY_STATE;
  expect(show(merge(view, old))?.fields).toEqual({ k: 3 });
  const named = deltaOf(view, operation([2, stampAt(2, 1).site]), stampAt(9, 7)) ?? EMPTY_STATE;
  expect(show(merge(view, named))?.fields).toEqual({ k: 4 });
  expect(codeOf(() => deltaOf(view, operation([10, site]), stampAt(9, 7)))).toBe(
    "operation.invalid",
  );
});

test("[D7] RESTART, the insert of a typed counter and a counter override are the same write", () => {
  const states = [
    peerAfter(insert({}), restart("k", 3)),
    peerAfter(insert({}), set("k", 3, "counter")),
    peerAfter(insert({}), remove(), insert({ k: 3 }, { k: "counter" })),
  ].map((peer) => findNode(peer.state, ["k"]).node?.ctr);
  expect(states[0]).toEqual({ reset: { stamp: stampAt(2, 1), value: 3 }, adds: [] });
  expect(states[1]).toEqual(states[0]);
  expect(states[2]).toEqual({ reset: { stamp: stampAt(3, 1), value: 3 }, adds: [] });
});

test("[D7] between two restarts the last writer wins, with the increments made on it", () => {
  const writer = peerAfter(insert({}), increment("k", 100));
  const [one, two] = [writer.fork(2), writer.fork(3)];
  one.write(restart("k", 10), 20);
  one.write(increment("k", 1));
  two.write(restart("k", 20), 30);
  two.write(increment("k", 2));
  expect(shownTogether(one, two)).toEqual({ k: 22 });
  expect(shownTogether(two, one)).toEqual({ k: 22 });
});

test("[D8] SET of an object writes a map and each of its fields, and merges with the existing map", () => {
  const delta = peerAfter(insert({})).write(set("m.n", { x: 1, y: {} }), 5) ?? EMPTY_STATE;
  expect(describeState(delta)).toBe(
    "alive - dead - seeded false {m: (map - {n: (map 5/1 {x: (reg 5/1 1), y: (map 5/1 {})})})}",
  );
  expect(shownAfter(insert({ m: { a: 1, b: { c: 1 } } }), set("m", { b: { d: 1 }, e: 1 }))).toEqual(
    {
      m: { a: 1, b: { c: 1, d: 1 }, e: 1 },
    },
  );
});

test("[D8] SET without a path is SET of each field of its object, types included", () => {
  const before = peerAfter(insert(BASE)).state;
  const fields = { a: 2, o: { p: { q: 3 } }, n: [1], k: 4 };
  const types = { k: "counter", o: { p: "register" } } as const;
  const edits = Object.entries(fields).map(([name, value]) => {
    const mark = (types as { [field: string]: TypeMark })[name];
    const edit = { kind: "set", path: [name], value } as const;
    return mark === undefined ? edit : { ...edit, types: mark };
  });
  const place = { kind: "update", collection: "c", id: 1 } as const;
  const whole = { ...place, edits: [{ kind: "set", path: [], value: fields, types }] } as const;
  const delta = deltaOf(before, whole, stampAt(5, 1)) ?? EMPTY_STATE;
  const single = deltaOf(before, { ...place, edits }, stampAt(5, 1)) ?? EMPTY_STATE;
  expect(describeState(delta)).toBe(describeState(single));
  expect(show(merge(before, delta))).toEqual({
    fields: { a: 2, o: { p: { q: 3 }, t: "k" }, n: [1], k: 4 },
    types: { k: "counter", o: { p: "register" } },
  });
});

test("[D8] SET of any other value, or of an object declared a register, writes the register", () => {
  const scalars: Value[] = [
    null,
    false,
    0,
    -0,
    1.5,
    2n ** 60n,
    "",
    [{ a: 1 }],
    new Uint8Array([1]),
  ];
  for (const value of scalars) {
    const { node } = findNode(peerAfter(insert({}), set("a", value)).state, ["a"]);
    expect(node).toMatchObject({ reg: { value }, att: undefined, ctr: undefined, map: undefined });
  }
  const peer = peerAfter(insert({ a: { b: 1 } }), set("a", { c: 1 }, "register"));
  expect(peer.shown).toEqual({ a: { c: 1 } });
  expect(findNode(peer.state, ["a", "b"]).node?.reg?.value).toBe(1);
});

test("[D8] an attachment token is written as an attachment, and the other variants stay", () => {
  const peer = peerAfter(insert({ a: 1 }), increment("a", 4), set("a", { id: "t" }, "attachment"));
  expect(show(peer.state)).toEqual({ fields: { a: { id: "t" } }, types: { a: "attachment" } });
  expect(show(peer.state, { a: "register" })?.fields).toEqual({ a: 1 });
  expect(show(peer.state, { a: "counter" })?.fields).toEqual({ a: 4 });
});

test("[D8] types inside an object apply to the fields that they name", () => {
  const peer = peerAfter(
    insert(
      { m: { k: 1, r: { x: 1 }, f: 0.5, s: "t" } },
      { m: { k: "counter", r: "register", f: "pn_counter" } },
    ),
  );
  expect(show(peer.state)).toEqual({
    fields: { m: { k: 1, r: { x: 1 }, f: 0.5, s: "t" } },
    types: { m: { k: "counter", r: "register", f: "pn_counter" } },
  });
});

test("[D8] a value that does not fit its type is refused", () => {
  const wrong: readonly (readonly [Value, "counter" | "pn_counter" | "attachment" | "map"])[] = [
    [0.5, "counter"],
    ["1", "counter"],
    [Number.NaN, "pn_counter"],
    ["token", "attachment"],
    [[1], "attachment"],
    [1, "map"],
    [[], "map"],
  ];
  for (const [value, type] of wrong) {
    expect(codeOf(() => shownAfter(insert({}), set("a", value, type)))).toBe("operation.invalid");
    expect(codeOf(() => shownAfter(insert({ a: value }, { a: type })))).toBe("operation.invalid");
  }
  expect(codeOf(() => shownAfter(insert({}), set("a", 1, { b: "counter" })))).toBe(
    "operation.invalid",
  );
  expect(codeOf(() => shownAfter(insert({}), increment("a", 0.5)))).toBe("operation.invalid");
  expect(codeOf(() => shownAfter(insert({}), restart("a", 0.5)))).toBe("operation.invalid");
});

test("[D9] UNSET ends all older variants at and below its path, and loses to newer ones", () => {
  const writer = peerAfter(
    insert({ a: 1, o: { p: 1 } }),
    set("a", { id: "t" }, "attachment"),
    increment("a", 1),
    increment("a", 1, "pn_counter"),
    set("a.x", 1),
  );
  const other = writer.fork(2);
  writer.write(unset("a"), 20);
  expect(writer.shown).toEqual({ o: { p: 1 } });
  const before = other.write(set("a", 2), 15) ?? EMPTY_STATE;
  expect(shownTogether(writer, before)).toEqual({ o: { p: 1 } });
  const after = other.write(set("a", 3), 25) ?? EMPTY_STATE;
  expect(shownTogether(writer, after)).toEqual({ a: 3, o: { p: 1 } });
});

test("[D9] UNSET below a value that does not show as a map writes nothing", () => {
  const over = (...intents: Intent[]): unknown => peerAfter(...intents).write(unset("o.z"));
  expect(over(insert({ o: 1 }))).toBeUndefined();
  expect(over(insert({}))).toBeUndefined();
  expect(over(insert({ o: { z: 1 } }), set("o", 5))).toBeUndefined();
  expect(over(insert({ o: { z: 1 } }), unset("o"))).toBeUndefined();
  expect(over(insert({ o: { z: 1 } }), set("o", { y: 1 }, "register"))).toBeUndefined();
  expect(over(insert({ o: {} }))).toBeDefined();
  expect(over(insert({ o: { z: 1 } }))).toBeDefined();
  expect(
    peerAfter(insert({ o: { p: { q: 1 } } }), set("o", 5)).write(unset("o.p.q")),
  ).toBeUndefined();
  expect(shownAfter(insert({ o: { z: 1 } }), set("o", 5), unset("o.z"))).toEqual({ o: 5 });
});

test("[D9] updates and deletes of a document that does not show write nothing", () => {
  for (const peer of [new Peer(1), peerAfter(insert({}), remove())]) {
    for (const intent of [set("a", 1), unset("a"), increment("a", 1), restart("a", 1), remove()]) {
      expect(peer.write(intent)).toBeUndefined();
    }
  }
});

test("[D27] all writes of a statement have one tick", () => {
  const peer = peerAfter(insert({ a: 1, b: 1 }));
  peer.write(update(set("a", 2), unset("b"), increment("k", 1), set("m.x", 1)), 9);
  expect(describeState(peer.state)).toBe(
    "alive 1/1 dead - seeded false {a: (reg 9/1 2), b: (removed 9/1), " +
      "k: (ctr [ 1/1+9/1=1]), m: (map - {x: (reg 9/1 1)})}",
  );
});

test("[D27] two writes of a batch to the same place have two ticks, so the later one wins", () => {
  expect(shownAfter(insert({ x: 1 }), remove(), insert({ x: 2 }))).toEqual({ x: 2 });
  expect(shownAfter(insert({}), set("a", 9), set("a", 1))).toEqual({ a: 1 });
  expect(shownAfter(insert({ x: 1 }), insert({ y: 1 }), remove())).toBeUndefined();
});

test("[V7] a path and its value together have at most 64 levels", () => {
  const view = peerAfter(insert({})).state;
  const path = (size: number): Path => Array.from({ length: size }, () => "a");
  const setting = (size: number, value: Value): StateOperation => ({
    kind: "update",
    collection: "c",
    id: 1,
    edits: [{ kind: "set", path: path(size), value, types: "register" }],
  });
  expect(deltaOf(view, setting(DEPTH_MAX, 1), stampAt(9, 1))).toBeDefined();
  expect(deltaOf(view, setting(DEPTH_MAX - 1, { a: 1 }), stampAt(9, 1))).toBeDefined();
  for (const operation of [
    setting(DEPTH_MAX + 1, 1),
    setting(DEPTH_MAX, { a: 1 }),
    setting(1e5, 1),
  ]) {
    expect(codeOf(() => deltaOf(view, operation, stampAt(9, 1)))).toBe("operation.invalid");
  }
  expect(codeOf(() => deltaOf(view, setting(0, 1), stampAt(9, 1)))).toBe("operation.invalid");
});

test("[V2] increments are stored in one canonical form, so that equal ones have equal bytes", () => {
  const [one, two] = [
    peerAfter(insert({}), restart("k", 5n)),
    peerAfter(insert({}), restart("k", 5)),
  ];
  expect(stateToBytes(one.state)).toEqual(stateToBytes(two.state));
  expect(Object.is(shownAfter(insert({}), restart("k", -0))?.["k"], 0)).toBe(true);
});
