/**
 * The size of the hooks in the bundle of an app, and what they bring along.
 */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bundleForBrowser } from "../support/browser-bundle.ts";

const BYTES_MAX = 3000;

const ENTRY = fileURLToPath(new URL("../../src/react/index.ts", import.meta.url));

test(`the hooks have at most ${BYTES_MAX} bytes after gzip, and import React alone`, async () => {
  const { gzipBytes, imports, modules } = await bundleForBrowser(ENTRY, undefined, /^react$/);
  expect(imports).toEqual(["react"]);
  expect(modules.filter((path) => !path.includes("/packages/peer/src/react/"))).toEqual([]);
  const excess = gzipBytes - BYTES_MAX;
  const message = `the hooks have ${gzipBytes} bytes after gzip, ${excess} more than they may have`;
  expect(excess, message).toBeLessThanOrEqual(0);
});
