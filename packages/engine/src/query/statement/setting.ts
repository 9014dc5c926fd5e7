/**
 * SHOW and ALTER SYSTEM: statements that read and change system settings.
 */

import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { Fault, semanticFault } from "../fault.ts";
import type { AlterSystemStatement, ShowStatement } from "../syntax/tree.ts";
import { parameterOf, type Settings } from "../system/settings.ts";
import type { Datum } from "../value/datum.ts";
import { compileLike, type Matcher } from "../value/like.ts";
import { isOneCharacter } from "../value/text-length.ts";

/** One row of names and values; no row if no name matches the pattern. */
export function runShow(statement: ShowStatement, settings: Settings): readonly ValueObject[] {
  const { name, at } = statement;
  if (name !== undefined) return placed(at, () => [settings.show(name)]);
  const row = settings.all(matcherOf(statement));
  return Object.keys(row).length === 0 ? [] : [row];
}

/** Applies the change; `value` is the evaluated expression. Returns the settings after it. */
export function runAlterSystem(
  statement: AlterSystemStatement,
  value: Datum,
  settings: Settings,
): readonly ValueObject[] {
  const { name, value: expression } = statement;
  if (name === undefined) {
    settings.reset();
    return [settings.all()];
  }
  placed(statement.at, () => parameterOf(name));
  if (expression === undefined) {
    settings.reset(name);
  } else {
    if (value === undefined || value === null) {
      const hint = "use RESET or DEFAULT for the default";
      throw semanticFault("expected a value, found none", expression.at, hint);
    }
    placed(expression.at, () => settings.set(name, value));
  }
  return [settings.show(name)];
}

/** Adds the position in the statement to errors of the settings. */
function placed<T>(at: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    throw new Fault(error.code, error.reason, at, { hint: error.hint });
  }
}

function matcherOf({ pattern, at }: ShowStatement): Matcher | undefined {
  if (pattern === undefined) return undefined;
  const { escape } = pattern;
  if (escape !== undefined && !isOneCharacter(escape)) {
    throw semanticFault("expected one character after ESCAPE", at);
  }
  const isCaseBlind = pattern.operator === "ilike";
  const options = escape === undefined ? { isCaseBlind } : { isCaseBlind, escape };
  const matcher = compileLike(pattern.pattern, options);
  if (matcher === undefined) throw semanticFault("expected a valid pattern", at);
  return matcher;
}
