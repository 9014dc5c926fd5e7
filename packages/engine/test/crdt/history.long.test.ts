/**
 * The laws of documents over many histories, other ones than the unit tests have.
 *
 * A failure names its seed and the smallest history that still breaks the law; both belong into the
 * unit tests then.
 */

import { expect, test } from "vitest";
import { type Check, checkHistories, type Law } from "../support/history.ts";
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
const COUNT = 20_000;
/** Where one run over a history takes longest. */
const FEWER = 5000;

function expectLaw(law: Law, check: Check = { count: COUNT }): void {
  const commands = checkHistories({ ...check, first: FIRST }, law);
  expect(commands).toBeGreaterThan(check.count * 10);
}

test("[D10] merge is commutative, associative, idempotent, and changes nothing that it is given", () => {
  for (const law of [isCommutative, isAssociative, isIdempotent, leavesItsArguments])
    expectLaw(law);
  expectLaw(isCommutative, { count: FEWER, hasClone: true });
  expectLaw(isAssociative, { count: FEWER, hasClone: true });
});

test("[D10] duplicated and reordered deltas give the same bytes", () => {
  expectLaw(isOrderFree);
  expectLaw(isOrderFree, { count: FEWER, hasClone: true });
  expectLaw(isOrderFree, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D12] the normal form is stable, [D19] and what brings nothing new changes nothing", () => {
  expectLaw(isNormalStable);
  expectLaw(isSameWhenNothingIsNew);
});

test("[D11] the engine is the model of the definition", () => {
  expectLaw(agreesWithModel);
  expectLaw(agreesWithModel, { count: FEWER, hasClone: true });
  expectLaw(agreesWithModel, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D13] the merged result is what running all operations in stamp order gives", () => {
  expectLaw(agreesWithOracle, { count: 2 * COUNT });
  expectLaw(agreesWithOracle, { count: FEWER, isLarge: true });
});

test("[D18] differences and restrictions are exact", () => {
  expectLaw(differsExactly);
  expectLaw(restrictsExactly);
});

test("[D20] states read back", () => {
  expectLaw(readsBack);
  expectLaw(readsBack, { count: FEWER, isLarge: true, isInexact: true });
});

test("[D23] collection changes nothing that shows", () => {
  expectLaw(collectsSilently);
  expectLaw(collectsBeforeLateWrites);
});
