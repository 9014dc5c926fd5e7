/**
 * The world of a run on its own: time and its order, the network and what goes wrong with it, disks
 * that lose what was not synced.
 */

import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import type { Channel } from "../../src/platform.ts";
import { seededRandom } from "../support/test-platform.ts";
import { Scheduler } from "./scheduler.ts";
import { type End, type Receiver, type SimConnection, SimNetwork } from "./sim-network.ts";
import { Life, SimNode } from "./sim-node.ts";

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/** A client and a server that note what they hear. */
class Place implements Receiver {
  readonly heard: string[] = [];
  readonly scheduler: Scheduler;
  readonly network: SimNetwork;
  readonly serverHeard: string[] = [];
  readonly ends: End[] = [];
  readonly life: Life;
  channel: Channel | undefined;

  constructor(seed: number) {
    this.scheduler = new Scheduler(seededRandom(seed), false);
    this.life = new Life(this.scheduler);
    const { life } = this;
    this.network = new SimNetwork(this.scheduler, {
      accept: (end) => {
        const number = this.ends.push(end);
        const hear = (text: string): void => void this.serverHeard.push(`${number} ${text}`);
        const receiver: Receiver = {
          message: (bytes) => hear(textOf(bytes)),
          drained: () => hear("drained"),
          closed: () => hear("closed"),
        };
        return { receiver, life };
      },
    });
  }

  dial(): { close(): void } {
    return this.network.dial("client", this.life, {
      opened: (channel) => {
        this.channel = channel;
        this.heard.push("opened");
      },
      message: (bytes) => this.message(bytes),
      closed: () => this.closed(),
    });
  }

  message(bytes: Uint8Array): void {
    this.heard.push(textOf(bytes));
  }

  drained(): void {
    this.heard.push("drained");
  }

  closed(): void {
    this.heard.push("closed");
  }

  connection(): SimConnection {
    const [connection] = this.network.connections;
    if (connection === undefined) throw new Error("there is no connection");
    return connection;
  }
}

test("events happen in the order of their times, and promises settle between them", async () => {
  const scheduler = new Scheduler(seededRandom(1), false);
  const seen: string[] = [];
  scheduler.after(2, () => seen.push("second"));
  scheduler.after(1, () => {
    seen.push("first");
    void Promise.resolve()
      .then(() => undefined)
      .then(() => seen.push("its promise"));
  });
  const cancel = scheduler.after(1.5, () => seen.push("never"));
  scheduler.after(2, () => seen.push("third"));
  cancel();
  await scheduler.runFor(10);
  expect(seen).toEqual(["first", "its promise", "second", "third"]);
  expect(scheduler.now).toBe(10);
});

test("a connection delivers all messages in order, and ends after the last one", async () => {
  for (let seed = 1; seed <= histories(20); seed++) {
    const place = new Place(seed);
    place.dial();
    await place.scheduler.runFor(200);
    const sent = Array.from({ length: 30 }, (_, i) => `message ${i}`);
    for (const text of sent) place.channel?.send(bytesOf(text));
    place.channel?.close();
    await place.scheduler.runFor(20_000);
    const arrived = sent.map((text) => `1 ${text}`);
    expect(place.serverHeard).toEqual([...arrived, "1 closed"]);
    expect(place.heard).toEqual(["opened", "closed"]);
    expect(place.network.connections.size).toBe(0);
  }
});

test("a cut loses messages under way; a late cut delivers them when there is another connection", async () => {
  const place = new Place(3);
  place.dial();
  await place.scheduler.runFor(200);
  place.channel?.send(bytesOf("lost"));
  place.connection().cut("both");
  await place.scheduler.runFor(1000);
  expect(place.serverHeard).toEqual(["1 closed"]);
  place.dial();
  await place.scheduler.runFor(200);
  const [old] = place.network.connections;
  place.channel?.send(bytesOf("late"));
  await place.scheduler.runFor(0.05);
  old?.cut("late");
  place.dial();
  await place.scheduler.runFor(60_000);
  expect(place.serverHeard.filter((text) => text !== "2 drained")).toEqual([
    "1 closed",
    "2 late",
    "2 closed",
  ]);
  expect(place.heard).toEqual(["opened", "closed", "opened", "closed", "opened"]);
});

