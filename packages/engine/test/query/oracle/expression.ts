/**
 * The slow obvious evaluator: expressions.
 *
 * It walks the tree as the parser made it, once for every row: names are looked up where they stand,
 * nothing is bound, compiled or planned. It is written from the rules of the language, not from the
 * engine, and shares with it only the tree, the kinds of values and the table of functions.
 */
import {
  compareText,
  type MutableObject,
  setField,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Run } from "../../../src/query/frame/frame.ts";
import { withoutValue } from "../../../src/query/functions/function.ts";
import { findFunction } from "../../../src/query/functions/table.ts";
import type {
  BetweenNode,
  BinaryNode,
  Binding,
  CallNode,
  CaseNode,
  ComparisonOperator,
  ComprehensionNode,
  ElementNode,
  Expression,
  InNode,
  LikeNode,
  ObjectNode,
  QuantifierNode,
  Query,
  SubqueryNode,
  UnaryNode,
} from "../../../src/query/syntax/tree.ts";
import {
  approximate,
  type Datum,
  type DatumObject,
  Failure,
  isDatumArray,
  isDatumObject,
  isNumeric,
  type Outcome,
  type PresentDatum,
} from "../../../src/query/value/datum.ts";
import { AGGREGATES, aggregate } from "./aggregation.ts";
import { calculate, negate } from "./arithmetic.ts";
import { castTo } from "./cast.ts";
import { compareBy } from "./comparison.ts";
import { matchText } from "./text-match.ts";

/** What the names of an expression mean in one row. */
export interface Scope {
  readonly run: Run;
  /** The FROM terms by alias; undefined where an outer join found nothing. */
  readonly documents: ReadonlyMap<string, Datum>;
  /** Which of them are elements of UNNEST. */
  readonly elements?: ReadonlySet<string>;
  /** The row around a query in an expression. */
  readonly around?: Scope;
  /** The rows of a query in an expression of this row. */
  readonly rowsOf?: (query: Query, around: Scope) => readonly Value[];
  /** Range variables, innermost first. */
  readonly variables: readonly (readonly [name: string, value: Datum])[];
  /** Columns by alias: only ORDER BY sees them. */
  readonly columns?: ReadonlyMap<string, Outcome>;
  /** The rows of the group, where there are groups. */
  readonly group?: readonly Scope[];
}

export function evaluate(node: Expression, scope: Scope): Outcome {
  switch (node.kind) {
    case "literal":
      return node.value;
    case "missing":
      return undefined;
    case "parameter":
      return parameter(node.name, scope);
    case "name":
      return lookUp(node.name, scope);
    case "field":
      return after(evaluate(node.of, scope), (of) => fieldOf(of, node.name));
    case "element":
      return element(node, scope);
    case "array":
      return all(node.elements, scope, (elements) => elements.map((each) => each ?? null));
    case "object":
      return object(node, scope);
    case "unary":
      return unary(node, scope);
    case "binary":
      return binary(node, scope);
    case "is":
      return after(evaluate(node.operand, scope), (operand) => {
        return (operand === (node.what === "null" ? null : undefined)) !== node.isNegated;
      });
    case "in":
      return negatedIf(node.isNegated, isIn(node, scope));
    case "between":
      return negatedIf(node.isNegated, between(node, scope));
    case "like":
      return negatedIf(node.isNegated, like(node, scope));
    case "case":
      return choose(node, scope);
    case "cast":
      return after(evaluate(node.operand, scope), (operand) => castTo(node.type, operand));
    case "quantifier":
      return quantify(node, scope);
    case "comprehension":
      return comprehend(node, scope);
    case "call":
      return call(node, scope);
    case "subquery":
      return subquery(node, scope);
    case "slot":
      throw new Error("expected a tree that is not bound");
    default:
      return unreachable(node);
  }
}

/** Whether a filter lets the row through. */
export function holds(node: Expression, scope: Scope): boolean {
  return evaluate(node, scope) === true;
}

