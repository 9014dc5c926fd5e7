/**
 * Hostile arguments: values of every kind whose size can be chosen, as long, deep and repetitive as
 * statements can make them. Twice the size is twice the value.
 */

import type { PresentDatum } from "../../src/query/value/datum.ts";

type MakeDatum = (size: number) => PresentDatum;

const LEVELS = 50;

function nested(size: number): PresentDatum {
  let inner: PresentDatum = [];
  const width = Math.ceil(size / LEVELS);
  for (let level = 0; level < LEVELS; level++) {
    const around: PresentDatum[] = Array.from({ length: width }, (_, i) => i);
    around.push(inner);
    inner = around;
  }
  return inner;
}

function fields(size: number): PresentDatum {
  return Object.fromEntries(Array.from({ length: size / 4 }, (_, i) => [`k${i}`, i]));
}

function deepText(size: number): string {
  const one = `${"[".repeat(LEVELS)}1${"]".repeat(LEVELS)}`;
  return `[${Array.from({ length: Math.ceil(size / one.length) }, () => one).join(",")}]`;
}

function fieldsText(size: number): string {
  const entries = Array.from({ length: Math.ceil(size / 10) }, (_, i) => `"k${i}":${i}.5`);
  return `{${entries.join(",")}}`;
}

/** What is looked at or looked through. */
export const SUBJECTS: Readonly<Record<string, MakeDatum>> = {
  text: (size) => "a".repeat(size),
  letters: (size) =>
    "abcdefghij klmno\npqrstuvwxyz äöü ЖЩ 0123456789".repeat(size / 45 + 1).slice(0, size),
  pairs: (size) => "😀".repeat(size / 2),
  digits: (size) => "7".repeat(size),
  fraction: (size) => `0.${"3".repeat(size)}`,
  percents: (size) => "%a_".repeat(size / 3),
  numbersText: (size) => `[${"1.5,".repeat(size / 4)}1]`,
  emptyText: (size) => `[${"[],".repeat(size / 3)}[]]`,
  deepText,
  fieldsText,
  numbers: (size) => Array.from({ length: size }, (_, i) => (i * 7919) % size),
  texts: (size) => Array.from({ length: size / 4 }, (_, i) => `t${i}`),
  equals: (size) => Array.from({ length: size / 4 }, () => "same"),
  objects: (size) => Array.from({ length: size / 4 }, (_, i) => ({ a: i, b: { c: "x" } })),
  longTexts: (size) => Array.from({ length: 8 }, (_, i) => "a".repeat(size / 8) + String(i)),
  nested,
  fields,
  bytes: (size) => new Uint8Array(size).fill(97),
  number: () => 1_600_000_000_000,
  date: () => "2026-03-29T01:30:00+01:00",
  small: () => 1.5,
};

/** What is looked for, put in, or says how. */
export const TOOLS: Readonly<Record<string, MakeDatum>> = {
  letter: () => "a",
  absent: () => "zq",
  needle: (size) => `${"a".repeat(size / 4)}b`,
  periodic: (size) => "ab".repeat(size / 8),
  shortNeedle: () => `${"a".repeat(150)}b`,
  alphabet: (size) =>
    Array.from({ length: size / 4 }, (_, i) => String.fromCodePoint(0x4e00 + (i % 20_000))).join(
      "",
    ),
  pattern: () => "(a|b)*c|[0-9]+x",
  size: (size) => size,
  two: () => 2,
  array: (size) => Array.from({ length: size / 2 }, (_, i) => i),
  longText: (size) => "a".repeat(size),
  object: (size) => fields(size / 2),
  unit: () => "day",
  type: () => "string",
  float: () => "float",
  integer: () => "integer",
  binary: () => "binary",
  format: () => "%Y-%m-%dT%H:%M:%S %A %B",
  zone: () => "Europe/Paris",
  later: () => "2036-03-29T01:30:00+01:00",
};

/** What comes third and later. */
export const MODIFIERS: Readonly<Record<string, MakeDatum>> = {
  letter: () => "a",
  longText: (size) => "ab".repeat(size / 8),
  size: (size) => size,
  unit: () => "day",
  array: (size) => Array.from({ length: size / 2 }, (_, i) => i),
  zone: () => "Europe/Paris",
  yes: () => true,
};
