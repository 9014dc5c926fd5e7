/**
 * Printer: formats a syntax tree as text. The printed text parses to the same tree. For EXPLAIN it
 * also prints trees after binding, with slots in place of names.
 */

import { type TypeMark, type Types, unreachable } from "@bigpeer/protocol";
import type { Float } from "../value/datum.ts";
import { BINARY_PRECEDENCE, PRECEDENCE, PREDICATE_PRECEDENCE, rightOf } from "./operators.ts";
import { printName, printPath, printWord } from "./print-path.ts";
import { isQueryTerm } from "./statement-walk.ts";
import type {
  AlterSystemStatement,
  ApplyItem,
  BetweenNode,
  Binding,
  CallNode,
  CaseNode,
  CollectionRef,
  ComprehensionNode,
  CreateIndexStatement,
  DropIndexStatement,
  Expression,
  InNode,
  InsertStatement,
  Join,
  LikeNode,
  LiteralNode,
  ObjectEntry,
  OrderTerm,
  Projection,
  QuantifierNode,
  RemoveStatement,
  Selection,
  SelectStatement,
  ShowStatement,
  SourceTerm,
  Statement,
  SyncContextStatement,
  UnaryNode,
  UnionStatement,
  Unnest,
  UpdateStatement,
  Use,
} from "./tree.ts";

export function printStatement(statement: Statement): string {
  switch (statement.kind) {
    case "select":
      return printSelect(statement);
    case "union":
      return printUnion(statement);
    case "insert":
      return printInsert(statement);
    case "update":
      return printUpdate(statement);
    case "remove":
      return printRemove(statement);
    case "create_index":
      return printCreateIndex(statement);
    case "drop_index":
      return printDropIndex(statement);
    case "explain":
      return `EXPLAIN ${printStatement(statement.statement)}`;
    case "explain_sync": {
      const { collection, id, peerKey } = statement;
      const name = printCollectionName(collection);
      return `EXPLAIN SYNC ${name}, ${print(id, 0)} FOR ${print(peerKey, 0)}`;
    }
    case "profile":
      return `PROFILE ${printStatement(statement.statement)}`;
    case "advise": {
      const provision = statement.isProvision ? "AND PROVISION " : "";
      return `ADVISE ${provision}${printStatement(statement.statement)}`;
    }
    case "execute_function":
      return `EXECUTE FUNCTION ${printCall(statement.call)}`;
    case "show":
      return printShow(statement);
    case "alter_system":
      return printAlterSystem(statement);
    case "sync_context":
      return printSyncContext(statement);
    default:
      return unreachable(statement);
  }
}

/** Joins the nonempty parts with blanks. */
function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

/** Prints a clause with its keyword, or nothing. */
function printClause(keyword: string, expression: Expression | undefined): string {
  return expression === undefined ? "" : `${keyword} ${print(expression, 0)}`;
}

function printSelect(select: SelectStatement): string {
  const { groupBy } = select;
  return join(
    "SELECT",
    select.isDistinct ? "DISTINCT" : "",
    select.isRaw ? "VALUE" : "",
    printSelected(select.projections),
    "FROM",
    printTerm(select.from),
    ...select.joins.map(printJoin),
    printClause("WHERE", select.where),
    groupBy === undefined ? "" : `GROUP BY ${printList(groupBy)}`,
    printClause("HAVING", select.having),
    printOrderBy(select.orderBy),
    printClause("LIMIT", select.limit),
    printClause("OFFSET", select.offset),
  );
}

function printUnion({ first, others, orderBy, limit, offset }: UnionStatement): string {
  const arms = others.map(
    ({ isAll, select }) => `UNION ${isAll ? "ALL " : ""}${printSelect(select)}`,
  );
  return join(
    printSelect(first),
    ...arms,
    printOrderBy(orderBy),
    printClause("LIMIT", limit),
    printClause("OFFSET", offset),
  );
}

function printProjections(projections: readonly Projection[]): string {
  return projections.map(printProjection).join(", ");
}

/** Wraps a first column that begins with a sign: after IN, SELECT before a sign is a name. */
function printSelected(projections: readonly Projection[]): string {
  const [first, ...others] = projections;
  if (first?.kind !== "column" || !/^[-+]/.test(print(first.expression, 0))) {
    return printProjections(projections);
  }
  const begin = printProjection({ ...first, isWrapped: true });
  return [begin, ...others.map(printProjection)].join(", ");
}

function printProjection(projection: Projection): string {
  switch (projection.kind) {
    case "all":
      return "*";
    case "all_of":
      return `${print(projection.of, OPERAND)}.*`;
    case "column": {
      const { expression, alias, isWrapped } = projection;
      const text = print(expression, 0);
      return join(isWrapped === true ? `(${text})` : text, printAlias(alias));
    }
    default:
      return unreachable(projection);
  }
}

