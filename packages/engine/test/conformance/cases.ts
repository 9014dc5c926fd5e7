/**
 * The recorded cases of the statement language: how they are read from their files.
 *
 * A case is a statement with what stood before it and what must come of it. In the files, values
 * that JSON cannot say are tagged (`{"$bytes": "…"}`), and `{c}` and `{c2}` stand for two
 * collections of the case's own. The tags are resolved when a file is read, the names when a case
 * runs.
 */
import { readdirSync, readFileSync } from "node:fs";
import {
  checkValue,
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";

/** What the reference calls the kinds of errors. */
export type ErrorClass = "syntax" | "semantic" | "evaluation" | "arguments" | "parameter" | "store";

export interface Expectation {
  /** Only the class of an error is compared. */
  readonly error?: ErrorClass;
  readonly items?: readonly Value[];
  /** Whether the rows must come in this order; otherwise they are a bag. */
  readonly ordered?: boolean;
  /** The top-level keys of all rows together, sorted. */
  readonly keys?: readonly string[];
  /** A bag. */
  readonly mutatedDocumentIds?: readonly Value[];
  /** Instead of the ids, where they are random. */
  readonly mutatedCount?: number;
}

export interface CaseStep {
  readonly statement: string;
  readonly args?: ValueObject;
}

export interface CheckedStep extends CaseStep {
  readonly expect: Expectation;
}

export interface Case extends CheckedStep {
  /** `area/group/case`, unique. */
  readonly name: string;
  /** 1 is the core of the language, 2 its edges. */
  readonly tier: 1 | 2;
  readonly setup?: readonly CaseStep[];
  /** Run after the statement, each with its own expectation. */
  readonly then?: readonly CheckedStep[];
  /** Puts settings back; runs whatever happened before. */
  readonly teardown?: readonly CaseStep[];
  /** Why the outcome looks like a defect: we may differ. */
  readonly suspect?: string;
  /** The reference refuses what we may allow. */
  readonly superset?: boolean;
}

/** The two collections that a case has to itself. */
export interface CollectionNames {
  readonly c: string;
  readonly c2: string;
}

const FOLDER = new URL(".", import.meta.url);

/** All cases, in the order of the files. */
export function readCases(): Case[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap(readFile);
}

function readFile(name: string): Case[] {
  const cases = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")) as ValueObject[];
  // The tags stand only where values stand, so the whole case may be walked.
  return cases.map((each) => resolveTags(each) as unknown as Case);
}

/** The cases by `area/group`. */
export function readGroups(): Map<string, Case[]> {
  const groups = new Map<string, Case[]>();
  for (const each of readCases()) {
    const group = each.name.slice(0, each.name.lastIndexOf("/"));
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [each]);
    else members.push(each);
  }
  return groups;
}

function resolveTags(value: Value): Value {
  if (isArray(value)) return value.map(resolveTags);
  if (!isObject(value)) return typeof value === "number" ? checkValue(value, "a number") : value;
  const tagged = resolveTag(value);
  return tagged ?? mapObject(value, (key) => key, resolveTags);
}

function resolveTag(object: ValueObject): Value | undefined {
  const entries = Object.entries(object);
  const [tag, content] = entries.length === 1 ? (entries[0] ?? []) : [];
  const text = typeof content === "string" ? content : "";
  switch (tag) {
    case "$float":
      // We keep no difference between 7 and 7.0.
      return checkValue(Number(content), "a number");
    case "$bigint":
      return BigInt(text);
    case "$bytes":
      return new Uint8Array(Buffer.from(text, "base64"));
    case "$num":
      return Number(content);
    default:
      return undefined;
  }
}

/** The case with its collections named. */
export function nameCollections(given: Case, names: CollectionNames): Case {
  const rename = (text: string): string =>
    text.replaceAll(/\{(c2?)\}/g, (_, name: string) => names[name as keyof CollectionNames]);
  return renameIn(given as unknown as Value, rename) as unknown as Case;
}

function renameIn(value: Value, rename: (text: string) => string): Value {
  if (typeof value === "string") return rename(value);
  if (isArray(value)) return value.map((element) => renameIn(element, rename));
  if (!isObject(value)) return value;
  return mapObject(value, rename, (field) => renameIn(field, rename));
}

function mapObject(
  object: ValueObject,
  mapKey: (key: string) => string,
  mapField: (field: Value) => Value,
): ValueObject {
  const mapped: MutableObject = {};
  for (const [key, field] of Object.entries(object)) setField(mapped, mapKey(key), mapField(field));
  return mapped;
}
