/**
 * The storage package that a peer in a folder needs: loaded on use, and named when it is absent.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { loadNodePackage } from "../../src/node/node-package.ts";

function notFound(name: string): Error {
  const message = `Cannot find package '${name}' imported from /app/peer/dist/node-package.js`;
  return Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });
}

test("the package is loaded where it is installed", async () => {
  expect(await loadNodePackage()).toHaveProperty("acquireFolderLock");
});

test("without the package, the error says what to install", async () => {
  const cause = notFound("@bigpeer/node");
  const error = await loadNodePackage(() => Promise.reject(cause)).catch((found: unknown) => found);
  expect(error).toBeInstanceOf(PeerError);
  expect(error).toMatchObject({
    code: "config.invalid",
    message:
      "expected the package @bigpeer/node for the option folder, found none; " +
      "run npm install @bigpeer/node, or use memory: true",
    cause,
  });
});

test("a package that is installed but cannot be loaded gives its own error", async () => {
  for (const cause of [notFound("lmdb"), new Error("no such binary"), undefined]) {
    const found = loadNodePackage(() => Promise.reject(cause));
    await expect(found).rejects.toBe(cause);
  }
});
