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
import { stepsOf } from "../../peer/test/support/page-steps.ts";
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
const steps = stepsOf(readme);
const programs = steps.filter((step) => step.kind === "file");
const runs = steps
  .filter((step) => step.kind === "command")
  .filter(({ command }) => command.startsWith("node "));

test("each program of the README prints what stands there", async () => {
  const folder = folderOfPackage();
  mkdirSync(join(folder, "data"));
  const quickstart = JSON.stringify({ dataUrl: server.url, apiKey: server.key });
  writeFileSync(join(folder, "data", "quickstart.json"), quickstart);
  for (const { path, text } of programs) writeFileSync(join(folder, path), text);
  expect(runs.map(({ command }) => command)).toEqual(programs.map(({ path }) => `node ${path}`));
  expect(runs).toHaveLength(2);
  const env = { ...process.env, NO_COLOR: "1" };
  for (const { command, shown } of runs) {
    const [, file = ""] = command.split(" ");
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env });
    expect(stdout, command).toBe(shown);
  }
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
