/**
 * Suspects: parts of a condition that, if written by mistake, leave a result empty.
 *
 * They are found in the bound condition when a statement is prepared. Whether one is a mistake is
 * known after the statement has run without a matching row (run/lookout.ts).
 */

import type { BinaryNode, Expression, FieldNode, InNode } from "../syntax/tree.ts";
import { eachChild } from "../syntax/tree-walk.ts";
import type { RowsPlan } from "./plan.ts";

/** A top-level field of the documents of a term. */
export interface FieldSuspect {
  readonly slot: number;
  readonly name: string;
  /** `value`: used where a value is expected; `either`: compared with another field. */
  readonly role: "field" | "value" | "either";
  readonly at: number;
}

/** `IN (:name)`: a list with a single parameter. */
export interface ListSuspect {
  readonly parameter: string;
  readonly at: number;
}

/** A text compared with constants: the result is the same for every document. */
export interface TextSuspect {
  readonly text: string;
  readonly at: number;
}

/** `||` between conditions, where it concatenates texts. By the offsets of its operands. */
export interface JoinSuspect {
  readonly left: number;
  readonly right: number;
}

export interface Suspects {
  readonly fields: readonly FieldSuspect[];
  readonly lists: readonly ListSuspect[];
  readonly texts: readonly TextSuspect[];
  readonly joins: readonly JoinSuspect[];
  /** The collection of each term by its slot. */
  readonly collections: ReadonlyMap<number, string>;
}

/** Limit on the suspects of one condition: an answer lists few hints. */
const SUSPECTS_MAX = 16;

const COMPARISONS: ReadonlySet<string> = new Set(["=", "!=", "<", "<=", ">", ">="]);

/** Undefined when there is nothing to watch. */
export function suspectsOf({ source, joins, where }: RowsPlan): Suspects | undefined {
  if (where === undefined) return undefined;
  const collections = new Map<number, string>();
  for (const each of [source, ...joins.flatMap((join) => ("source" in join ? join.source : []))]) {
    if (each.collection.kind === "stored") collections.set(each.slot, each.collection.name);
  }
  const finder = new Finder(collections);
  finder.visit(where, "field");
  finder.combine(where);
  const { fields, lists, texts, joins: signs } = finder;
  if (fields.length + lists.length + texts.length + signs.length === 0) return undefined;
  return { fields, lists, texts, joins: signs, collections };
}

class Finder {
  readonly fields: FieldSuspect[] = [];
  readonly lists: ListSuspect[] = [];
  readonly texts: TextSuspect[] = [];
  readonly joins: JoinSuspect[] = [];
  readonly #collections: ReadonlyMap<number, string>;

  constructor(collections: ReadonlyMap<number, string>) {
    this.#collections = collections;
  }

  visit(node: Expression, role: FieldSuspect["role"]): void {
    switch (node.kind) {
      case "field":
        if (this.#slotOf(node) === undefined) this.visit(node.of, "field");
        else this.#addField(node, role);
        return;
      case "binary":
        if (COMPARISONS.has(node.operator)) this.#compare(node.left, [node.right]);
        else this.#visitChildren(node);
        return;
      case "between":
        this.#compare(node.operand, [node.low, node.high]);
        return;
      case "like":
        this.#compare(node.operand, [node.pattern]);
        return;
      case "is":
        this.#compare(node.operand, []);
        return;
      case "in":
        this.#visitIn(node);
        return;
      default:
        this.#visitChildren(node);
    }
  }

  /** A condition, or an operand of AND, OR or NOT. */
  combine(node: Expression): void {
    if (node.kind === "unary") this.combine(node.operand);
    else if (node.kind === "like") this.#combineLast(node.operand);
    else if (node.kind !== "binary") return;
    else if (node.operator === "||") this.#addJoin(node);
    else if (COMPARISONS.has(node.operator)) this.#combineLast(node.left);
    else if (node.operator === "and" || node.operator === "or") {
      this.combine(node.left);
      this.combine(node.right);
    }
  }

  /** `a = 1 || b = 2` is `(a = (1 || b)) = 2`: finds the `||` before the last operator. */
  #combineLast(node: Expression): void {
    const isComparison = node.kind === "binary" && COMPARISONS.has(node.operator);
    const last = isComparison ? node.right : node.kind === "like" ? node.pattern : undefined;
    if (last?.kind === "binary" && last.operator === "||") this.#addJoin(last);
  }

  #addJoin({ left, right }: BinaryNode): void {
    if (this.joins.length < SUSPECTS_MAX) this.joins.push({ left: left.at, right: right.at });
  }

  #visitChildren(node: Expression): void {
    eachChild(node, (child) => this.visit(child, "field"));
  }

  #visitIn({ operand, list, isNegated }: InNode): void {
    if (list.kind !== "array") {
      this.#compare(operand, isConstant(list) ? [list] : []);
      this.visit(list, "field");
      return;
    }
    const [only, ...others] = list.elements;
    if (only?.kind === "parameter" && others.length === 0 && !isNegated) {
      if (this.lists.length < SUSPECTS_MAX) this.lists.push({ parameter: only.name, at: list.at });
    }
    this.#compare(operand, list.elements);
  }

  #compare(operand: Expression, values: readonly Expression[]): void {
    if (operand.kind === "literal" && typeof operand.value === "string") {
      if (values.every(isConstant) && this.texts.length < SUSPECTS_MAX) {
        this.texts.push({ text: operand.value, at: operand.at });
      }
    }
    const isOfTwo = values.some((value) => this.#slotOf(value) !== undefined);
    this.visit(operand, isOfTwo ? "either" : "field");
    for (const value of values) this.visit(value, isConstant(operand) ? "field" : "value");
  }

  #addField(node: FieldNode, role: FieldSuspect["role"]): void {
    const slot = this.#slotOf(node);
    const { name, at } = node;
    if (slot === undefined || name === "_id" || this.fields.length >= SUSPECTS_MAX) return;
    if (this.fields.some((known) => known.slot === slot && known.name === name)) return;
    this.fields.push({ slot, name, role, at });
  }

  /** The slot of the documents that have the top-level field. */
  #slotOf(node: Expression): number | undefined {
    if (node.kind !== "field" || node.of.kind !== "slot") return undefined;
    const { slot, holds } = node.of;
    return holds === "document" && this.#collections.has(slot) ? slot : undefined;
  }
}

function isConstant({ kind }: Expression): boolean {
  return kind === "literal" || kind === "parameter";
}
