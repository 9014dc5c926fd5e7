/**
 * The examples in the doc comments of the SDK and of the HTTP client are run, each with a peer and
 * a client of its own and a real server, and must print what their comments say. That they compile is
 * checked with the reference (site/sdk-reference). Those of pages run in a real browser
 * (web/differences.long.test.ts).
 */

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { printedLines } from "../../../site/sdk-reference/doc-comment.mjs";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { type Example, findExamples } from "./support/doc-examples.ts";
import { ROOT } from "./support/pages.ts";
import { startRealServer } from "./support/real-server.ts";

interface Outcome {
  readonly place: string;
  readonly printed: readonly string[];
}

/** A program that runs all examples and prints a line of JSON for each. */
function programOf(examples: readonly Example[]): string {
  const [peerEntry, clientEntry] = ["peer", "client"].map((name) =>
    JSON.stringify(join(ROOT, "packages", name, "src", "index.ts")),
  );
  const functions = examples.map(({ place, code }) => {
    const body = code.replaceAll(/^import .*$/gm, "");
    return `{ place: ${JSON.stringify(place)}, run: async (peer, client, console) => {\n${body}\n} },\n`;
  });
  return `
import { format } from "node:util";
import { BigPeerClient, BigPeerError } from ${clientEntry};
import { openPeer, PeerError } from ${peerEntry};

const [appId, apiKey, dataUrl] = process.argv.slice(2);
const examples = [
${functions.join("")}];
for (const { place, run } of examples) {
  const printed = [];
  const log = (...values) => printed.push(format(...values));
  const peer = await openPeer({ appId, url: dataUrl, token: apiKey, memory: true });
  const client = new BigPeerClient({ url: dataUrl, key: apiKey });
  try {
    await run(peer, client, { log, error: log });
  } catch (error) {
    printed.push(String(error));
  } finally {
    await peer.close();
  }
  process.stdout.write(\`\${JSON.stringify({ place, printed })}\\n\`);
}
`;
}

test("each example in a doc comment runs and prints what stands there", async () => {
  const examples = findExamples("node");
  const files = new Set(examples.map(({ place }) => place.split(":")[0]));
  expect(files).toContain("packages/peer/src/peer.ts");
  expect(files).toContain("packages/client/src/client.ts");
  const path = join(temporaryFolder(), "examples.ts");
  writeFileSync(path, programOf(examples));
  const [server, script] = await Promise.all([startRealServer(), bundleScript(path)]);
  onTestFinished(() => script.remove());
  const { appId, apiKey, dataUrl } = server.content;
  const parameters = [script.path, appId, apiKey, dataUrl];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, parameters);
  expect(stderr).toBe("");
  const outcomes = stdout
    .trimEnd()
    .split("\n")
    .map((line): Outcome => JSON.parse(line));
  const shown = examples.map(({ place, code }) => ({ place, printed: printedLines(code) }));
  expect(shown.flatMap(({ printed }) => printed).length).toBeGreaterThan(0);
  // A line without a comment may print anything. If one with a comment differs, all are shown.
  const asShown = outcomes.map(({ place, printed }, index) => {
    const expected = shown[index]?.printed ?? [];
    const found = printed.filter((line) => expected.includes(line) || isError(line));
    return { place, printed: isDeepStrictEqual(found, expected) ? expected : printed };
  });
  expect(asShown).toEqual(shown);
});

/** What an example throws. */
function isError(line: string): boolean {
  return /^\w*Error\b/.test(line);
}
