import { expect, test } from "vitest";
import {
  NEW_SITE_MS,
  NEW_SITES_MAX,
  REFUSED_UPLOAD_MS,
  REFUSED_UPLOADS_MAX,
  UPLOAD_WAIT_MS_MAX,
  UPLOAD_WAIT_MS_MIN,
} from "../../../src/limits.ts";
import { UploadAllowance } from "../../../src/sync/upload/upload-allowance.ts";

function allowanceAt(): { allowance: UploadAllowance; pass: (ms: number) => void } {
  let nowMs = 0;
  const allowance = new UploadAllowance(() => nowMs);
  return { allowance, pass: (ms) => (nowMs += ms) };
}

test("[S59] a fleet with one key may connect all at once; then one more site at a time", () => {
  const { allowance, pass } = allowanceAt();
  for (let i = 0; i < NEW_SITES_MAX; i++) {
    expect(allowance.waitMs("key", true)).toBe(0);
    allowance.use("key", "newSites");
  }
  expect(allowance.waitMs("key", true)).toBe(NEW_SITE_MS);
  expect(allowance.waitMs("key", false)).toBe(0);
  expect(allowance.waitMs("other", true)).toBe(0);
  pass(NEW_SITE_MS);
  expect(allowance.waitMs("key", true)).toBe(0);
  allowance.use("key", "newSites");
  allowance.giveBack("key", "newSites");
  expect(allowance.waitMs("key", true)).toBe(0);
});

test("[S59] refused uploads: a burst, then a rate; the wait is neither too short nor too long", () => {
  const { allowance, pass } = allowanceAt();
  for (let i = 0; i < REFUSED_UPLOADS_MAX; i++) allowance.use("key", "refusedUploads");
  expect(allowance.waitMs("key", false)).toBe(UPLOAD_WAIT_MS_MIN);
  for (let i = 0; i < 100_000; i++) allowance.use("key", "refusedUploads");
  expect(allowance.waitMs("key", false)).toBe(UPLOAD_WAIT_MS_MAX);
  pass(100_001 * REFUSED_UPLOAD_MS);
  expect(allowance.waitMs("key", false)).toBe(0);
});

test("[S59] a credential without recent use takes no memory", () => {
  const { allowance, pass } = allowanceAt();
  for (let i = 0; i < 100_000; i++) {
    allowance.use(`user ${i}`, "newSites");
    pass(100);
  }
  expect(allowance.count).toBeLessThan(5000);
});
