/**
 * State codec: lossless, canonical, small, and deaf to hostile bytes.
 */

import { DEPTH_MAX, encodeCbor, NONE, PeerError, type Types, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { merge, normalize } from "../../src/crdt/merge.ts";
import { show } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_NODE, EMPTY_STATE, type Node } from "../../src/crdt/state.ts";
import {
  decodeState,
  encodeState,
  stateOfBytes,
  stateToBytes,
} from "../../src/crdt/state-codec.ts";
import { describeState } from "../support/dump.ts";
import { expectLaw } from "../support/expected-law.ts";
import { generate, type Intent, run } from "../support/history.ts";
import { readsBack } from "../support/laws.ts";
import {
  increment,
  initial,
  insert,
  Peer,
  peerAfter,
  remove,
  restart,
  set,
  stampAt,
  unset,
} from "../support/peer.ts";

test("[D20] decoding returns the same state and the same bytes, for states and deltas", () => {
  expectLaw(readsBack);
});

test("[D20] sums outside 64 bits, floats and whole floats are decoded exactly", () => {
  expectLaw(readsBack, { isLarge: true, isInexact: true });
  for (const amount of [1e16, -(2 ** 60), 1e300, -0, Number.MAX_VALUE, 0.1]) {
    const { state } = peerAfter(insert({}), restart("k", amount, "pn_counter"));
    expect(describeState(stateOfBytes(stateToBytes(state)))).toBe(describeState(state));
  }
  for (const amount of [2n ** 53n, -(2n ** 63n), 2n ** 64n - 1n]) {
    const peer = peerAfter(insert({}), restart("k", amount), increment("k", amount));
    expect(describeState(stateOfBytes(stateToBytes(peer.state)))).toBe(describeState(peer.state));
  }
});

test("[D20] a register holds any value exactly, -0, NaN, bigints and binary included", () => {
  const values: Value[] = [
    -0,
    Number.NaN,
    2n ** 64n - 1n,
    new Uint8Array([0, 255]),
    [-0, { a: null }],
    "",
  ];
  for (const value of values) {
    for (const { state } of [
      peerAfter(insert({ a: value })),
      peerAfter(insert({ a: value }), set("a.x", 1)),
    ]) {
      const back = stateOfBytes(stateToBytes(state));
      expect(encodeCbor(back.root.get("a")?.reg?.value ?? 0)).toEqual(encodeCbor(value));
    }
  }
});

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function bytesOfHex(...parts: string[]): Uint8Array {
  return new Uint8Array(Buffer.from(parts.join("").replaceAll(" ", ""), "hex"));
}

const SITE = "00000000000000aa";

/** Bytes that were written once must be read for ever: these change only with the format. */
const GOLDEN: readonly (readonly [name: string, state: () => DocumentState, hex: string])[] = [
  ["nothing", () => EMPTY_STATE, "01 00"],
  [
    "an insert",
    () => peerOf(insert({ a: 1, m: { x: "y" } })),
    `0a 23 01 ${SITE} a2 6161 01 616d a1 6178 6179 a0`,
  ],
  ["a seed", () => peerOf(initial({ a: 1 })), "0a 2b 00 0000000000000000 a1 6161 01 a0"],
  ["a delete", () => peerOf(insert({ a: 1 }), remove()), `0b 24 02 ${SITE} 01`],
  [
    "an update",
    () => peerOf(insert({ a: 1, b: 2 }), set("a", 3)),
    `12 73 01 ${SITE} 01 02 00 01 01 61 42 02 a2 6161 03 6162 02 a0`,
  ],
];

function peerOf(...intents: readonly Intent[]): DocumentState {
  const peer = new Peer(0xaa);
  for (const intent of intents) peer.write(intent);
  return peer.state;
}

for (const [name, state, hex] of GOLDEN) {
  test(`[D20] the bytes of ${name} are unchanged since the first version`, () => {
    expect(hexOf(stateToBytes(state()))).toBe(hex.replaceAll(" ", ""));
    expect(describeState(stateOfBytes(bytesOfHex(hex)))).toBe(describeState(state()));
  });
}

test("[K11] a field that its shown value and the default stamp determine is not in the metadata", () => {
  const { meta } = encodeState(peerOf(insert({ a: 1, m: { x: {}, y: [1] }, t: "text" })));
  expect(hexOf(meta)).toBe(`2301${SITE}`);
  const typed = peerOf(insert({ r: { x: 1 }, t: { id: 1 } }, { r: "register", t: "attachment" }));
  expect(hexOf(encodeState(typed).meta)).toBe(`2301${SITE}`);
});

test("[K13] a document written once has at most 32 bytes of metadata", () => {
  const peer = new Peer(0xaa);
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, { i }]));
  peer.write(insert(fields), Number.MAX_SAFE_INTEGER);
  expect(encodeState(peer.state).meta.length).toBeLessThanOrEqual(32);
});

