/**
 * What is worth compressing, and what happens when there is too much of it at once.
 */

import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { compress, isCompressible } from "../../src/http/compression.ts";

const LONG = new Uint8Array(5000);

test.each([
  "application/json",
  "application/json; charset=utf-8",
  "application/cbor",
  "application/problem+json",
  "application/vnd.oai.openapi+json;version=3.1",
  "application/openapi+yaml",
  "application/javascript",
  "text/html",
  "Text/Plain",
  "image/svg+xml",
])("%s is compressible", (type) => {
  expect(isCompressible(type, LONG)).toBe(true);
  expect(isCompressible(type, LONG.subarray(0, 1024))).toBe(true);
  expect(isCompressible(type, LONG.subarray(0, 1023))).toBe(false);
});

test.each(["image/png", "application/octet-stream", "application/zip", undefined])(
  "%s is not compressible",
  (type) => {
    expect(isCompressible(type, LONG)).toBe(false);
  },
);

test("decompressing returns the input, at every size", async () => {
  for (const size of [0, 1, 1000, 70_000, 3_000_000]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * i) % 251);
    const br = await compress(bytes, "br");
    expect(br.coding).toBe("br");
    expect(brotliDecompressSync(br.bytes).equals(bytes)).toBe(true);
    const gzip = await compress(bytes, "gzip");
    expect(gzip.coding).toBe("gzip");
    expect(gunzipSync(gzip.bytes).equals(bytes)).toBe(true);
  }
});

test("of many concurrent answers the last ones are not compressed, and later ones are", async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => compress(LONG, "gzip")));
  expect(all.map(({ coding }) => coding)).toEqual([
    ...Array.from({ length: 8 }, () => "gzip"),
    ...Array.from({ length: 12 }, () => "identity"),
  ]);
  expect(all.at(-1)?.bytes).toBe(LONG);
  expect((await compress(LONG, "gzip")).coding).toBe("gzip");
});
