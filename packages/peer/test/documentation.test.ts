/**
 * The page about the SDK and its example are held to the code: what stands there is run by Node, with
 * a real server. A program that is done ends by itself.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { startRealServer } from "./support/real-server.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What a program of ours prints. */
async function run(path: string, cwd: string): Promise<string> {
  const script = await bundleScript(path);
  onTestFinished(() => script.remove());
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script.path], { cwd });
  expect(stderr).toBe("");
  return stdout;
}

function snippetsOf(path: string): string {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map((found) => found[1]).join("\n");
}

test("the snippets of docs/sdk.md run one after the other", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "data", "quickstart.json"), JSON.stringify(server.content));
  const entry = join(root, "packages", "peer", "src", "index.ts");
  const text = snippetsOf("docs/sdk.md").replace('"@bigpeer/peer"', JSON.stringify(entry));
  writeFileSync(join(folder, "sdk.mjs"), text);
  expect(await run(join(folder, "sdk.mjs"), folder)).toBe(
    "[ { _id: 't1', title: 'Tea', cups: 2, isDone: false } ]\nopen: 1\n[]\n" +
      "{ isAuthenticated: true }\n",
  );
});

test("the example with two peers shows what it says", async () => {
  const printed = await run(join(root, "examples", "two-peers.mjs"), temporaryFolder());
  // In which order fields of several writers come is no matter.
  const served = printed.replaceAll(/\{[^}]*isServed: true[^}]*\}/g, "…");
  expect(served).toBe(`phone, offline: [ { _id: 'o1', item: 'tea', cups: 2 } ]
till sees: []
till sees: [ { _id: 'o1', item: 'tea', cups: 2 } ]
till sees: [ … ]
phone sees: [ … ]
`);
});
