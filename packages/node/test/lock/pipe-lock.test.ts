/**
 * The lock of Windows. The pipe itself is there only on Windows; everything else runs on Linux too, on
 * a socket in the abstract namespace, which behaves alike.
 */

import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { FolderLock } from "../../src/lock/lock-holder.ts";
import { acquirePipeLock, pipeName } from "../../src/lock/pipe-lock.ts";
import { pipeStandIn } from "../support/pipe-stand-in.ts";
import { bundleScript, RunningScript, type Script } from "../support/script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isLinux = process.platform === "linux";

let script: Script;

beforeAll(async () => {
  script = await bundleScript("node/test/support/lock-script");
});

afterAll(() => script.remove());

async function acquire(folder: string): Promise<FolderLock> {
  const lock = await acquirePipeLock(folder, isLinux ? pipeStandIn : pipeName);
  onTestFinished(() => lock.release());
  return lock;
}

/** A process that waits to be asked to take the lock. */
async function starter(folder: string): Promise<RunningScript> {
  const running = new RunningScript(process.execPath, script.path, folder, "pipe");
  onTestFinished(async () => {
    running.kill();
    await running.end();
  });
  expect(await running.next()).toBe("waiting");
  return running;
}

test("the name of a pipe is a hash of the path, of a length that Windows accepts", () => {
  const name = pipeName("C:\\Users\\Ada\\data");
  expect(name).toMatch(/^\\\\\.\\pipe\\bigpeer-[0-9a-f]{32}$/);
  expect(pipeName("C:\\Users\\Ada\\data")).toBe(name);
  expect(pipeName("C:\\Users\\Ada\\data2")).not.toBe(name);
  expect(pipeName(`C:\\${"long\\".repeat(2000)}`).length).toBe(name.length);
});

test.runIf(isLinux)("of two processes the second learns which one holds the folder", async () => {
  const folder = temporaryFolder();
  const [first, second] = [await starter(folder), await starter(folder)];
  expect(await first.ask("acquire")).toBe("taken");
  const answer = await second.ask("acquire");
  const since = /since \d{4}-\d\d-\d\dT[\d:.]+Z/.exec(String(answer))?.[0];
  expect(answer).toBe(
    `the folder ${folder} is in use by process ${first.processId} (http://127.0.0.1:1, ${since})`,
  );
  expect(await first.ask("release")).toBe("released");
  expect(await second.ask("acquire")).toBe("taken");
  expect(readdirSync(folder)).toEqual([]);
});

test.runIf(isLinux)("a process that was killed holds nothing", async () => {
  const folder = temporaryFolder();
  const [first, second] = [await starter(folder), await starter(folder)];
  expect(await first.ask("acquire")).toBe("taken");
  first.kill();
  await first.end();
  expect(await second.ask("acquire")).toBe("taken");
});

test.runIf(isLinux)("of several processes at the same moment one takes the lock", async () => {
  const folder = temporaryFolder();
  const all = await Promise.all(Array.from({ length: 4 }, () => starter(folder)));
  const answers = await Promise.all(all.map((running) => running.ask("acquire")));
  expect(answers.filter((answer) => answer === "taken")).toHaveLength(1);
});

test.runIf(isLinux || process.platform === "win32")(
  "a folder that is open in this process is refused, by all its names, until it is released",
  async () => {
    const folder = join(temporaryFolder(), "data");
    mkdirSync(folder);
    const link = join(folder, "..", "link");
    symlinkSync(folder, link, "junction");
    const lock = await acquire(folder);
    for (const name of [folder, link, join(folder, "..", "data")]) {
      await expect(acquire(name)).rejects.toThrow(/ is already open in this process \(since /);
    }
    await lock.release();
    await lock.release();
    await acquire(link);
  },
);

test("a folder that does not exist, or an address that is not allowed, cannot be locked", async () => {
  const folder = join(temporaryFolder(), "none");
  const refusal = { code: "store.write_failed" };
  await expect(acquirePipeLock(folder)).rejects.toMatchObject(refusal);
  const address = join(folder, "no", "folder");
  const locking = acquirePipeLock(temporaryFolder(), () => address);
  await expect(locking).rejects.toMatchObject(refusal);
});
