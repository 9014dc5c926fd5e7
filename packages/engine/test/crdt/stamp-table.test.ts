/**
 * Stamp table: the default, the order of the others, references there and back.
 */

import { ByteReader, ByteWriter, NONE, PeerError, type Stamp } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { StampTable } from "../../src/crdt/stamp-table.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { increment, insert, Peer, peerAfter, set, stampAt, update } from "../support/peer.ts";

function bytesOf(table: StampTable): Uint8Array {
  const writer = new ByteWriter();
  table.write(writer);
  return writer.finish();
}

function readerOf(hex: string): ByteReader {
  return new ByteReader(new Uint8Array(Buffer.from(hex, "hex")), "state.malformed");
}

test("[K12] the default stamp is the most frequent in the state", () => {
  const { state } = peerAfter(insert({ a: 1, b: 1, c: 1 }), set("a", 2));
  expect(StampTable.of(state).default).toEqual(stampAt(1, 1));
  const { state: newer } = peerAfter(
    insert({ a: 1 }),
    update(set("b", 1), set("c", 1), set("d", 1)),
  );
  expect(StampTable.of(newer).default).toEqual(stampAt(2, 1));
});

test("[K12] on a tie the default is the latest, by time and then by site", () => {
  const { state } = peerAfter(insert({}), set("a", 1), set("b", 1));
  expect(StampTable.of(state).default).toEqual(stampAt(3, 1));
  const [one, two] = [new Peer(1), new Peer(2)];
  one.write(insert({ a: 1 }), 5);
  two.write(insert({ b: 1 }), 5);
  expect(StampTable.of(one.take(two).state).default).toEqual(stampAt(5, 2));
});

test("[K12] births count as stamps", () => {
  const writer = peerAfter(insert({}));
  const peers = [2, 3, 4].map((site) => writer.fork(site));
  for (const peer of peers) peer.write(increment("k", 1), 9);
  const { state } = writer.take(...peers);
  expect(StampTable.of(state).default).toEqual(stampAt(1, 1));
});

test("[K10] reference 0 is NONE, 1 the default, then the others from the latest to the oldest", () => {
  const { state } = peerAfter(insert({ a: 1, b: 1, c: 1 }), set("d", 1), set("e", 1), set("f", 1));
  const table = StampTable.of(state);
  expect(
    [NONE, stampAt(1, 1), stampAt(4, 1), stampAt(3, 1), stampAt(2, 1)].map((stamp) =>
      table.referenceTo(stamp),
    ),
  ).toEqual([0, 1, 2, 3, 4]);
  expect(table.size).toBe(4);
  expect([table.isDefault(stampAt(1, 1)), table.isDefault(stampAt(2, 1))]).toEqual([true, false]);
});

test("[K10] every reference leads back to its stamp, also after encoding and decoding", () => {
  const writer = peerAfter(insert({ a: 1 }), increment("k", 1));
  const other = new Peer(2 ** 40).take(writer);
  other.write(set("b", 1), 2 ** 50);
  other.write(update(set("c", 1), set("d", 1)));
  const { state } = other;
  const table = StampTable.of(state);
  const bytes = bytesOf(table);
  const reader = new ByteReader(bytes, "state.malformed");
  const back = StampTable.read(reader, table.size > 1);
  reader.end();
  for (const [stamp] of stampsOf(state)) {
    const reference = table.referenceTo(stamp);
    expect(table.at(reference, reader)).toEqual(stamp);
    expect(back.at(reference, reader)).toEqual(stamp);
  }
  expect(back.at(0, reader)).toBe(NONE);
});

function stampsOf(state: DocumentState): [Stamp][] {
  const fields = [...state.root.values()].flatMap((node) =>
    node.reg === undefined ? [] : [node.reg.stamp],
  );
  return [state.alive, ...fields].map((stamp) => [{ ...stamp }]);
}

test("[K10] finding a reference takes few comparisons, however many ticks a document has", () => {
  const count = 20_000;
  let looks = 0;
  const watched = (time: number): Stamp => ({
    get time() {
      looks++;
      return time;
    },
    site: stampAt(1, 1).site,
  });
  // As the table keeps them: from the latest to the oldest.
  const table = new StampTable(Array.from({ length: count }, (_, i) => watched(count - i)));
  const stamps = Array.from({ length: count }, (_, i) => stampAt(count - i, 1));
  expect(stamps.map((stamp) => table.referenceTo(stamp))).toEqual(stamps.map((_, i) => i + 1));
  // From the start, one by one, it would be 200 million.
  expect(looks).toBeLessThan(count * 50);
});

test("[K10] a stamp that is not in the table has no reference", () => {
  const table = StampTable.of(peerAfter(insert({ a: 1 }), set("a", 2), set("b", 1)).state);
  expect(() => table.referenceTo(stampAt(9, 9))).toThrow("a stamp of this table");
});

test("an empty state has an empty table, whose default is NONE", () => {
  const table = StampTable.of(EMPTY_STATE);
  expect([table.size, table.default]).toEqual([0, NONE]);
});

test("[K10] a table has the default stamp in full, and a site for others only where it differs", () => {
  const [one, two] = [new Peer(1), new Peer(2)];
  one.write(insert({ a: 1, b: 1 }), 300);
  one.write(set("c", 1), 400);
  two.take(one).write(set("d", 1), 500);
  expect(Buffer.from(bytesOf(StampTable.of(two.state))).toString("hex")).toBe(
    ["ac02", "0000000000000001", "02", "f403", "01", "0000000000000002", "9003", "00"].join(""),
  );
});

test("[D20] a table with a wrong size, and a reference outside the table, are refused", () => {
  const site = "0000000000000001";
  const cases = [
    `05${site}7f`,
    `05${site}02`,
    `05${site}010600ff`.slice(0, 20),
    "05",
    "",
    `8000${site}`,
  ];
  for (const hex of cases) {
    expect(() => StampTable.read(readerOf(hex), true)).toThrow(PeerError);
  }
  const table = StampTable.read(readerOf(`05${site}`), false);
  expect(table.at(1, readerOf(""))).toEqual(stampAt(5, 1));
  expect(() => table.at(2, readerOf(""))).toThrow(PeerError);
});
