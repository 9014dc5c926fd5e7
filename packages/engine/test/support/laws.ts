/**
 * The laws that every history keeps, as functions that throw when one is broken.
 *
 * The unit tests hold each law against a thousand histories, the long test against many more.
 */

import { isAfter, NONE, type Stamp, type Types, ZERO } from "@bigpeer/protocol";
import { collect } from "../../src/crdt/collect.ts";
import { difference, restrict } from "../../src/crdt/delta.ts";
import { deltaOf } from "../../src/crdt/edit.ts";
import { merge, normalize } from "../../src/crdt/merge.ts";
import { isShown, show } from "../../src/crdt/show.ts";
import {
  type Counter,
  type DocumentState,
  EMPTY_STATE,
  eachStateStamp,
  isEmptyNode,
  type Kids,
  type Node,
} from "../../src/crdt/state.ts";
import {
  decodeState,
  encodeState,
  stateOfBytes,
  stateToBytes,
} from "../../src/crdt/state-codec.ts";
import { describeDoc, describeState, valueText } from "./dump.ts";
import { generate, type History, type Law, operationOf, siteName } from "./history.ts";
import { mergeDocs, runModel, showDoc } from "./model.ts";
import { oracleOf } from "./oracle.ts";
import type { Random } from "./random.ts";

export function bytesText(state: DocumentState): string {
  return Buffer.from(stateToBytes(state)).toString("latin1");
}

/** What shows, as text; MISSING when nothing does. */
export function shownText(state: DocumentState, declared?: Types): string {
  return valueText(show(state, declared)?.fields);
}

export function fail(what: string, found: string, expected: string): never {
  throw new Error(`${what}\n  found    ${found}\n  expected ${expected}`);
}

function expectSame(what: string, found: DocumentState, expected: DocumentState): void {
  if (bytesText(found) === bytesText(expected) && shownText(found) === shownText(expected)) return;
  fail(what, describeState(found), describeState(expected));
}

function deltasOf(history: History): DocumentState[] {
  return history.writes.flatMap(({ delta }) => (delta === undefined ? [] : [delta]));
}

function mergeAll(states: Iterable<DocumentState>): DocumentState {
  let merged = EMPTY_STATE;
  for (const state of states) merged = merge(merged, state);
  return merged;
}

function statesOf(history: History): DocumentState[] {
  return history.replicas.map(({ state }) => state);
}

/** Three states of the history, from whichever replicas. */
function pickThree(
  history: History,
  random: Random,
): [DocumentState, DocumentState, DocumentState] {
  const states = statesOf(history);
  return [random.pick(states), random.pick(states), random.pick(states)];
}

export const isCommutative: Law = (history) => {
  for (const a of statesOf(history)) {
    for (const b of statesOf(history))
      expectSame("merge(a, b) = merge(b, a)", merge(a, b), merge(b, a));
  }
};

export const isAssociative: Law = (history, random) => {
  for (let i = 0; i < 3; i++) {
    const [a, b, c] = pickThree(history, random);
    expectSame("a(bc) = (ab)c", merge(a, merge(b, c)), merge(merge(a, b), c));
  }
  const deltas = deltasOf(history);
  if (deltas.length === 0) return;
  const [a, b, c] = [random.pick(deltas), random.pick(deltas), random.pick(deltas)];
  expectSame("a(bc) = (ab)c of deltas", merge(a, merge(b, c)), merge(merge(a, b), c));
};

export const isIdempotent: Law = (history) => {
  for (const state of statesOf(history)) {
    if (merge(state, state) !== state) fail("merge(a, a) is a", "another object", "a");
    const copy = stateOfBytes(stateToBytes(state));
    if (merge(state, copy) !== state) fail("merge(a, copy of a) is a", "another object", "a");
  }
};

/** Any order, duplicated: the same bytes, the same shown value. */
export const isOrderFree: Law = (history, random) => {
  const all = mergeAll(statesOf(history));
  const deltas = deltasOf(history);
  if (deltas.length === 0) return;
  for (let i = 0; i < 3; i++) {
    const again = [...deltas, random.pick(deltas), random.pick(deltas)];
    expectSame("deltas in another order", mergeAll(random.shuffle(again)), all);
  }
};

