/**
 * RowMaker: makes the rows of documents, `_id` first and then the fields as they stand.
 *
 * To set one field after the other makes an object grow several times, which costs more than to read
 * the document from the disk. Documents come in few shapes (lists of names), so for a shape that is
 * met often a function is compiled that makes the whole row in one go. A host that allows no such
 * function gets its rows the slow way.
 */

import { type MutableObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";

type MakeRow = (id: Value, fields: ValueObject) => ValueObject;

interface Shape {
  readonly names: readonly string[];
  useCount: number;
  make: MakeRow;
}

/** Shapes that are remembered: each document is compared with these. */
const SHAPE_COUNT_MAX = 8;
/** Uses before a function is compiled: that costs about as much as a hundred uses save. */
const USES_UNCOMPILED = 100;
/** Objects with more names are rarely records. */
const NAME_COUNT_MAX = 64;

export class RowMaker {
  /** The one that was met last is the first. */
  readonly #shapes: Shape[] = [];

  make(id: Value, fields: ValueObject): ValueObject {
    const shape = this.#find(fields) ?? this.#remember(fields);
    if (++shape.useCount === USES_UNCOMPILED) shape.make = compile(shape.names) ?? makeSlowly;
    return shape.make(id, fields);
  }

  #find(fields: ValueObject): Shape | undefined {
    const shapes = this.#shapes;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i] as Shape;
      if (!hasNames(fields, shape.names)) continue;
      if (i > 0) {
        shapes.splice(i, 1);
        shapes.unshift(shape);
      }
      return shape;
    }
    return undefined;
  }

  #remember(fields: ValueObject): Shape {
    const shape: Shape = { names: Object.keys(fields), useCount: 0, make: makeSlowly };
    if (this.#shapes.length >= SHAPE_COUNT_MAX) this.#shapes.pop();
    this.#shapes.unshift(shape);
    return shape;
  }
}

function hasNames(fields: ValueObject, names: readonly string[]): boolean {
  let i = 0;
  for (const name in fields) if (names[i++] !== name) return false;
  return i === names.length;
}

function makeSlowly(id: Value, fields: ValueObject): ValueObject {
  const row: MutableObject = { _id: id };
  for (const name of Object.keys(fields)) setField(row, name, fields[name] as Value);
  return row;
}

function compile(names: readonly string[]): MakeRow | undefined {
  if (names.length > NAME_COUNT_MAX || names.includes("__proto__")) return undefined;
  // Names come from users: as literals of JSON they are text and nothing else.
  const fields = names.map((name) => `,${JSON.stringify(name)}:f[${JSON.stringify(name)}]`);
  try {
    // oxlint-disable-next-line no-new-func, no-implied-eval
    return new Function("i", "f", `return {"_id":i${fields.join("")}}`) as MakeRow;
  } catch {
    return undefined;
  }
}
