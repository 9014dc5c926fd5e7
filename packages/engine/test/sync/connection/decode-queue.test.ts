/**
 * Messages that take long to read: in turns with everything else, one at a time, and each connection's
 * in the order in which they came.
 */

import type { PeerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { DecodeQueue } from "../../../src/sync/connection/decode-queue.ts";
import { openSyncServer } from "../../support/open-sync-server.ts";
import type { SyncClient } from "../../support/sync-client.ts";

/** An answer to nothing that was asked, which takes many turns to read. */
const LONG: PeerMessage = {
  t: "answer",
  id: 1,
  items: Array.from({ length: sized(200_000, 500_000) }, () => 7),
};

/** Whether the connection is read from, as it was told. */
function holdsOf(client: SyncClient): boolean[] {
  const holds: boolean[] = [];
  Object.assign(client, { hold: (isHeld: boolean) => holds.push(isHeld) });
  return holds;
}

test("[S64] later messages wait for one that takes long to decode, and no more are read", async () => {
  const { join } = await openSyncServer();
  const client = join("a");
  const other = join("b");
  const holds = holdsOf(client);
  client.say(LONG, { t: "ping", now: 1 }, LONG, { t: "ping", now: 2 });
  expect(client.rest()).toEqual([]);
  expect(holds).toEqual([true]);
  other.say({ t: "ping", now: 3 });
  expect(other.rest().map(({ t }) => t)).toEqual(["pong"]);
  const first = await client.next("pong");
  const second = await client.next("pong");
  expect([first.ping, second.ping]).toEqual([1, 2]);
  expect(holds).toEqual([true, false, true, false]);
});

test("[S64] a message that fails after long decoding ends only its own connection", async () => {
  const { join, faults, server } = await openSyncServer();
  const client = join("a");
  const other = join("b");
  client.say({ ...LONG, id: 0 }, { t: "ping", now: 1 });
  const bye = await client.next("bye");
  expect(bye.code).toBe("malformed");
  expect(client.rest()).toEqual([]);
  expect([client.isClosed, other.isClosed, faults]).toEqual([true, false, []]);
  expect(server.stats().sessions).toBe(1);
});

test("[S64] decoding stops if the connection is gone", async () => {
  const { join, platform, server, faults } = await openSyncServer();
  const client = join("a");
  const later = join("b");
  client.say(LONG);
  client.connection.closed();
  later.say(LONG, { t: "ping", now: 1 });
  await later.next("pong");
  await platform.pause();
  expect([server.stats().sessions, faults]).toEqual([1, []]);
});

test("[S64] messages that take long are decoded one at a time, also after one that fails", async () => {
  const seen: string[] = [];
  function* reading(name: string, turns: number): Generator<void, string> {
    for (let i = 0; i < turns; i++) {
      seen.push(name);
      yield;
    }
    if (name === "bad") throw new Error("expected better");
    return name;
  }
  const line = new DecodeQueue(() => Promise.resolve());
  const wanted = (): boolean => true;
  const one = line.read(reading("one", 3), wanted);
  const bad = line.read(reading("bad", 2), wanted);
  const unwanted = line.read(reading("unwanted", 2), () => false);
  const two = line.read(reading("two", 1), wanted);
  await expect(bad).rejects.toThrow("expected better");
  expect(await Promise.all([one, unwanted, two])).toEqual(["one", undefined, "two"]);
  expect(seen).toEqual(["one", "one", "one", "bad", "bad", "two"]);
});

test("[S64] messages of a closed connection leave the queue when a new one arrives, not at their turn", async () => {
  const steps: (() => void)[] = [];
  const line = new DecodeQueue(() => new Promise((resolve) => steps.push(resolve)));
  function* endless(): Generator<void, string> {
    for (;;) yield;
  }
  let isWanted = true;
  const first = line.read(endless(), () => isWanted);
  const gone = line.read(endless(), () => false);
  const last = line.read(endless(), () => isWanted);
  expect(await gone).toBeUndefined();
  isWanted = false;
  while (steps.length > 0) steps.shift()?.();
  expect(await Promise.all([first, last])).toEqual([undefined, undefined]);
});