/** merge(a, b) === a exactly when b brings nothing. */
export const isSameWhenNothingIsNew: Law = (history) => {
  const parts = [...statesOf(history), ...deltasOf(history)];
  for (const a of statesOf(history)) {
    for (const b of parts) {
      const merged = merge(a, b);
      const isSame = bytesText(merged) === bytesText(a);
      if (isSame !== (merged === a)) {
        fail("merge(a, b) === a", `${merged === a} for ${describeState(b)}`, `${isSame}`);
      }
    }
  }
};

/** Neither argument changes: states are shared. */
export const leavesItsArguments: Law = (history) => {
  const states = [...statesOf(history), ...deltasOf(history)];
  const before = states.map(describeState);
  for (const a of statesOf(history)) for (const b of states) merge(a, b);
  for (const [i, state] of states.entries()) {
    const expected = before[i] ?? "";
    if (describeState(state) !== expected)
      fail("merge changes nothing", describeState(state), expected);
  }
};

export const isNormalStable: Law = (history) => {
  for (const state of [...statesOf(history), ...deltasOf(history)]) {
    if (normalize(state) !== state) {
      fail("normalize(a) is a", describeState(normalize(state)), describeState(state));
    }
  }
};

export const readsBack: Law = (history) => {
  for (const state of [...statesOf(history), ...deltasOf(history)]) {
    const expected = describeState(state);
    const { shown, meta } = encodeState(state);
    const found = describeState(decodeState(shown, meta));
    if (found !== expected) fail("decode(encode(a)) = a", found, expected);
    const back = stateOfBytes(stateToBytes(state));
    if (describeState(back) !== expected) fail("bytes read back", describeState(back), expected);
    if (bytesText(back) !== bytesText(state)) fail("bytes are canonical", "others", "the same");
  }
};

/** A pair of states in which the second has grown from the first, with the deltas in between. */
function grown(
  history: History,
  random: Random,
): { older: DocumentState; newer: DocumentState; since: DocumentState[] } {
  const parts = [...deltasOf(history), ...statesOf(history)];
  const older = random.oneIn(4) ? EMPTY_STATE : random.pick(statesOf(history));
  if (parts.length === 0) return { older, newer: older, since: [] };
  const since = Array.from({ length: random.below(5) }, () => random.pick(parts));
  let newer = older;
  for (const part of since) newer = merge(newer, part);
  return { older, newer, since };
}

export const differsExactly: Law = (history, random) => {
  for (let i = 0; i < 4; i++) {
    const { older, newer } = grown(history, random);
    const delta = difference(older, newer);
    expectSame("older and difference are newer", merge(older, delta), newer);
    for (const smaller of withoutEachEntry(delta)) {
      if (bytesText(merge(older, smaller)) !== bytesText(newer)) continue;
      fail(
        "no entry of a difference can be left out",
        describeState(smaller),
        describeState(delta),
      );
    }
  }
};

export const restrictsExactly: Law = (history, random) => {
  for (let i = 0; i < 4; i++) {
    const { older, newer, since } = grown(history, random);
    const stamps = new Set<string>();
    const name = (stamp: Stamp): string => `${stamp.time}/${stamp.site}`;
    for (const part of since) eachStateStamp(part, (stamp) => stamps.add(name(stamp)));
    const delta = restrict(newer, (stamp) => stamps.has(name(stamp)));
    expectSame("older and restriction are newer", merge(older, delta), newer);
  }
};

/** The state with one entry left out, for each of its entries. */
export function withoutEachEntry(state: DocumentState): DocumentState[] {
  const smaller: DocumentState[] = [];
  if (state.alive !== NONE) smaller.push({ ...state, alive: NONE });
  if (state.dead !== NONE) smaller.push({ ...state, dead: NONE });
  // A document alive at ZERO is seeded by definition.
  const isImplied = !isAfter(state.alive, ZERO) && state.alive !== NONE;
  if (state.seeded && !isImplied) smaller.push({ ...state, seeded: false });
  for (const root of kidsWithoutEach(state.root)) smaller.push({ ...state, root });
  return smaller;
}

