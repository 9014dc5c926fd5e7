/**
 * A device whose clock leapt, and whose insert was refused: what it had added to the counter of that
 * document can be sent all the same. A case that the simulator found.
 */

import { timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { DRIFT_MS_MAX } from "../../src/limits.ts";
import { outcomeOf, peerPair, take, uploadAll } from "../support/peer-pair.ts";

const DAY_MS = 86_400_000;

test("[S78] an increment on a refused insert from a day ahead is stamped by the server's clock", async () => {
  const pair = await peerPair();
  const { peer, platform } = pair;
  const place = { collection: "c", id: "a" };
  platform.nowMs += DAY_MS;
  await peer.store.transact((transaction) =>
    transaction.apply([{ kind: "insert", ...place, fields: { n: 1 } }]),
  );
  const edits = [{ kind: "increment", path: ["k"], by: 1 }] as const;
  const change = { kind: "update", ...place, edits } as const;
  await peer.store.transact((transaction) => transaction.apply([change]));
  // It was sent before the offset was known, and refused for another reason than its time.
  const [insert] = await peer.sequence(0, 1);
  if (insert === undefined) throw new Error("expected an upload");
  await take(pair, outcomeOf(insert, "refused", 1, "no"));
  await peer.fork(insert.site, insert.number + 1);
  const [upload] = await peer.sequence(-DAY_MS, 1);
  const most = timeOfMs(platform.nowMs - DAY_MS + DRIFT_MS_MAX);
  expect(upload?.steps.map(({ time }) => time <= most)).toEqual([true]);
  await uploadAll(pair, -DAY_MS);
  expect(peer.pendingCount).toBe(0);
});
