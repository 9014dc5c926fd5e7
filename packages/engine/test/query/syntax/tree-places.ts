/**
 * Trees without the places of their nodes: what two texts that mean the same have in common.
 */
import { Float } from "../../../src/query/value/datum.ts";

/** A copy without any `at`; a path may go through a field of that name, so only numbers go. */
export function withoutPlaces(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPlaces);
  if (typeof tree !== "object" || tree === null || tree instanceof Float) return tree;
  const entries = Object.entries(tree).filter(
    ([key, value]) => key !== "at" || typeof value !== "number",
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutPlaces(value)]));
}
