/**
 * How the log of a command looks for whoever reads it. The commands themselves: main.test.ts.
 */

import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { runCommand } from "../../src/command/commands.ts";

/** What a command that has one warning prints to standard error before it fails. */
async function warningLine(isTerminal: boolean, env: Record<string, string> = {}) {
  const folder = join(temporaryFolder(), "absent");
  let printed = "";
  const code = await runCommand(["verify", "--data-dir", folder], {
    env: { BIGPEER_HOTS: "1", ...env },
    print: () => {},
    printError: (text) => {
      printed += text;
    },
    isTerminal,
    isOutputTerminal: isTerminal,
    signals: { on: () => {}, exit: () => {} },
  });
  expect(code).toBe(1);
  return printed.slice(0, printed.indexOf("bigpeer: "));
}

const TEXT = /^\d\S+Z warn the variable BIGPEER_HOTS is not known .*\n$/;
const JSON_LINE = /^\{"level":"warn","time":"\S+","msg":"the variable BIGPEER_HOTS is .*"\}\n$/;

test("the log is text on a terminal, and JSON elsewhere", async () => {
  expect(await warningLine(true)).toMatch(TEXT);
  expect(await warningLine(false)).toMatch(JSON_LINE);
});

test("a setting overrides the log format, and the level filters the log", async () => {
  expect(await warningLine(true, { BIGPEER_LOG_FORMAT: "json" })).toMatch(JSON_LINE);
  expect(await warningLine(false, { BIGPEER_LOG_FORMAT: "text" })).toMatch(TEXT);
  expect(await warningLine(false, { BIGPEER_LOG_LEVEL: "error" })).toBe("");
});

test("a server whose management API is open to everyone does not start; a backup needs no admin token", async () => {
  const env = { BIGPEER_MANAGEMENT_HOST: "0.0.0.0" };
  const folder = join(temporaryFolder(), "absent");
  let printed = "";
  const host = {
    env,
    print: () => {},
    printError: (text: string) => {
      printed += text;
    },
    isTerminal: true,
    isOutputTerminal: true,
    signals: { on: () => {}, exit: () => {} },
  };
  expect(await runCommand(["serve", "--data-dir", folder], host)).toBe(2);
  expect(printed).toMatch(
    /^bigpeer: anyone who reaches 0\.0\.0\.0 could use the management API: set BIGPEER_/,
  );
  expect(existsSync(folder)).toBe(false);
  printed = "";
  expect(await runCommand(["verify", "--data-dir", folder], host)).toBe(1);
  expect(printed).toMatch(/^bigpeer: expected a data folder of Big Peer/);
});

test("a config file names the folder, and warnings about the file are logged", async () => {
  const file = join(temporaryFolder(), "bigpeer.json");
  const content = { "data-dir": "absent", "admin-token": "hush-hush-hush-hush" };
  writeFileSync(file, JSON.stringify(content));
  chmodSync(file, 0o644);
  let printed = "";
  const code = await runCommand(["verify", "--config", file], {
    env: {},
    print: () => {},
    printError: (text) => {
      printed += text;
    },
    isTerminal: true,
    isOutputTerminal: true,
    signals: { on: () => {}, exit: () => {} },
  });
  expect(code).toBe(1);
  expect(printed).toContain(`warn ${file} has the admin token in it and is open to others`);
  expect(printed).toContain(
    `expected a data folder of Big Peer at ${join(dirname(file), "absent")}`,
  );
  expect(printed).not.toContain("hush");
});
