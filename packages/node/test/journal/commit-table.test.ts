import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { seededRandom } from "../../../engine/test/support/test-platform.ts";
import { CommitTable } from "../../src/journal/commit-table.ts";
import { newEntry, PAYLOAD_START } from "../../src/journal/journal.ts";
import { payloadSize, writePayload } from "../../src/journal/journal-payload.ts";
import { CommitEncoder } from "../../src/lmdb/commit-encoder.ts";
import { SimulatedDisk, SimulatedTree } from "../support/simulated-disk.ts";

function newTable(): { table: CommitTable; put: (entries: Record<string, Value>) => void } {
  const disk = new SimulatedDisk(seededRandom(1));
  const tree = new SimulatedTree(disk.mount(), () => {});
  const table = new CommitTable(tree);
  const encoder = new CommitEncoder(tree.shapes, tree.clock);
  let position = 0;
  const put = (entries: Record<string, Value>): void => {
    const encoded = encoder.atOnce(new Map(Object.entries(entries))) ?? [];
    const { plan } = table.plan(encoded);
    // What the encoder lends is copied into an entry of the journal.
    const writes = { values: encoded, beside: [] };
    writePayload(newEntry(payloadSize(writes)), PAYLOAD_START, writes);
    table.add(writes, { position: ++position, plan });
  };
  return { table, put };
}

test("[K84] only layers that an old view keeps count as retained, and only as long as it does", () => {
  const { table, put } = newTable();
  put({ a: 1 });
  table.view().release();
  table.freeze();
  table.view().release();
  table.dropFrozen();
  expect(table.retainedBytes).toBe(0);

  put({ b: 1 });
  const old = table.view();
  const layer = table.freeze();
  const [frozen, other] = [table.view(), table.view()];
  table.dropFrozen();
  expect(table.retainedBytes).toBe(layer.bytes);
  expect(table.isRetaining(old)).toBe(true);
  old.release();
  frozen.release();
  expect(table.retainedBytes).toBe(layer.bytes);
  other.release();
  expect(table.retainedBytes).toBe(0);
});

test("[K84] a view reads its own version, however often a key is written after it", () => {
  const { table, put } = newTable();
  const views = [1, 2, 3].map((n) => {
    put({ a: n, [`b${n}`]: n });
    return table.view();
  });
  table.freeze();
  put({ a: 4 });
  expect(views.map((view) => view.get("a"))).toEqual([1, 2, 3]);
  const keys = views.map((view) => {
    const walk = view.keys({ from: "a", to: "c" });
    const found: string[] = [];
    for (let step = walk.next(); step.done !== true; step = walk.next()) found.push(step.value);
    return found.join(" ");
  });
  expect(keys).toEqual(["a b1", "a b1 b2", "a b1 b2 b3"]);
  for (const view of views) view.release();
});
