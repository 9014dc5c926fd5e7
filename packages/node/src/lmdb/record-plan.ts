/**
 * RecordPlan: compiled reader of the fields of a stored record, or of some of them; it skips the
 * others.
 *
 * A record is the values of its fields one after the other; its shape has their names. A plan that
 * is used often is compiled into a function that builds the object with one literal, which takes
 * half the time of setting one field after the other.
 */

import { type MutableObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";

/** Bytes with a read position. */
export interface ValueSource {
  /** Reads the value at the position and moves behind it. */
  read(): Value;
  /** Skips this many values. */
  skip(count: number): void;
}

type ReadFields = (source: ValueSource) => ValueObject;

/** Uses before a plan is compiled: compiling costs about as much as a hundred uses save. */
const USES_UNCOMPILED = 100;

export class RecordPlan {
  /** Number of values after the last wanted one. */
  readonly rest: number;
  readonly #steps: readonly Step[];
  #useCount = 0;
  #compiled: ReadFields | undefined;

  /** Without `wanted`, all keys of the shape are. */
  constructor(shape: readonly string[], wanted?: ReadonlySet<string>) {
    const steps: Step[] = [];
    let before = 0;
    for (const key of shape) {
      if (wanted !== undefined && !wanted.has(key)) before++;
      else {
        steps.push({ before, key });
        before = 0;
      }
    }
    this.#steps = steps;
    this.rest = before;
  }

  /** Call it after the number of the shape was read; it ends after the last wanted value. */
  read(source: ValueSource): ValueObject {
    if (this.#compiled !== undefined) return this.#compiled(source);
    if (++this.#useCount > USES_UNCOMPILED) this.#compiled = compile(this.#steps);
    const fields: MutableObject = {};
    for (const { before, key } of this.#steps) {
      if (before > 0) source.skip(before);
      setField(fields, key, source.read());
    }
    return fields;
  }
}

/** A wanted field, and the number of values to skip before it. */
interface Step {
  readonly before: number;
  readonly key: string;
}

function compile(steps: readonly Step[]): ReadFields {
  const reads = steps.map(({ before }, i) =>
    before > 0 ? `s.skip(${before});const v${i}=s.read();` : `const v${i}=s.read();`,
  );
  // Names come from users: as JSON literals they are text and nothing else. `__proto__` is in
  // brackets, because otherwise it would set the prototype; others are not, which is faster.
  const fields = steps.map(({ key }, i) => {
    const name = JSON.stringify(key);
    return key === "__proto__" ? `[${name}]:v${i}` : `${name}:v${i}`;
  });
  // oxlint-disable-next-line no-new-func, no-implied-eval
  return new Function("s", `${reads.join("")}return {${fields.join(",")}}`) as ReadFields;
}
