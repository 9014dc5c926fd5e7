/**
 * What a delta may be put on: a store that has forgotten the UNSETs of a document no longer knows what
 * those hold who got it before (seed 503717).
 */

import { expect, test } from "vitest";
import { stateToBytes } from "../../../src/crdt/state-codec.ts";
import { DEFAULT_RETENTION } from "../../../src/store/maintenance.ts";
import { openStreams, turns } from "../../support/open-streams.ts";

const DAY = 86_400_000;

test("[S18] a document whose UNSETs may be forgotten is sent whole: new increments count for all peers", async () => {
  const retention = { ...DEFAULT_RETENTION, logAgeMs: DAY, horizonMs: DAY };
  const { put, execute, store, platform, follow } = await openStreams({ store: { retention } });
  const text = "x".repeat(5000);
  await put("cars", { _id: "a", text });
  await execute("UPDATE cars APPLY n INCREMENT BY 5");
  await execute("UPDATE cars UNSET n");
  const { receiver, subscription } = await follow("SELECT * FROM cars");
  for (let day = 0; day < 3; day++) {
    platform.nowMs += DAY;
    await put("others", { _id: day });
    await store.maintain();
    await turns();
  }
  await execute("UPDATE cars APPLY n INCREMENT BY 2");
  await turns();
  await execute("UPDATE cars APPLY n INCREMENT BY 1");
  await turns();
  const kinds = receiver
    .ofKind("documents")
    .flatMap(({ entries }) => entries.map(([kind]) => kind));
  // The first of them brings all up to one state; from there a delta does.
  expect(kinds).toEqual(["put", "put", "delta"]);
  expect(subscription.fields).toEqual({ a: { text, n: 3 } });
  const [held] = subscription.held.values();
  const kept = store.read((snapshot) => snapshot.state("cars", "a"));
  expect(held && stateToBytes(held.state)).toEqual(stateToBytes(kept.state));
});
