/**
 * The count of the bytes on disk: that of the files, after any changes and after a restart.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createStore } from "@bigpeer/node";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { contentFiles } from "../../src/attachments/attachment-files.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import { ContentSpace } from "../../src/attachments/content-space.ts";
import { idOf } from "../support/attachment-client.ts";

function makeFolder(): { folder: string; at: (name: string) => string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "aa"));
  mkdirSync(join(folder, "uploads"));
  return { folder, at: (name) => join(folder, name) };
}

function usedIn(folder: string): number {
  const sizes = [...contentFiles(folder)].flat().map((path) => readFileSync(path).length);
  return sizes.reduce((sum, size) => sum + size, 0);
}

test("[H59] files that are there count, wherever they are", async () => {
  const { folder, at } = makeFolder();
  writeFileSync(at("aa/one"), "12345");
  writeFileSync(at("uploads/two"), "123");
  const space = new ContentSpace(folder, 10);
  await Promise.all([space.whenCounted(), space.whenCounted()]);
  expect(space.used).toBe(8);
  space.take(2);
  expect(() => space.take(1)).toThrow(
    expect.objectContaining({ code: "store.full", expected: "at most 10 bytes of them" }),
  );
  expect(space.used).toBe(10);
});

test("[H59] without a bound nothing is counted or refused", async () => {
  const { folder, at } = makeFolder();
  writeFileSync(at("aa/one"), "12345");
  const space = new ContentSpace(folder, 0);
  await space.whenCounted();
  expect(space.used).toBe(0);
  space.take(Number.MAX_SAFE_INTEGER);
});

test("[H59] a file that replaces another, is linked or is removed changes the count by its size", async () => {
  const { folder, at } = makeFolder();
  writeFileSync(at("uploads/new"), "12345");
  writeFileSync(at("aa/old"), "123");
  const space = new ContentSpace(folder, 100);
  await space.whenCounted();
  const expectExact = (): void => expect(space.used).toBe(usedIn(folder));
  expect(await space.link(at("uploads/new"), at("aa/second"))).toBe(true);
  expectExact();
  await space.move(at("aa/second"), at("aa/old"));
  expectExact();
  // Both names are of the same file now, and renaming one to the other would do nothing.
  await space.move(at("uploads/new"), at("aa/old"));
  expectExact();
  expect(usedIn(folder)).toBe(5);
  await space.remove(at("aa/old"));
  await space.remove(at("aa/old"));
  expectExact();
  expect(space.used).toBe(0);
});

/** What a caller or the collector may do with one of a few contents. */
type Step =
  | { readonly kind: "add" | "adopt" | "orphans" | "strays"; readonly n: number }
  | { readonly kind: "append"; readonly n: number; readonly to: number }
  | { readonly kind: "receive"; readonly n: number; readonly to: number }
  | { readonly kind: "copy"; readonly n: number; readonly to: number };

const CONTENTS = [10, 25, 40].map((size) => Buffer.alloc(size, size));

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom("add", "adopt", "orphans", "strays"),
      n: fc.nat({ max: 2 }),
    }),
    fc.record({
      kind: fc.constantFrom("append", "receive", "copy"),
      n: fc.nat({ max: 2 }),
      to: fc.nat({ max: 40 }),
    }),
  ),
  { minLength: 5, maxLength: 30 },
);

async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function run(attachments: AttachmentFolder, step: Step, allTime: number): Promise<void> {
  const bytes = CONTENTS[step.n] ?? Buffer.alloc(0);
  const content = { id: idOf(bytes), len: bytes.length };
  if (step.kind === "add") await attachments.add(chunksOf(bytes), "ann");
  else if (step.kind === "adopt") await attachments.adopt(content, "bob");
  else if (step.kind === "orphans") await attachments.removeOrphans(allTime, 1);
  else if (step.kind === "strays") {
    for await (const _ of attachments.removeStrays(Date.now() - 1_000));
  } else if (step.kind === "append") {
    const { offset } = await attachments.partial.begin(content, "ann");
    const part = bytes.subarray(offset, Math.max(offset, step.to));
    await attachments.partial.append(content, { offset, chunks: chunksOf(part) }, "ann");
  } else if (step.kind === "receive") {
    const offset = attachments.receivedSize(content.id);
    const part = bytes.subarray(offset, Math.max(offset, step.to));
    await attachments.receive(content.id, { offset, bytes: part, size: bytes.length }, "link:x");
  } else if (step.kind === "copy") {
    await attachments.takeCopy(content, chunksOf(bytes.subarray(0, step.to)));
  }
}

test("[H59] the count is that of the files after any steps, also of a new start", async () => {
  const refused = new Set<unknown>();
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const parent = temporaryFolder();
      const folder = join(parent, "attachments");
      const stored = await createStore(join(parent, "store"), testHost());
      const { store } = stored;
      const limits = { sizeMax: 1_000, spaceMax: 60 };
      const attachments = new AttachmentFolder({ folder, store, ...limits });
      const allTime = (): number => store.read((view) => view.head.time);
      for (const step of history) {
        await run(attachments, step, allTime()).catch((error: { code: string }) => {
          refused.add(error.code);
        });
        await attachments.space.whenCounted();
        expect(attachments.space.used, JSON.stringify(step)).toBe(usedIn(folder));
      }
      const space = new ContentSpace(folder, 1);
      await space.whenCounted();
      expect(space.used).toBe(usedIn(folder));
      await attachments.close();
      await stored.close();
    }),
    { numRuns: histories(200) },
  );
  expect(refused).toEqual(new Set(["attachment.invalid", "store.full"]));
});
