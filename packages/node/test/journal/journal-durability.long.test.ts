/**
 * Durability of a journaled storage in a process of its own: its system calls are watched, made to
 * fail, and it is killed. Another process reads beside it.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { bundleScript, RunningScript, type Script } from "../support/script.ts";
import { parseTrace } from "../support/system-calls.ts";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) process.stderr.write("strace is not installed: durability is not traced\n");

const COMMIT_COUNT = 30;

let script: Script;
const folders: string[] = [];

beforeAll(async () => {
  script = await bundleScript("node/test/support/storage-process");
});

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

afterAll(() => script.remove());

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-durable-"));
  folders.push(folder);
  return folder;
}

function command(home: string, mode = "read-write"): readonly [string, ...string[]] {
  return [process.execPath, script.path, home, mode, "journal"];
}

/** Writes to the journal as `j`, other synced writes and syncs as `s`, answers as `a`. */
function summarise(trace: string): string {
  const synchronous = new Set<string>();
  let summary = "";
  for (const { name, text } of parseTrace(trace)) {
    const [, descriptor = ""] = /^\w+\((\d+)</.exec(text) ?? [];
    if (name === "openat" && text.includes("O_DSYNC")) {
      synchronous.add(/ = (\d+)</.exec(text)?.[1] ?? "");
    } else if (name === "write" && text.includes('\\"ok\\"')) summary += "a";
    else if (name.endsWith("sync")) summary += "s";
    else if (/^p?writev?(64)?$/.test(name) && synchronous.has(descriptor)) {
      summary += /journal-\d+\.seg>/.test(text) ? "j" : "s";
    }
  }
  return summary;
}

test.skipIf(!hasStrace)(
  "[K79] a commit is one synced write to the journal, before its answer",
  async () => {
    const folder = newFolder();
    const calls = "trace=openat,write,writev,pwrite64,pwritev,pwritev2,fdatasync,fsync,msync";
    const tracer = ["-f", "-y", "-o", join(folder, "trace"), "-e", calls];
    const storage = new RunningScript("strace", ...tracer, ...command(join(folder, "storage")));
    for (let i = 0; i < COMMIT_COUNT; i++) {
      expect(await storage.ask(`fill ${i} ${1 + (i % 40)} ${i * 20}`)).toBe("ok");
    }
    storage.kill();
    await storage.end();
    const summary = summarise(readFileSync(join(folder, "trace"), "utf8"));
    // The tree is brought up to date meanwhile: its syncs lie anywhere.
    const [first = "", ...others] = summary.split("a").slice(0, COMMIT_COUNT);
    expect(first).toMatch(/s.*j$/);
    expect(others.map((each) => each.replaceAll("s", ""))).toEqual(others.map(() => "j"));
  },
);

interface Fault {
  readonly call: string;
  readonly error: string;
  /** The number of the call in its thread. */
  readonly when: number;
}

const FAULTS: readonly Fault[] = ["EIO", "ENOSPC"].flatMap((error) => [
  // For the space in the data file.
  { call: "write", error, when: 1 },
  ...[2, 3, 4, 5, 6, 8, 11].map((when) => ({ call: "pwrite64", error, when })),
  ...[1, 2, 3, 4].map((when) => ({ call: "fdatasync", error, when })),
  ...[1, 2].map((when) => ({ call: "fsync", error, when })),
]);

/** The same promise wherever it fails: in the journal, in its space, in the tree or in its space. */
test.skipIf(!hasStrace).each(FAULTS)(
  "[K83] if $call number $when fails with $error, nothing acknowledged is lost and nothing refused appears",
  async ({ call, error, when }) => {
    const home = join(newFolder(), "storage");
    expect(spawnSync(...asSpawn(command(home))).status).toBe(0);
    // One thread in the pool, so that its calls are counted together.
    const settings = ["-f", "-E", "UV_THREADPOOL_SIZE=1", "-o", "/dev/null"];
    const fault = ["-e", `trace=${call}`, "-e", `inject=${call}:error=${error}:when=${when}`];
    if (call === "write") fault.push("-P", join(home, "data.mdb"));
    const storage = new RunningScript("strace", ...settings, ...fault, ...command(home));
    const kept: Record<string, number> = {};
    let isAlive = true;
    try {
      for (let round = 1; round <= 12; round++) {
        const outcome = await storage.ask(`fill ${round} 20 400`);
        if (outcome === "ok") kept[round] = 20;
        else expect(["store.full", "store.write_failed"]).toContain(outcome);
        expect(await storage.ask("keys")).toEqual(kept);
      }
      await storage.end();
    } catch (failure) {
      // A page that cannot be written may end the process: see lmdb-durability.
      if (failure instanceof Error && failure.name === "AssertionError") throw failure;
      isAlive = false;
      storage.kill();
    }
    const later = new RunningScript(...command(home));
    const found = (await later.ask("keys")) as Record<string, number>;
    // The commit under way when a process ended may be there, but then whole.
    if (!isAlive) for (const round of Object.keys(found)) kept[round] ??= 20;
    expect(found).toEqual(kept);
    expect(Object.keys(kept).length).toBeGreaterThan(isAlive ? 9 : -1);
    expect(await later.ask("wrong")).toEqual([]);
    expect(await later.ask("fill 13 20 400")).toBe("ok");
    expect(await later.end()).toBe(0);
  },
);

function asSpawn([program, ...words]: readonly [string, ...string[]]): [string, string[]] {
  return [program, words];
}

test("[K81] a process that is killed at any moment leaves every acknowledged commit", async () => {
  const home = newFolder();
  let acknowledged = 0;
  for (let life = 0; life < 24; life++) {
    const storage = new RunningScript(...command(home));
    const before = acknowledged;
    try {
      for (;;) {
        if ((await storage.ask(`fill ${acknowledged + 1} 15 300`)) === "ok") acknowledged++;
        // Not before it has committed, however slow the machine: then at another moment each time.
        if (acknowledged === before + 2) setTimeout(() => storage.kill(), (life % 8) * 20);
      }
    } catch {
      // Killed.
    }
    await storage.end();
    // What reads it beside, without repairing it, finds the same as what opens it.
    const rounds: number[] = [];
    for (const mode of ["read-only", "read-write"]) {
      const reader = new RunningScript(...command(home, mode));
      const counts = (await reader.ask("keys")) as Record<string, number>;
      for (let round = 1; round <= acknowledged; round++) expect(counts[round]).toBe(15);
      rounds.push(Object.keys(counts).length);
      expect(Object.values(counts).every((count) => count === 15)).toBe(true);
      expect(await reader.ask("wrong")).toEqual([]);
      expect(await reader.end()).toBe(0);
    }
    expect(rounds[0]).toBe(rounds[1]);
    expect([acknowledged, acknowledged + 1]).toContain(rounds[0]);
    acknowledged = rounds[0] ?? 0;
  }
  expect(acknowledged).toBeGreaterThan(40);
  expect(readdirSync(home).filter((name) => name.startsWith("journal"))).toEqual([]);
});

test("[K85] a process beside sees every commit that was acknowledged before, and its copy has them", async () => {
  const folder = newFolder();
  const home = join(folder, "storage");
  const storage = new RunningScript(...command(home));
  expect(await storage.ask("fill 1 30 1000")).toBe("ok");
  const reader = new RunningScript(...command(home, "read-only"));
  for (let round = 2; round <= 150; round++) {
    expect(await storage.ask(`fill ${round} 30 1000`)).toBe("ok");
    if (round % 10 > 1) continue;
    const next = storage.ask(`fill ${(round += 1)} 30 1000`);
    const counts = (await reader.ask("keys")) as Record<string, number>;
    for (let seen = 1; seen < round; seen++) expect(counts[seen]).toBe(30);
    expect(Object.values(counts).every((count) => count === 30)).toBe(true);
    expect(await reader.ask("wrong")).toEqual([]);
    expect(await next).toBe("ok");
  }
  const copy = join(folder, "copy");
  expect(await reader.ask(`copy ${copy}`)).toBe("ok");
  const copied = new RunningScript(...command(copy));
  expect(Object.keys((await copied.ask("keys")) as object).length).toBeGreaterThanOrEqual(150);
  expect(await copied.ask("wrong")).toEqual([]);
  for (const each of [copied, reader, storage]) expect(await each.end()).toBe(0);
});
