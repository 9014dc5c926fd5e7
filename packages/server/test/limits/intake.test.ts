/** What is read in a pass of the event loop: whose turn it is, and that what was begun goes on. */

import { expect, test } from "vitest";
import { Intake, type LateReader } from "../../src/limits/intake.ts";

/** One whose time is used up at once: one is read in each pass. */
function slowIntake(): Intake {
  return new Intake(0);
}

function reader(payer: string, isKnown: boolean, reads: string[], count = 1): LateReader {
  let left = count;
  return {
    payer,
    isKnown,
    readLate: () => {
      reads.push(payer);
      return --left > 0;
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

test("[H52] payers alternate, however many connections each of them has", async () => {
  const intake = slowIntake();
  const reads: string[] = [];
  for (let i = 0; i < 100; i++) intake.wait(reader("many", true, reads));
  intake.wait(reader("few", true, reads, 3));
  await until(() => reads.length === 103);
  expect(reads.slice(0, 6)).toEqual(["many", "few", "many", "few", "many", "few"]);
});

test("[H52] credentials and addresses without one alternate", async () => {
  const intake = slowIntake();
  const reads: string[] = [];
  for (let i = 0; i < 50; i++) intake.wait(reader(`address ${i}`, false, reads));
  for (let i = 0; i < 3; i++) intake.wait(reader(`key ${i}`, true, reads));
  await until(() => reads.length === 53);
  expect(reads.slice(0, 6).filter((payer) => payer.startsWith("key"))).toHaveLength(3);
});

test("nothing is read at once while another reader waits", async () => {
  const intake = new Intake(1_000);
  const reads: string[] = [];
  expect(intake.isOpen()).toBe(true);
  intake.wait(reader("first", true, reads));
  expect(intake.isOpen()).toBe(false);
  await until(() => reads.length === 1);
  expect(intake.isOpen()).toBe(true);
});

test("work that a few reads started continues before the next reads", async () => {
  const intake = new Intake(1_000);
  let begun = 0;
  let done = 0;
  let underWayMax = 0;
  const readLate = (): boolean => {
    begun++;
    underWayMax = Math.max(underWayMax, begun - done);
    void Promise.resolve().then(() => done++);
    return false;
  };
  for (let i = 0; i < 500; i++) intake.wait({ payer: "one", isKnown: true, readLate });
  await until(() => done === 500);
  expect(underWayMax).toBeLessThanOrEqual(8);
});

test("[H52] calls that wait for the same condition continue over many passes", async () => {
  const intake = slowIntake();
  let passes = 0;
  const count = (): void => {
    passes++;
    if (passes < 1_000) setImmediate(count);
  };
  count();
  const at = await Promise.all(
    Array.from({ length: 50 }, () => intake.turn("key").then(() => passes)),
  );
  expect(new Set(at).size).toBe(50);
});
