/**
 * Scope: name resolution of expressions; binding replaces each name by a slot.
 *
 * A name is a range variable, else the alias of a FROM term, else a field of the only FROM term.
 * With several terms a field must be qualified. A subquery in an expression also sees the variables
 * and aliases around it, which take precedence over fields. Binding refuses what is wrong for every
 * document: unknown functions, wrong numbers of arguments, aggregates where they are not allowed.
 */

import { type Fault, semanticFault } from "../fault.ts";
import { AGGREGATE_NAMES, isAggregate } from "../functions/aggregate.ts";
import { FUNCTION_NAMES, findFunction } from "../functions/table.ts";
import { ExpressionIds } from "../syntax/expression-ids.ts";
import type {
  Binding,
  BoundQuery,
  CallNode,
  ComprehensionNode,
  Expression,
  NameNode,
  QuantifierNode,
  Query,
  QueryImport,
  SlotNode,
  SubqueryNode,
} from "../syntax/tree.ts";
import { eachNode, mapChildren, readsSlot } from "../syntax/tree-walk.ts";
import { nameHint, quoteName } from "../unknown-name.ts";

export interface ScopeTerm {
  readonly alias: string;
  readonly slot: number;
  /** Every name is a field of its documents, even one that equals the alias. */
  readonly isUnnamed?: boolean;
  /** An element of UNNEST: a value of any type, whose fields are qualified with the alias. */
  readonly isElement?: boolean;
}

/** An aggregate of a statement, and the slot of its result. */
export interface BoundAggregate {
  readonly call: CallNode;
  readonly slot: number;
}

/** Allocates the slots of a frame. */
export class Slots {
  #next = 0;

  get count(): number {
    return this.#next;
  }

  take(): number {
    return this.#next++;
  }
}

/** Collects the aggregates of a statement; equal ones are computed once. */
export class Aggregates {
  readonly #found = new Map<number, BoundAggregate>();
  readonly #ids = new ExpressionIds();
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  get all(): readonly BoundAggregate[] {
    return [...this.#found.values()];
  }

  add(call: CallNode): SlotNode {
    const key = this.#ids.idOf(call);
    const known = this.#found.get(key) ?? { call, slot: this.#slots.take() };
    this.#found.set(key, known);
    return { kind: "slot", slot: known.slot, holds: "value", name: call.name, at: call.at };
  }
}

/** Plans a subquery inside the scope. */
export type BindQuery = (
  query: Query,
  purpose: SubqueryNode["purpose"],
  around: Scope,
) => BoundQuery;

/** The values of the outer row that a subquery in an expression reads, with their slots. */
export class OuterNames {
  readonly #around: Scope;
  readonly #slots: Slots;
  readonly #imports = new Map<number, QueryImport>();

  constructor(around: Scope, slots: Slots) {
    this.#around = around;
    this.#slots = slots;
  }

