/**
 * Hostile input: text, bytes and values of many shapes that make a decoder work as hard as it can,
 * each as large as it is asked for.
 */
import { encodeCbor } from "../../src/cbor.ts";
import type { Value } from "../../src/value.ts";
import type { Shapes } from "./growth.ts";

function repeated(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, -1);
}

const listOf =
  (unit: string) =>
  (size: number): string =>
    `[${repeated(`${unit},`, size)}]`;

/** Fields whose names are numbers in base 36, or what is made of them. */
function fields(size: number, nameOf = (i: number): string => i.toString(36)): string {
  const parts: string[] = [];
  for (let length = 0; length < size; length += parts.at(-1)?.length ?? 0) {
    parts.push(`"${nameOf(parts.length)}":0`);
  }
  return `{${parts.join(",")}}`;
}

export const jsonShapes: Shapes<string> = {
  digits: (size) => `{"a":0.${"3".repeat(size)}}`,
  integer: (size) => "9".repeat(size),
  exponents: listOf("1e400"),
  longExponent: (size) => `1e${"0".repeat(size)}1`,
  zeros: listOf("0"),
  longIntegers: listOf("12345678901234567"),
  fractions: listOf("0.1234567890123456"),
  minus: (size) => "-".repeat(size),
  openLists: (size) => "[".repeat(size),
  openObjects: (size) => repeated('{"a":', size),
  closed: (size) => "]".repeat(size),
  emptyLists: listOf("[]"),
  emptyObjects: listOf("{}"),
  deepLists: listOf("[".repeat(60) + "]".repeat(60)),
  deepObjects: listOf(`${'{"a":'.repeat(60)}0${"}".repeat(60)}`),
  keys: fields,
  sameKey: (size) => fields(size, () => "a"),
  indexKeys: (size) => fields(size, (i) => String(i * 7)),
  farKeys: listOf('{"1023":0}'),
  longKey: (size) => `{"${"a".repeat(size)}":0}`,
  newShapes: (size) =>
    `[${fields(size)
      .slice(1, -1)
      .replaceAll(/"\w+":0/g, "{$&}")}]`,
  text: (size) => `"${"a".repeat(size)}"`,
  openText: (size) => `"${"a".repeat(size)}`,
  openTexts: (size) => `[${'"'.repeat(size)}`,
  texts: listOf('"ab"'),
  longTexts: listOf(`"${"a".repeat(40)}"`),
  escapes: (size) => `"${"\\u0041".repeat(size / 6)}"`,
  shortEscapes: (size) => `"${"\\n".repeat(size / 2)}"`,
  backslashes: (size) => `"${"\\".repeat(size)}`,
  brokenEscapes: (size) => `"${"\\u004".repeat(size / 5)}"`,
  surrogates: (size) => `"${"\\ud800".repeat(size / 6)}"`,
  space: (size) => " ".repeat(size),
  spaceInside: (size) => `[${repeated("0  \n  ,", size)}]`,
  lines: (size) => `${"\n".repeat(size)}x`,
  words: listOf("true"),
  nearWords: (size) => `[${repeated("tru,", size)}]`,
  commas: (size) => `[${",".repeat(size)}]`,
  trailing: (size) => `0${"0".repeat(size)}`,
};

function bytesOf(head: readonly number[], unit: readonly number[], size: number): Uint8Array {
  const bytes = new Uint8Array(head.length + Math.floor(size / unit.length) * unit.length);
  bytes.set(head);
  for (let i = head.length; i < bytes.length; i++) {
    bytes[i] = unit[(i - head.length) % unit.length] ?? 0;
  }
  return bytes;
}

/** A list of as many units as fit; each unit is `items` items. */
const cborList =
  (unit: readonly number[], items = 1) =>
  (size: number): Uint8Array => {
    const count = Math.floor(size / unit.length) * items;
    return bytesOf([0x9a, count >>> 24, count >>> 16, count >>> 8, count], unit, size);
  };

const openCbor =
  (head: readonly number[], unit: readonly number[]) =>
  (size: number): Uint8Array =>
    new Uint8Array([...bytesOf(head, unit, size), 0xff]);

function cborFields(size: number, nameOf: (i: number) => string): Uint8Array {
  const count = size / 8;
  return encodeCbor(Object.fromEntries(Array.from({ length: count }, (_, i) => [nameOf(i), 0])));
}

