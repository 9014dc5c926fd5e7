/**
 * Bodies that no operation may accept: broken JSON and CBOR, fields of a wrong kind or missing,
 * numbers and nesting beyond every bound, texts that are none, statements that are no statements.
 *
 * Each is malformed by construction. Where a change by chance may leave something valid, our own
 * parser is asked, and another change is made.
 */

import { gzipSync } from "node:zlib";
import {
  decodeCbor,
  encodeCbor,
  isArray,
  isObject,
  PeerError,
  parseJson,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { Fault } from "../../../engine/src/query/fault.ts";
import { parseFilter } from "../../../engine/src/query/syntax/parse-filter.ts";
import { parseStatement } from "../../../engine/src/query/syntax/parse-statement.ts";
import { type Case, nameCollections, readCases } from "../../../engine/test/conformance/cases.ts";
import { mangle } from "../../../engine/test/query/mangled-statement.ts";
import type { Random } from "../../../engine/test/support/random.ts";
import type { OperationName } from "./data-api.ts";
import {
  type CallField,
  KIND_VALUES,
  type Kind,
  VALID_CALLS,
  type ValidCall,
} from "./valid-call.ts";

export interface CallBody {
  readonly operation: OperationName;
  readonly type: "application/json" | "application/cbor";
  readonly bytes: Uint8Array;
}

export function validBody(random: Random, calls: readonly ValidCall[] = VALID_CALLS): CallBody {
  const { operation, body } = random.pick(calls);
  return random.oneIn(3) ? cborBody(operation, body) : jsonBody(operation, body);
}

function jsonBody(operation: OperationName, body: Value): CallBody {
  return { operation, type: "application/json", bytes: Buffer.from(stringifyJson(body)) };
}

function cborBody(operation: OperationName, body: Value): CallBody {
  return { operation, type: "application/cbor", bytes: encodeCbor(body) };
}

/** One field of a wrong kind, with a wrong value, or missing; maybe another one as well. */
export function wrongFields(random: Random): CallBody {
  const { operation, body, fields } = random.pick(VALID_CALLS);
  if (random.oneIn(12)) return wholeBody(operation, random);
  const [first, second] = random.shuffle(fields);
  if (first === undefined) throw new Error("expected a call with fields");
  let wrong = wrongAt(body, first, random);
  const isSecond = second !== undefined && !isWithin(first, second) && !isWithin(second, first);
  if (isSecond && random.oneIn(4)) wrong = wrongAt(wrong, second, random);
  // JSON has no binary: there it would be text, which may be right.
  return hasBinary(wrong) || random.oneIn(3)
    ? cborBody(operation, wrong)
    : jsonBody(operation, wrong);
}

function isWithin(outer: CallField, inner: CallField): boolean {
  return outer.path.every((step, i) => inner.path[i] === step);
}

function hasBinary(value: Value): boolean {
  if (value instanceof Uint8Array) return true;
  if (isArray(value)) return value.some(hasBinary);
  return isObject(value) && Object.values(value).some(hasBinary);
}

function wholeBody(operation: OperationName, random: Random): CallBody {
  const kinds = (Object.keys(KIND_VALUES) as Kind[]).filter((kind) => kind !== "object");
  const body = random.oneIn(kinds.length) ? {} : random.pick(KIND_VALUES[random.pick(kinds)]);
  return random.oneIn(2) ? cborBody(operation, body) : jsonBody(operation, body);
}

function wrongAt(
  body: Value,
  { path, takes, isRequired, wrong }: CallField,
  random: Random,
): Value {
  if (isRequired && random.oneIn(8)) return replaceAt(body, path, undefined);
  if (wrong.length > 0 && random.oneIn(3)) return replaceAt(body, path, random.pick(wrong));
  const others = (Object.keys(KIND_VALUES) as Kind[]).filter((kind) => !takes.includes(kind));
  return replaceAt(body, path, random.pick(KIND_VALUES[random.pick(others)]));
}

function valueAt(value: Value | undefined, path: readonly (string | number)[]): Value | undefined {
  let found: Value | undefined = value;
  for (const step of path) {
    found = isArray(found) || isObject(found) ? (found as ValueObject)[step] : undefined;
  }
  return found;
}

/** A copy with another value at a place, or without it. */
export function replaceAt(
  value: Value,
  path: readonly (string | number)[],
  replacement: Value | undefined,
): Value {
  const [step, ...rest] = path;
  if (step === undefined) return replacement ?? null;
  if (isArray(value)) {
    const index = Number(step);
    if (rest.length === 0 && replacement === undefined) return value.toSpliced(index, 1, null);
    return value.toSpliced(index, 1, replaceAt(value[index] ?? null, rest, replacement));
  }
  const object = value as ValueObject;
  if (rest.length === 0 && replacement === undefined) {
    return Object.fromEntries(Object.entries(object).filter(([name]) => name !== step));
  }
  return { ...object, [step]: replaceAt(object[step] ?? null, rest, replacement) };
}

const MARK = "a mark that is replaced by what JSON.stringify does not write";

/** JSON with `raw` in the place of a value. */
function jsonWith(body: Value, path: readonly (string | number)[], raw: string): Buffer {
  const text = stringifyJson(replaceAt(body, path, MARK));
  return Buffer.from(
    text.replace(`"${MARK}"`, () => raw),
    "latin1",
  );
}

/** Numbers far beyond 64 bits: where numbers may stand at all, it is integers of 64 bits. */
export function hugeNumber(random: Random): CallBody {
  const { operation, body, fields } = random.pick(VALID_CALLS);
  const { path } = random.pick(fields);
  const digits = String(1 + random.below(9)) + "7".repeat(20 + random.below(400));
  const number = random.oneIn(3) ? `${digits.slice(0, 3)}e${300 + random.below(9_000)}` : digits;
  const bytes = jsonWith(body, path, random.oneIn(2) ? number : `-${number}`);
  return { operation, type: "application/json", bytes };
}

/** Numbers that are no numbers of JSON, or infinite where an integer is wanted. */
export function strangeNumber(random: Random): CallBody {
  const find = VALID_CALLS.filter(({ operation }) => operation === "find");
  if (random.oneIn(4)) {
    const { operation, body } = random.pick(find);
    const path = [random.pick(["limit", "offset"])];
    const raw = random.pick(["1e400", "-1e400", "1E+999999999", "0.1e1000", "-0.0001"]);
    const bytes = jsonWith(body, path, raw);
    return { operation, type: "application/json", bytes };
  }
  const { operation, body, free } = random.pick(VALID_CALLS);
  const raw = random.pick(
    "NaN Infinity -Infinity +1 01 -01 .5 5. 1e 1e+ 0x10 1_000 1n 0b1 -- - 1.2.3 ١ undefined".split(
      " ",
    ),
  );
  return { operation, type: "application/json", bytes: jsonWith(body, free, raw) };
}

const BAD_UTF8: readonly string[] = [
  "\xff",
  "\xfe\xff",
  "\xc0\x80",
  "\xc1\xbf",
  "\xe0\x80\x80",
  "\xed\xa0\x80",
  "\xed\xbf\xbf",
  "\xf0\x80\x80\x80",
  "\xf4\x90\x80\x80",
  "\xf8\x88\x80\x80\x80",
  "\x80",
  "\xe2\x82",
  "\xf0\x9f\x98",
];

/** Bytes that are no UTF-8, or half of a character that needs two, inside a text. */
export function brokenText(random: Random): CallBody {
  const { operation, body, fields, free } = random.pick(VALID_CALLS);
  const texts = fields.filter(({ path }) => typeof valueAt(body, path) === "string");
  const path = random.oneIn(3) ? free : (texts[random.below(texts.length)]?.path ?? free);
  const around = ["before ", " after"] as const;
  if (random.oneIn(3)) {
    const surrogate = random.pick([
      "\\ud800",
      "\\udfff",
      "\\udc00\\ud800",
      "\\uD83D x",
      "\\ud83d\\ud83d",
    ]);
    const bytes = jsonWith(body, path, `"${around[0]}${surrogate}${around[1]}"`);
    return { operation, type: "application/json", bytes };
  }
  const bad = random.pick(BAD_UTF8);
  if (random.oneIn(2)) {
    const bytes = jsonWith(body, path, `"${around[0]}${bad}${around[1]}"`);
    return { operation, type: "application/json", bytes };
  }
  const marked = encodeCbor(replaceAt(body, path, "~".repeat(bad.length)));
  const at = Buffer.from(marked).indexOf("~".repeat(bad.length));
  const bytes = Buffer.concat([
    marked.subarray(0, at),
    Buffer.from(bad, "latin1"),
    marked.subarray(at + bad.length),
  ]);
  return { operation, type: "application/cbor", bytes };
}

/** Many levels, in the body, in a value, in CBOR; closed again or not. */
export function deepBody(random: Random): CallBody {
  const { operation, body, free } = random.pick(VALID_CALLS);
  const levels = random.oneIn(3) ? 100_000 : 65 + random.below(2_000);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"a":', "}]"],
    ['{"a":[0,', "]}"],
  ]);
  const deep = `${open.repeat(levels)}0${random.oneIn(3) ? "" : close.repeat(levels)}`;
  if (random.oneIn(3)) return { operation, type: "application/json", bytes: Buffer.from(deep) };
  if (random.oneIn(2)) {
    return { operation, type: "application/json", bytes: jsonWith(body, free, deep) };
  }
  const head = random.pick([
    [0x81],
    [0xa1, 0x61, 0x61],
    [0x9f],
    [0xc1],
    [0xd8, 0x2a],
    [0xbf, 0x60],
  ]);
  const marked = encodeCbor(replaceAt(body, free, MARK));
  const at = Buffer.from(marked).indexOf(Buffer.from(encodeCbor(MARK)));
  const nested = Buffer.concat([
    Buffer.alloc(levels * head.length, Uint8Array.from(head)),
    Buffer.from([0]),
  ]);
  const bytes = Buffer.concat([
    marked.subarray(0, at),
    nested,
    marked.subarray(at + encodeCbor(MARK).length),
  ]);
  return { operation, type: "application/cbor", bytes };
}