test("[K14] hidden variants keep their values in the metadata, and decoding returns them", () => {
  const { state } = peerAfter(
    insert({ a: { deep: ["hidden"] } }, { a: "register" }),
    set("a", { id: "token" }, "attachment"),
    increment("a", 7),
    set("a", { x: 1 }),
  );
  const { shown, meta } = encodeState(state);
  expect(shown).toEqual({ fields: { a: { x: 1 } }, types: undefined });
  const back = decodeState(shown, meta);
  for (const type of ["register", "attachment", "counter"] as const) {
    expect(show(back, { a: type })).toEqual(show(state, { a: type }));
  }
});

test("[K12] the bytes depend on the state alone, not on its history", () => {
  const writer = peerAfter(insert({ b: 1, a: { y: 1, x: 1 } }));
  const [one, two] = [writer.fork(2), writer.fork(3)];
  for (const intent of [set("a.z", 1), increment("k", 1), unset("b")]) one.write(intent);
  for (const intent of [set("a", 5), increment("k", 2), set("c", 1)]) two.write(intent);
  const ways = [
    merge(one.state, two.state),
    merge(two.state, one.state),
    merge(merge(writer.state, two.state), one.state),
    stateOfBytes(stateToBytes(merge(one.state, two.state))),
  ];
  expect(new Set(ways.map((state) => hexOf(stateToBytes(state)))).size).toBe(1);
});

test("[D20] a field named `__proto__` is decoded at every level, shown, hidden and typed", () => {
  const fields = JSON.parse('{"__proto__":{"__proto__":1,"r":{}}}') as Record<string, Value>;
  const types = JSON.parse('{"__proto__":{"__proto__":"counter","r":"register"}}') as Types;
  const peer = peerAfter(insert(fields, types), set("__proto__", 5), set("a", 1));
  for (const state of [peerAfter(insert(fields, types)).state, peer.state]) {
    expect(describeState(stateOfBytes(stateToBytes(state)))).toBe(describeState(state));
  }
});

test("[V7] a document of 64 levels is decoded, one of 65 is refused", () => {
  const deep = (levels: number): DocumentState => {
    let node: Node = { ...EMPTY_NODE, reg: { stamp: stampAt(2, 1), value: 1 } };
    for (let i = 1; i < levels; i++) {
      node = { ...EMPTY_NODE, map: { touch: NONE, kids: new Map([["a", node]]) } };
    }
    return { ...EMPTY_STATE, alive: stampAt(1, 1), root: new Map([["a", node]]) };
  };
  const hidden = (levels: number): DocumentState => ({ ...deep(levels), alive: NONE });
  for (const state of [deep(DEPTH_MAX), hidden(DEPTH_MAX)]) {
    expect(describeState(stateOfBytes(stateToBytes(state)))).toBe(describeState(state));
  }
  for (const state of [deep(DEPTH_MAX + 1), hidden(DEPTH_MAX + 1)]) {
    expect(codeOf(() => stateOfBytes(stateToBytes(state)))).not.toBe("nothing thrown");
  }
  const wide = { ...EMPTY_NODE, reg: { stamp: stampAt(2, 1), value: [[[1]]] } };
  const over = { ...hidden(1), root: new Map([["a", nestedIn(62, wide)]]) };
  expect(codeOf(() => stateOfBytes(stateToBytes(over)))).toBe("state.malformed");
});

function nestedIn(levels: number, inner: Node): Node {
  let node = inner;
  for (let i = 1; i < levels; i++) {
    node = { ...EMPTY_NODE, map: { touch: NONE, kids: new Map([["a", node]]) } };
  }
  return node;
}

test("[D20] unbounded nesting is refused and does not overflow the stack", () => {
  // One field with an empty name that is a map without a touch, 100,000 times.
  const levels = bytesOfHex("10", "01 00 20 00".repeat(100_000));
  const bytes = new Uint8Array([...varint(levels.length), ...levels]);
  expect(codeOf(() => stateOfBytes(bytes))).toBe("state.malformed");
});

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

/** The bytes of a state whose shown fields and types are replaced. */
function withShown(state: DocumentState, fields: Value, types: Value): Uint8Array {
  const { meta } = encodeState(state);
  return new Uint8Array([
    ...varint(meta.length),
    ...meta,
    ...encodeCbor(fields),
    ...encodeCbor(types),
  ]);
}

test("[D20] records that do not belong together are refused", () => {
  const live = peerAfter(insert({ a: 1, m: { x: 1 } })).state;
  const dead = peerAfter(insert({ a: 1 }), remove()).state;
  const { meta } = encodeState(live);
  const alone = new Uint8Array([...varint(meta.length), ...meta]);
  const partly = peerAfter(insert({ a: 1, m: { x: 1 } }), set("m.y", 1), set("m.x", 2)).state;
  const cases: Uint8Array[] = [
    alone,
    withShown(dead, {}, {}),
    withShown(EMPTY_STATE, { a: 1 }, {}),
    withShown(live, 1, {}),
    withShown(live, { a: 1 }, []),
    withShown(live, { a: {} }, { a: null }),
    withShown(live, { a: {} }, { a: 5 }),
    withShown(live, { a: {} }, { a: "number" }),
    withShown(live, { a: { b: 1 } }, { a: { b: null } }),
    withShown(partly, { a: 1, m: 5 }, {}),
    withShown(partly, { a: 1 }, {}),
  ];
  for (const bytes of cases) expect(codeOf(() => stateOfBytes(bytes))).toBe("state.malformed");
});

