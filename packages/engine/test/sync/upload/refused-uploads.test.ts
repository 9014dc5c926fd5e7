/**
 * What is remembered of uploads that were refused or put aside.
 */

import { documentId, type UploadOperation, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { finish } from "../../../src/query/frame/steps.ts";
import { REFUSED_UPLOADS_MAX, RefusedUploads } from "../../../src/sync/upload/refused-uploads.ts";

const SITE = "00000000000000aa";
const DIGEST = new Uint8Array(0);
const P = { peerKey: "p", credential: "k" };
const Q = { peerKey: "q", credential: "k" };

function upload(number: number, ...written: (readonly [collection: string, id: Value])[]) {
  const operations = written.map(
    ([collection, id]): UploadOperation => ({ kind: "delete", collection, id }),
  );
  return { site: SITE, number, digest: DIGEST, steps: [{ time: number, operations }] };
}

function record(outcome: "applied" | "refused" | "stale", txnId: number) {
  return { digest: DIGEST, txnId, outcome, reason: outcome === "refused" ? "no" : "" };
}

function numbers(all: RefusedUploads, key: string, collection: string, id: Value): number[] {
  return all.of(key, collection, documentId(id).key).map(({ number }) => number);
}

test("[S27] refused uploads are found by the peer and each document that they wrote", () => {
  const all = new RefusedUploads();
  finish(
    all.add(P, upload(1, ["c", "a"], ["c", { y: 1, x: 2 }], ["c", "a"]), record("refused", 5)),
  );
  finish(all.add(P, upload(2, ["d", "a"]), record("applied", 6)));
  finish(all.add(P, upload(3, ["c", "a"]), record("stale", 7)));
  finish(all.add(Q, { ...upload(1, ["c", "a"]), site: "00000000000000bb" }, record("refused", 8)));
  expect(all.of("p", "c", documentId("a").key)).toMatchObject([
    { peerKey: "p", site: SITE, number: 1, txn: 5, kind: "refused", reason: "no" },
    { number: 3, txn: 7, kind: "stale" },
  ]);
  expect(numbers(all, "p", "c", { x: 2, y: 1 })).toEqual([1]);
  expect(numbers(all, "p", "d", "a")).toEqual([]);
  expect(numbers(all, "q", "c", "a")).toEqual([1]);
  expect(numbers(all, "r", "c", "a")).toEqual([]);
});

test("[S25] a repeated upload is recognised", () => {
  const all = new RefusedUploads();
  for (let i = 0; i < 3; i++) finish(all.add(P, upload(1, ["c", "a"]), record("refused", 5)));
  expect(numbers(all, "p", "c", "a")).toEqual([1]);
});

test("the newest are kept, up to a number of document names", () => {
  const all = new RefusedUploads();
  for (let i = 1; i <= REFUSED_UPLOADS_MAX + 5; i++) {
    finish(all.add(P, upload(i, ["c", i]), record("refused", i)));
  }
  expect(all.count).toBe(REFUSED_UPLOADS_MAX);
  expect(numbers(all, "p", "c", 5)).toEqual([]);
  expect(numbers(all, "p", "c", 6)).toEqual([6]);
  const long = "x".repeat(3 * 1024 * 1024);
  for (let i = 1; i <= 4; i++) {
    finish(
      all.add(
        Q,
        { ...upload(i, [`${i}${long}`, "a"]), site: "00000000000000bb" },
        record("stale", i),
      ),
    );
  }
  expect(all.count).toBe(2);
});

test("an upload that names no document is refused and leaves nothing to be found", () => {
  const all = new RefusedUploads();
  const odd = upload(1, ["c", null], ["c", "a"]);
  const nameless = { kind: "delete", id: "b" } as unknown as UploadOperation;
  finish(
    all.add(
      P,
      { ...odd, steps: [...odd.steps, { time: 2, operations: [nameless] }] },
      record("refused", 1),
    ),
  );
  expect(numbers(all, "p", "c", "a")).toEqual([1]);
});

test("two different documents are not confused", () => {
  const all = new RefusedUploads();
  finish(all.add(P, upload(1, ["c/1", "a"]), record("refused", 1)));
  expect(all.of("p", "c", `1/${documentId("a").key}`)).toEqual([]);
});

test("a large upload is processed a few operations at a time, and its names are bounded", () => {
  const all = new RefusedUploads();
  let read = 0;
  let most = 0;
  const names = Array.from(
    { length: 20_000 },
    (_, i) => ["c", `${i}/${"x".repeat(1000)}`] as const,
  );
  const { steps, ...rest } = upload(1, ...names);
  const operations = steps.flatMap((step) => step.operations);
  const counted = {
    *[Symbol.iterator]() {
      for (const operation of operations) {
        most = Math.max(most, ++read);
        yield operation;
      }
    },
  } as unknown as UploadOperation[];
  const added = all.add(
    P,
    { ...rest, steps: [{ time: 1, operations: counted }] },
    record("refused", 1),
  );
  while (added.next().done !== true) read = 0;
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(64);
});
