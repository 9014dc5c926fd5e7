/**
 * Function table: all functions that a statement can call, by name, except aggregates.
 */

import { assert } from "@bigpeer/protocol";
import { ARRAY_FUNCTIONS } from "./array.ts";
import { CONDITIONAL_FUNCTIONS } from "./conditional.ts";
import { DATE_FUNCTIONS } from "./date.ts";
import { FILTER_FUNCTIONS } from "./filter.ts";
import type { FunctionSpec } from "./function.ts";
import { JSON_FUNCTIONS } from "./json.ts";
import { NUMERIC_FUNCTIONS } from "./numeric.ts";
import { OBJECT_FUNCTIONS } from "./object.ts";
import { REGEXP_FUNCTIONS } from "./regexp.ts";
import { REQUEST_FUNCTIONS } from "./request.ts";
import { TEXT_FUNCTIONS } from "./text.ts";
import { TYPE_FUNCTIONS } from "./type.ts";

const PUBLIC_FUNCTIONS: readonly FunctionSpec[] = [
  ...ARRAY_FUNCTIONS,
  ...CONDITIONAL_FUNCTIONS,
  ...DATE_FUNCTIONS,
  ...JSON_FUNCTIONS,
  ...NUMERIC_FUNCTIONS,
  ...OBJECT_FUNCTIONS,
  ...REGEXP_FUNCTIONS,
  ...REQUEST_FUNCTIONS,
  ...TEXT_FUNCTIONS,
  ...TYPE_FUNCTIONS,
];

/** All functions by name, in lower case. */
export const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = tableOf([
  ...PUBLIC_FUNCTIONS,
  ...FILTER_FUNCTIONS,
]);

/** Names of the documented functions, for lists and suggestions. */
export const FUNCTION_NAMES: readonly string[] = PUBLIC_FUNCTIONS.map(({ name }) => name);

function tableOf(functions: readonly FunctionSpec[]): Map<string, FunctionSpec> {
  const table = new Map<string, FunctionSpec>();
  for (const spec of functions) {
    assert(!table.has(spec.name), `one function of the name ${spec.name}`);
    table.set(spec.name, spec);
  }
  return table;
}

/** Finds a function by its name in lower case. */
export function findFunction(name: string): FunctionSpec | undefined {
  return FUNCTIONS.get(name);
}
