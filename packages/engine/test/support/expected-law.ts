/**
 * A law that is expected to hold in many histories. So few commands that most of them would say
 * nothing are a failure too.
 */

import { expect } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { type Check, checkHistories, type Law } from "./history.ts";

const COUNT = 1000;
/** Of one history, on average. */
const COMMANDS_MIN = 10;

export function expectLaw(law: Law, check: Partial<Check> = {}): void {
  const whole = { ...check, count: histories(check.count ?? COUNT) };
  expect(checkHistories(whole, law)).toBeGreaterThan(whole.count * COMMANDS_MIN);
}
