/**
 * What a peer forgets, and what it must not, whatever its clock shows.
 */

import { expect, test } from "vitest";
import { HORIZON_MS } from "../../src/limits.ts";
import { KEPT_MS } from "../../src/peer/outcome.ts";
import { edit, increment, insert } from "../support/document-operation.ts";
import { fieldsOf, problems } from "../support/open-store.ts";
import {
  ALL,
  APP,
  counterAt,
  peerPair,
  RIGHTS,
  reopen,
  send,
  serverWrite,
  uploadAll,
  welcome,
  write,
} from "../support/peer-pair.ts";

const HOUR = 3_600_000;

test("[S34] UNSETs of the server stay until the server forgets them: later increments are not lost", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  for (const operation of [
    insert("a"),
    increment("a", 5),
    edit("a", { kind: "unset", path: ["k"] }),
  ]) {
    await serverWrite(pair, operation);
  }
  await send(pair, key, "a");
  const right = pair.platform.nowMs;
  for (let i = 1; i <= 3; i++) {
    pair.platform.nowMs = right + i * HORIZON_MS;
    await write(pair, insert(`b${i}`));
    await pair.peer.maintain();
  }
  pair.platform.nowMs = right;
  await write(pair, increment("a", 2));
  await uploadAll(pair);
  expect(counterAt(pair)).toBe(2);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 2 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S30] uploads are kept for a restored server by its clock, not by the device's (seed 802201)", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await write(pair, increment("a", 1));
  await uploadAll(pair);
  const right = pair.platform.nowMs;
  // A year ahead, before and after the server has said so, and in a process that has not heard it.
  pair.platform.nowMs = right + 52 * KEPT_MS;
  await pair.peer.maintain();
  await welcome(pair, RIGHTS, -52 * KEPT_MS);
  await pair.peer.maintain();
  await reopen(pair);
  pair.platform.nowMs += 52 * KEPT_MS;
  await pair.peer.maintain();
  const history = "restored";
  await pair.peer.welcome({ history, app: APP, rights: RIGHTS, offsetMs: -104 * KEPT_MS });
  await pair.peer.reoffer(pair.peer.site, 0);
  expect(pair.peer.sequenced().map(({ number }) => number)).toEqual([1, 2]);
  await uploadAll(pair);
  pair.platform.nowMs = right + KEPT_MS + HOUR;
  await welcome(pair);
  await pair.peer.maintain();
  const { site } = pair.peer;
  await pair.peer.reoffer(site, 1);
  expect(pair.peer.sequenced()).toEqual([]);
  expect(pair.peer.site).not.toBe(site);
  expect(problems(pair.storage)).toEqual([]);
});
