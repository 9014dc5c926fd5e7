import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFullSize, oneOf } from "../../../protocol/test/support/test-size.ts";
import { bundleScript, RunningScript, type Script } from "../support/script.ts";

// A limit on the size of files acts like a full disk, and needs no rights. bash sets it before the
// process starts, in KiB, and prlimit (of util-linux) changes it while the process runs.
const canLimit = ["bash", "prlimit"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

let script: Script;

beforeAll(async () => {
  script = await bundleScript("node/test/support/storage-process");
});

afterAll(() => script.remove());

/** LMDB alone, and with a journal in front of it. */
type Kind = "lmdb" | "journal";
const KINDS: readonly Kind[] = ["lmdb", "journal"];

async function withLimit(
  kind: Kind,
  limitKib: number,
  body: (storage: RunningScript, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-full-"));
  const start = 'ulimit -S -f "$0" && exec "$@"';
  const command = [process.execPath, script.path, join(folder, "storage"), "read-write", kind];
  const storage = new RunningScript("bash", "-c", start, String(limitKib), ...command);
  try {
    await body(storage, folder);
    expect(await storage.end()).toBe(0);
  } finally {
    storage.kill();
    rmSync(folder, { recursive: true });
  }
}

function setLimit(storage: RunningScript, limit: string): void {
  const parameters = ["--pid", String(storage.processId), `--fsize=${limit}:`];
  expect(spawnSync("prlimit", parameters).status).toBe(0);
}

/** Commits rounds of documents until one is refused; returns its number. */
async function fillUp(storage: RunningScript, count: number, size: number): Promise<number> {
  for (let round = 1; round < 1000; round++) {
    const outcome = await storage.ask(`fill ${round} ${count} ${size}`);
    if (outcome === "ok") continue;
    expect(outcome).toBe("store.full");
    return round;
  }
  throw new Error("expected the disk to be full at some time");
}

function roundsUpTo(last: number, count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: last }, (_, i) => [String(i + 1), count]));
}

// Documents within a page, of a page and more, and one that is larger than the whole disk.
test.skipIf(!canLimit).each(
  oneOf(
    3,
    [
      { count: 20, size: 100 },
      { count: 8, size: 1500 },
      { count: 3, size: 70_000 },
    ].flatMap((shape) => KINDS.map((kind) => ({ ...shape, kind }))),
  ),
)("$kind: a full disk refuses the commit and changes nothing: $count of $size", async (shape) => {
  const { count, size, kind } = shape;
  await withLimit(kind, limitOf(kind), async (storage) => {
    const refused = await fillUp(storage, count, size);
    expect(refused).toBeGreaterThan(3);
    const before = roundsUpTo(refused - 1, count);
    expect(await storage.ask("keys")).toEqual(before);
    // It stays refused, however often it is tried, until there is room.
    for (let i = 0; i < 5; i++) {
      expect(await storage.ask(`fill ${refused} ${count} ${size}`)).toBe("store.full");
      expect(await storage.ask("keys")).toEqual(before);
    }
    expect(await storage.ask("wrong")).toEqual([]);
  });
});

/** In KiB: a segment of a journal is a file of its own, of the same size as the limit. */
function limitOf(kind: Kind): number {
  return kind === "lmdb" ? 1024 : 4096;
}

test.runIf(canLimit && isFullSize).each(KINDS)(
  "%s: once there is space commits succeed, and everything is there later",
  async (kind) => {
    await withLimit(kind, limitOf(kind), async (storage) => {
      const refused = await fillUp(storage, 20, 500);
      // Another shape of document in each: their shapes must be saved with a later commit.
      for (const round of [refused + 1, refused + 2]) {
        expect(await storage.ask(`fill ${round} 20 500`)).toBe("store.full");
      }
      setLimit(storage, "unlimited");
      for (const round of [refused, refused + 1, refused + 2, refused + 3]) {
        expect(await storage.ask(`fill ${round} 20 500`)).toBe("ok");
      }
      expect(await storage.ask("reopen")).toBe("ok");
      expect(await storage.ask("keys")).toEqual(roundsUpTo(refused + 3, 20));
      expect(await storage.ask("wrong")).toEqual([]);
    });
  },
);

test.runIf(canLimit && isFullSize).each(KINDS)(
  "%s: a commit larger than the disk is refused, a smaller one is not",
  async (kind) => {
    await withLimit(kind, limitOf(kind), async (storage) => {
      expect(await storage.ask("fill 1 1 5000000")).toBe("store.full");
      expect(await storage.ask("fill 2 5000 1000")).toBe("store.full");
      expect(await storage.ask("fill 3 10 100")).toBe("ok");
      expect(await storage.ask("keys")).toEqual({ 3: 10 });
    });
  },
);

test.skipIf(!canLimit).each(oneOf(2, KINDS))(
  "%s: a copy without enough space fails and leaves nothing behind",
  async (kind) => {
    await withLimit(kind, 16_384, async (storage, folder) => {
      expect(await storage.ask("fill 1 1000 1000")).toBe("ok");
      setLimit(storage, String(24 * 4096));
      const copy = join(folder, "copy");
      expect(await storage.ask(`copy ${copy}`)).toBe("store.full");
      expect(existsSync(copy) ? readdirSync(copy) : []).toEqual([]);
      setLimit(storage, "unlimited");
      expect(await storage.ask(`copy ${copy}`)).toBe("ok");
      expect(readdirSync(copy)).toEqual(["data.mdb"]);
    });
  },
);

test.skipIf(!canLimit)("a storage without enough space to start reports it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-full-"));
  const start = 'ulimit -S -f 6 && exec "$0" "$@"';
  const command = [process.execPath, script.path, folder, "read-write"];
  const storage = new RunningScript("bash", "-c", start, ...command);
  expect(await storage.end()).toBe(1);
  expect(storage.errorText).toContain("PeerError");
  rmSync(folder, { recursive: true });
});