/** A Failure passes through; anything else goes on. */
function after(outcome: Outcome, next: (datum: Datum) => Outcome): Outcome {
  return outcome instanceof Failure ? outcome : next(outcome);
}

function all(
  nodes: readonly Expression[],
  scope: Scope,
  next: (values: readonly Datum[]) => Outcome,
): Outcome {
  const values: Datum[] = [];
  for (const node of nodes) {
    const value = evaluate(node, scope);
    if (value instanceof Failure) return value;
    values.push(value);
  }
  return next(values);
}

function parameter(name: string, { run }: Scope): Datum {
  if (Object.hasOwn(run.args, name)) return run.args[name];
  throw new Error(`expected the parameter ${name}`);
}

/** A variable, else a column, else a FROM term, else a field of the only one. `_id` is a field first. */
function lookUp(name: string, scope: Scope): Outcome {
  const variable = scope.variables.find(([known]) => known === name);
  if (variable !== undefined) return variable[1];
  if (scope.columns?.has(name) === true && name !== "_id") {
    const column = scope.columns.get(name);
    return column instanceof Failure ? undefined : column;
  }
  if (scope.documents.has(name)) return scope.documents.get(name);
  for (let outer = scope.around; outer !== undefined; outer = outer.around) {
    const found = outer.variables.find(([known]) => known === name);
    if (found !== undefined) return found[1];
    if (outer.documents.has(name)) return outer.documents.get(name);
  }
  const documents = [...scope.documents].filter(([alias]) => !scope.elements?.has(alias));
  if (documents.length > 1 && scope.columns?.has(name) !== true) {
    throw new Error(`expected a field of one FROM term, found ${name}`);
  }
  const field = documents.length > 1 ? undefined : fieldOf(documents[0]?.[1], name);
  return field === undefined ? scope.columns?.get(name) : field;
}

function subquery({ purpose, query }: SubqueryNode, scope: Scope): Outcome {
  if (scope.rowsOf === undefined) throw new Error("expected no query here");
  const rows = scope.rowsOf(query, scope);
  if (purpose === "exists") return rows.length > 0;
  const select = query.kind === "select" ? query : query.first;
  return rows.map((row) => (select.isRaw ? row : (Object.values(row as ValueObject)[0] ?? null)));
}

function fieldOf(datum: Datum, name: string): Datum {
  return isDatumObject(datum) && Object.hasOwn(datum, name) ? datum[name] : undefined;
}

function element(node: ElementNode, scope: Scope): Outcome {
  return all([node.of, node.index], scope, ([of, index]) => {
    if (!isDatumArray(of) || !isNumeric(index)) return undefined;
    return of[approximate(index)];
  });
}

function object(node: ObjectNode, scope: Scope): Outcome {
  const made: MutableObject = {};
  let isNamed = true;
  for (const { key, value } of node.entries) {
    const name = evaluate(key, scope);
    const field = evaluate(value, scope);
    if (name instanceof Failure) return name;
    if (field instanceof Failure) return field;
    if (name === undefined || name === null || field === undefined) continue;
    if (typeof name === "string") put(made, name, field);
    else isNamed = false;
  }
  return isNamed ? made : null;
}

function put(made: MutableObject, key: string, field: PresentDatum): void {
  setField(made, key, field as Value);
}

function unary({ operator, operand }: UnaryNode, scope: Scope): Outcome {
  return after(evaluate(operand, scope), (value) => {
    if (operator === "not") return not(value);
    return operator === "-" ? negate(value) : value;
  });
}

function not(value: Datum): Outcome {
  if (value === undefined || value === null) return value;
  return typeof value === "boolean" ? !value : new Failure("expected a boolean");
}

function negatedIf(isNegated: boolean, outcome: Outcome): Outcome {
  return isNegated ? after(outcome, not) : outcome;
}

