/**
 * The target of a link by itself: when it has room, whatever becomes of what took it.
 */

import { expect, test } from "vitest";
import { LinkTarget, type TargetEvent } from "../../src/link/link-target.ts";
import { linkedStore, turns } from "../support/linked-stores.ts";

const FILTER = new Uint8Array(16).fill(3);
const QUERY = { collection: "cars", condition: "true" };

test("[S56] a query that is removed gives back the room that its sweep had taken", async () => {
  const b = await linkedStore("b");
  await b.put("cars", { _id: "1", n: 1 });
  const events: TargetEvent["kind"][] = [];
  const target = new LinkTarget({
    store: b.store,
    // Nothing that goes on in turns gets one.
    platform: { ...b.platform, pause: () => new Promise(() => {}) },
    appId: "app",
    source: "a",
    onEvent: ({ kind }) => events.push(kind),
  });
  target.follow(1, QUERY);
  target.subscribed(1, FILTER, false);
  target.complete({ t: "complete", filter: FILTER, txn: 5 });
  await turns(20);
  target.subscribed(1, FILTER, false);
  const range = { after: "0", through: "2" };
  while (!target.isFull)
    target.documents({ t: "documents", filter: FILTER, entries: [], range }, 9);
  await turns(20);
  expect([target.isFull, events]).toEqual([true, []]);
  target.unfollow(1);
  expect([target.isFull, events]).toEqual([false, ["room"]]);
});
