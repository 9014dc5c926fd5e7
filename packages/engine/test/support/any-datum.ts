/**
 * Generated data: values with floats among them that a document could not tell from integers.
 */

import { setField } from "@bigpeer/protocol";
import * as fc from "fast-check";
import {
  type Datum,
  Float,
  type MutableDatumObject,
  type PresentDatum,
} from "../../src/query/value/datum.ts";
import { anyKey, anyValue } from "../contract/any-value.ts";

/** Whole floats as the evaluation boxes them: inside 64 bits, so that the box matters. */
const anyFloat: fc.Arbitrary<Float> = fc
  .oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.maxSafeInteger(),
    fc.constantFrom(-0, 2 ** 53, 2 ** 60, 2 ** 63, -(2 ** 63)),
  )
  .map((value) => new Float(value));

/** Few enough that equal ones meet. */
const commonDatum: fc.Arbitrary<PresentDatum> = fc.constantFrom<PresentDatum[]>(
  null,
  true,
  false,
  0,
  1,
  2,
  new Float(1),
  new Float(2),
  1.5,
  2n ** 60n,
  new Float(2 ** 60),
  2n ** 60n + 1n,
  Number.NaN,
  "",
  "a",
  "1",
  new Uint8Array([1]),
  new Uint8Array([]),
);

export const anyPresentDatum: fc.Arbitrary<PresentDatum> = fc.letrec<{ datum: PresentDatum }>(
  (tie) => ({
    datum: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 5, arbitrary: commonDatum },
      { weight: 1, arbitrary: anyFloat },
      { weight: 2, arbitrary: anyValue() },
      { weight: 2, arbitrary: fc.array(tie("datum"), { maxLength: 3 }) },
      {
        weight: 2,
        arbitrary: fc.array(fc.tuple(anyKey(), tie("datum")), { maxLength: 3 }).map(objectOf),
      },
    ),
  }),
).datum;

export const anyDatum: fc.Arbitrary<Datum> = fc.option(anyPresentDatum, {
  nil: undefined,
  freq: 20,
});

function objectOf(fields: readonly (readonly [string, PresentDatum])[]): PresentDatum {
  const object: MutableDatumObject = {};
  for (const [key, datum] of fields) setField(object, key, datum);
  return object;
}