const JSON_CHANGES: readonly ((text: string, random: Random) => string)[] = [
  () => "",
  (_, random) => " \n\t\r".repeat(random.below(50)),
  (text) => `${text},`,
  (text) => `${text}${text}`,
  (text) => `${text}\0`,
  (text) => `[${text}`,
  (text) => text.replaceAll('"', "'"),
  (text) => text.replaceAll(":", "="),
  (text) => text.replace("{", "{,"),
  (text) => text.replace(/\}$/, ",}"),
  (text) => text.replace(/\}$/, "]"),
  (text) => text.replace("{", "{/* no comment in JSON */"),
  (text) => text.replace(/"(\w+)":/, "$1:"),
  (text) => text.replace(/"(\w+)":/, '"$1"'),
  (text) => text.replace(/"(\w+)":/, '"$1":,'),
  (text) => text.replace(/"(\w+)":/, '"\\x41$1":'),
  (text) => text.replace(/"(\w+)":/, '"$1\n":'),
  (text) => text.replace(/"(\w+)":/, '"$1\\u12":'),
  (text) => text.replace(/"(\w+)":/, '"$1\\":'),
  (text) => `//${text}`,
  (text) => `<?xml version="1.0"?><a>${text.length}</a>`,
  (text) => `collection=cars&query=${encodeURIComponent(text)}`,
];

