import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type Giver, orderGivers, writeChecked } from "../../src/cluster/store-copy.ts";

function giver(name: string, sequence: number, isEvaluating = false): Giver {
  return { node: { node: name, url: "" }, sequence, isEvaluating };
}

function namesOf(givers: readonly Giver[]): string[] {
  return givers.map(({ node }) => node.node);
}

test("the evaluating node gives a copy last, and those that are furthest come first", () => {
  const givers = [giver("evaluating", 9, true), giver("near", 7), giver("far", 8)];
  expect(namesOf(orderGivers(givers, 5))).toEqual(["far", "near", "evaluating"]);
});

test("a node without the store, or whose position the log has forgotten, gives no copy", () => {
  const givers = [giver("none", 0), giver("old", 4), giver("new", 5)];
  expect(namesOf(orderGivers(givers, 5))).toEqual(["new"]);
  expect(namesOf(orderGivers(givers, 0))).toEqual(["new", "old"]);
});

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function sentOf(content: Buffer): Buffer {
  return Buffer.concat([content, createHash("sha256").update(content).digest()]);
}

test.each([1, 31, 32, 33, 1000, 5000])(
  "a copy that arrives in pieces of %i bytes is whole",
  async (size) => {
    const content = randomBytes(3_000);
    const path = join(temporaryFolder(), "data");
    await writeChecked(path, inPieces(sentOf(content), size));
    expect(readFileSync(path).equals(content)).toBe(true);
  },
);

test("a copy that was cut off or changed is refused", async () => {
  const content = randomBytes(3_000);
  const sent = sentOf(content);
  const cut = writeChecked(join(temporaryFolder(), "a"), inPieces(sent.subarray(0, 2_000), 100));
  await expect(cut).rejects.toThrow("expected the digest of the copy");
  sent[5] = (sent[5] ?? 0) ^ 1;
  const changed = writeChecked(join(temporaryFolder(), "b"), inPieces(sent, 100));
  await expect(changed).rejects.toThrow("expected the digest of the copy");
});
