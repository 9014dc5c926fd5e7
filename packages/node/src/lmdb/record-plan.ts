/**
 * RecordPlan: how the fields of a record become an object, or some of them, and the rest is passed
 * over.
 *
 * A record is the values of its fields one after the other; its shape says their names. A plan that
 * is used often is compiled into a function that makes the object in one go, which takes half the
 * time of setting one field after the other.
 */

import { type MutableObject, setField, type Value, type ValueObject } from "@bigpeer/protocol";

/** Bytes with a place in them. */
export interface ValueSource {
  /** The value that begins here; goes on behind it. */
  read(): Value;
  /** Goes on behind so many values. */
  skip(count: number): void;
}

type ReadFields = (source: ValueSource) => ValueObject;

/** Uses before a plan is compiled: that costs about as much as a hundred uses save. */
const USES_UNCOMPILED = 100;

export class RecordPlan {
  /** Values behind the last one that is wanted. */
  readonly rest: number;
  readonly #steps: readonly Step[];
  #useCount = 0;
  #compiled: ReadFields | undefined;

  /** Without `wanted`, all of the shape's keys are. */
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

  /** The source is behind the number of the shape, and then behind the last value that is wanted. */
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

/** A field that is wanted, and how many values are passed over before it. */
interface Step {
  readonly before: number;
  readonly key: string;
}

function compile(steps: readonly Step[]): ReadFields {
  const reads = steps.map(({ before }, i) =>
    before > 0 ? `s.skip(${before});const v${i}=s.read();` : `const v${i}=s.read();`,
  );
  // Names come from users: as literals of JSON they are text and nothing else. In brackets, because
  // `__proto__` without them would set the prototype; others stay without, which is faster.
  const fields = steps.map(({ key }, i) => {
    const name = JSON.stringify(key);
    return key === "__proto__" ? `[${name}]:v${i}` : `${name}:v${i}`;
  });
  // oxlint-disable-next-line no-new-func, no-implied-eval
  return new Function("s", `${reads.join("")}return {${fields.join(",")}}`) as ReadFields;
}
