import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FILE } from "@bigpeer/node";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { clearCopies } from "../../src/cluster/copies-folder.ts";
import { type CopiedStore, StoreCopies } from "../../src/cluster/copy-endpoint.ts";
import { writeChecked } from "../../src/cluster/store-copy.ts";
import type { Answer, StreamContent } from "../../src/http/answer.ts";

const content = randomBytes(700_000);

/** Copies of a store that is at entry 7. */
function copiesOf(changes: Partial<CopiedStore> = {}) {
  const dataDir = temporaryFolder();
  const opened: CopiedStore = {
    durableSequence: 7,
    copyTo: async (folder) => writeFileSync(join(folder, DATA_FILE), content),
    ...changes,
  };
  const copies = new StoreCopies({ dataDir, withStore: (_, work) => work(opened), holdMs: 50 });
  const left = (): string[] => readdirSync(join(dataDir, "copies"));
  return { copies, dataDir, left };
}

function streamOf({ body }: Answer): StreamContent {
  if (body.kind !== "stream") throw new Error("expected a stream");
  return body;
}

test("a copy is sent with its digest, and removed when it is sent", async () => {
  const { copies, dataDir, left } = copiesOf();
  const { size, open } = streamOf(await copies.give("s"));
  expect(size).toBe(content.length + 32);
  expect(left()).toHaveLength(1);
  const received = join(dataDir, "received");
  await writeChecked(received, open());
  expect(readFileSync(received).equals(content)).toBe(true);
  await vi.waitFor(() => expect(left()).toEqual([]));
});

test("a copy that its receiver gives up is removed", async () => {
  const { copies, left } = copiesOf();
  streamOf(await copies.give("s"))
    .open()
    .destroy();
  await vi.waitFor(() => expect(left()).toEqual([]));
});

test("the log is held where the copy began, until some time after it was sent", async () => {
  const { copies } = copiesOf();
  const { open } = streamOf(await copies.give("s"));
  expect([copies.held("s"), copies.held("other")]).toEqual([7, Number.POSITIVE_INFINITY]);
  open().destroy();
  expect(copies.held("s")).toBe(7);
  await vi.waitFor(() => expect(copies.held("s")).toBe(Number.POSITIVE_INFINITY));
});

test("two copies are made at a time; a third is refused until one is sent", async () => {
  const { copies } = copiesOf();
  const { open } = streamOf(await copies.give("s"));
  await copies.give("t");
  await expect(copies.give("u")).rejects.toMatchObject({ status: 503 });
  open().destroy();
  await vi.waitFor(() => copies.give("u"));
});

test("a copy that cannot be made leaves nothing", async () => {
  const copyTo = (): Promise<void> => Promise.reject(new Error("disk full"));
  const { copies, left } = copiesOf({ copyTo });
  for (let i = 0; i < 3; i++) await expect(copies.give("s")).rejects.toThrow("disk full");
  await vi.waitFor(() => expect(left()).toEqual([]));
});

test("what a crash left of copies is removed at the next start", () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, "copies", "0123");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, DATA_FILE), "half of it");
  clearCopies(dataDir);
  expect(existsSync(join(dataDir, "copies"))).toBe(false);
});
