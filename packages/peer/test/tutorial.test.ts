/**
 * The tutorial is run as a reader would follow it: its programs are saved, its commands are typed,
 * and each must print what the page shows. Server and SDK are those of the sources.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { type PageRun, runPage } from "./support/page-run.ts";
import { stepsOf } from "./support/page-steps.ts";
import { pageOf } from "./support/pages.ts";

async function bundle(name: string): Promise<string> {
  const script = await bundleScript(name);
  onTestFinished(() => script.remove());
  return script.path;
}

/** A folder in which programs find the SDK as in a checkout that is built. */
async function checkout(): Promise<string> {
  const folder = temporaryFolder();
  const home = join(folder, "node_modules", "@bigpeer", "peer");
  mkdirSync(home, { recursive: true });
  const manifest = { name: "@bigpeer/peer", type: "module", exports: "./index.js" };
  writeFileSync(join(home, "package.json"), JSON.stringify(manifest));
  const address = pathToFileURL(await bundle("peer/src/index")).href;
  writeFileSync(join(home, "index.js"), `export * from ${JSON.stringify(address)};\n`);
  return folder;
}

test.runIf(isFullSize)(
  "each step of docs/tutorial.md prints what stands there",
  async () => {
    const [folder, main] = await Promise.all([checkout(), bundle("server/src/main")]);
    const page = pageOf("docs/tutorial.md");
    const run: PageRun = {
      folder,
      // The server of the sources instead of the built one, on free ports.
      inCommands: [["npm start -- ", `exec node ${main} `]],
      inOutput: [
        [":8080", ":…"],
        [":8081", ":…"],
      ],
      env: { BIGPEER_PORT: "0", BIGPEER_MANAGEMENT_PORT: "0" },
    };
    await runPage(page, run);
    const files = stepsOf(page).flatMap((step) => (step.kind === "file" ? [step.path] : []));
    expect(files).toContain("tutorial/member.mjs");
  },
  180_000,
);

/** A page with one block of commands. */
function consolePage(...lines: string[]): string {
  return `# Page\n\n\`\`\`console\n${lines.join("\n")}\n\`\`\`\n`;
}

test("a page whose output is right is accepted", async () => {
  const program = "```js\n// a/b.mjs\nconsole.log(process.argv[2]);\n```\n";
  const commands = [
    "one$ cd a",
    'one$ node b.mjs "some',
    'text"',
    "some",
    "…xt",
    "two$ node -e 'console.log(1); setInterval(() => {}, 1000)'",
    "1",
    "one$ ls",
    "…",
    "b.mjs",
    "two$ node -e 'console.log(1); setInterval(() => {}, 1000)'",
    "1",
    "two$ ^C",
  ];
  const run = runPage(`${program}${consolePage(...commands)}`, { folder: temporaryFolder() });
  await expect(run).resolves.toBeUndefined();
});

test.each([
  [
    "another output",
    ["a$ echo 1", "2"],
    "line 4, a$ echo 1: expected\n2\nfound (ended with code 0)\n1\n",
  ],
  ["more output", ["a$ echo 1; echo 2", "1"], "found (ended with code 0)\n1\n2\n"],
  ["less output", ["a$ echo 1", "1", "2"], "expected\n1\n2\nfound (ended with code 0)\n1\n"],
  ["a failure", ["a$ echo 1; exit 3", "1"], "found (ended with code 3)"],
  [
    "output after the interruption",
    [
      "a$ node -e 'process.on(`SIGINT`, () => process.exit(console.log(2))); setInterval(() => {}, 9); console.log(1)'",
      "1",
      "a$ ^C",
    ],
    "a$ ^C: expected\nfound (ended with",
  ],
  ["an interruption of nothing", ["a$ ^C"], "no command runs in the terminal"],
])("a page that shows %s is refused", async (_, lines, message) => {
  const run = runPage(consolePage(...lines), { folder: temporaryFolder() });
  await expect(run).rejects.toThrow(message);
});

test.each([
  ["```\na$ ls\n```\n", "expected a block js or console, found none at 2"],
  ["```sh\nls\n```\n", "expected a block js or console, found sh at 2"],
  ["```js\nlet a;\n```\n", "expected a comment with the file at line 2"],
  ["```console\nls\n```\n", "expected a command after the name of a terminal at line 2"],
])("a block that cannot be run is found: %j", (page, message) => {
  expect(() => stepsOf(page)).toThrow(message);
});
