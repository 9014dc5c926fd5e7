/**
 * Links of stores that were restored from a backup: what the others have comes back, and is not
 * counted once more when its writers offer it again (S30).
 */

import { type DocumentOperation, timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { renewIdentity } from "../../src/store/identity.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import {
  follow,
  followBoth,
  linkedStore,
  settled,
  shown,
  turns,
} from "../support/linked-stores.ts";
import { dump } from "../support/open-store.ts";
import { testPlatform } from "../support/test-platform.ts";

test("[D6] [S30] an increment that a link brought back counts once when its peer offers it again", async () => {
  let a = await linkedStore("a");
  const b = await linkedStore("b");
  await a.put("cars", { _id: "1" });
  const first = followBoth(b, a);
  await settled([a, b], [first]);
  const backup = new MemoryDisk();
  await new MemoryKeyValue(backup).commit(dump(a.storage));
  const operation: DocumentOperation = {
    kind: "update",
    collection: "cars",
    id: "1",
    edits: [{ kind: "increment", path: ["n"], by: 5, counter: "counter", birth: [1, SITE] }],
  };
  const time = timeOfMs(a.platform.nowMs);
  const offer = async (): Promise<void> => {
    await a.store.transact((transaction) => {
      transaction.applyForeign({ time, site: SITE }, [operation]);
    });
  };
  await offer();
  await settled([a, b], [first]);
  expect(shown(b)).toEqual({ 1: { n: 5 } });
  first.cut();
  await renewIdentity(new MemoryKeyValue(backup), a.platform);
  a = await linkedStore("a", { platform: a.platform, disk: backup });
  const second = followBoth(b, a);
  await settled([a, b], [second]);
  expect(shown(a)).toEqual({ 1: { n: 5 } });
  await offer();
  await settled([a, b], [second]);
  expect([shown(a), shown(b)]).toEqual([{ 1: { n: 5 } }, { 1: { n: 5 } }]);
});

test("[S50] [S54] the cursor written after a fill is the cursor of its end, also if the store is slow", async () => {
  const a = await linkedStore("a");
  const platform = testPlatform(77);
  const b = await linkedStore("b", { platform });
  await a.put("cars", { _id: "1", n: 1 });
  const first = follow(b, a);
  await settled([a, b], [first]);
  first.cut();
  await a.put("cars", { _id: "2", n: 1 });
  for (let day = 0; day < 8; day++) {
    for (const store of [a, b]) store.platform.nowMs += 86_400_000;
    await a.store.maintain();
  }
  // What the fill does not list is looked for when all of it has come and nothing is merged.
  Object.assign(platform, { pause: () => turns(50) });
  b.disk.holdSyncs();
  const second = follow(b, a);
  await turns(300);
  b.disk.releaseSyncs();
  await settled([a, b], [second]);
  expect(second.dial.heard.some(({ t }) => t === "complete")).toBe(true);
  second.cut();
  const third = follow(b, a);
  await settled([a, b], [third]);
  const modes = third.dial.heard.flatMap((each) => (each.t === "subscribed" ? [each.mode] : []));
  expect(modes).toEqual(["resume"]);
});

/** Of a small peer. */
const SITE = "00000000000000aa";
