import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { START_MS, testPlatform } from "../../engine/test/support/test-platform.ts";
import { startMaintenance } from "../src/maintenance.ts";
import { createStore, type StoreFolder } from "../src/store-folder.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const DAY_MS = 86_400_000;

async function insert({ store }: StoreFolder, id: string): Promise<void> {
  await store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id, fields: {} }]);
  });
}

function floorOf({ store }: StoreFolder): number {
  return store.read((snapshot) => snapshot.head.floor);
}

test("every store forgets what its retention allows, at the start and later", async () => {
  const platform = testPlatform();
  const host = { ...testHost(), platform };
  const one = await createStore(join(temporaryFolder(), "one"), host);
  const two = await createStore(join(temporaryFolder(), "two"), host);
  for (const opened of [one, two]) await insert(opened, "blue");
  platform.nowMs = START_MS + 8 * DAY_MS;
  for (const opened of [one, two]) await insert(opened, "green");
  const maintenance = startMaintenance([one, two], { log: host.log, everyMs: 20 });
  await vi.waitFor(() => expect([floorOf(one), floorOf(two)]).toEqual([1, 1]));
  const before = floorOf(one);
  platform.nowMs += 8 * DAY_MS;
  await insert(one, "red");
  await vi.waitFor(() => expect(floorOf(one)).toBeGreaterThan(before));
  await maintenance.stop();
  await one.close();
  await two.close();
  expect(host.lines).toEqual([]);
});

test("what fails is logged, does not stop the others, and is tried again", async () => {
  const platform = testPlatform();
  const stopped = testPlatform();
  const host = { ...testHost(), platform };
  const broken = await createStore(join(temporaryFolder(), "broken"), {
    ...host,
    platform: stopped,
  });
  const other = await createStore(join(temporaryFolder(), "other"), host);
  for (const opened of [broken, other]) await insert(opened, "blue");
  platform.nowMs += 8 * DAY_MS;
  await insert(other, "green");
  stopped.now = () => {
    throw new Error("the clock does not answer");
  };
  const maintenance = startMaintenance([broken, other], { log: host.log, everyMs: 20 });
  await vi.waitFor(() => expect(host.lines.length).toBeGreaterThan(1));
  expect(host.lines[0]).toContain(`error maintenance of ${broken.folder} failed`);
  expect(host.lines[0]).toContain("the clock does not answer");
  await vi.waitFor(() => expect(floorOf(other)).toBeGreaterThan(0));
  await maintenance.stop();
  await broken.close();
  await other.close();
});

test("a pass that meets the closing of its store ends without a word", async () => {
  const platform = testPlatform();
  const host = { ...testHost(), platform };
  const opened = await createStore(join(temporaryFolder(), "store"), host);
  await insert(opened, "blue");
  platform.nowMs += 8 * DAY_MS;
  const maintenance = startMaintenance([opened], { log: host.log });
  await maintenance.stop();
  await opened.close();
  expect(host.lines).toEqual([]);
});
