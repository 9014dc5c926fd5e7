/**
 * Show: computes the visible value of a CRDT state, and the type of each visible value.
 *
 * Of the variants of a field the newest shows; a declared type picks its own variant instead. The
 * recency of a variant is its largest stamp: for a map its touch and everything below, removals
 * included; for a counter its restart and live sums. Rank breaks ties (D14).
 *
 * States passed to these functions are in normal form: entries below a floor are already dropped.
 */

import {
  type FieldType,
  getField,
  INTEGER_MIN,
  isAfter,
  isObject,
  latest,
  type MutableObject,
  NONE,
  normalInteger,
  type Stamp,
  setField,
  type TypeMark,
  type Types,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Counter, DocumentState, Entry, Kids, MapState, Node } from "./state.ts";
import { eachStamp } from "./state.ts";

export interface Shown {
  readonly fields: ValueObject;
  /** Marks for values that are not a plain register or map; undefined when there is none. */
  readonly types: Types | undefined;
}

/** The visible content of a document; undefined when it does not exist. */
export function show(state: DocumentState, declared?: Types): Shown | undefined {
  return isShown(state) ? showKids(state.root, declared) : undefined;
}

export function isShown(state: DocumentState): boolean {
  return isAfter(state.alive, state.dead);
}

interface ShownValue {
  readonly value: Value;
  readonly mark: TypeMark | undefined;
}

function showKids(kids: Kids, declared: Types | undefined): Shown {
  const fields: MutableObject = {};
  let types: { [field: string]: TypeMark } | undefined;
  for (const [name, kid] of kids) {
    if (declared === undefined && isPlainRegister(kid) && !isObject(kid.reg.value)) {
      setField(fields, name, kid.reg.value);
      continue;
    }
    const shown = showNode(kid, markOf(declared, name));
    if (shown === undefined) continue;
    setField(fields, name, shown.value);
    if (shown.mark !== undefined) {
      types ??= {};
      setField(types, name, shown.mark);
    }
  }
  return { fields, types };
}

export function markOf(types: Types | undefined, name: string): TypeMark | undefined {
  return types === undefined ? undefined : (getField(types, name) as TypeMark | undefined);
}

function showNode(node: Node, declared: TypeMark | undefined): ShownValue | undefined {
  const type = declared === undefined ? visibleType(node) : typeOfMark(declared);
  switch (type) {
    case "register":
      return node.reg && { value: node.reg.value, mark: registerMark(node.reg.value) };
    case "attachment":
      return node.att && { value: node.att.value, mark: "attachment" };
    case "counter":
      return node.ctr && { value: counterValue(node.ctr), mark: "counter" };
    case "pn_counter":
      return node.pn && { value: pnCounterValue(node.pn), mark: "pn_counter" };
    case "map":
      return node.map && showMap(node.map, typeof declared === "object" ? declared : undefined);
    default:
      return undefined;
  }
}

function typeOfMark(mark: TypeMark): FieldType {
  return typeof mark === "string" ? mark : "map";
}

/** An object in a register needs a mark: by its shape it would be a map. */
function registerMark(value: Value): TypeMark | undefined {
  return isObject(value) ? "register" : undefined;
}

function showMap(map: MapState, declared: Types | undefined): ShownValue | undefined {
  const shown = showKids(map.kids, declared);
  // Without a touch an empty map was never written as one: only fields below it, which are gone.
  if (map.touch === NONE && Object.keys(shown.fields).length === 0) return undefined;
  return { value: shown.fields, mark: shown.types };
}

/** The type that a node shows as without a declaration; undefined when it shows nothing. */
export function visibleType(node: Node): FieldType | undefined {
  if (isPlainRegister(node)) return "register";
  const types = presentTypes(node);
  if (types.length < 2) return types[0];
  let newest: FieldType | undefined;
  let newestStamp = NONE;
  for (const type of types) {
    // Types come in rank order, so a tie goes to the later one.
    const stamp = recency(node, type);
    if (newest !== undefined && isAfter(newestStamp, stamp)) continue;
    newest = type;
    newestStamp = stamp;
  }
  return newest;
}

/** The common case, without looking further. */
function isPlainRegister(node: Node): node is Node & { readonly reg: Entry } {
  return (
    node.reg !== undefined &&
    node.att === undefined &&
    node.ctr === undefined &&
    node.pn === undefined &&
    node.map === undefined
  );
}

function presentTypes(node: Node): FieldType[] {
  const types: FieldType[] = [];
  if (node.reg !== undefined) types.push("register");
  if (node.att !== undefined) types.push("attachment");
  if (node.ctr !== undefined) types.push("counter");
  if (node.pn !== undefined) types.push("pn_counter");
  if (node.map !== undefined && hasContent(node.map)) types.push("map");
  return types;
}

function hasContent(map: MapState): boolean {
  if (map.touch !== NONE) return true;
  for (const kid of map.kids.values()) if (presentTypes(kid).length > 0) return true;
  return false;
}

function recency(node: Node, type: FieldType): Stamp {
  switch (type) {
    case "register":
      return node.reg?.stamp ?? NONE;
    case "attachment":
      return node.att?.stamp ?? NONE;
    case "counter":
      return counterRecency(node.ctr);
    case "pn_counter":
      return counterRecency(node.pn);
    case "map":
      return mapRecency(node.map);
    default:
      return unreachable(type);
  }
}

function counterRecency(counter: Counter | undefined): Stamp {
  let newest = counter?.reset?.stamp ?? NONE;
  for (const add of counter?.adds ?? []) newest = latest(newest, add.stamp);
  return newest;
}

function mapRecency(map: MapState | undefined): Stamp {
  let newest = map?.touch ?? NONE;
  const visit = (stamp: Stamp): void => {
    newest = latest(newest, stamp);
  };
  for (const kid of map?.kids.values() ?? []) eachStamp(kid, visit);
  return newest;
}

const SHOWN_MAX = 2n ** 63n - 1n;

/** The sum is exact while it is computed, and clamped to 64 bits when shown (D16). */
function counterValue(counter: Counter): number | bigint {
  let sum = counter.reset?.value ?? 0;
  for (const add of counter.adds) sum = addAmounts(sum, add.sum);
  if (typeof sum === "number") return sum;
  if (sum > SHOWN_MAX) return SHOWN_MAX;
  return sum < INTEGER_MIN ? INTEGER_MIN : sum;
}

/** Floats are added in the order of births and sites, the same on every replica. */
function pnCounterValue(counter: Counter): number {
  let sum = Number(counter.reset?.value ?? 0);
  for (const add of counter.adds) sum += Number(add.sum);
  return sum;
}

export function addAmounts(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return sum;
  }
  return normalInteger(BigInt(a) + BigInt(b));
}
