import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Snapshot } from "@bigpeer/engine";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { bundleScript, RunningScript, type Script } from "../support/script.ts";
import { type Call, parseTrace } from "../support/system-calls.ts";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) process.stderr.write("strace is not installed: durability is not traced\n");

const COMMIT_COUNT = 30;

let script: Script;

beforeAll(async () => {
  script = await bundleScript("node/test/support/storage-process");
});

afterAll(() => script.remove());

/** The calls on the data file, as one letter each: w pages, s sync, m meta page; a is an answer. */
function summarise(calls: readonly Call[]): string {
  const synchronous = new Set<string>();
  let summary = "";
  for (const { name, text } of calls) {
    const isData = text.includes("/data.mdb>");
    const [, descriptor = ""] = /^\w+\((\d+)</.exec(text) ?? [];
    if (name === "openat" && isData && text.includes("O_DSYNC")) {
      synchronous.add(/ = (\d+)</.exec(text)?.[1] ?? "");
    } else if (name === "write" && text.includes('\\"ok\\"')) summary += "a";
    else if (isData && / = -1 /.test(text)) summary += "!";
    else if (isData && name.endsWith("sync")) summary += "s";
    else if (isData && /^p?writev?(64)?$/.test(name))
      summary += synchronous.has(descriptor) ? "m" : "w";
  }
  return summary;
}

async function withStorage(
  tracer: (folder: string) => string[],
  body: (storage: RunningScript, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-trace-"));
  const command = [process.execPath, script.path, join(folder, "storage"), "read-write"];
  const storage = new RunningScript("strace", "-f", ...tracer(folder), ...command);
  try {
    await body(storage, folder);
  } finally {
    storage.kill();
    rmSync(folder, { recursive: true });
  }
}

test.skipIf(!hasStrace)("every commit is synced twice before it is acknowledged", async () => {
  const calls = "trace=openat,write,writev,pwrite64,pwritev,pwritev2,fdatasync,fsync,msync";
  const tracer = (folder: string): string[] => ["-y", "-o", join(folder, "trace"), "-e", calls];
  await withStorage(tracer, async (storage, folder) => {
    for (let i = 0; i < COMMIT_COUNT; i++) {
      expect(await storage.ask(`fill ${i} ${1 + (i % 40)} ${i * 100}`)).toBe("ok");
    }
    expect(await storage.end()).toBe(0);
    const summary = summarise(parseTrace(readFileSync(join(folder, "trace"), "utf8")));
    // First the storage is created: its two meta pages, then a commit for each of its two trees.
    // Then per commit: pages, one fdatasync, one synchronous write of a meta page, the answer.
    expect(summary).toMatch(new RegExp(`^w(w+sm){2}(w+sma){${COMMIT_COUNT}}$`));
  });
});

interface Fault {
  readonly call: string;
  readonly error: string;
  /** The number of the call on the data file, in the thread that writes. */
  readonly when: number;
}

/** A storage that was created without faults, and meets one after it is opened again. */
function tracerOf({ call, error, when }: Fault): (folder: string) => string[] {
  return (folder) => {
    const home = join(folder, "storage");
    expect(spawnSync(process.execPath, [script.path, home, "read-write"]).status).toBe(0);
    // One thread in the pool, so that its calls are counted together.
    const settings = ["-P", join(home, "data.mdb"), "-E", "UV_THREADPOOL_SIZE=1"];
    const fault = ["-e", `trace=${call}`, "-e", `inject=${call}:error=${error}:when=${when}`];
    return [...settings, "-o", "/dev/null", ...fault];
  };
}

// write is called for the room of the first commit. pwrite64 is first called for the meta page of that
// commit; then for a page and the meta page of the second commit.
const FAULTS: readonly Fault[] = ["EIO", "ENOSPC"].flatMap((error) => [
  { call: "write", error, when: 1 },
  ...[1, 3].map((when) => ({ call: "pwrite64", error, when })),
  ...[1, 2, 3, 5].map((when) => ({ call: "fdatasync", error, when })),
]);

test.skipIf(!hasStrace).each(FAULTS)(
  "if $call number $when fails with $error, one commit is refused and the others are kept",
  async (fault) => {
    await withStorage(tracerOf(fault), async (storage) => {
      const outcomes: unknown[] = [];
      const kept: Record<string, number> = {};
      for (let round = 1; round <= 10; round++) {
        const outcome = await storage.ask(`fill ${round} 20 400`);
        outcomes.push(outcome);
        if (outcome === "ok") kept[round] = 20;
        expect(await storage.ask("keys")).toEqual(kept);
      }
      const refusal = fault.error === "ENOSPC" ? "store.full" : "store.write_failed";
      expect(outcomes.filter((outcome) => outcome !== "ok")).toEqual([refusal]);
      expect(await storage.ask("reopen")).toBe("ok");
      expect(await storage.ask("keys")).toEqual(kept);
      expect(await storage.ask("wrong")).toEqual([]);
      expect(await storage.end()).toBe(0);
    });
  },
);

// When a page cannot be written, lmdb 3.5.6 writes its message into a buffer that is too small for
// it, and the process may die of that. Room is taken before each commit so that this does not
// happen on a full disk; on a broken one it may. What was acknowledged is kept all the same.
test.skipIf(!hasStrace)("if a page cannot be written, nothing acknowledged is lost", async () => {
  const fault = { call: "pwrite64", error: "EIO", when: 2 };
  await withStorage(tracerOf(fault), async (storage, folder) => {
    const kept: Record<string, number> = {};
    let refusedCount = 0;
    try {
      for (let round = 1; round <= 10; round++) {
        if ((await storage.ask(`fill ${round} 20 400`)) === "ok") kept[round] = 20;
        else refusedCount++;
      }
      await storage.end();
    } catch {
      refusedCount++;
    }
    expect(refusedCount).toBe(1);
    const home = join(folder, "storage");
    const later = new RunningScript(process.execPath, script.path, home, "read-write");
    expect(await later.ask("keys")).toEqual(kept);
    expect(await later.ask("wrong")).toEqual([]);
    expect(await later.ask("fill 11 20 400")).toBe("ok");
    expect(await later.end()).toBe(0);
  });
});

test("a process that is killed at any moment leaves every acknowledged commit", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-kill-"));
  const command = [script.path, folder, "read-write"];
  let acknowledged = 0;
  for (let life = 0; life < 12; life++) {
    const storage = new RunningScript(process.execPath, ...command);
    const before = acknowledged;
    try {
      for (;;) {
        if ((await storage.ask(`fill ${acknowledged + 1} 15 300`)) === "ok") acknowledged++;
        // Not before it has committed, however slow the machine: then at another moment each time.
        if (acknowledged === before + 2) setTimeout(() => storage.kill(), life * 37);
      }
    } catch {
      // Killed.
    }
    await storage.end();
    const reader = new RunningScript(process.execPath, ...command);
    const counts = (await reader.ask("keys")) as Record<string, number>;
    for (let round = 1; round <= acknowledged; round++) expect(counts[round]).toBe(15);
    // The commit under way may be there, but then whole.
    const rounds = Object.keys(counts).length;
    expect(rounds === acknowledged || rounds === acknowledged + 1).toBe(true);
    expect(Object.values(counts).every((count) => count === 15)).toBe(true);
    expect(await reader.ask("wrong")).toEqual([]);
    expect(await reader.end()).toBe(0);
    acknowledged = rounds;
  }
  expect(acknowledged).toBeGreaterThan(20);
  rmSync(folder, { recursive: true });
});

test("more snapshots than LMDB readers are a transient error", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-readers-"));
  const storage = openLmdb(folder);
  const held: Snapshot[] = [];
  let failure: unknown;
  for (let i = 0; i < 1100 && failure === undefined; i++) {
    await storage.commit(new Map([["a", i]]));
    try {
      held.push(storage.snapshot());
    } catch (error) {
      failure = error;
    }
  }
  expect(failure).toMatchObject({ code: "store.busy" });
  expect(held.length).toBeGreaterThan(900);
  for (const snapshot of held) snapshot.close();
  for (const value of [held.length, -1]) {
    if (value < 0) await storage.commit(new Map([["a", value]]));
    const snapshot = storage.snapshot();
    expect(snapshot.get("a")).toBe(value);
    snapshot.close();
  }
  await storage.close();
  rmSync(folder, { recursive: true });
});
