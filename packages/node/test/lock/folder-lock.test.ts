import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { acquireFolderLock } from "../../src/lock/folder-lock.ts";
import { bundleScript, RunningScript, type Script } from "../support/script.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let script: Script;

beforeAll(async () => {
  script = await bundleScript("node/test/support/lock-script");
});

afterAll(() => script.remove());

/** A process that waits to be told to take the lock. */
async function starter(folder: string): Promise<RunningScript> {
  const running = new RunningScript(process.execPath, script.path, folder);
  onTestFinished(async () => {
    running.kill();
    await running.end();
  });
  expect(await running.next()).toBe("waiting");
  return running;
}

async function starters(count: number, folder: string): Promise<RunningScript[]> {
  return Promise.all(Array.from({ length: count }, () => starter(folder)));
}

/** Ends a process as a power cut would: nothing of its own runs any more. */
async function killHard(running: RunningScript): Promise<void> {
  running.kill();
  await running.end();
}

test("a second process learns which process holds the folder, and its address", async () => {
  const folder = temporaryFolder();
  const [first, second] = (await starters(2, folder)) as [RunningScript, RunningScript];
  expect(await first.ask("acquire")).toBe("taken");
  const answer = await second.ask("acquire");
  const since = /since \d{4}-\d\d-\d\dT[\d:.]+Z/.exec(String(answer))?.[0];
  expect(answer).toBe(
    `the folder ${folder} is in use by process ${first.processId} (http://127.0.0.1:1, ${since})`,
  );
  expect(readdirSync(folder)).toEqual(["lock"]);
});

test("a released lock leaves nothing behind and can be taken", async () => {
  const folder = temporaryFolder();
  const [first, second] = (await starters(2, folder)) as [RunningScript, RunningScript];
  expect(await first.ask("acquire")).toBe("taken");
  expect(await first.ask("release")).toBe("released");
  expect(readdirSync(folder)).toEqual([]);
  expect(await second.ask("acquire")).toBe("taken");
  expect(await second.end()).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});

test("a process that was killed holds nothing", async () => {
  const folder = temporaryFolder();
  const [first, second] = (await starters(2, folder)) as [RunningScript, RunningScript];
  expect(await first.ask("acquire")).toBe("taken");
  await killHard(first);
  expect(readdirSync(join(folder, "lock"))).toHaveLength(1);
  expect(await second.ask("acquire")).toBe("taken");
});

test.runIf(isFullSize)(
  "of many processes at the same moment exactly one takes the lock",
  async () => {
    const folder = temporaryFolder();
    for (let round = 0; round < 6; round++) {
      const all = await starters(5, folder);
      const answers = await Promise.all(all.map((running) => running.ask("acquire")));
      expect(answers.filter((answer) => answer === "taken")).toHaveLength(1);
      const winner = all[answers.indexOf("taken")];
      for (const answer of answers) {
        if (answer === "taken") continue;
        expect(answer).toContain(`is in use by process ${winner?.processId} `);
      }
      // Every second round the next starters find a free folder, else a dead lock.
      if (round % 2 === 0) await Promise.all(all.map((running) => running.end()));
      else await Promise.all(all.map(killHard));
    }
  },
);

test.runIf(isFullSize)(
  "a holder that is suspended and cannot answer still holds the lock",
  async () => {
    const folder = temporaryFolder();
    const [first, second] = (await starters(2, folder)) as [RunningScript, RunningScript];
    expect(await first.ask("acquire")).toBe("taken");
    process.kill(first.processId, "SIGSTOP");
    const answer = await second.ask("acquire");
    process.kill(first.processId, "SIGCONT");
    expect(answer).toBe(`the folder ${folder} is in use by process ${first.processId}`);
  },
);

test.runIf(isFullSize)("a folder with a very long path can be locked too", async () => {
  const folder = join(temporaryFolder(), "a".repeat(120), "ü".repeat(60));
  mkdirSync(folder, { recursive: true });
  const other = join(folder, "..", "ü".repeat(59));
  mkdirSync(other);
  const [first, second, third] = (await starters(2, folder)).concat(await starter(other)) as [
    RunningScript,
    RunningScript,
    RunningScript,
  ];
  expect(await first.ask("acquire")).toBe("taken");
  expect(await second.ask("acquire")).toContain(`is in use by process ${first.processId} (`);
  expect(await third.ask("acquire")).toBe("taken");
  await killHard(first);
  expect(await second.ask("acquire")).toBe("taken");
});

test.runIf(isFullSize)("a folder that was moved while it is locked stays locked", async () => {
  const parent = temporaryFolder();
  mkdirSync(join(parent, "a"));
  const lock = await acquireFolderLock(join(parent, "a"));
  renameSync(join(parent, "a"), join(parent, "b"));
  await expect(acquireFolderLock(join(parent, "b"))).rejects.toMatchObject({
    code: "store.in_use",
  });
  await lock.release();
});

test("a process that asks and never hangs up does not keep the lock from being released", async () => {
  const folder = temporaryFolder();
  const lock = await acquireFolderLock(folder);
  const [name = ""] = readdirSync(join(folder, "lock"));
  const asking = connect({ path: join(folder, "lock", name), allowHalfOpen: true });
  onTestFinished(() => void asking.destroy());
  expect(String(await once(asking, "data"))).toContain(`"pid":${process.pid}`);
  await lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("a file in the lock that is not a socket is not a holder", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "lock"));
  writeFileSync(join(folder, "lock", "99-abc.sock"), "");
  const lock = await acquireFolderLock(folder);
  await lock.release();
  await lock.release();
  expect(existsSync(join(folder, "lock"))).toBe(false);
});

test("a folder that does not exist cannot be locked", async () => {
  const folder = join(temporaryFolder(), "none");
  await expect(acquireFolderLock(folder)).rejects.toMatchObject({ code: "store.write_failed" });
});
