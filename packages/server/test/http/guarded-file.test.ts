/**
 * Files that are sent only as long as a guard allows it.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { GUARDED_SIZE, guardedFile, SendingEnded } from "../../src/http/guarded-file.ts";

const content = randomBytes(GUARDED_SIZE * 3 + 1_000);

function sending({ checksMax = Infinity, start = 0, end = content.length - 1 } = {}) {
  const path = join(temporaryFolder(), "file");
  writeFileSync(path, content);
  let checks = 0;
  let sent = 0;
  const ended: string[] = [];
  const guard = {
    mayGoOn: async () => ++checks <= checksMax,
    onSent: (bytes: number) => void (sent += bytes),
    onEnded: (reason: string) => void ended.push(reason),
  };
  const stream = guardedFile({ path, start, end }, guard);
  return { path, stream, ended, stats: () => ({ checks, sent }) };
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("[H57] the guard is asked before each MiB, and all of the part is sent", async () => {
  const whole = sending();
  expect((await readAll(whole.stream)).equals(content)).toBe(true);
  expect(whole.stats()).toEqual({ checks: 4, sent: content.length });
  expect(whole.ended).toEqual([]);
  const part = sending({ start: 5, end: GUARDED_SIZE + 5 });
  const bytes = await readAll(part.stream);
  expect(bytes.equals(content.subarray(5, GUARDED_SIZE + 6))).toBe(true);
  expect(part.stats()).toEqual({ checks: 2, sent: GUARDED_SIZE + 1 });
});

test("[H57] nothing after the last allowed MiB is read", async () => {
  const { stream, stats, ended } = sending({ checksMax: 2 });
  await expect(readAll(stream)).rejects.toThrow(SendingEnded);
  expect(stats()).toEqual({ checks: 3, sent: 2 * GUARDED_SIZE });
  expect(ended).toEqual(["rights"]);
});

test.runIf(isFullSize)("a reader that leaves is reported, and the file is closed", async () => {
  const open = (): number => readdirSync("/dev/fd").length;
  const before = open();
  for (let i = 0; i < 40; i++) {
    const { stream, ended } = sending();
    await once(stream, "readable");
    stream.destroy();
    await vi.waitFor(() => expect(ended).toEqual(["cut"]));
  }
  await vi.waitFor(() => expect(open()).toBeLessThan(before + 20));
});

test("a file that is not there is a failure, and a shorter one ends early", async () => {
  const { stream, ended, path } = sending();
  writeFileSync(path, "short");
  expect((await readAll(stream)).toString()).toBe("short");
  const absent = guardedFile(
    { path: `${path}.absent`, start: 0, end: 1 },
    {
      mayGoOn: async () => true,
      onSent: () => {},
      onEnded: (reason) => void ended.push(reason),
    },
  );
  await expect(readAll(absent)).rejects.toThrow("ENOENT");
  expect(ended).toEqual(["failed"]);
});
