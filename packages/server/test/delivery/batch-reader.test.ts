/** Batches of changes that lists give: where a batch ends, and what a reading leaves behind. */

import { getEventListeners } from "node:events";
import type { ChangeBatch, ChangeReader, FeedLine } from "@bigpeer/engine/changes";
import { expect, onTestFinished, test, vi } from "vitest";
import { BatchReader } from "../../src/delivery/batch-reader.ts";

function lineAt(cursor: string): FeedLine {
  const txnId = Number(cursor.split(".")[1]);
  const at = "2026-01-31T12:00:00.000Z";
  const change = { type: "insert", collection: "orders", id: cursor, txnId, at, by: null } as const;
  return { cursor, change, txnId, json: JSON.stringify(change) };
}

/** Gives the batches one after the other, then nothing. */
function readerOf(batches: readonly (readonly string[])[]): BatchReader {
  const left = [...batches];
  let cursor = "h1.0";
  const reader: ChangeReader = {
    get cursor() {
      return cursor;
    },
    isInitial: false,
    next: async (): Promise<ChangeBatch> => {
      const lines = (left.shift() ?? []).map(lineAt);
      cursor = lines.at(-1)?.cursor ?? cursor;
      return { lines, cursor, isCurrent: left.length === 0 };
    },
    lag: () => ({ transactions: 0, ms: 0 }),
    hasPermissionsOf: () => true,
    setAuthority: () => {},
    undo: () => {},
    wake: () => {},
    close: () => {},
  };
  return new BatchReader(reader, { sleep: () => new Promise(() => {}) });
}

function idsOf({ changes }: { readonly changes: readonly FeedLine[] }): unknown[] {
  return changes.map(({ change }) => change?.id);
}

test.each([
  ["h1.2.0", ["h1.1.0", "h1.2.0"], "the mark"],
  ["h1.2.1", ["h1.1.0", "h1.2.0"], "a mark that is not found within a transaction"],
  ["h1.3.0", ["h1.1.0", "h1.2.0", "h1.2.2"], "a mark that is not found between transactions"],
  ["h1.0.5", [], "a mark before all changes"],
])("[M44] a batch that is sent again ends at %s: %j, %s", async (to, ids) => {
  const { signal } = new AbortController();
  const batches = readerOf([["h1.1.0"], ["h1.2.0", "h1.2.2"], ["h1.4.0", "h1.5.0"], ["h1.6.0"]]);
  const again = await batches.next({ waitMs: 1, signal, to });
  expect(idsOf(again)).toEqual(ids);
  expect(again).toMatchObject({ cursor: to, isCurrent: false });
  const following = [];
  for (let i = 0; i < 4; i++) following.push(await batches.next({ waitMs: 1, signal }));
  expect([...ids, ...following.flatMap(idsOf)]).toEqual([
    "h1.1.0",
    "h1.2.0",
    "h1.2.2",
    "h1.4.0",
    "h1.5.0",
    "h1.6.0",
  ]);
});

test("a delivery that goes on collects neither listeners nor signals of what was read", async () => {
  // Node 20 keeps each signal that is made of a longer one.
  const any = vi.spyOn(AbortSignal, "any");
  onTestFinished(() => any.mockRestore());
  const { signal } = new AbortController();
  const batches = readerOf([["h1.1.0"], ["h1.2.0"]]);
  for (let i = 0; i < 3; i++) await batches.next({ waitMs: 1, signal });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(any).not.toHaveBeenCalled();
});