function binary(node: BinaryNode, scope: Scope): Outcome {
  const { operator, left, right } = node;
  switch (operator) {
    case "and":
      return and(evaluate(left, scope), evaluate(right, scope));
    case "or":
      return or(evaluate(left, scope), evaluate(right, scope));
    case "||":
      return all([left, right], scope, ([a, b]) => concatenate(a, b));
    case "=":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return compare(operator, left, right, scope);
    default:
      return all([left, right], scope, ([a, b]) => calculate(operator, a, b));
  }
}

/** False wins, whatever stands beside it; then what is wrong, MISSING, null. */
function and(a: Outcome, b: Outcome): Outcome {
  if (a === false || b === false) return false;
  if (!isTruthValue(a) || !isTruthValue(b)) return new Failure("expected booleans");
  if (a === undefined || b === undefined) return undefined;
  return a === null || b === null ? null : true;
}

/** What went wrong on the left is not made good by the right; otherwise true wins. */
function or(a: Outcome, b: Outcome): Outcome {
  if (a instanceof Failure) return a;
  if (a === true || b === true) return true;
  if (!isTruthValue(a) || !isTruthValue(b)) return new Failure("expected booleans");
  if (a === null || b === null) return null;
  return a === undefined || b === undefined ? undefined : false;
}

function isTruthValue(outcome: Outcome): boolean {
  return outcome === undefined || outcome === null || typeof outcome === "boolean";
}

function concatenate(a: Datum, b: Datum): Outcome {
  for (const each of [a, b]) {
    if (each === undefined || each === null) return each;
    if (typeof each !== "string") return new Failure("expected text");
  }
  return `${a as string}${b as string}`;
}

function compare(
  operator: ComparisonOperator,
  left: Expression,
  right: Expression,
  scope: Scope,
): Outcome {
  // The words null and missing and a null parameter are no values to compare with; a field that holds null is.
  if (isGivenNull(left, scope) || isGivenNull(right, scope)) return undefined;
  return all([left, right], scope, ([a, b]) => compareDatums(operator, a, b));
}

function isGivenNull(node: Expression, scope: Scope): boolean {
  if (node.kind === "missing") return true;
  return (node.kind === "literal" || node.kind === "parameter") && evaluate(node, scope) === null;
}

function compareDatums(operator: ComparisonOperator, a: Datum, b: Datum): Outcome {
  if (a === undefined || b === undefined) return undefined;
  return a === null || b === null ? null : compareBy(operator, a, b);
}

function isIn({ operand, list }: InNode, scope: Scope): Outcome {
  return after(evaluate(operand, scope), (a) => {
    if (a === undefined || a === null) return a;
    return after(evaluate(list, scope), (members) => {
      if (members === undefined) return undefined;
      if (!isDatumArray(members)) return new Failure("expected an array");
      const answers = members.map((member) => compareDatums("=", a, member));
      if (answers.includes(undefined)) return new Failure("mixed types");
      if (answers.includes(true)) return true;
      return answers.every((answer) => answer === false) ? false : null;
    });
  });
}

/** What the lower bound says, unless it is true: then what the upper one says. */
function between({ operand, low, high }: BetweenNode, scope: Scope): Outcome {
  return all([operand, low, high], scope, ([a, from, to]) => {
    if (a === undefined || from === undefined || to === undefined) return undefined;
    const isAbove = compareDatums(">=", a, from);
    return isAbove === true ? compareDatums("<=", a, to) : isAbove;
  });
}

function like({ operator, operand, pattern, escape }: LikeNode, scope: Scope): Outcome {
  const nodes = escape === undefined ? [operand, pattern] : [operand, pattern, escape];
  return all(nodes, scope, ([text, against, with_]) => matchText(operator, text, against, with_));
}

function choose(node: CaseNode, scope: Scope): Outcome {
  const subject = node.subject === undefined ? true : evaluate(node.subject, scope);
  if (subject instanceof Failure) return subject;
  for (const { when, result } of node.whens) {
    const value = evaluate(when, scope);
    if (value instanceof Failure) return value;
    const isChosen =
      node.subject === undefined ? value === true : compareDatums("=", subject, value);
    if (isChosen === true) return evaluate(result, scope);
  }
  return node.otherwise === undefined ? null : evaluate(node.otherwise, scope);
}

