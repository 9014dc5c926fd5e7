/**
 * The programs of the README print what it says, against a real server, and docs/client.md has every
 * method.
 */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Attachments } from "../src/attachments.ts";
import { BigPeerClient } from "../src/client.ts";
import { Management } from "../src/management.ts";
import { OPERATION_IDS, RunningServer } from "./support/running-server.ts";

const server = await RunningServer.start();

/** A folder from which the built package is found. */
function folderOfPackage(): string {
  const cache = fileURLToPath(new URL("../../../node_modules/.cache/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "client-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const programs = [...readme.matchAll(/^```js\n([^]*?)^```$[^]*?^```text\n([^]*?)^```$/gm)].map(
  ([, code = "", output = ""]) => ({ code, output }),
);

test("there are programs", () => {
  expect(programs).toHaveLength(2);
});

test.each(programs)("the README is right: $output", async ({ code, output }) => {
  const file = join(folderOfPackage(), "program.mjs");
  writeFileSync(file, code);
  const env = { ...process.env, BIGPEER_URL: server.url, BIGPEER_KEY: server.key, NO_COLOR: "1" };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
  expect(stdout).toBe(output);
});

const page = readFileSync(new URL("../../../docs/client.md", import.meta.url), "utf8");

test.each([...methodsOf(BigPeerClient), ...methodsOf(Attachments)])(
  "docs/client.md has %s",
  (name) => {
    expect(page).toMatch(new RegExp(`\\b${name}\\b`));
  },
);

test("each method of the management API is named like its operation", () => {
  const camel = (id: string): string => id.replaceAll(/_(\w)/g, (_, c: string) => c.toUpperCase());
  const names = new Set(OPERATION_IDS.map(camel));
  expect(methodsOf(Management).filter((name) => !names.has(name))).toEqual([]);
});

function methodsOf(of: { readonly prototype: object }): string[] {
  return Object.getOwnPropertyNames(of.prototype).filter((name) => name !== "constructor");
}
