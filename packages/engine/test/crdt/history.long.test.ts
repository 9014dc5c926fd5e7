/**
 * The laws of documents over many histories, other ones than the unit tests have.
 *
 * A failure names its seed and the smallest history that still breaks the law; both belong into the
 * unit tests then.
 */

import { test } from "vitest";
import { expectLaw } from "../support/expected-law.ts";
import type { Check, Law } from "../support/history.ts";
import {
  agreesWithModel,
  agreesWithOracle,
  collectsBeforeLateWrites,
  collectsSilently,
  differsExactly,
  isAssociative,
  isCommutative,
  isIdempotent,
  isNormalStable,
  isOrderFree,
  isSameWhenNothingIsNew,
  leavesItsArguments,
  readsBack,
  restrictsExactly,
} from "../support/laws.ts";

const FIRST = 1_000_001;
const COUNT = 6_000;
/** Where one run over a history takes longest. */
const FEWER = 2500;

function expectFurther(law: Law, check: Partial<Check> = {}): void {
  expectLaw(law, { count: COUNT, first: FIRST, ...check });
}

test("[D10] merge is commutative, associative and idempotent, and does not change its arguments", () => {
  for (const law of [isCommutative, isAssociative, isIdempotent, leavesItsArguments])
    expectFurther(law);
  expectFurther(isCommutative, { count: FEWER, hasClone: true });
  expectFurther(isAssociative, { count: FEWER, hasClone: true });
});

test("[D10] duplicated and reordered deltas give the same bytes", () => {
  expectFurther(isOrderFree);
  expectFurther(isOrderFree, { count: FEWER, hasClone: true });
  expectFurther(isOrderFree, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D12] the normal form is stable, [D19] and a merge that brings nothing new changes nothing", () => {
  expectFurther(isNormalStable);
  expectFurther(isSameWhenNothingIsNew);
});

test("[D11] the engine agrees with the model of the definition", () => {
  expectFurther(agreesWithModel);
  expectFurther(agreesWithModel, { count: FEWER, hasClone: true });
  expectFurther(agreesWithModel, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D13] a merge gives the same result as running all operations in stamp order", () => {
  expectFurther(agreesWithOracle, { count: 2 * COUNT });
  expectFurther(agreesWithOracle, { count: FEWER, isLarge: true });
});

test("[D18] deltas and restrictions are exact", () => {
  expectFurther(differsExactly);
  expectFurther(restrictsExactly);
});

test("[D20] decoding an encoded state returns the state", () => {
  expectFurther(readsBack);
  expectFurther(readsBack, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D23] collection does not change the shown fields", () => {
  expectFurther(collectsSilently);
  expectFurther(collectsBeforeLateWrites);
});