function kidsWithoutEach(kids: Kids): Kids[] {
  return [...kids].flatMap(([name, kid]) =>
    nodeWithoutEach(kid).map((node) => {
      const rest = new Map(kids);
      if (isEmptyNode(node)) rest.delete(name);
      else rest.set(name, node);
      return rest;
    }),
  );
}

function nodeWithoutEach(node: Node): Node[] {
  const smaller: Node[] = [];
  if (node.removed !== NONE) smaller.push({ ...node, removed: NONE });
  if (node.reg !== undefined) smaller.push({ ...node, reg: undefined });
  if (node.att !== undefined) smaller.push({ ...node, att: undefined });
  for (const ctr of counterWithoutEach(node.ctr)) smaller.push({ ...node, ctr });
  for (const pn of counterWithoutEach(node.pn)) smaller.push({ ...node, pn });
  if (node.map === undefined) return smaller;
  const { touch, kids } = node.map;
  if (touch !== NONE) smaller.push({ ...node, map: { touch: NONE, kids } });
  for (const rest of kidsWithoutEach(kids)) smaller.push({ ...node, map: { touch, kids: rest } });
  return smaller;
}

function counterWithoutEach(counter: Counter | undefined): (Counter | undefined)[] {
  if (counter === undefined) return [];
  const smaller: Counter[] = counter.adds.map((_, i) => ({
    ...counter,
    adds: counter.adds.toSpliced(i, 1),
  }));
  if (counter.reset !== undefined) smaller.push({ ...counter, reset: undefined });
  return smaller.map((part) => {
    return part.reset === undefined && part.adds.length === 0 ? undefined : part;
  });
}

const DECLARATIONS: readonly Types[] = [
  { a: "register", k: "counter", m: "map" },
  { a: "counter", k: "pn_counter", m: { x: "map", k: "counter" } },
  { m: { x: { z: "register" }, k: "pn_counter" }, b: "attachment" },
  { m: "register", k: "register", b: "map" },
];

/** The engine and the model agree on every entry of every state and on all that shows. */
export const agreesWithModel: Law = (history) => {
  const sites = history.replicas.map(({ site }) => site);
  const model = runModel(history.commands, sites);
  for (const [i, write] of history.writes.entries()) {
    const expected = model.deltas[i];
    const found = write.delta;
    const foundText = found === undefined ? "nothing" : describeState(found);
    const expectedText = expected === undefined ? "nothing" : describeDoc(expected);
    if (foundText !== expectedText) fail(`delta of write ${i}`, foundText, expectedText);
  }
  const docs = [...model.docs, model.docs.reduce(mergeDocs)];
  const states = [...statesOf(history), mergeAll(statesOf(history))];
  for (const [i, state] of states.entries()) {
    const doc = docs[i];
    if (doc === undefined) throw new Error("the model has fewer replicas");
    if (describeState(state) !== describeDoc(doc))
      fail(`replica ${i}`, describeState(state), describeDoc(doc));
    for (const declared of [undefined, ...DECLARATIONS]) {
      const [found, expected] = [shownText(state, declared), valueText(showDoc(doc, declared))];
      if (found !== expected) fail(`replica ${i} shows`, found, expected);
    }
  }
  agreesOnEquality(states, docs.map(describeDoc));
};

/** Equal bytes exactly where the model has equal states. */
function agreesOnEquality(states: readonly DocumentState[], texts: readonly string[]): void {
  for (const [i, a] of states.entries()) {
    for (const [j, b] of states.entries()) {
      const isSame = bytesText(a) === bytesText(b);
      if (isSame === (texts[i] === texts[j])) continue;
      fail(`bytes of ${i} and ${j}`, String(isSame), String(!isSame));
    }
  }
}