function printAlias(alias: string | undefined): string {
  return alias === undefined ? "" : `AS ${printName(alias)}`;
}

function printTerm(term: SourceTerm): string {
  if (isQueryTerm(term)) return `(${printStatement(term.query)}) ${printAlias(term.alias)}`;
  const { collection, alias, use } = term;
  return join(
    printCollection(collection),
    printAlias(alias),
    use === undefined ? "" : printUse(use),
  );
}

function printCollection(collection: CollectionRef): string {
  const { types } = collection;
  const name = printCollectionName(collection);
  return types === undefined ? name : `COLLECTION ${name} (${printTypes(types)})`;
}

function printCollectionName({ namespace, name }: CollectionRef): string {
  return namespace === undefined ? printName(name) : `${printName(namespace)}:${printName(name)}`;
}

function printTypes(types: Types): string {
  const fields = Object.entries(types);
  return fields.map(([field, mark]) => `${printName(field)} ${printType(mark)}`).join(", ");
}

function printType(mark: TypeMark): string {
  return typeof mark === "string" ? mark.toUpperCase() : `MAP (${printTypes(mark)})`;
}

function printUse(use: Use): string {
  switch (use.kind) {
    case "ids":
      return `USE IDS ${printList(use.ids)}`;
    case "id_list":
      return `USE IDS LIST ${print(use.list, 0)}`;
    case "index":
      return `USE INDEX ${printText(use.names[0] ?? "")}`;
    case "directives":
      return `USE DIRECTIVES ${printText(use.json)}`;
    default:
      return unreachable(use);
  }
}

function printJoin(joined: Join | Unnest): string {
  if (joined.type === "unnest") {
    const { isOuter, of, alias } = joined;
    return join(isOuter ? "LEFT UNNEST" : "UNNEST", print(of, 0), printAlias(alias));
  }
  const { type, term, on } = joined;
  const word = type === "inner" ? "JOIN" : `${type.toUpperCase()} JOIN`;
  return `${word} ${printTerm(term)} ON ${print(on, 0)}`;
}

function printOrderBy(terms: readonly OrderTerm[]): string {
  if (terms.length === 0) return "";
  return `ORDER BY ${terms.map(printOrderTerm).join(", ")}`;
}

function printOrderTerm({ expression, isDescending, nulls }: OrderTerm): string {
  const direction = isDescending ? "DESC" : "";
  return join(print(expression, 0), direction, nulls ? `NULLS ${nulls.toUpperCase()}` : "");
}

function printInsertSource(source: InsertStatement["source"]): string {
  if (source.kind !== "documents") return printStatement(source);
  return `DOCUMENTS ${source.documents.map(printDocument).join(", ")}`;
}

function printInsert({ into, isInitial, source, conflict, returning }: InsertStatement): string {
  const policy = conflict === "fail" ? "" : `ON ID CONFLICT DO ${conflict.toUpperCase()}`;
  return join(
    "INSERT INTO",
    printCollection(into),
    isInitial ? "INITIAL" : "",
    printInsertSource(source),
    policy,
    printReturning(returning),
  );
}

/** Prints a document. An expression that begins with a parameter needs its own parentheses. */
function printDocument(document: Expression): string {
  const text = print(document, 0);
  return text.startsWith(":") && document.kind !== "parameter" ? `((${text}))` : `(${text})`;
}

function printReturning(projections: readonly Projection[] | undefined): string {
  return projections === undefined ? "" : `RETURNING ${printProjections(projections)}`;
}

function printUpdate(update: UpdateStatement): string {
  const { apply, set, unset } = update;
  const sets = set.map(({ path, value }) => `${printPath(path)} = ${print(value, 0)}`);
  return join(
    "UPDATE",
    printTerm(update.term),
    apply.length === 0 ? "" : `APPLY ${apply.map(printApplyItem).join(", ")}`,
    set.length === 0 ? "" : `SET ${sets.join(", ")}`,
    unset.length === 0 ? "" : `UNSET ${unset.map(({ path }) => printPath(path)).join(", ")}`,
    printSelection(update),
  );
}

function printApplyItem({ path, method, value }: ApplyItem): string {
  const preposition = method === "restart" ? "WITH" : "BY";
  return join(printPath(path), method.toUpperCase(), printClause(preposition, value));
}

function printRemove(remove: RemoveStatement): string {
  return join(remove.method.toUpperCase(), "FROM", printTerm(remove.term), printSelection(remove));
}

/** Prints the clauses of a selection after its term. */
function printSelection({ where, orderBy, limit, offset, returning }: Selection): string {
  return join(
    printClause("WHERE", where),
    printOrderBy(orderBy),
    printClause("LIMIT", limit),
    printClause("OFFSET", offset),
    printReturning(returning),
  );
}