export const cborShapes: Shapes<Uint8Array> = {
  zeros: cborList([0x00]),
  emptyLists: cborList([0x80]),
  emptyObjects: cborList([0xa0]),
  emptyBytes: cborList([0x40]),
  emptyTexts: cborList([0x60]),
  nulls: cborList([0xf6]),
  nothing: cborList([0xf7]),
  halves: cborList([0xf9, 0x3c, 0x01]),
  floats: cborList([0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
  longIntegers: cborList([0x1b, 0x7f, 1, 2, 3, 4, 5, 6, 7]),
  bignums: cborList([0xc2, 0x48, 1, 2, 3, 4, 5, 6, 7, 8]),
  tags: (size) => bytesOf([], [0xc6], size),
  openLists: (size) => bytesOf([], [0x81], size),
  openForever: (size) => bytesOf([], [0x9f], size),
  deepLists: cborList([...Array.from({ length: 60 }, () => 0x81), 0x00]),
  deepObjects: cborList([...Array.from({ length: 60 }, () => [0xa1, 0x61, 0x61]).flat(), 0x00]),
  countLies: (size) => bytesOf([0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff], [0x00], size),
  openList: openCbor([0x9f], [0x00]),
  textChunks: openCbor([0x7f], [0x61, 0x61]),
  emptyTextChunks: openCbor([0x7f], [0x60]),
  byteChunks: openCbor([0x5f], [0x41, 0x00]),
  emptyByteChunks: openCbor([0x5f], [0x40]),
  openKeyChunks: (size) => new Uint8Array([0xa1, ...openCbor([0x7f], [0x61, 0x61])(size), 0x00]),
  sameKey: openCbor([0xbf], [0x61, 0x61, 0x00]),
  keys: (size) => cborFields(size, (i) => `k${i}`),
  indexKeys: (size) => cborFields(size, (i) => String(i * 7)),
  farKeys: cborList([0xa1, 0x64, 0x31, 0x30, 0x32, 0x33, 0x00]),
  text: (size) => encodeCbor("a".repeat(size)),
  wideText: (size) => encodeCbor("ä".repeat(size / 2)),
  brokenText: (size) => bytesOf([0x7a, 0, size >> 16, size >> 8, size], [0xc3], size),
  bytes: (size) => encodeCbor(new Uint8Array(size)),
  breaks: (size) => bytesOf([], [0xff], size),
};

/** What a message may have in its fields. */
export const valueShapes: Shapes<Value> = {
  zeros: (size) => Array.from({ length: size }, () => 0),
  emptyLists: (size) => Array.from({ length: size }, () => []),
  objects: (size) => Array.from({ length: size }, () => ({ a: 1 })),
  keys: (size) => Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, i])),
  text: (size) => "a".repeat(size),
  wideText: (size) => "ä\u{1f600}".repeat(size),
  zeroText: (size) => "\0".repeat(size),
  texts: (size) => Array.from({ length: size }, (_, i) => `t${i}`),
  bytes: (size) => new Uint8Array(size),
  floats: (size) => Array.from({ length: size }, (_, i) => i + 0.5),
  bigIntegers: (size) => Array.from({ length: size }, (_, i) => 2n ** 60n + BigInt(i)),
  large: (size) => Array.from({ length: size }, () => 1e18),
  halfPair: (size) => [`${"a".repeat(size)}\ud800`],
};

const HASH = new Uint8Array(16);

function message(content: Record<string, Value>): Uint8Array {
  return encodeCbor(content);
}

const SITE = "0123456789abcdef";

/** Messages of every side, those that are none, and fields that are none of the message. */
export const messageShapes: Shapes<Uint8Array> = {
  ...cborShapes,
  ...Object.fromEntries(
    Object.entries(valueShapes).flatMap(([name, make]) =>
      ["hello", "upload", "batch"].map((t) => [
        `${t} ${name}`,
        (size: number) => message({ t, id: 1, site: SITE, value: make(size / 4) }),
      ]),
    ),
  ),
  unknownKind: (size) => message({ t: "a".repeat(size) }),
  operations: (size) =>
    message({
      t: "upload",
      seq: 1,
      hash: HASH,
      ops: Array.from({ length: size / 40 }, (_, i) => ["insert", "c", i, { a: i }]),
    }),
};