test("[D20] invalid amounts, and entries without a stamp, are refused", () => {
  const head = `30 05 ${SITE} 01 01 6b`;
  const refused = [
    `${head} 02 00 01`, // a register at NONE
    `${head} 08 01 f93800 00`, // a counter at 0.5
    `${head} 08 01 f97e00 00`, // a counter at NaN
    `${head} 08 01 6161 00`, // a counter at text
    `${head} 08 01 f6 00`, // a counter at null
    `${head} 10 01 6135 00`, // a PN-counter at text
    `${head} 08 00 01 00 01 01`, // a sum without a birth
    `${head} 08 00 01 01 00 01`, // a sum without a stamp
    `${head} 08 00 02 01 01 01 01 01 02`, // two sums of one birth and site
    `${head} 08 00 7f`, // more sums than bytes
    `${head} 02 05 01`, // a stamp that is not in the table
    `30 05 ${SITE} 7f`, // more fields than bytes
    `b0 05 ${SITE} 00`, // an unknown head
  ];
  for (const hex of refused) {
    const meta = bytesOfHex(hex);
    expect(
      codeOf(() => stateOfBytes(new Uint8Array([meta.length, ...meta]))),
      hex,
    ).toBe("state.malformed");
  }
  const read = bytesOfHex(`${head} 08 01 1903e8 00`);
  expect(describeState(stateOfBytes(new Uint8Array([read.length, ...read])))).toBe(
    "alive - dead - seeded false {k: (ctr [5/170=1000 ])}",
  );
});

test("[D20] every decoded state is in normal form", () => {
  const meta = bytesOfHex(`34 05 ${SITE} 01 02 0161 02 01 07 0162 00`);
  const state = stateOfBytes(new Uint8Array([meta.length, ...meta]));
  expect(describeState(state)).toBe("alive - dead 5/170 seeded false {}");
});

/** Bytes of a state of some history, damaged in a few places or in none. */
const damagedBytes: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.integer({ min: 1, max: 100_000 }),
    fc.nat(2),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
    fc.nat(),
  )
  .map(([seed, replica, damages, cut]) => {
    const history = run(generate(seed, {}), {});
    const bytes = stateToBytes(history.replicas[replica]?.state ?? EMPTY_STATE);
    for (const [place, byte] of damages) bytes[place % bytes.length] = byte;
    return cut % 4 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
  });

test("[D20] hostile bytes are refused with a PeerError, or give a valid state", () => {
  let read = 0;
  let refused = 0;
  fc.assert(
    fc.property(fc.oneof(damagedBytes, fc.uint8Array({ maxLength: 40 })), (bytes) => {
      let state: DocumentState;
      try {
        state = stateOfBytes(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(PeerError);
        expect(["state.malformed", "cbor.malformed"]).toContain((error as PeerError).code);
        refused++;
        return;
      }
      read++;
      expectSound(state);
    }),
    { numRuns: runs(4000) },
  );
  expect(Math.min(read, refused)).toBeGreaterThan(runs(4000) / 20);
});

/** Everything that is done with a state works, and gives it back. */
function expectSound(state: DocumentState): void {
  expect(normalize(state)).toBe(state);
  expect(describeState(merge(EMPTY_STATE, state))).toBe(describeState(state));
  const bytes = stateToBytes(state);
  const back = stateOfBytes(bytes);
  expect(describeState(back)).toBe(describeState(state));
  expect(hexOf(stateToBytes(back))).toBe(hexOf(bytes));
  expect(merge(state, back)).toBe(state);
}

test("[D20] a state that cannot be encoded leaves no bytes for the next one", () => {
  const good = peerOf(insert({ a: 1 }), set("b", 1));
  const expected = hexOf(stateToBytes(good));
  const outside = { ...EMPTY_NODE, reg: { stamp: stampAt(5, 1), value: 2n ** 70n } };
  const bad: DocumentState = { ...EMPTY_STATE, root: new Map([["a", outside]]) };
  expect(() => stateToBytes(bad)).toThrow("assertion failed");
  expect(hexOf(stateToBytes(good))).toBe(expected);
});

test("[D20] a decoded state does not change when the owner of the Buffer changes it", () => {
  const state = peerOf(insert({ a: new Uint8Array([1, 2, 3]) }), set("a.x", 1));
  const bytes = Buffer.from(stateToBytes(state));
  const back = stateOfBytes(bytes);
  bytes.fill(0);
  expect(describeState(back)).toBe(describeState(state));
});
