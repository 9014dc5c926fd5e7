/**
 * The memory that all statements share, and how a statement asks for its part.
 */
import { PeerError } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Budget, OWN_BYTES, PIECE_BYTES as PIECE } from "../../../src/query/frame/budget.ts";
import { MemoryPool } from "../../../src/query/frame/memory-pool.ts";

function codeOf(work: () => void): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof PeerError ? error.code : String(error);
  }
  return undefined;
}

function budgetOf(pool: MemoryPool, bytesMax = 100 * OWN_BYTES): Budget {
  return new Budget({ elapsed: () => 0, timeMsMax: 100, bytesMax, pool });
}

test("taken memory is unavailable until it is given back, and a refused request takes nothing", () => {
  const pool = new MemoryPool(100);
  pool.take(60);
  expect(codeOf(() => pool.take(41))).toBe("query.busy");
  pool.take(40);
  expect(pool.bytes).toBe(100);
  pool.give(60);
  expect(pool.bytes).toBe(40);
  expect(() => pool.give(41)).toThrow("memory that was taken before");
});

test("a small statement does not use the pool and is never refused", () => {
  const pool = new MemoryPool(0);
  const budget = budgetOf(pool);
  budget.take(OWN_BYTES / 2);
  budget.borrow(OWN_BYTES / 2);
  expect(pool.bytes).toBe(0);
  expect(codeOf(() => budget.take(1))).toBe("query.busy");
});

test("a larger statement takes whole pieces, as many as it needs", () => {
  const pool = new MemoryPool(10 * OWN_BYTES);
  const budget = budgetOf(pool);
  budget.take(OWN_BYTES + 1);
  expect(pool.bytes).toBe(PIECE);
  budget.take(PIECE - 1);
  expect(pool.bytes).toBe(PIECE);
  budget.borrow(3 * PIECE + 1);
  expect(pool.bytes).toBe(5 * PIECE);
});

test("memory that a row borrows is requested once, not for each row", () => {
  const pool = new MemoryPool(2 * OWN_BYTES);
  const budget = budgetOf(pool);
  for (let row = 0; row < 100; row++) {
    budget.borrow(3 * OWN_BYTES);
    budget?.startRow();
  }
  expect(pool.bytes).toBe(2 * OWN_BYTES);
});

test("the statement's own limit applies before the pool's, and a refused request takes nothing", () => {
  const pool = new MemoryPool(10 * OWN_BYTES);
  const budget = budgetOf(pool, 2 * OWN_BYTES);
  expect(codeOf(() => budget.take(3 * OWN_BYTES))).toBe("query.too_large");
  expect(pool.bytes).toBe(0);
  const small = budgetOf(pool, 1000);
  expect(codeOf(() => small.take(1001))).toBe("query.too_large");
});

test("a statement that starts over gives its share back and may take it again", () => {
  const pool = new MemoryPool(2 * OWN_BYTES);
  const budget = budgetOf(pool);
  for (let round = 0; round < 3; round++) {
    budget.take(3 * OWN_BYTES);
    expect(pool.bytes).toBe(2 * OWN_BYTES);
    budget?.release();
    expect(pool.bytes).toBe(0);
  }
});

test("a finished statement gives its share back once, and takes none after that", () => {
  const pool = new MemoryPool(10 * OWN_BYTES);
  const other = budgetOf(pool);
  other.take(2 * OWN_BYTES);
  const budget = budgetOf(pool);
  budget.take(3 * OWN_BYTES);
  budget.end();
  budget.end();
  budget?.release();
  expect(pool.bytes).toBe(OWN_BYTES);
  budget.take(5 * OWN_BYTES);
  expect(pool.bytes).toBe(OWN_BYTES);
  expect(codeOf(() => budget.take(100 * OWN_BYTES))).toBe("query.too_large");
});

test("a refused statement leaves memory for others when it ends", () => {
  const pool = new MemoryPool(OWN_BYTES);
  const first = budgetOf(pool);
  const second = budgetOf(pool);
  first.take(2 * OWN_BYTES);
  expect(codeOf(() => second.take(OWN_BYTES + 1))).toBe("query.busy");
  second.end();
  expect(pool.bytes).toBe(OWN_BYTES);
  first.end();
  expect(codeOf(() => budgetOf(pool).take(2 * OWN_BYTES))).toBeUndefined();
});

test("whatever statements do, the pool stays within its limit and is empty when all have ended", () => {
  const act = fc.record({
    which: fc.nat(3),
    kind: fc.constantFrom("take", "borrow", "release", "startRow", "end"),
    bytes: fc.nat(3 * OWN_BYTES),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (history) => {
      const pool = new MemoryPool(4 * OWN_BYTES);
      const budgets = [0, 1, 2, 3].map(() => budgetOf(pool, 5 * OWN_BYTES));
      for (const { which, kind, bytes } of history) {
        const budget = budgets[which];
        const code = codeOf(() => {
          if (kind === "take") budget?.take(bytes);
          else if (kind === "borrow") budget?.borrow(bytes);
          else if (kind === "startRow") budget?.startRow();
          else if (kind === "release") budget?.release();
          else budget?.end();
        });
        expect([undefined, "query.busy", "query.too_large"]).toContain(code);
        expect(pool.bytes).toBeLessThanOrEqual(4 * OWN_BYTES);
      }
      for (const budget of budgets) budget.end();
      expect(pool.bytes).toBe(0);
    }),
  );
});
