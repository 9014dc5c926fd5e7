/**
 * How the sites of a run are linked, and what each follows of the others.
 */

import { type QueriesByCollection, statementOf } from "../../src/link/link-query.ts";
import type { Random } from "../support/test-platform.ts";
import { EVERYTHING, NOTES, PRIVATE, type Rule, randomRule, TALLY } from "./sim-rules.ts";

/** One query that a site follows. */
export interface SimPull {
  readonly collection: string;
  readonly rule: Rule;
}

/** Two sites that are linked, and who calls whom. */
export interface SimEdge {
  readonly dialler: number;
  readonly acceptor: number;
  /** Whether each calls the other. */
  readonly isMutual: boolean;
  /** Whether the dialler follows the acceptor, and the other way. */
  readonly isPulling: boolean;
  readonly isPulled: boolean;
}

export interface Topology {
  readonly shape: string;
  readonly sites: number;
  readonly edges: readonly SimEdge[];
}

function pairsOf(shape: string, sites: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (let i = 1; i < sites; i++) {
    if (shape === "star") pairs.push([0, i]);
    else if (shape !== "mesh") pairs.push([i - 1, i]);
    else for (let j = 0; j < i; j++) pairs.push([j, i]);
  }
  if (shape === "ring" && sites > 2) pairs.push([sites - 1, 0]);
  return pairs;
}

export function randomTopology(random: Random): Topology {
  const sites = random.pick([2, 2, 2, 3, 3, 3, 4, 5]);
  const shape = random.pick(["line", "star", "ring", "ring", "mesh"]);
  const way = random.pick(["both", "both", "both", "one", "mixed"]);
  const edges = pairsOf(shape, sites).map(([a, b]): SimEdge => {
    const [dialler, acceptor] = random.chance(0.5) ? [a, b] : [b, a];
    const isBoth = way === "both" || (way === "mixed" && random.chance(0.5));
    // One way: always along the line or ring, whoever calls.
    const isForward = dialler === a;
    return {
      dialler,
      acceptor,
      isMutual: random.chance(0.2),
      isPulling: isBoth || isForward,
      isPulled: isBoth || !isForward,
    };
  });
  return { shape: `${way} ${shape} of ${sites}`, sites, edges };
}

export function randomPulls(random: Random): SimPull[] {
  const pulls: SimPull[] = [];
  const count = random.pick([1, 1, 1, 2, 2, 3]);
  for (let i = 0; i < count; i++) {
    const rule = random.chance(0.25) ? EVERYTHING : randomRule(random);
    pulls.push({ collection: NOTES, rule });
  }
  if (random.chance(0.85)) pulls.push({ collection: TALLY, rule: EVERYTHING });
  if (random.chance(0.2)) pulls.push({ collection: PRIVATE, rule: EVERYTHING });
  // One filter in two texts: two queries, each with its own cursor, share a stream.
  const repeated = pulls.filter(() => random.chance(0.4));
  return [...pulls, ...repeated.map(inOtherWords)];
}

function inOtherWords({ collection, rule }: SimPull): SimPull {
  return { collection, rule: { ...rule, text: `(${rule.text})` } };
}

/** What a replication says. */
export function queriesOf(pulls: readonly SimPull[]): QueriesByCollection {
  const queries: { [collection: string]: string[] } = {};
  for (const { collection, rule } of pulls) (queries[collection] ??= []).push(rule.text);
  return queries;
}

export function statementOfPull({ collection, rule }: SimPull): string {
  return statementOf({ collection, condition: rule.text });
}