/** JSON that is cut, changed by a few bytes, or nearly JSON. */
export function brokenJson(random: Random): CallBody {
  const { operation, body } = random.pick(VALID_CALLS);
  const text = stringifyJson(body);
  const type = "application/json";
  if (random.oneIn(3)) {
    return { operation, type, bytes: Buffer.from(random.pick(JSON_CHANGES)(text, random)) };
  }
  const whole = Buffer.from(text);
  if (random.oneIn(30)) return { operation, type, bytes: gzipSync(whole) };
  if (random.oneIn(30)) return { operation, type, bytes: Buffer.from(`\ufeff${text}`, "utf16le") };
  if (random.oneIn(30)) return { operation, type, bytes: encodeCbor(body) };
  return { operation, type, bytes: changed(whole, random, isNoJson) };
}

function isNoJson(bytes: Uint8Array): boolean {
  return isRefused(() => parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
}

function isNoCbor(bytes: Uint8Array): boolean {
  return isRefused(() => decodeCbor(bytes));
}

/** Only by a plain refusal: any other error is one that we want to see. */
function isRefused(parse: () => unknown): boolean {
  try {
    parse();
    return false;
  } catch (error) {
    const isPlain = error instanceof PeerError || error instanceof Fault;
    if (!isPlain && !(error instanceof TypeError && /encoded data/.test(error.message)))
      throw error;
    return true;
  }
}

/** Some bytes cut off, flipped, put in, left out or doubled, until it is no such text any more. */
function changed(
  whole: Uint8Array,
  random: Random,
  isMalformed: (bytes: Uint8Array) => boolean,
): Uint8Array {
  for (let tries = 0; tries < 50; tries++) {
    let bytes: Uint8Array = whole;
    for (let times = 1 + random.below(3); times > 0; times--) bytes = changeOnce(bytes, random);
    if (isMalformed(bytes)) return bytes;
  }
  return whole.subarray(0, random.below(whole.length));
}

function changeOnce(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length);
  const some = Array.from({ length: 1 + random.below(4) }, () => random.below(256));
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1: {
      const copy = bytes.slice();
      copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
      return copy;
    }
    case 2:
      return Uint8Array.from([...bytes.subarray(0, at), ...some, ...bytes.subarray(at)]);
    case 3:
      return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + some.length)]);
    case 4:
      return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(random.below(at + 1))]);
    default: {
      const copy = bytes.slice();
      copy.set(some.slice(0, copy.length - at), at);
      return copy;
    }
  }
}

