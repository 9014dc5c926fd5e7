/**
 * Hostile calls: each function of the table with arguments of every kind that it takes, chosen so that
 * every kind comes at every place, and as many other mixtures as there is time for.
 */

import { callOf } from "../../src/query/compile/call.ts";
import type { FunctionSpec } from "../../src/query/functions/function.ts";
import { type Datum, Failure } from "../../src/query/value/datum.ts";
import { MODIFIERS, SUBJECTS, TOOLS } from "./hostile-argument.ts";
import type { MeteredCall } from "./metered-call.ts";
import { bytesOf } from "./metered-call.ts";
import { seededRandom } from "./test-platform.ts";

/** A call whose arguments can be made of any size. */
export interface HostileCall {
  readonly name: string;
  readonly at: (size: number) => MeteredCall;
}

const PLACES = [SUBJECTS, TOOLS, MODIFIERS, MODIFIERS, MODIFIERS, MODIFIERS];

/** Mixtures that are looked at for each function, at most. */
const MIXTURES_MAX = 10;

const TRIED_SIZE = 16;

type Kinds = readonly string[];

/** Calls of a function that are no mistake: what is refused for its type takes no time. */
export function hostileCalls(spec: FunctionSpec): HostileCall[] {
  const calls: HostileCall[] = [];
  const [min, max] = spec.arity;
  const last = Math.min(max, Math.max(min, 2) + 1, 6);
  const tried = chosen(mixtures(Math.max(1, min), last), (kinds) => isTaken(spec, kinds));
  for (const kinds of tried) {
    const at = (size: number): MeteredCall => callWith(spec, argumentsOf(kinds, size));
    calls.push({ name: `${spec.name}(${kinds.join(", ")})`, at });
  }
  if (max === Infinity) calls.push(...manyArguments(spec));
  return calls;
}

/** As many arguments as the first one is large. */
function manyArguments(spec: FunctionSpec): HostileCall[] {
  const others: readonly (readonly [string, (i: number) => Datum])[] = [
    ["texts", (i) => `t${i}`],
    ["beginnings", (i) => `${"a".repeat(i % 7)}b${i}`],
    ["numbers", (i) => i],
    ["arrays", (i) => [i]],
    ["objects", (i) => ({ [`k${i}`]: i })],
  ];
  const calls: HostileCall[] = [];
  for (const kind of ["text", "numbers", "fields", "number"]) {
    for (const [name, make] of others) {
      const args = (size: number): Datum[] => [
        SUBJECTS[kind]?.(size),
        ...Array.from({ length: size / 4 }, (_, i) => make(i)),
      ];
      if (bytesOf(callWith(spec, args(TRIED_SIZE))).result instanceof Failure) continue;
      const at = (size: number): MeteredCall => callWith(spec, args(size));
      calls.push({ name: `${spec.name}(${kind}, many ${name})`, at });
    }
  }
  return calls;
}

function callWith(spec: FunctionSpec, args: readonly Datum[]): MeteredCall {
  const evaluate = callOf(
    spec,
    args.map(
      (_, slot) =>
        ({ slots }) =>
          slots[slot] as Datum,
    ),
    0,
  );
  const slots = [...args];
  return (run) => evaluate({ run, slots });
}

function argumentsOf(kinds: Kinds, size: number): Datum[] {
  return kinds.map((kind, place) => PLACES[place]?.[kind]?.(size));
}

function isTaken(spec: FunctionSpec, kinds: Kinds): boolean {
  const { result } = bytesOf(callWith(spec, argumentsOf(kinds, TRIED_SIZE)));
  return !(result instanceof Failure);
}

/** All mixtures of so many arguments, in an order by chance that is always the same. */
function mixtures(min: number, max: number): Kinds[] {
  let begun: Kinds[] = [[]];
  const all: Kinds[] = [];
  for (let count = 1; count <= max; count++) {
    const kinds = Object.keys(PLACES[count - 1] ?? {});
    begun = begun.flatMap((before) => kinds.map((kind) => [...before, kind]));
    if (count >= min) all.push(...begun);
    // Of long lists a part is enough: each kind is in it often.
    if (begun.length > BEGUN_MAX) begun = shuffled(begun).slice(0, BEGUN_MAX);
  }
  return shuffled(all);
}

const BEGUN_MAX = 200;

function shuffled<T>(all: readonly T[]): T[] {
  const random = seededRandom(18);
  return all
    .map((one) => ({ one, place: random.below(2 ** 30) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

/** Those that bring a kind to a place where it was not yet, then others, up to the bound. */
function chosen(all: readonly Kinds[], isTakenWith: (kinds: Kinds) => boolean): Kinds[] {
  const seen = new Set<string>();
  const first: Kinds[] = [];
  const others: Kinds[] = [];
  for (const kinds of all.slice(0, TRIED_MAX)) {
    const places = kinds.map((kind, place) => `${kinds.length}/${place}/${kind}`);
    const isNew = places.some((one) => !seen.has(one));
    if ((!isNew && others.length >= MIXTURES_MAX) || !isTakenWith(kinds)) continue;
    (isNew ? first : others).push(kinds);
    for (const one of places) seen.add(one);
  }
  return [...first, ...others].slice(0, Math.max(MIXTURES_MAX, Object.keys(SUBJECTS).length));
}

/** Mixtures that are tried before it is known which ones a function takes. */
const TRIED_MAX = 600;
