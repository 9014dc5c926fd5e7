/**
 * Proofs that a caller has a content: from memory, from the file, and of a damaged one.
 */

import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import {
  digestsOf,
  digestsOfFile,
  PossessionProofs,
} from "../../src/attachments/possession-proofs.ts";
import { idOf, proofOf } from "../support/attachment-client.ts";

const content = Buffer.alloc(700_000, "photo");
const id = idOf(content);

function contentFile(bytes: Uint8Array = content): string {
  const path = join(temporaryFolder(), "content");
  writeFileSync(path, bytes);
  return path;
}

test("[H55] the digests of a file are those of bytes that arrive, which may go on", async () => {
  const hash = createHash("sha256").update(content.subarray(0, 10));
  expect(digestsOf(hash).id).toBe(idOf(content.subarray(0, 10)));
  hash.update(content.subarray(10));
  expect(digestsOf(hash)).toEqual({ id, proof: proofOf(content) });
  expect(await digestsOfFile(contentFile())).toEqual({ id, proof: proofOf(content) });
});

test("[H55] a proof is read from the file once", async () => {
  const proofs = new PossessionProofs();
  const path = contentFile();
  const both = [proofs.isProof(proofOf(content), id, path), proofs.isProof(id, id, path)];
  expect(await Promise.all(both)).toEqual([true, false]);
  rmSync(path);
  expect(await proofs.isProof(proofOf(content), id, path)).toBe(true);
  expect(await proofs.isProof("", id, path)).toBe(false);
});

test("[H55] a damaged file proves nothing", async () => {
  const proofs = new PossessionProofs();
  const damaged = Buffer.from("damaged");
  const path = contentFile(damaged);
  for (const proof of [proofOf(content), proofOf(damaged), ""]) {
    expect(await proofs.isProof(proof, id, path)).toBe(false);
  }
});

test("[H55] a file that cannot be read is an error, and is read again the next time", async () => {
  const proofs = new PossessionProofs();
  const path = contentFile();
  const absent = `${path}.absent`;
  await expect(proofs.isProof(proofOf(content), id, absent)).rejects.toThrow("ENOENT");
  expect(await proofs.isProof(proofOf(content), id, path)).toBe(true);
});