test('a cut of the kind "neither" is reported to neither side', async () => {
  const place = new Place(4);
  place.dial();
  await place.scheduler.runFor(200);
  place.connection().cut("neither");
  place.channel?.send(bytesOf("into the dark"));
  await place.scheduler.runFor(100_000);
  expect(place.serverHeard).toEqual([]);
  expect(place.heard).toEqual(["opened"]);
});

test("nothing passes a partition, and everything arrives when it is healed", async () => {
  const place = new Place(5);
  place.dial();
  await place.scheduler.runFor(200);
  place.network.partition("client");
  place.channel?.send(bytesOf("held"));
  await place.scheduler.runFor(5000);
  expect(place.serverHeard).toEqual([]);
  place.channel?.send(bytesOf("on its way"));
  await place.scheduler.runFor(0.1);
  place.network.heal("client");
  // What is sent now does not pass it.
  place.channel?.send(bytesOf("behind it"));
  await place.scheduler.runFor(5000);
  expect(place.serverHeard).toEqual(["1 held", "1 on its way", "1 behind it"]);
});

test("messages that a slow reader does not take are queued", async () => {
  const place = new Place(6);
  place.dial();
  await place.scheduler.runFor(200);
  const [end] = place.ends;
  place.connection().down.stall(place.scheduler.now + 1000);
  for (let i = 0; i < 10; i++) end?.send(new Uint8Array(100));
  expect(end?.queuedBytes).toBe(1000);
  await place.scheduler.runFor(900);
  expect(end?.queuedBytes).toBe(1000);
  await place.scheduler.runFor(1000);
  expect(end?.queuedBytes).toBe(0);
  expect(place.heard).toHaveLength(11);
  expect(place.serverHeard).toEqual(["1 drained"]);
});

test("a dead process receives nothing and does nothing that it scheduled", async () => {
  const place = new Place(7);
  place.dial();
  await place.scheduler.runFor(200);
  place.ends[0]?.send(bytesOf("too late"));
  place.life.after(1, () => place.heard.push("planned"));
  place.life.isAlive = false;
  await place.scheduler.runFor(1000);
  expect(place.heard).toEqual(["opened"]);
});

test("a crash loses or keeps an unsynced write, and the next process finds all earlier ones", async () => {
  const found = new Set<string>();
  for (let seed = 1; seed <= histories(40); seed++) {
    const scheduler = new Scheduler(seededRandom(seed), false);
    const node = new SimNode("disk", scheduler, seed);
    const storage = node.storage();
    const reported: string[] = [];
    void storage.commit(new Map([["a", 1]])).then(() => reported.push("a"));
    await scheduler.runUntil(() => reported.length === 1, 1000);
    node.writesToCrash = 0;
    node.onPowerLoss = () => node.crash();
    void storage.commit(new Map([["b", 2]])).then(() => reported.push("b"));
    await scheduler.runFor(1000);
    const snapshot = node.storage().snapshot();
    expect(snapshot.get("a")).toBe(1);
    if (reported.includes("b")) expect(snapshot.get("b")).toBe(2);
    found.add(`${reported.includes("b")} ${snapshot.has("b")}`);
  }
  expect([...found].sort()).toEqual(["false false", "false true", "true true"]);
});

test("a copy of a disk is independent of it", async () => {
  const scheduler = new Scheduler(seededRandom(1), false);
  const node = new SimNode("disk", scheduler, 1);
  void node.storage().commit(new Map([["a", 1]]));
  await scheduler.runFor(1000);
  const copy = await node.copyOfDisk();
  void node.storage().commit(new Map([["a", 2]]));
  await scheduler.runFor(1000);
  expect([copy.state.get("a"), node.disk.state.get("a")]).toEqual([1, 2]);
});
