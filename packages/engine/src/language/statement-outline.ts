/**
 * What a statement does, as its text alone shows it: whether it writes, which parameters it names,
 * and whether it changes every document of a collection. Mistakes with their place.
 */

import { PeerError } from "@bigpeer/protocol";
import { Fault } from "../query/fault.ts";
import { parseStatement } from "../query/syntax/parse-statement.ts";
import { namedParameters } from "../query/syntax/statement-walk.ts";
import type {
  CallNode,
  RemoveStatement,
  Statement,
  UpdateStatement,
} from "../query/syntax/tree.ts";
import { unknownName } from "../query/unknown-name.ts";
import { tokensOf } from "./token.ts";
import { FUNCTIONS, isFunction } from "./words.ts";

export interface StatementOutline {
  /** The statement inside EXPLAIN, PROFILE and ADVISE, otherwise the statement itself. */
  readonly kind: Statement["kind"];
  readonly prefix?: "explain" | "profile" | "advise";
  /** Names of its parameters, each once. */
  readonly parameters: readonly string[];
  /** Whether it is a query without LIMIT and OFFSET. */
  readonly isUnlimited: boolean;
  /** Set if it runs and changes documents that no condition chooses. */
  readonly wholeCollection?: WholeCollectionWrite;
}

export interface WholeCollectionWrite {
  readonly verb: "DELETE" | "EVICT" | "TOMBSTONE" | "UPDATE";
  readonly collection: string;
  /** The most documents that it changes, where LIMIT is a number. */
  readonly limit?: number;
}

export interface StatementMistake {
  readonly message: string;
  /** Index of the first character of the place, and of the one behind it. */
  readonly at: number;
  readonly end: number;
}

/** A syntax error, or the first call of an unknown function; undefined if there is neither. */
export function findMistake(text: string): StatementMistake | undefined {
  try {
    const { statement } = parseStatement(text);
    const call = callsIn(statement).find(({ name }) => !isFunction(name) && !isInternal(name));
    return call === undefined ? undefined : unknownFunction(call, text);
  } catch (error) {
    return mistakeOf(error, text);
  }
}

/** Functions that a statement can call, and that no list names. */
function isInternal(name: string): boolean {
  return name.startsWith("filter_");
}

function unknownFunction({ name, at }: CallNode, text: string): StatementMistake {
  const message = `unknown function ${unknownName(name, FUNCTIONS)}`;
  return { message, at, end: wordEnd(text, at) };
}

/** All calls of a tree, in the order of the text. A tree is plain data. */
function callsIn(statement: Statement): CallNode[] {
  const calls: CallNode[] = [];
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    if ("kind" in part && part.kind === "call") calls.push(part as CallNode);
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(statement);
  return calls.sort((a, b) => a.at - b.at);
}

/** Undefined if the text is no statement. */
export function outlineStatement(text: string): StatementOutline | undefined {
  const statement = statementOf(text);
  if (statement === undefined) return undefined;
  const inner = withoutPrefix(statement);
  const parameters = [...new Set(namedParameters(statement).map(({ name }) => name))];
  const wholeCollection = runs(statement) ? wholeCollectionOf(inner) : undefined;
  return {
    kind: inner.kind,
    ...(inner !== statement && { prefix: statement.kind as "explain" | "profile" | "advise" }),
    parameters,
    isUnlimited: isUnlimited(inner),
    ...(wholeCollection && { wholeCollection }),
  };
}

function statementOf(text: string): Statement | undefined {
  try {
    return parseStatement(text).statement;
  } catch {
    return undefined;
  }
}

function withoutPrefix(statement: Statement): Statement {
  switch (statement.kind) {
    case "explain":
    case "profile":
    case "advise":
      return statement.statement;
    default:
      return statement;
  }
}

function isUnlimited(statement: Statement): boolean {
  if (statement.kind !== "select" && statement.kind !== "union") return false;
  return statement.limit === undefined && statement.offset === undefined;
}

function runs({ kind }: Statement): boolean {
  return kind !== "explain" && kind !== "advise";
}

function wholeCollectionOf(statement: Statement): WholeCollectionWrite | undefined {
  if (statement.kind !== "update" && statement.kind !== "remove") return undefined;
  const { term, where, limit } = statement;
  if (where !== undefined || term.use !== undefined) return undefined;
  const { name, namespace } = term.collection;
  return {
    verb: verbOf(statement),
    collection: namespace === undefined ? name : `${namespace}:${name}`,
    ...(limit?.kind === "literal" && typeof limit.value === "number" && { limit: limit.value }),
  };
}

function verbOf(statement: UpdateStatement | RemoveStatement): WholeCollectionWrite["verb"] {
  if (statement.kind === "update") return "UPDATE";
  return statement.method.toUpperCase() as WholeCollectionWrite["verb"];
}

function mistakeOf(error: unknown, text: string): StatementMistake {
  if (!(error instanceof Fault)) {
    const message = error instanceof PeerError ? error.message : String(error);
    return { message, at: 0, end: text.length };
  }
  const at = Math.min(error.offset ?? 0, text.length);
  return { message: error.message, at, end: wordEnd(text, at) };
}

/** The end of the word or sign at a place. */
function wordEnd(text: string, at: number): number {
  const [token] = tokensOf(text.slice(at));
  return token === undefined || token.kind === "space" ? at : at + token.end;
}