function printCreateIndex(create: CreateIndexStatement): string {
  const keys = create.keys.map(
    ({ path, isDescending }) => `${printPath(path)}${isDescending ? " DESC" : ""}`,
  );
  return join(
    "CREATE INDEX",
    create.ifNotExists ? "IF NOT EXISTS" : "",
    printName(create.name),
    "ON",
    printCollectionName(create.collection),
    `(${keys.join(", ")})`,
  );
}

function printDropIndex({ name, collection, ifExists }: DropIndexStatement): string {
  const condition = ifExists ? "IF EXISTS" : "";
  return join("DROP INDEX", condition, printName(name), "ON", printCollectionName(collection));
}

function printShow({ name, pattern }: ShowStatement): string {
  if (name !== undefined) return `SHOW ${printName(name)}`;
  if (pattern === undefined) return "SHOW ALL";
  const { operator, pattern: text, escape } = pattern;
  const escaped = escape === undefined ? "" : `ESCAPE ${printText(escape)}`;
  return join("SHOW ALL", operator.toUpperCase(), printText(text), escaped);
}

function printAlterSystem({ name, value }: AlterSystemStatement): string {
  if (name === undefined) return "ALTER SYSTEM RESET ALL";
  if (value === undefined) return `ALTER SYSTEM RESET ${printName(name)}`;
  return `ALTER SYSTEM SET ${printName(name)} = ${print(value, 0)}`;
}

function printSyncContext({ where, statement }: SyncContextStatement): string {
  const peers = join("PEERS", printClause("WHERE", where));
  return `SYNC CONTEXT (${peers}) ${printStatement(statement)}`;
}

export function printExpression(expression: Expression): string {
  return print(expression, 0);
}

/** Prints an expression, in parentheses if it binds less tightly than its context needs. */
function print(expression: Expression, least: number): string {
  const text = printBare(expression);
  return precedenceOf(expression) < least ? `(${text})` : text;
}

/** Level of operands that path steps can follow or a sign can precede. */
const OPERAND = 100;

function precedenceOf(expression: Expression): number {
  switch (expression.kind) {
    case "binary":
      return BINARY_PRECEDENCE[expression.operator];
    case "unary":
      return expression.operator === "not" ? PRECEDENCE.not : PRECEDENCE.sign;
    case "in":
      // NOT would also apply to what follows.
      return isNot(expression.list) ? PRECEDENCE.not : PREDICATE_PRECEDENCE.in;
    case "is":
    case "like":
    case "between":
      return PREDICATE_PRECEDENCE[expression.kind];
    case "literal":
      // `7.a` would read as a number, and `-7[0]` as the negative of `7[0]`.
      return isNumber(expression) ? PRECEDENCE.sign : OPERAND;
    default:
      return OPERAND;
  }
}

function isNot(expression: Expression): boolean {
  return expression.kind === "unary" && expression.operator === "not";
}

/** By its shape: a host may bundle this module apart, with another copy of the class. */
function isFloat(value: LiteralNode["value"]): value is Float {
  return typeof value === "object" && value !== null;
}

function isNumber({ value }: LiteralNode): boolean {
  return typeof value === "number" || typeof value === "bigint" || isFloat(value);
}

function printBare(expression: Expression): string {
  switch (expression.kind) {
    case "literal":
      return printLiteral(expression);
    case "missing":
      return "MISSING";
    case "parameter":
      return `:${printWord(expression.name)}`;
    case "name":
      return printName(expression.name);
    case "slot":
      return expression.name;
    case "field":
      return `${print(expression.of, OPERAND)}.${printWord(expression.name)}`;
    case "element":
      return `${print(expression.of, OPERAND)}[${print(expression.index, 0)}]`;
    case "array":
      return `[${printList(expression.elements)}]`;
    case "object":
      return `{${expression.entries.map(printEntry).join(", ")}}`;
    case "unary":
      return printUnary(expression);
    case "binary": {
      const { operator, left, right } = expression;
      const level = BINARY_PRECEDENCE[operator];
      return `${print(left, level)} ${operator.toUpperCase()} ${print(right, rightOf(level))}`;
    }
    case "is": {
      const what = `${expression.isNegated ? "NOT " : ""}${expression.what.toUpperCase()}`;
      return `${print(expression.operand, PREDICATE_PRECEDENCE.is)} IS ${what}`;
    }
    case "between": {
      const { low, high } = expression;
      const level = rightOf(PREDICATE_PRECEDENCE.between);
      return `${printTest(expression, "BETWEEN")} ${print(low, level)} AND ${print(high, level)}`;
    }
    case "in":
      return printIn(expression);
    case "like":
      return printLike(expression);
    case "cast":
      return `CAST(${print(expression.operand, 0)} AS ${expression.type.toUpperCase()})`;
    case "call":
      return printCall(expression);
    case "subquery": {
      const query = `(${printStatement(expression.query)})`;
      return expression.purpose === "exists" ? `EXISTS ${query}` : query;
    }
    default:
      return printConstruct(expression);
  }
}

