/**
 * Expression ids: equal numbers for expressions that mean the same, wherever they stand.
 *
 * A node is known by its own fields and the numbers of its children, so that each is looked at once,
 * however many others it is compared with.
 */

import { Float } from "../value/datum.ts";
import type { Expression, SlotNode, SubqueryNode } from "./tree.ts";

export class ExpressionIds {
  readonly #ids = new Map<string, number>();
  /** Of nodes that were looked at. */
  readonly #known = new Map<object, number>();

  idOf(node: Expression): number {
    // What is small costs less to look at than to remember.
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

  /** Nodes of other kinds, and what they are made of. */
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

/** JSON has no infinities and no large integers. */
function wordOf(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}

/** What its names stand for, where that is something around it; a variable is known by its name. */
function readsOf({ bound }: SubqueryNode): string {
  const imports = bound?.imports ?? [];
  return imports.map(({ holds, outer }) => (holds === "variable" ? holds : outer)).join();
}
