/**
 * The page about the SDK and its example are held to the code: what stands there is run by Node, with
 * a real server. A program that is done ends by itself.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { blocksOf, pageOf, ROOT } from "./support/pages.ts";
import { startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

/** What a program of ours prints. */
async function run(path: string, cwd: string): Promise<string> {
  const script = await bundleScript(path);
  onTestFinished(() => script.remove());
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script.path], { cwd });
  expect(stderr).toBe("");
  return stdout;
}

test("the snippets of docs/sdk.md run one after the other", async () => {
  const server = await startRealServer();
  const folder = temporaryFolder();
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "data", "quickstart.json"), JSON.stringify(server.content));
  const entry = join(ROOT, "packages", "peer", "src", "index.ts");
  const text = blocksOf("docs/sdk.md", "js")
    .join("\n")
    .replace('"@bigpeer/peer"', JSON.stringify(entry));
  writeFileSync(join(folder, "sdk.mjs"), text);
  expect(await run(join(folder, "sdk.mjs"), folder)).toBe(
    "[ { _id: 't1', title: 'Tea', cups: 2, isDone: false } ]\nopen: 1\n" +
      "only on this device: [ 't1' ]\n3 of 3 bytes\n3 photo.jpg Uint8Array(3) [ 1, 2, 3 ]\n[]\n{ isAuthenticated: true }\nstore.pending\n",
  );
});

async function createProvider(managementUrl: string, body: string): Promise<void> {
  const path = "/namespace/default/bigPeer/big-peer/app/default/provider";
  const headers = { "content-type": "application/json" };
  const response = await fetch(managementUrl + path, { method: "POST", headers, body });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

/** Runs a program of a page in a folder with the quickstart file of the server. */
async function runBlock(block: string, content: object, folder: string): Promise<string> {
  mkdirSync(join(folder, "data"), { recursive: true });
  writeFileSync(join(folder, "data", "quickstart.json"), JSON.stringify(content));
  const entry = join(ROOT, "packages", "peer", "src", "index.ts");
  writeFileSync(
    join(folder, "program.mjs"),
    block.replace('"@bigpeer/peer"', JSON.stringify(entry)),
  );
  return run(join(folder, "program.mjs"), folder);
}

test.runIf(isFullSize)(
  "[P22] the guide of docs/authentication.md logs a user in, whose rules apply",
  async () => {
    const server = await startRealServer({ managementPort: 0 });
    const managementUrl = server.running.managementUrl ?? "";
    const [curl = ""] = blocksOf("docs/authentication.md", "sh");
    await createProvider(managementUrl, /-d '(.*)'/s.exec(curl)?.[1] ?? "");
    const program = blocksOf("docs/authentication.md", "js").find((b) => b.includes("signToken"));
    const printed = await runBlock(program ?? "", server.content, temporaryFolder());
    expect(pageOf("docs/authentication.md")).toContain(`\`\`\`\n${printed}\`\`\``);
    const [provider = ""] = blocksOf("docs/permissions.md", "json").filter((b) =>
      b.includes(":claims"),
    );
    await createProvider(managementUrl, provider);
  },
);

test("the first peer of the README prints the documented output, and the same tasks again", async () => {
  const server = await startRealServer();
  const plants = await server.peer();
  await plants.store.execute("INSERT INTO tasks DOCUMENTS ({'title': 'Water the plants'})");
  plants.sync.start();
  await until(() => plants.sync.status.pendingCount === 0);
  const program = blocksOf("README.md", "js").find((block) => block.includes("openPeer")) ?? "";
  const folder = temporaryFolder();
  const printed = await runBlock(program, server.content, folder);
  expect(pageOf("README.md")).toContain(`$ node first-peer.mjs\n${printed}\`\`\``);
  const again = await runBlock(program, server.content, folder);
  expect(again).toContain("synced: [ { title: 'Buy milk' }, { title: 'Water the plants' } ]\n");
});

test.runIf(isFullSize)("the example with photos prints that the photo arrived", async () => {
  const printed = await run(join(ROOT, "examples", "photos.mjs"), temporaryFolder());
  expect(printed).toBe(`phone, offline: 5000000 bytes wait for a connection
office sees: The leak in room 12 { name: 'photo.jpg' }
office has all 5000000 bytes
the photo is the same
`);
});

test.runIf(isFullSize)("the example with two peers prints the documented output", async () => {
  const printed = await run(join(ROOT, "examples", "two-peers.mjs"), temporaryFolder());
  // In which order fields of several writers come is no matter.
  const served = printed.replaceAll(/\{[^}]*isServed: true[^}]*\}/g, "…");
  expect(served).toBe(`phone, offline: [ { _id: 'o1', item: 'tea', cups: 2 } ]
till sees: []
till sees: [ { _id: 'o1', item: 'tea', cups: 2 } ]
till sees: [ … ]
phone sees: [ … ]
`);
});