function printConstruct(expression: CaseNode | QuantifierNode | ComprehensionNode): string {
  switch (expression.kind) {
    case "case":
      return printCase(expression);
    case "quantifier": {
      const { quantifier, binding, condition } = expression;
      const words = quantifier.replaceAll("_", " ").toUpperCase();
      return `${words} ${printBinding(binding)} SATISFIES ${print(condition, 0)} END`;
    }
    case "comprehension":
      return printComprehension(expression);
    default:
      return unreachable(expression);
  }
}

function printUnary({ operator, operand }: UnaryNode): string {
  if (operator === "not") return `NOT ${print(operand, PRECEDENCE.not)}`;
  const text = print(operand, PRECEDENCE.sign);
  // Two minus signs without a blank would begin a comment.
  return operand.kind === "unary" ? `${operator} ${text}` : `${operator}${text}`;
}

/** Prints the operand, NOT if negated, and the word. */
function printTest(
  { kind, isNegated, operand }: InNode | BetweenNode | LikeNode,
  word: string,
): string {
  const left = print(operand, PREDICATE_PRECEDENCE[kind]);
  return `${left} ${isNegated ? "NOT " : ""}${word}`;
}

/** Prints IN. Parentheses would make a list, but no parsed tree needs them here. */
function printIn(test: InNode): string {
  const level = isNot(test.list) ? PRECEDENCE.not : rightOf(PREDICATE_PRECEDENCE.in);
  return `${printTest(test, "IN")} ${print(test.list, level)}`;
}

function printLike(like: LikeNode): string {
  const word = like.operator === "similar" ? "SIMILAR TO" : like.operator.toUpperCase();
  const matched = `${printTest(like, word)} ${print(like.pattern, rightOf(PREDICATE_PRECEDENCE.like))}`;
  if (like.escape === undefined) return matched;
  return `${matched} ESCAPE ${print(like.escape, rightOf(PRECEDENCE.comparison))}`;
}

function printCase({ subject, whens, otherwise }: CaseNode): string {
  const parts = ["CASE"];
  if (subject !== undefined) parts.push(print(subject, 0));
  for (const { when, result } of whens)
    parts.push(`WHEN ${print(when, 0)} THEN ${print(result, 0)}`);
  if (otherwise !== undefined) parts.push(`ELSE ${print(otherwise, 0)}`);
  return `${parts.join(" ")} END`;
}

function printBinding({ position, value, isDeep, source }: Binding): string {
  const names =
    position === undefined ? printName(value) : `${printName(position)} : ${printName(value)}`;
  return `${names} ${isDeep ? "WITHIN" : "IN"} ${print(source, 0)}`;
}

function printComprehension({ key, value, binding, condition }: ComprehensionNode): string {
  const made =
    key === undefined ? `ARRAY ${print(value, 0)}` : `OBJECT ${print(key, 0)} : ${print(value, 0)}`;
  const filter = condition === undefined ? "" : ` WHEN ${print(condition, 0)}`;
  return `${made} FOR ${printBinding(binding)}${filter} END`;
}

function printCall({ name, args, isDistinct, isStar }: CallNode): string {
  const quantity = isDistinct ? "DISTINCT " : "";
  return `${printName(name)}(${quantity}${isStar ? "*" : printArguments(name, args)})`;
}

function printArguments(name: string, args: readonly Expression[]): string {
  const [first, ...others] = args;
  // A bare IN would be taken for the one between the arguments.
  const level = name === "position" ? rightOf(PRECEDENCE.comparison) : 0;
  return first === undefined
    ? ""
    : [print(first, level), ...others.map(printExpression)].join(", ");
}

function printList(expressions: readonly Expression[]): string {
  return expressions.map(printExpression).join(", ");
}

function printEntry({ key, value }: ObjectEntry): string {
  return `${print(key, 0)}: ${print(value, 0)}`;
}

function printLiteral({ value }: LiteralNode): string {
  if (isFloat(value)) return printFloat(value.value);
  switch (typeof value) {
    case "string":
      return printText(value);
    case "number":
      return Number.isSafeInteger(value) ? String(value) : printFloat(value);
    default:
      return String(value);
  }
}

/** Prints a float with a point or an exponent, so that it is not parsed as an integer. */
function printFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "'": "\\'",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function printText(text: string): string {
  return `'${text.replaceAll(/[\\'\n\r\t]/g, (character) => ESCAPES[character] ?? character)}'`;
}
