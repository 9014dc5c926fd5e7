import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Position } from "../../src/changes/cursor.ts";
import { DocumentImages } from "../../src/changes/document-images.ts";
import {
  byTransaction,
  CHUNK_BOUNDS,
  type ChangeChunk,
  readChunk,
} from "../../src/changes/logged-changes.ts";
import type { Steps } from "../../src/steps.ts";
import { openStore } from "../support/open-store.ts";

function run<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

test("[C11] small changes of large documents come in chunks whose documents are bounded", async () => {
  const { store } = await openStore();
  const text = "x".repeat(100_000);
  const write = (...operations: Operation[]): Promise<unknown> =>
    store.transact((transaction) => transaction.apply(operations));
  const ids = Array.from({ length: 20 }, (_, id) => id);
  for (const id of ids) await write({ kind: "insert", collection: "cars", id, fields: { text } });
  const edits = [{ kind: "set", path: ["n"], value: 1 }] as const;
  await write(...ids.map((id): Operation => ({ kind: "update", collection: "cars", id, edits })));
  const snapshot = store.snapshot();
  const source = { snapshot, images: new DocumentImages(), isWanted: () => true };
  const bounds = { ...CHUNK_BOUNDS, imageBytes: 500_000 };
  const found: unknown[] = [];
  let from: Position = { txnId: ids.length };
  for (let isEnded = false; !isEnded; ) {
    const chunk: ChangeChunk = run(readChunk(source, from, bounds));
    expect(chunk.changes.length).toBeLessThanOrEqual(2);
    for (const transaction of byTransaction(chunk, from)) {
      for (const { id, before, after } of transaction.changes) {
        found.push([id, before?.fields["n"], after?.fields["n"]]);
      }
      isEnded = transaction.isEnded;
    }
    from = chunk.through;
  }
  expect(found).toEqual(ids.map((id) => [id, undefined, 1]));
  expect(from).toEqual({ txnId: ids.length + 1 });
  snapshot.close();
});