/** Each is the content of a body by itself; `ff` ends nothing and more follows nowhere. */
const BAD_CBOR: readonly string[] = [
  "",
  "ff",
  "1c",
  "1f",
  "3f",
  "5f",
  "7f",
  "9f",
  "bf",
  "5f6161ff",
  "7f4161ff",
  "7f7f6161ffff",
  "bf6161ff",
  "bf00ff",
  "a1",
  "a101",
  "a10101",
  "a1f600",
  "a1416100",
  "a2616100616101",
  "bf616100616101ff",
  "a16161",
  "f8",
  "f801",
  "fc",
  "f0",
  "c2",
  "c200",
  "c249010000000000000000",
  `c25841${"ff".repeat(65)}`,
  "3bffffffffffffffff",
  "9bffffffffffffffff",
  "9a7fffffff",
  "bb001fffffffffffff",
  "7b001fffffffffffff61",
  "5b7fffffffffffffff",
  "7a00ffffff61",
  "62c328",
  "61ff",
  "63eda080",
  "d9",
  "db00",
  "a1617ff7f7",
  "8201",
  "00ff",
];

/** CBOR that is cut, changed by a few bytes, or announces what does not come. */
export function brokenCbor(random: Random): CallBody {
  const { operation, body } = random.pick(VALID_CALLS);
  const type = "application/cbor";
  if (random.oneIn(3)) {
    return { operation, type, bytes: Buffer.from(random.pick(BAD_CBOR), "hex") };
  }
  if (random.oneIn(20)) {
    return { operation, type, bytes: Buffer.from(stringifyJson(body)) };
  }
  return { operation, type, bytes: changed(encodeCbor(body), random, isNoCbor) };
}

const statements: readonly string[] = [
  ...new Set(
    readCases()
      .map((each) => nameCollections(each, { c: "cars", c2: "others" }))
      .flatMap(({ setup = [], statement, then = [] }: Case) => {
        return [...setup, { statement }, ...then].map((step) => step.statement);
      }),
  ),
];

const filters: readonly string[] = [
  "mileage > 100 && color == 'blue'",
  "mileage > :m || !(color != $args.c) && contains(tags, 'x')",
  "a['b-c'].d[0] == null && beginswith(name, 'A') || regex(name, '^[a-z]+$')",
  "_id == 'c1' AND mileage BETWEEN 1 AND 2 OR color IN ('a', 'b')",
];

/** A statement, or a filter, that cannot be read. */
export function mangledText(random: Random): CallBody {
  const isStatement = random.oneIn(2);
  const text = isStatement
    ? unreadable(random, statements, parseStatement)
    : unreadable(random, random.oneIn(2) ? filters : statements, parseFilter);
  const name = isStatement ? "statement" : "query";
  const calls = VALID_CALLS.filter(({ body }) => name in body);
  const { operation, body } = random.pick(calls);
  return jsonBody(operation, { ...body, [name]: text });
}

function unreadable(
  random: Random,
  texts: readonly string[],
  parse: (text: string) => unknown,
): string {
  for (;;) {
    const text = mangle(texts, random);
    if (isRefused(() => parse(text))) return text;
  }
}

const DEEP_TEXTS: readonly ((levels: number) => string)[] = [
  (levels) => "(".repeat(levels),
  (levels) => `${"(".repeat(levels)}1${")".repeat(levels)} == 1`,
  (levels) => `${"[".repeat(levels)}1${"]".repeat(levels)}`,
  (levels) => `${"!".repeat(levels)}true`,
  (levels) => `${"NOT ".repeat(levels)}true`,
  (levels) => `a${".b".repeat(levels)} == 1`,
  (levels) => `a${"[0]".repeat(levels)} == 1`,
  (levels) => `1${" + 1".repeat(levels)} == 1`,
  (levels) => `${"-".repeat(levels)}1 == 1`,
  (levels) => `true${" && true".repeat(levels)}`,
  (levels) => `${"abs(".repeat(levels)}1${")".repeat(levels)} == 1`,
];

/** Statements and filters with far more levels than there may be. */
export function deepText(random: Random): CallBody {
  const condition = random.pick(DEEP_TEXTS)(100_000);
  const isStatement = random.oneIn(2);
  const name = isStatement ? "statement" : "query";
  const { operation, body } = random.pick(VALID_CALLS.filter((call) => name in call.body));
  const text = isStatement ? `SELECT * FROM cars WHERE ${condition}` : condition;
  return jsonBody(operation, { ...body, [name]: text });
}
