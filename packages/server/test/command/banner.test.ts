/**
 * What a server shows when it has started.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { runCommand } from "../../src/command/commands.ts";
import type { StopSignal } from "../../src/command/signals.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { Registry } from "../../src/registry/registry.ts";

/** What the server of a folder prints; then it stops. */
async function printedBy(
  dataDir: string,
  words: readonly string[],
  isOutputTerminal = true,
): Promise<string> {
  let stop = (): void => {};
  let printed = "";
  const code = await runCommand(["serve", "--data-dir", dataDir, "--port", "0", ...words], {
    env: {},
    print: (text) => {
      printed += text;
      stop();
    },
    printError: () => {},
    isTerminal: true,
    isOutputTerminal,
    signals: {
      on: (name: string, listener: (signal: StopSignal) => void) => {
        if (name === "SIGTERM") stop = () => listener("SIGTERM");
      },
      exit: () => {},
    },
  });
  expect(code).toBe(0);
  return printed;
}

/** The lines of it about addresses, folder and apps. */
async function bannerLines(dataDir: string, ...words: string[]): Promise<string[]> {
  const printed = await printedBy(dataDir, words);
  return printed.split("\n").filter((line) => /^ {2}(url|manage|data|app|key| ) /.test(line));
}

test("the banner shows the apps of a server by id and name, at most ten", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const off = ["--management-port", "off"];
  expect(await bannerLines(dataDir, ...off)).toEqual([
    expect.stringMatching(/^ {2}url {4}http:/),
    `  data   ${dataDir}`,
    expect.stringMatching(/^ {2}app {4}[0-9a-f-]{36} \(default\)$/),
    `  key    in ${join(dataDir, "quickstart.json")}`,
  ]);
  const registry = await Registry.open(dataDir, testHost());
  for (let i = 0; i < 11; i++) await registry.apps.create({ name: `a${10 + i}` }, SERVER);
  const names = registry.apps.names().map(({ id, name }) => `  app    ${id} (${name})`);
  await registry.close();
  const lines = await bannerLines(dataDir, ...off);
  expect(lines.slice(2, -1)).toEqual([...names.slice(0, 10), "         and 2 more"]);
});

test("the banner does not show the file with the first key when its app is deleted", async () => {
  const dataDir = join(temporaryFolder(), "data");
  expect(await bannerLines(dataDir)).toContain(`  key    in ${join(dataDir, "quickstart.json")}`);
  const registry = await Registry.open(dataDir, testHost());
  await registry.apps.remove("default", SERVER);
  await registry.close();
  expect(await bannerLines(dataDir, "--management-port", "off")).toEqual([
    expect.stringMatching(/^ {2}url {4}http:/),
    `  data   ${dataDir}`,
  ]);
});

test("[H16] the first key is printed only on a terminal; elsewhere the path of its file is", async () => {
  for (const isOutputTerminal of [true, false]) {
    const dataDir = join(temporaryFolder(), "data");
    const printed = await printedBy(dataDir, ["--management-port", "off"], isOutputTerminal);
    const path = join(dataDir, "quickstart.json");
    const { apiKey } = JSON.parse(readFileSync(path, "utf8")) as { apiKey: string };
    expect([printed.includes(apiKey), printed.includes(path)]).toEqual([isOutputTerminal, true]);
  }
});

test("the banner shows the address of the management API if there is one", async () => {
  const lines = await bannerLines(join(temporaryFolder(), "data"), "--management-port", "0");
  expect(lines[1]).toMatch(/^ {2}manage http:\/\/127\.0\.0\.1:\d+$/);
});

test("[M54] each start on a terminal prints a link to the console; elsewhere the path of its file", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const words = ["--management-port", "0"];
  for (let start = 0; start < 2; start++) {
    const link = /^ {2}console (\S+#token=bpc_\S+)$/m.exec(await printedBy(dataDir, words))?.[1];
    const text = readFileSync(join(dataDir, "quickstart.json"), "utf8");
    expect(JSON.parse(text)).toMatchObject({ consoleUrl: link });
  }
  const elsewhere = await printedBy(dataDir, words, false);
  expect(elsewhere).toContain(`  console consoleUrl in ${join(dataDir, "quickstart.json")}\n`);
  expect(elsewhere).not.toContain("bpc_");
  expect(await printedBy(dataDir, ["--management-port", "off"])).not.toContain("console");
  rmSync(join(dataDir, "quickstart.json"));
  expect(await printedBy(dataDir, words, false)).toMatch(
    /^ {2}console http:\/\/127\.0\.0\.1:\d+\/ with the admin token, or start on a terminal for a link$/m,
  );
});
