/**
 * Writes of any size are evaluated in slices: whatever kind they are, no piece of one is longer than a
 * slice, and everything else has its turn in between. The clock counts reads of the storage.
 */

import type { UploadOperation } from "@bigpeer/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { SLICE_MS } from "../../src/limits.ts";
import type { WriteCommand } from "../../src/query/command/command.ts";
import { uploadChecker } from "../../src/query/mutate/checked-upload.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { authorityOf } from "../support/caller.ts";
import { type CountedStore, MS_PER_READ, openCounted } from "../support/counted-store.ts";
import { problems } from "../support/open-store.ts";
import { SiteUploads } from "../support/site-uploads.ts";

/** Reads of the last slice of a choice and of the first in the queue, and what single steps may add. */
const PIECE_MAX = 2 * (SLICE_MS / MS_PER_READ) + 40;

/** What a query inside of an expression may do before it goes on in slices. */
const WORK_AT_ONCE = 4096;

const COUNT = 400;

let open: CountedStore;
let runner: StatementRunner;

async function fill(collection: string, count: number): Promise<void> {
  await open.store.transact((transaction) => {
    transaction.apply(
      Array.from({ length: count }, (_, n) => {
        return { kind: "insert", collection, id: n, fields: { n, even: n % 2 === 0 } } as const;
      }),
    );
  });
}

beforeEach(async () => {
  open = await openCounted();
  runner = new StatementRunner({ store: open.store, platform: open.platform, appId: "app" });
  await fill("c", COUNT);
  await fill("d", 40);
  open.work.takeLongest();
});

function inSlices(readsMin: number, pieceMax = PIECE_MAX): void {
  expect(open.work.takeLongest()).toBeLessThanOrEqual(pieceMax);
  expect(open.work.reads).toBeGreaterThan(readsMin);
  expect(problems(open.storage)).toEqual([]);
}

describe("[K34] statements", () => {
  test.each([
    ["UPDATE c SET x = n + 1", COUNT],
    ["UPDATE c SET x = 1 WHERE even RETURNING _id", COUNT / 2],
    ["DELETE FROM c WHERE n >= 10", COUNT - 10],
    ["EVICT FROM c", COUNT],
    ["DELETE FROM c WHERE n > 3 ORDER BY n DESC LIMIT 250", 250],
    ["INSERT INTO e SELECT _id, n FROM c", COUNT],
    ["INSERT INTO c DOCUMENTS (:documents) ON ID CONFLICT DO NOTHING", 0],
    ["INSERT INTO c DOCUMENTS (:documents) ON ID CONFLICT DO UPDATE", COUNT],
  ])("%s", async (statement, count) => {
    const documents = Array.from({ length: COUNT }, (_, n) => ({ _id: n, x: "new" }));
    const args = statement.includes(":documents") ? { documents } : {};
    const { mutatedDocumentIds } = await runner.execute({ statement, args, timeoutMs: 1e9 });
    expect(mutatedDocumentIds).toHaveLength(count);
    inSlices(COUNT);
  });

  test("with a join in a subquery for each row, which may do some work at once", async () => {
    const count = sized(100, 300);
    await fill("e", count);
    open.work.takeLongest();
    const pairs = "SELECT 1 FROM e AS a JOIN e AS b ON a.n < b.n WHERE a.n = b.n + c.n";
    const statement = `UPDATE c SET x = 1 WHERE n < 9 AND NOT EXISTS (${pairs})`;
    const { mutatedDocumentIds } = await runner.execute({ statement, timeoutMs: 1e9 });
    expect(mutatedDocumentIds).toHaveLength(9);
    inSlices(18 * count, PIECE_MAX + WORK_AT_ONCE);
  });

  test("of a caller with limited permissions", async () => {
    const authority = authorityOf({ c: ["n >= 0"] }, { c: ["n >= 0"] });
    const statement = "UPDATE c SET x = 1 WHERE n >= 0";
    const { mutatedDocumentIds } = await runner.execute({ statement, authority });
    expect(mutatedDocumentIds).toHaveLength(COUNT);
    inSlices(3 * COUNT);
  });

  test("several that commit together", async () => {
    const transaction = runner.open();
    transaction.execute({ statement: "UPDATE c SET x = n" });
    open.work.takeLongest();
    expect(await transaction.commit()).toBeGreaterThan(0);
    inSlices(COUNT);
  });
});

describe("[K34] batches", () => {
  test("of many commands", async () => {
    const commands = Array.from({ length: COUNT }, (_, n): WriteCommand => {
      return { method: "upsert", collection: "c", id: n, value: { x: n } };
    });
    const { results } = await runner.write({ commands });
    expect(results).toHaveLength(COUNT);
    inSlices(COUNT);
  });

  test("of commands on many documents", async () => {
    const { results } = await runner.write({
      commands: [
        {
          method: "update",
          collection: "c",
          query: "n >= 0",
          commands: [{ method: "set", path: "x", value: 1 }],
        },
        { method: "remove", collection: "c", query: "even" },
      ],
    });
    expect(results).toMatchObject([{ updated: COUNT }, { deleted: COUNT / 2 }]);
    inSlices(COUNT);
  });
});

describe("[K34] uploads", () => {
  const inserts = Array.from({ length: COUNT }, (_, n): UploadOperation => {
    return { kind: "insert", collection: "u", id: n, fields: { n } };
  });

  test("of many operations", async () => {
    const upload = new SiteUploads(open.platform).next(...inserts);
    expect(await takeUpload(open.store, upload)).toMatchObject({ record: { outcome: "applied" } });
    inSlices(COUNT);
  });

  test("of many operations with permission checks", async () => {
    const authority = authorityOf({ u: ["n >= 0"] }, { u: ["n >= 0"] });
    const checker = uploadChecker({ ...open, appId: "app", authority: () => authority });
    const upload = new SiteUploads(open.platform).ofSteps(inserts, inserts);
    const answer = await takeUpload(open.store, upload, checker);
    expect(answer).toMatchObject({ record: { outcome: "applied" } });
    inSlices(COUNT);
  });

  test("of many operations, the last of which is refused", async () => {
    const authority = authorityOf({ u: ["true"] }, { u: [`n < ${COUNT - 1}`] });
    const checker = uploadChecker({ ...open, appId: "app", authority: () => authority });
    const upload = new SiteUploads(open.platform).next(...inserts);
    const answer = await takeUpload(open.store, upload, checker);
    expect(answer).toMatchObject({ record: { outcome: "refused" } });
    inSlices(COUNT);
  });
});