  get imports(): readonly QueryImport[] {
    return [...this.#imports.values()];
  }

  /** Whether everything that an expression reads is known before the first row. */
  isKnown(node: Expression): boolean {
    const known = new Set(this.imports.map(({ inner }) => inner));
    return !readsSlot(node, (slot) => !known.has(slot));
  }

  find(node: NameNode): SlotNode | undefined {
    const found = findNamed(node, this.#around);
    if (found === undefined) return undefined;
    const { slot: outer, holds } = found;
    const known = this.#imports.get(outer) ?? { outer, inner: this.#slots.take(), holds };
    this.#imports.set(outer, known);
    return { ...found, slot: known.inner };
  }
}

export interface Scope {
  readonly slots: Slots;
  readonly terms: readonly ScopeTerm[];
  readonly variables: readonly ScopeTerm[];
  /** Present where aggregates are allowed. */
  readonly aggregates?: Aggregates;
  /** Resolves a name before all else: the aliases in ORDER BY. */
  readonly resolve?: (node: NameNode) => Expression | undefined;
  /** Undefined where subqueries are not allowed. */
  readonly bindQuery?: BindQuery;
  /** Present only inside a subquery of an expression. */
  readonly outer?: OuterNames | undefined;
}

/** The scope of an expression that may not read documents. */
export function constantScope(slots: Slots = new Slots()): Scope {
  return { slots, terms: [], variables: [] };
}

export function bindExpression(node: Expression, scope: Scope): Expression {
  switch (node.kind) {
    case "name":
      return bindName(node, scope);
    case "call":
      return bindCall(node, scope);
    case "quantifier":
      return bindQuantifier(node, scope);
    case "comprehension":
      return bindComprehension(node, scope);
    case "subquery":
      return bindSubquery(node, scope);
    default:
      return mapChildren(node, (child) => bindExpression(child, scope));
  }
}

function bindName(node: NameNode, scope: Scope): Expression {
  const variable = scope.variables.find(({ alias }) => alias === node.name);
  if (variable !== undefined) return slotNode(variable, "variable", node.at);
  return scope.resolve?.(node) ?? bindField(node, scope);
}

function bindSubquery(node: SubqueryNode, scope: Scope): Expression {
  if (scope.bindQuery === undefined) throw semanticFault("a SELECT cannot be used here", node.at);
  return { ...node, bound: scope.bindQuery(node.query, node.purpose, scope) };
}

function findTerm(name: string, { terms }: Scope): ScopeTerm | undefined {
  return terms.find(({ alias, isUnnamed }) => alias === name && isUnnamed !== true);
}

/** Resolves a name as a variable or alias, in a scope or around it. */
function findNamed(node: NameNode, scope: Scope): SlotNode | undefined {
  const { name, at } = node;
  const variable = scope.variables.find(({ alias }) => alias === name);
  if (variable !== undefined) return slotNode(variable, "variable", at);
  const term = findTerm(name, scope);
  return term === undefined ? scope.outer?.find(node) : termNode(term, at);
}

/** Resolves a name as a FROM term or a field of it. */
export function bindField(node: NameNode, scope: Scope): Expression {
  const { name, at } = node;
  const term = findTerm(name, scope);
  if (term !== undefined) return termNode(term, at);
  const around = scope.outer?.find(node);
  if (around !== undefined) return around;
  const terms = scope.terms.filter(({ isElement }) => isElement !== true);
  const [only, ...others] = terms;
  if (only === undefined)
    throw semanticFault(
      `expected a constant, found the name ${quoteName(name)}; text is written in quotes`,
      at,
    );
  if (others.length === 0) return fieldNode(only, name, at);
  if (name !== "_id") throw ambiguous(name, terms, at);
  // The id of a joined row consists of the ids of all joined documents.
  const entries = terms.map((each) => ({
    key: { kind: "literal" as const, value: each.alias, at },
    value: fieldNode(each, "_id", at),
  }));
  return { kind: "object", entries, at };
}

function ambiguous(name: string, terms: readonly ScopeTerm[], at: number): Fault {
  const aliases = terms.map(({ alias }) => `${alias}.${name}`).join(" or ");
  return semanticFault(`ambiguous reference to field ${name}: expected ${aliases}`, at);
}

function fieldNode(term: ScopeTerm, name: string, at: number): Expression {
  return { kind: "field", of: slotNode(term, "document", at), name, at };
}

function termNode(term: ScopeTerm, at: number): SlotNode {
  return slotNode(term, term.isElement === true ? "element" : "document", at);
}

function slotNode(
  { alias, slot }: ScopeTerm,
  holds: "document" | "element" | "variable",
  at: number,
): SlotNode {
  return { kind: "slot", slot, holds, name: alias, at };
}

function bindCall(node: CallNode, scope: Scope): Expression {
  if (isAggregate(node.name)) return bindAggregate(node, scope);
  const spec = findFunction(node.name);
  if (spec === undefined) throw unknownFunction(node);
  if (node.isStar === true) {
    throw semanticFault(`${node.name} is no aggregate: it takes no *`, node.at);
  }
  checkArity(node, spec.arity);
  return { ...node, args: node.args.map((arg) => bindExpression(arg, scope)) };
}

function bindAggregate(node: CallNode, scope: Scope): Expression {
  const { aggregates } = scope;
  if (aggregates === undefined) {
    throw semanticFault(`the aggregate ${node.name} cannot be used here`, node.at);
  }
  if (node.isStar !== true) checkArity(node, [1, 1]);
  else if (node.name !== "count") {
    throw semanticFault(`${node.name} expects an expression, found *`, node.at);
  }
  // Column names may stand for aggregates; inside an aggregate they would be circular.
  const { aggregates: _, resolve: __, ...inner } = scope;
  const args = node.args.map((arg) => bindExpression(arg, inner));
  for (const arg of args) refuseVariables(arg, new Set(scope.variables.map(({ slot }) => slot)));
  return aggregates.add({ ...node, args });
}

/** An aggregate is computed outside of the loop, where its variable has no value. */
function refuseVariables(arg: Expression, slots: ReadonlySet<number>): void {
  eachNode(arg, (node) => {
    if (node.kind === "slot" && slots.has(node.slot)) {
      throw semanticFault(`the variable ${node.name} cannot be used in an aggregate`, node.at);
    }
    if (node.kind === "subquery" && node.bound?.imports.some(({ outer }) => slots.has(outer))) {
      throw semanticFault("the variable of a loop cannot be used in an aggregate", node.at);
    }
  });
}

function unknownFunction({ name, at }: CallNode): Fault {
  const known = [...FUNCTION_NAMES, ...AGGREGATE_NAMES];
  return semanticFault(`unknown function ${quoteName(name)}`, at, nameHint(name, known));
}

function checkArity(node: CallNode, [min, max]: readonly [number, number]): void {
  const { length } = node.args;
  if (length >= min && length <= max) return;
  throw semanticFault(`${node.name} expects ${arityText(min, max)}, found ${length}`, node.at);
}

function arityText(min: number, max: number): string {
  const noun = max === 1 ? "argument" : "arguments";
  if (min === max) return `${min === 0 ? "no" : min} ${noun}`;
  return max === Infinity ? `at least ${min} ${noun}` : `${min} to ${max} ${noun}`;
}

function bindQuantifier(node: QuantifierNode, scope: Scope): Expression {
  const { binding, inner } = bindBinding(node.binding, scope);
  return { ...node, binding, condition: bindExpression(node.condition, inner) };
}

function bindComprehension(node: ComprehensionNode, scope: Scope): Expression {
  const { binding, inner } = bindBinding(node.binding, scope);
  return {
    ...node,
    binding,
    ...(node.key && { key: bindExpression(node.key, inner) }),
    value: bindExpression(node.value, inner),
    ...(node.condition && { condition: bindExpression(node.condition, inner) }),
  };
}

/** The variables of a binding get slots that only its own expressions see. */
function bindBinding(binding: Binding, scope: Scope): { binding: Binding; inner: Scope } {
  const source = bindExpression(binding.source, scope);
  const value: ScopeTerm = { alias: binding.value, slot: scope.slots.take() };
  const variables = [value, ...scope.variables];
  const bound = { ...binding, source, slots: [value.slot] };
  if (binding.position === undefined) return { binding: bound, inner: { ...scope, variables } };
  const position: ScopeTerm = { alias: binding.position, slot: scope.slots.take() };
  return {
    binding: { ...bound, slots: [value.slot, position.slot] },
    inner: { ...scope, variables: [value, position, ...scope.variables] },
  };
}
