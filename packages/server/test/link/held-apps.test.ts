/**
 * Which apps a node of a cluster keeps open for their links.
 */

import { expect, test } from "vitest";
import { turns } from "../../../engine/test/support/linked-stores.ts";
import type { AppUse } from "../../src/apps/open-apps.ts";
import { HeldApps } from "../../src/link/held-apps.ts";

function heldApps() {
  const clock = { nowMs: 0 };
  const failing = new Set<string>();
  const events: string[] = [];
  const held = new HeldApps({
    elapsed: () => clock.nowMs,
    fault: (id) => events.push(`failed ${id}`),
    use: async (id) => {
      if (failing.has(id)) throw new Error("too many open files");
      events.push(`opened ${id}`);
      return { release: () => events.push(`released ${id}`) } as unknown as AppUse;
    },
  });
  const eventsAt = async (nowMs: number): Promise<string[]> => {
    clock.nowMs = nowMs;
    held.tick();
    await turns();
    return events.splice(0);
  };
  return { held, failing, eventsAt };
}

test("apps with links are opened once, and released when they have none", async () => {
  const { held, eventsAt } = heldApps();
  held.hold(["a", "b"]);
  held.hold(["a", "b"]);
  expect(await eventsAt(0)).toEqual(["opened a", "opened b"]);
  held.hold(["b"]);
  held.closing("a");
  expect(await eventsAt(60_000)).toEqual(["released a"]);
});

test("an app that cannot be opened is opened later", async () => {
  const { held, failing, eventsAt } = heldApps();
  failing.add("a");
  held.hold(["a", "b"]);
  expect(await eventsAt(0)).toEqual(["opened b", "failed a"]);
  expect(await eventsAt(10_000)).toEqual(["failed a"]);
  failing.clear();
  expect(await eventsAt(19_999)).toEqual([]);
  expect(await eventsAt(20_000)).toEqual(["opened a"]);
  expect(await eventsAt(60_000)).toEqual([]);
});

test("an app that was closed is released and opened again, unless it has no links any more", async () => {
  const { held, eventsAt } = heldApps();
  held.hold(["a", "b"]);
  await eventsAt(0);
  held.closing("a");
  held.closing("b");
  expect(await eventsAt(1_000)).toEqual(["released a", "released b"]);
  held.hold(["a"]);
  expect(await eventsAt(2_000)).toEqual(["opened a"]);
  expect(await eventsAt(60_000)).toEqual([]);
});
