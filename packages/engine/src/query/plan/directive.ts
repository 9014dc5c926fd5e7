/**
 * Directives: optimizer hints of a statement in JSON, in a comment that begins with a plus or after
 * USE DIRECTIVES of a term.
 */

import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";
import { DIRECTIVE_LENGTH_MAX, JOINS_LIMIT, JOINS_MAX } from "../../limits.ts";
import { semanticFault } from "../fault.ts";
import type { Use } from "../syntax/tree.ts";

/** Ignores unknown directives, which are for other engines; known ones must be valid. */
export function joinsMaxOf(directives: readonly string[]): number {
  let joinsMax = JOINS_MAX;
  for (const text of directives) {
    const given = parseDirective(text)["#max_joins"];
    if (given === undefined) continue;
    if (typeof given !== "number" || !Number.isSafeInteger(given) || given < 0) {
      throw semanticFault("the directive #max_joins expects a whole number");
    }
    joinsMax = Math.min(given, JOINS_LIMIT);
  }
  return joinsMax;
}

/** The indexes that a term may use: none for an empty list, all if undefined. */
export function indexHintOf(use: Use | undefined): readonly string[] | undefined {
  if (use?.kind === "index") return use.names.filter((name) => name !== "");
  if (use?.kind !== "directives") return undefined;
  const given = parseDirective(use.json)["#index"];
  if (given === undefined) return undefined;
  const names = isArray(given) ? given : [given];
  return names.filter((name): name is string => typeof name === "string" && name !== "");
}

function parseDirective(text: string): ValueObject {
  if (text.length > DIRECTIVE_LENGTH_MAX) {
    throw semanticFault(`a directive has more than ${DIRECTIVE_LENGTH_MAX} characters`);
  }
  try {
    // No directive that is known has an integer beyond 2^53, which the host's parser would lose.
    const directive = JSON.parse(text) as Value;
    if (isObject(directive)) return directive;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw semanticFault("expected a JSON object as directive");
}
