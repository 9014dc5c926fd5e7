/**
 * Text functions: measure, search, split, join, pad and change text. Positions and lengths count
 * characters, positions from 0; `length` and `byte_length` count bytes of UTF-8.
 */

import type { Run } from "../frame/frame.ts";
import { castDatum } from "../value/cast.ts";
import { grow, PORTION, spend, spendEach, spendLength } from "../value/cost-meter.ts";
import {
  type Datum,
  Failure,
  isDatumArray,
  MISSING,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "../value/size-bound.ts";
import { byteLength, characterCount, offsetOfCharacter } from "../value/text-length.ts";
import { findText, searchFor } from "../value/text-search.ts";
import { findNotText, notCount, notInteger, notText, readCount, readInteger } from "./argument.ts";
import { ANY_NUMBER, type FunctionSpec, inTurn } from "./function.ts";
import { chargeCopy, chargeGrowth, countWork } from "./growth.ts";
import { trimText } from "./trim.ts";

/** Approximate bytes of a short string. */
const PIECE_BYTES = 32;

const PART_CHECKS = inTurn(notText, notInteger, notCount);

export const TEXT_FUNCTIONS: readonly FunctionSpec[] = [
  onText("upper", (text) => inCase(text, (given) => given.toUpperCase())),
  onText("lower", (text) => inCase(text, (given) => given.toLowerCase())),
  onText("length", byteLength),
  onText("byte_length", byteLength),
  onText("char_length", characterCount),
  onText("character_length", characterCount),
  // TRIM(BOTH x FROM s) is trim(s, x), LEADING and TRAILING are ltrim and rtrim.
  onTexts("trim", [1, 2], ([text, set]) => trimText(text as string, set, "both")),
  onTexts("ltrim", [1, 2], ([text, set]) => trimText(text as string, set, "start")),
  onTexts("rtrim", [1, 2], ([text, set]) => trimText(text as string, set, "end")),
  onBothTexts("starts_with", ([text, part]) => (text as string).startsWith(part as string)),
  onBothTexts("ends_with", ([text, part]) => (text as string).endsWith(part as string)),
  { name: "contains", arity: [2, ANY_NUMBER], nulls: "see", apply: contains },
  // position(x IN s) is position(x, s).
  {
    ...onTexts("position", [2, 2], ([part, text]) => positionOf(text as string, part as string)),
    checks: [1, 0].map((at) => ({ at, wrong: notText })),
  },
  onTexts("pos", [2, 2], ([text, part]) => positionOf(text as string, part as string)),
  onTexts("concat", [2, ANY_NUMBER], (texts, run) => join(texts, "", run)),
  onTexts("split", [2, 2], ([text, separator], run) =>
    split(text as string, separator as string, run),
  ),
  {
    name: "joinstr",
    arity: [2, ANY_NUMBER],
    nulls: "see",
    apply: joinStrings,
  },
  // SUBSTRING(s FROM a FOR b) is substring(s, a, b), without FROM it begins at 0.
  { name: "substr", arity: [2, 3], nulls: "pass", checks: PART_CHECKS, apply: substring },
  { name: "substring", arity: [1, 3], nulls: "pass", checks: PART_CHECKS, apply: substring },
  {
    name: "replace",
    arity: [3, 4],
    nulls: "pass",
    checks: inTurn(notText, notText, notText, notCount),
    apply: replace,
  },
  {
    name: "repeat",
    arity: [2, 2],
    nulls: "pass",
    checks: inTurn(notText, notCount),
    apply: repeat,
  },
  padsText("lpad", "start"),
  padsText("rpad", "end"),
];

function onText(name: string, apply: (text: string) => Outcome): FunctionSpec {
  return {
    name,
    arity: [1, 1],
    nulls: "pass",
    apply: ([text]) => (typeof text === "string" ? apply(text) : mismatch("text", text)),
  };
}

type ApplyToTexts = (texts: readonly string[], run: Run) => Outcome;

/** A function of texts only; the first wrong argument determines the result. */
function onTexts(name: string, arity: FunctionSpec["arity"], apply: ApplyToTexts): FunctionSpec {
  return {
    name,
    arity,
    nulls: "pass",
    checks: inTurn(notText),
    apply: (args, run) => findNotText(args) ?? apply(args as readonly string[], run),
  };
}

/** A function of two texts. MISSING takes precedence over null, and null over a wrong type. */
function onBothTexts(name: string, apply: ApplyToTexts): FunctionSpec {
  return {
    name,
    arity: [2, 2],
    nulls: "pass",
    apply: (args, run) => findNotText(args) ?? apply(args as readonly string[], run),
  };
}

function padsText(name: string, side: Side): FunctionSpec {
  return {
    name,
    arity: [2, 3],
    nulls: "pass",
    checks: inTurn(notText, notCount, notText),
    apply: (args, run) => pad(args, run, side),
  };
}

/** contains(text, part, …): ignores further arguments. */
function contains([text, part]: readonly Datum[]): Outcome {
  if (text === MISSING || part === MISSING) return MISSING;
  if (text === null || part === null) return null;
  if (typeof text !== "string") return mismatch("text", text);
  return typeof part === "string" ? findText(text, part) >= 0 : mismatch("text", part);
}

/** Changes the case. Text outside ASCII takes longer, and some letters become three. */
function inCase(text: string, change: (text: string) => string): string {
  if (text.length > LARGE_LENGTH) {
    spendEach(text.length);
    grow(2 * text.length);
  }
  return change(text);
}

const LARGE_LENGTH = 32 * 1024;

/** Position in characters. Empty text has no positions, not even of empty text. */
function positionOf(text: string, part: string): number {
  if (text === "") return -1;
  const offset = findText(text, part);
  return offset <= 0 ? offset : characterCount(text.slice(0, offset));
}

function join(texts: readonly string[], separator: string, run: Run): Outcome {
  let length = separator.length * (texts.length - 1);
  for (const text of texts) length += text.length;
  if (length > TEXT_LENGTH_MAX) return TEXT_TOO_LONG;
  countWork(run, texts.length);
  chargeCopy(run, 2 * length);
  return texts.join(separator);
}

/**
 * joinstr(separator, x, …): joins arguments cast to text; an array becomes the text of its
 * elements. The first argument or element that is null, MISSING or fails is the result.
 */
function joinStrings([separator, ...parts]: readonly Datum[], run: Run): Outcome {
  if (separator === null || separator === MISSING) return separator;
  if (typeof separator !== "string") return mismatch("text", separator);
  const texts: string[] = [];
  for (const part of parts) {
    const text = isDatumArray(part)
      ? joinElements(separator, part, run)
      : castDatum(part, "string");
    if (typeof text !== "string") return text;
    texts.push(text);
  }
  return join(texts, separator, run);
}

/** Joins an array. Nested arrays may be shared, so the text can exceed the memory of the input. */
function joinElements(separator: string, elements: readonly PresentDatum[], run: Run): Outcome {
  run.budget.step();
  chargeCopy(run, elements.length * PIECE_BYTES);
  countWork(run, elements.length);
  return joinStrings([separator, ...elements], run);
}

/** Empty text gives no pieces. An empty separator splits into characters. */
function split(text: string, separator: string, run: Run): Outcome {
  if (text === "") return [];
  const pieces = new Pieces(run);
  if (separator === "") {
    for (const character of text) pieces.push(character);
    return pieces.all;
  }
  const search = searchFor(separator);
  let start = 0;
  for (let end = search(text, 0); end >= 0; end = search(text, start)) {
    pieces.push(text.slice(start, end));
    start = end + separator.length;
  }
  pieces.push(text.slice(start));
  return pieces.all;
}

/** Pieces of a text, charged while they are made: there may be one for each character. */
class Pieces {
  readonly all: string[] = [];
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  push(piece: string): void {
    this.all.push(piece);
    if (this.all.length % PORTION !== 0) return;
    spend(PORTION / PIECES_PER_STEP);
    chargeGrowth(this.#run, PORTION * PIECE_BYTES);
  }
}

const PIECES_PER_STEP = 4;

/** A negative start counts from the end. If the start is outside the text, the result is null. */
function substring([text, from = 0, size]: readonly Datum[]): Outcome {
  if (typeof text !== "string") return mismatch("text", text);
  const given = readInteger(from);
  if (given instanceof Failure) return given;
  const length = size === undefined ? text.length : readCount(size);
  if (length instanceof Failure) return length;
  spendLength(2 * text.length);
  const count = characterCount(text);
  const start = given < 0 ? count + given : given;
  if (start < 0 || start >= count) return null;
  const end = Math.min(count, start + length);
  if (count === text.length) return text.slice(start, end);
  return text.slice(offsetOfCharacter(text, start), offsetOfCharacter(text, end));
}

function repeat([text, times]: readonly Datum[], run: Run): Outcome {
  if (typeof text !== "string") return mismatch("text", text);
  const count = readCount(times);
  if (count instanceof Failure) return count;
  return repeated(text, text === "" ? 0 : count, run);
}

/** replace(text, old, new[, count]): from the left, `count` times. Empty text is never found. */
function replace([text, old, by, times]: readonly Datum[], run: Run): Outcome {
  const wrong = findNotText([text, old, by]);
  if (wrong !== undefined) return wrong;
  const most = times === undefined ? Infinity : readCount(times);
  if (most instanceof Failure) return most;
  if (old === "") return text;
  const pieces = new Pieces(run);
  let start = 0;
  const search = searchFor(old as string);
  while (pieces.all.length < most) {
    const end = search(text as string, start);
    if (end < 0) break;
    pieces.push((text as string).slice(start, end));
    start = end + (old as string).length;
  }
  pieces.push((text as string).slice(start));
  return join(pieces.all, by as string, run);
}

/** Pads with the first character of the padding, by default a blank. Never cuts text. */
function pad([text, width, padding = " "]: readonly Datum[], run: Run, side: Side): Outcome {
  if (typeof text !== "string") return mismatch("text", text);
  const wanted = readCount(width);
  if (wanted instanceof Failure) return wanted;
  if (typeof padding !== "string") return mismatch("text", padding);
  const missing = wanted - characterCount(text);
  if (missing <= 0) return text;
  const fill = padding.slice(0, offsetOfCharacter(padding, 1)) || " ";
  const filling = repeated(fill, missing, run);
  if (filling instanceof Failure) return filling;
  return side === "start" ? filling + text : text + filling;
}

type Side = "start" | "end";

function repeated(text: string, count: number, run: Run): string | Failure {
  const length = text.length * count;
  if (length > TEXT_LENGTH_MAX) return TEXT_TOO_LONG;
  chargeGrowth(run, length);
  return text.repeat(count);
}
