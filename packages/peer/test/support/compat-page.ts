/**
 * The page of the tests of `@bigpeer/peer/compat` in a real browser: runs the cases that run on Node,
 * too, with the bundle for pages.
 */

import type * as Compat from "../../src/compat/index.ts";
import { type CompatEnvironment, compatCases } from "./compat-cases.ts";
import { runTests } from "./vitest-in-page.ts";

/** Where the test serves the bundles. It is an expression, so that it is not bundled. */
const SDK = ["", "sdk", "bigpeer-compat.js"].join("/");

let count = 0;

async function run(
  server: Pick<CompatEnvironment, "url" | "appId" | "token">,
): Promise<{ count: number; failures: string[] }> {
  const sdk = (await import(SDK)) as typeof Compat;
  const directory = (): string => `compat ${++count} ${crypto.randomUUID().slice(0, 8)}`;
  compatCases({ ...server, sdk, isBrowser: true, directory });
  return runTests();
}

Object.assign(globalThis, { compatPage: { run } });
