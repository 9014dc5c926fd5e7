/**
 * The simulator with attachments, over a few seeds.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { simulateAttachments } from "./attachment-simulation.ts";

const SEEDS = sized(2, 20);

test("[S90] contents are uploaded before their documents, and arrive whole, whatever happens on the way", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const report = await simulateAttachments(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  for (const name of ["content created", "document with a content uploaded", "transfer cut"]) {
    expect(counts.get(name), name).toBeGreaterThan(SEEDS);
  }
  expect(counts.get("content fetched")).toBeGreaterThan(SEEDS);
});

/** In these a server is restored that had answered for contents. A change of the order of events needs others. */
const RESTORED_SEEDS = [141, 142];

test.runIf(isFullSize)(
  "[S30] [S90] contents of answered writes that a restored server lacks are uploaded again",
  async () => {
    let lost = 0;
    for (const seed of RESTORED_SEEDS) {
      const { counts } = await simulateAttachments(seed);
      lost += counts.get("content lost by the server") ?? 0;
    }
    expect(lost).toBeGreaterThan(0);
  },
);
