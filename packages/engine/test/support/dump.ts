/**
 * States of the engine and of the model as the same text, so that one comparison says whether they
 * agree in every entry; and shown values as text that tells -0 from 0 and 1n from 1.
 */

import { isArray, isObject, NONE, type Stamp, type Value } from "@bigpeer/protocol";
import type { Counter, DocumentState, Node } from "../../src/crdt/state.ts";
import type { ModelCounter, ModelDoc, ModelNode, ModelStamp } from "./model.ts";

export function describeState(state: DocumentState): string {
  return describe(
    stampText(state.alive),
    stampText(state.dead),
    String(state.seeded),
    kidsText(state.root, nodeText),
  );
}

export function describeDoc(doc: ModelDoc): string {
  return describe(
    modelStampText(doc.alive),
    modelStampText(doc.dead),
    String(doc.seeded),
    kidsText(doc.kids, modelNodeText),
  );
}

function describe(alive: string, dead: string, seeded: string, kids: string): string {
  return `alive ${alive} dead ${dead} seeded ${seeded} ${kids}`;
}

function stampText(stamp: Stamp): string {
  return stamp === NONE ? "-" : `${stamp.time}/${Number.parseInt(stamp.site, 16)}`;
}

function modelStampText(stamp: ModelStamp): string {
  return stamp[0] < 0 ? "-" : `${stamp[0]}/${stamp[1]}`;
}

function kidsText<T>(kids: ReadonlyMap<string, T>, textOf: (kid: T) => string): string {
  const entries = [...kids].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, kid]) => `${name}: ${textOf(kid)}`).join(", ")}}`;
}

function nodeText(node: Node): string {
  const parts = [
    node.removed === NONE ? "" : `removed ${stampText(node.removed)}`,
    node.reg && `reg ${stampText(node.reg.stamp)} ${valueText(node.reg.value)}`,
    node.att && `att ${stampText(node.att.stamp)} ${valueText(node.att.value)}`,
    node.ctr && `ctr ${counterText(node.ctr)}`,
    node.pn && `pn ${counterText(node.pn)}`,
    node.map && `map ${stampText(node.map.touch)} ${kidsText(node.map.kids, nodeText)}`,
  ];
  return `(${parts.filter(Boolean).join(" ")})`;
}

function modelNodeText(node: ModelNode): string {
  const parts = [
    node.removed[0] < 0 ? "" : `removed ${modelStampText(node.removed)}`,
    node.reg && `reg ${modelStampText(node.reg[0])} ${valueText(node.reg[1])}`,
    node.att && `att ${modelStampText(node.att[0])} ${valueText(node.att[1])}`,
    node.ctr && `ctr ${modelCounterText(node.ctr)}`,
    node.pn && `pn ${modelCounterText(node.pn)}`,
    node.map && `map ${modelStampText(node.map.touch)} ${kidsText(node.map.kids, modelNodeText)}`,
  ];
  return `(${parts.filter(Boolean).join(" ")})`;
}

function counterText({ reset, adds }: Counter): string {
  const start = reset === undefined ? "" : `${stampText(reset.stamp)}=${amountText(reset.value)}`;
  const sums = adds.map((add) => {
    return `${stampText(add.birth)}+${stampText(add.stamp)}=${amountText(add.sum)}`;
  });
  return `[${start} ${sums.sort().join(" ")}]`;
}

function modelCounterText({ reset, adds }: ModelCounter): string {
  const start = reset === undefined ? "" : `${modelStampText(reset[0])}=${amountText(reset[1])}`;
  const sums = [...adds.values()].map((add) => {
    return `${modelStampText(add.birth)}+${modelStampText(add.sum[0])}=${amountText(add.sum[1])}`;
  });
  return `[${start} ${sums.sort().join(" ")}]`;
}

/** The model keeps integers as bigints, the engine in their one form. */
function amountText(amount: number | bigint): string {
  return Object.is(amount, -0) ? "-0" : String(amount);
}

/** Keys in order; the order in which fields came is nobody's promise. */
export function valueText(value: Value | undefined): string {
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (value === undefined) return "MISSING";
  if (!isObject(value)) return typeof value === "number" ? String(value) : JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, part]) => `${JSON.stringify(name)}:${valueText(part)}`).join(",")}}`;
}