/** The scopes in which the inner expression is evaluated; undefined stands for no collection. */
function innerScopes(binding: Binding, source: Datum, scope: Scope): Scope[] | undefined {
  if (!isDatumArray(source) && !isDatumObject(source)) return undefined;
  return membersOf(source, binding.isDeep).map(([position, value]) => ({
    ...scope,
    variables: [
      [binding.value, value],
      ...(binding.position === undefined ? [] : ([[binding.position, position]] as const)),
      ...scope.variables,
    ],
  }));
}

function sortedEntries(source: DatumObject): [string, PresentDatum][] {
  return Object.entries(source).sort(([a], [b]) => compareText(a, b));
}

function membersOf(
  source: readonly PresentDatum[] | DatumObject,
  isDeep: boolean,
): (readonly [string | number, PresentDatum])[] {
  const members = isDatumArray(source) ? [...source.entries()] : sortedEntries(source);
  if (!isDeep) return members;
  return members.flatMap((member) => {
    const [, value] = member;
    const isNested = isDatumArray(value) || isDatumObject(value);
    return isNested ? [member, ...membersOf(value, true)] : [member];
  });
}

function quantify({ quantifier, binding, condition }: QuantifierNode, scope: Scope): Outcome {
  return after(evaluate(binding.source, scope), (source) => {
    const scopes = innerScopes(binding, source, scope);
    if (scopes === undefined) return source === undefined ? undefined : null;
    const answers = scopes.map((inner) => holds(condition, inner));
    if (quantifier === "any") return answers.includes(true);
    return answers.every(Boolean) && (quantifier === "every" || answers.length > 0);
  });
}

function comprehend(node: ComprehensionNode, scope: Scope): Outcome {
  const { binding, condition, key, value } = node;
  return after(evaluate(binding.source, scope), (source) => {
    const scopes = innerScopes(binding, source, scope);
    if (scopes === undefined) return source === undefined ? undefined : null;
    const kept = scopes.filter((inner) => condition === undefined || holds(condition, inner));
    return key === undefined ? arrayOf(value, kept) : objectOf(key, value, kept);
  });
}

function arrayOf(value: Expression, scopes: readonly Scope[]): Outcome {
  const made: PresentDatum[] = [];
  for (const scope of scopes) {
    const outcome = evaluate(value, scope);
    if (!(outcome instanceof Failure) && outcome !== undefined) made.push(outcome);
  }
  return made;
}

function objectOf(key: Expression, value: Expression, scopes: readonly Scope[]): Outcome {
  const made: MutableObject = {};
  for (const scope of scopes) {
    const name = evaluate(key, scope);
    const field = evaluate(value, scope);
    if (name instanceof Failure || field instanceof Failure) continue;
    if (typeof name === "string" && field !== undefined) put(made, name, field);
  }
  return made;
}

function call(node: CallNode, scope: Scope): Outcome {
  if (AGGREGATES.has(node.name)) return aggregateCall(node, scope);
  const spec = findFunction(node.name);
  if (spec === undefined) throw new Error(`expected a function, found ${node.name}`);
  return all(node.args, scope, (args) => {
    const isOpen = args.some((arg) => arg === undefined || arg === null);
    if (spec.nulls === "pass" && isOpen) return withoutValue(args, spec.checks);
    return spec.apply(args, scope.run);
  });
}

function aggregateCall(node: CallNode, { group }: Scope): Outcome {
  if (group === undefined) throw new Error("expected an aggregate only where there are groups");
  const [argument] = node.args;
  if (argument === undefined) return group.length;
  const values = group.map((row) => evaluate(argument, row));
  // What went wrong in a row counts for nothing, as if it were MISSING.
  const datums = values.map((value) => (value instanceof Failure ? undefined : value));
  return aggregate(node.name, datums, node.isDistinct === true);
}
