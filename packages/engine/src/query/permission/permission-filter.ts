/**
 * PermissionFilter: one query of a permission, compiled to test a document.
 *
 * It is a filter as `find` takes it, but depends on nothing but the document: no parameters, no
 * clock, nothing of the request. So its result for a document stays the same until the document
 * changes.
 */

import { assert } from "@bigpeer/protocol";
import { BoundedCache } from "../bounded-cache.ts";
import { compile } from "../compile/expression.ts";
import { semanticFault } from "../fault.ts";
import type { Evaluate } from "../frame/frame.ts";
import { bindExpression, Slots } from "../plan/scope.ts";
import { parseFilter } from "../syntax/parse-filter.ts";
import type { Expression } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import { type RuleKey, ruleKeyOf } from "./rule-key.ts";

export interface PermissionFilter {
  /** Literally true: it needs no document. */
  readonly isAlways: boolean;
  /** It names no field, so it is the same for all documents. */
  readonly isConstant: boolean;
  /** Reads the document from the first slot. */
  readonly evaluate: Evaluate;
  readonly slots: number;
  /** The values that it selects documents by; undefined if it uses more than equality. */
  readonly key: RuleKey | undefined;
}

/** Functions that read more than their arguments. */
export const UNSTEADY_FUNCTIONS: ReadonlySet<string> = new Set([
  "clock",
  "now",
  "request_info",
  "uuid",
]);

/** Each request of a session brings its rules; many sessions have the same ones. */
const KEPT_COUNT = 2048;

/** Longer texts are rare, and would make the bound above meaningless. */
const KEPT_LENGTH_MAX = 2048;

const kept = new BoundedCache<string, PermissionFilter>(KEPT_COUNT);

/** The filter of a text; throws a Fault. */
export function permissionFilter(text: string): PermissionFilter {
  return text.length > KEPT_LENGTH_MAX ? compileFilter(text) : kept.obtain(text, compileFilter);
}

function compileFilter(text: string): PermissionFilter {
  const parsed = parseFilter(text);
  eachNode(parsed, refuseUnsteady);
  const slots = new Slots();
  const slot = slots.take();
  assert(slot === 0, "the document in the first slot");
  const terms = [{ alias: "", slot, isUnnamed: true }];
  const bound = bindExpression(parsed, { slots, terms, variables: [] });
  const isAlways = bound.kind === "literal" && bound.value === true;
  const isConstant = !namesField(bound);
  const evaluate = compile(bound);
  return { isAlways, isConstant, evaluate, slots: slots.count, key: ruleKeyOf(bound) };
}

function namesField(bound: Expression): boolean {
  let isFound = false;
  eachNode(bound, (node) => {
    isFound ||= node.kind === "slot" || node.kind === "name";
  });
  return isFound;
}

function refuseUnsteady(node: Expression): void {
  if (node.kind === "parameter") {
    const message = `expected a query about the document alone, found the parameter ${node.name}`;
    const hint =
      "the caller, :userId and :claims.name, is known in the permissions of auth providers";
    throw semanticFault(message, node.at, hint);
  }
  if (node.kind === "call" && UNSTEADY_FUNCTIONS.has(node.name)) {
    const message = `expected a query about the document alone: ${node.name} depends on the request`;
    throw semanticFault(message, node.at);
  }
}
