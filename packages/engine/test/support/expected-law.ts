/**
 * A law that is expected to hold in many histories. So few commands that most of them would say
 * nothing are a failure too.
 */

import { expect } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { type Check, checkHistories, type Law } from "./history.ts";

const COUNT = 1000;
/** Of one history, on average. */
const COMMANDS_MIN = 10;

export function expectLaw(law: Law, check: Partial<Check> = {}): void {
  const { count: full = COUNT } = check;
  const whole = { ...check, count: sized(Math.ceil(full / 16), full) };
  expect(checkHistories(whole, law)).toBeGreaterThan(whole.count * COMMANDS_MIN);
}