/** The merged result is what running all operations in the order of their stamps gives. */
export const agreesWithOracle: Law = (history) => {
  const expected = valueText(oracleOf(history.writes));
  const found = shownText(mergeAll(statesOf(history)));
  if (found !== expected) fail("all operations in stamp order", found, expected);
};

/**
 * Collection changes nothing that shows, now or after later writes of those who have seen the
 * state: whether they hold the collected state or the whole one.
 */
export const collectsSilently: Law = (history, random) => {
  const state = mergeAll(statesOf(history));
  const times: number[] = [0];
  eachStateStamp(state, ({ time }) => times.push(time));
  const horizon = random.pick(times);
  const collected = collect(state, horizon);
  if (shownText(collected) !== shownText(state)) {
    fail(`collect at ${horizon}`, describeState(collected), describeState(state));
  }
  expectSame("collect again", collect(collected, horizon), collected);
  continueBoth(state, collected, Math.max(horizon, ...times), random);
};

/**
 * Nor does it change what shows after writes newer than the horizon arrive from those who had not
 * seen the state. An increment is as old as its birth; and what a dead document hid goes with its
 * tombstone (D12), so an insert that did not know of it cannot bring that to light any more.
 */
export const collectsBeforeLateWrites: Law = (history, random) => {
  const state = random.pick(statesOf(history));
  const times: number[] = [0];
  eachStateStamp(state, ({ time }) => times.push(time));
  const horizon = random.pick(times);
  const hidesNewer = !isShown(state) && times.some((time) => time > horizon);
  if (hidesNewer) return;
  let [whole, rest] = [state, collect(state, horizon)];
  for (const delta of random.shuffle(deltasOf(history))) {
    if (oldestIn(delta) <= horizon) continue;
    [whole, rest] = [merge(whole, delta), merge(rest, delta)];
    if (shownText(rest) !== shownText(whole)) {
      fail(`late ${describeState(delta)}`, describeState(rest), describeState(whole));
    }
  }
};

function oldestIn(delta: DocumentState): number {
  let oldest = Number.POSITIVE_INFINITY;
  eachStateStamp(delta, ({ time }) => {
    oldest = Math.min(oldest, time);
  });
  for (const kid of delta.root.values()) oldest = Math.min(oldest, oldestBirthIn(kid));
  return oldest;
}

function oldestBirthIn(node: Node): number {
  const births = [node.ctr, node.pn].flatMap((counter) => counter?.adds ?? []);
  const below = [...(node.map?.kids.values() ?? [])].map(oldestBirthIn);
  return Math.min(Number.POSITIVE_INFINITY, ...births.map(({ birth }) => birth.time), ...below);
}

/** Writers of both lines go on with the same intents; what they hold must show the same. */
function continueBoth(
  state: DocumentState,
  collected: DocumentState,
  time: number,
  random: Random,
): void {
  let [whole, rest, given] = [state, collected, collected];
  let now = time;
  for (const command of generate(random.below(1e9), {})) {
    // INITIAL is not newer than the horizon: it writes at ZERO.
    if (command.kind !== "write" || command.intent.kind === "initial") continue;
    const stamp = { time: ++now, site: siteName(command.replica + 1) };
    const [wholeDelta, restDelta] = [whole, rest].map((view) => {
      const operation = operationOf(view, command.intent);
      return operation === undefined ? undefined : deltaOf(view, operation, stamp);
    });
    if (wholeDelta !== undefined) whole = merge(whole, wholeDelta);
    if (restDelta !== undefined) rest = merge(rest, restDelta);
    // The deltas of those who did not collect, given to one who did.
    if (wholeDelta !== undefined) given = merge(given, wholeDelta);
    if (shownText(rest) !== shownText(whole)) {
      fail(`after ${JSON.stringify(command)}`, describeState(rest), describeState(whole));
    }
    if (shownText(given) !== shownText(whole)) {
      fail(`given ${JSON.stringify(command)}`, describeState(given), describeState(whole));
    }
  }
}
