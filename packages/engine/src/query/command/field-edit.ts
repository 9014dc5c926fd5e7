/**
 * Field edits: the field commands of an update, validated once and then turned into edits for each
 * document by its current values.
 *
 * A value that fits no document is an error of the request. A value that does not fit one document
 * leaves only that document unchanged.
 */

import {
  checkValue,
  DEPTH_MAX,
  type Edit,
  getField,
  levelsOf,
  type Path,
  PeerError,
  type TypeMark,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { addAmounts, markOf } from "../../crdt/show.ts";
import { isMap, type MarkedFields, setEdit } from "../mutate/local-diff.ts";
import { type Writer, writeMark } from "../mutate/write-type.ts";
import { parseFilterPath } from "../syntax/parse-filter.ts";
import type { Expression } from "../syntax/tree.ts";
import { describeType } from "../value/mismatch.ts";
import { type AttachmentToken, attachmentToken } from "./attachment-token.ts";
import type { FieldCommand } from "./command.ts";
import { within } from "./place.ts";

export type FieldEdit =
  /** The same edit for every document. */
  | {
      readonly kind: "fixed";
      readonly path: Path;
      readonly edit: Edit;
      readonly token: AttachmentToken | undefined;
    }
  | {
      readonly kind: "increment";
      readonly path: Path;
      readonly by: number | bigint;
      /** Position of the amount in the request, for errors. */
      readonly at: string;
    }
  /** Turns the current number into a counter. */
  | { readonly kind: "convert"; readonly path: Path };

export type IncrementField = Extract<FieldEdit, { kind: "increment" }>;

export function fieldEdit({ method, path: text, value }: FieldCommand, at: string): FieldEdit {
  const path = namesOf(text, `${at}.path`);
  const place = `${at}.value`;
  switch (method) {
    case "set": {
      const checked = checkValue(value, place);
      checkLevels(path, checked, place);
      const mark = writeMark(checked, undefined, path, SET);
      return { kind: "fixed", path, edit: setEdit(path, checked, mark), token: undefined };
    }
    case "setAttachment": {
      const token = attachmentToken(checkValue(value, place), place);
      checkLevels(path, token.value, place);
      return { kind: "fixed", path, edit: setEdit(path, token.value, "attachment"), token };
    }
    case "increment":
      return { kind: "increment", path, by: counterAmount(value, place), at: place };
    case "replaceWithCounter": {
      if (value === null) return { kind: "convert", path };
      const amount = counterAmount(value, place);
      return { kind: "fixed", path, edit: restart(path, amount), token: undefined };
    }
    default:
      return unreachable(method);
  }
}

/** `set` stores an object as a map even if it looks like a token: `setAttachment` stores tokens. */
const SET: Writer = {
  typing: { isStrict: false, types: undefined },
  clause: "set",
  isTokenInferred: false,
  at: 0,
};

function restart(path: Path, value: number | bigint): Edit {
  return { kind: "restart", path, value, counter: "counter" };
}

function namesOf(text: string, at: string): Path {
  const names: string[] = [];
  let node: Expression = within(at, () => parseFilterPath(text), text);
  while (node.kind === "field") {
    names.push(node.name);
    node = node.of;
  }
  if (node.kind !== "name") {
    throw invalid("expected a path of field names: elements of arrays are not written alone", at);
  }
  const path = [...names, node.name].toReversed();
  for (const name of path) checkValue(name, at);
  if (path[0] === "_id") throw invalid("the document id `_id` cannot be modified", at);
  if (path.length > DEPTH_MAX) throw invalid(`expected a path of at most ${DEPTH_MAX} fields`, at);
  return path;
}

function checkLevels(path: Path, value: Value, at: string): void {
  if (path.length + levelsOf(value) <= DEPTH_MAX) return;
  throw invalid(`expected at most ${DEPTH_MAX} levels with those of the path`, at);
}

const COUNTER_MIN = -(2n ** 63n);
const COUNTER_MAX = 2n ** 63n - 1n;

/** Checks that a value is an integer of 64 bits, the range of a counter. */
export function counterAmount(value: Value, at: string): number | bigint {
  const checked = checkValue(value, at);
  const amount = amountOf(checked);
  if (amount !== undefined) return amount;
  const found = typeof checked === "bigint" ? String(checked) : describeType(checked);
  throw invalid(`expected an integer from -2^63 to 2^63-1, found ${found}`, at);
}

/** Merges two increments of one path into one with the same effect. */
export function sumOf(earlier: IncrementField, later: IncrementField): IncrementField {
  return { ...later, by: addAmounts(earlier.by, later.by) };
}

/** Throws if a sum is outside 64 bits; intermediate sums may be. */
export function checkSum({ by, at }: IncrementField): void {
  if (amountOf(by) !== undefined) return;
  const expected = "increments of one path that add up to an integer from -2^63 to 2^63-1";
  throw invalid(`expected ${expected}, found ${by}`, at);
}

function amountOf(value: Value): number | bigint | undefined {
  if (typeof value === "bigint") {
    return value >= COUNTER_MIN && value <= COUNTER_MAX ? value : undefined;
  }
  // Adding 0 turns -0 into 0.
  return typeof value === "number" && Number.isSafeInteger(value) ? value + 0 : undefined;
}

function invalid(message: string, at: string): PeerError {
  return new PeerError("value.invalid", message, { at });
}

/** The edits of one round for a document with the values `shown`; undefined if one does not fit. */
export function editsFor(round: readonly FieldEdit[], shown: MarkedFields): Edit[] | undefined {
  const edits: Edit[] = [];
  for (const field of round) {
    const edit = editFor(field, shown);
    if (edit === "refused") return undefined;
    if (edit !== "nothing") edits.push(edit);
  }
  return edits;
}

function editFor(field: FieldEdit, shown: MarkedFields): Edit | "nothing" | "refused" {
  switch (field.kind) {
    case "fixed":
      return field.edit;
    case "increment":
      return incrementFor(field.path, field.by, shown);
    case "convert":
      return convertFor(field.path, shown);
    default:
      return unreachable(field);
  }
}

/** An increment overwrites no value: neither the field nor a parent that is not a map. */
function incrementFor(path: Path, by: number | bigint, shown: MarkedFields): Edit | "refused" {
  const found = fieldAt(path, shown);
  if (found === "absent") return { kind: "increment", path, by, counter: "counter" };
  if (found === "blocked") return "refused";
  const { mark } = found;
  if (mark !== "counter" && mark !== "pn_counter") return "refused";
  return { kind: "increment", path, by: mark === "counter" ? by : Number(by), counter: mark };
}

/** An existing counter stays as it is: a restart would discard concurrent increments. */
function convertFor(path: Path, shown: MarkedFields): Edit | "nothing" | "refused" {
  const found = fieldAt(path, shown);
  if (typeof found === "string") return "refused";
  if (found.mark === "counter") return "nothing";
  const amount = amountOf(found.value);
  return amount === undefined ? "refused" : restart(path, amount);
}

interface FoundField {
  readonly value: Value;
  readonly mark: TypeMark | undefined;
}

/** `blocked`: a parent on the path is not a map. */
function fieldAt(path: Path, shown: MarkedFields): FoundField | "absent" | "blocked" {
  let value: Value = shown.fields;
  let mark: TypeMark | undefined = shown.types;
  for (const name of path) {
    if (!isMap(value, mark)) return "blocked";
    const next = getField(value, name);
    if (next === undefined) return "absent";
    mark = typeof mark === "object" ? markOf(mark, name) : undefined;
    value = next;
  }
  return { value, mark };
}
