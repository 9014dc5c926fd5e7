/**
 * Expression ids: value numbering that gives equal expressions equal numbers.
 *
 * The shape of a node is its own fields and the numbers of its children. So each node is visited
 * once, however many others it is compared with.
 */

import { Float } from "../value/datum.ts";
import type { Expression, SlotNode, SubqueryNode } from "./tree.ts";

export class ExpressionIds {
  readonly #ids = new Map<string, number>();
  /** Numbers of visited nodes. */
  readonly #known = new Map<object, number>();

  idOf(node: Expression): number {
    // Small nodes cost less to visit than to remember.
    if (node.kind === "slot") return this.#number(slotShape(node));
    if (node.kind === "field" && node.of.kind === "slot") return this.#number(this.#shapeOf(node));
    return this.#idOf(node);
  }

  #idOf(part: object): number {
    const known = this.#known.get(part);
    if (known !== undefined) return known;
    const id = this.#number(this.#shapeOf(part as Expression));
    this.#known.set(part, id);
    return id;
  }

  #number(shape: string): number {
    const known = this.#ids.get(shape);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(shape, id);
    return id;
  }

  #shapeOf(node: Expression): string {
    switch (node.kind) {
      case "slot":
        return slotShape(node);
      case "literal":
        return `literal ${this.#wordOf(node.value)}`;
      case "field":
        return `.${this.idOf(node.of)} ${node.name}`;
      case "binary":
        return `${node.operator} ${this.idOf(node.left)} ${this.idOf(node.right)}`;
      case "subquery":
        return `query ${node.purpose} ${readsOf(node)} ${this.#idOf(node.query)}`;
      default:
        return this.#shapeOfAny(node);
    }
  }

  /** Shape of nodes of other kinds, and of their parts. */
  #shapeOfAny(part: object): string {
    if (part instanceof Float) return `float ${wordOf(part.value)}`;
    if (Array.isArray(part)) return `[${part.map((each) => this.#wordOf(each)).join()}`;
    let shape = "{";
    for (const [key, value] of Object.entries(part)) {
      if (key === "at" || key === "slots" || value === undefined) continue;
      shape += `${key}:${this.#wordOf(value)},`;
    }
    return shape;
  }

  #wordOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return wordOf(value);
    return `#${"kind" in value ? this.idOf(value as Expression) : this.#idOf(value)}`;
  }
}

/** Two equal comprehensions have variables of equal names in different slots. */
function slotShape({ slot, holds, name }: SlotNode): string {
  return holds === "variable" ? `variable ${name}` : `${holds} ${slot}`;
}

/** Text of a value. Not JSON, which has no infinities and no large integers. */
function wordOf(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}

/** Slots that a subquery reads from the outer row; a variable is identified by its name. */
function readsOf({ bound }: SubqueryNode): string {
  const imports = bound?.imports ?? [];
  return imports.map(({ holds, outer }) => (holds === "variable" ? holds : outer)).join();
}
