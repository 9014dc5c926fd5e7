/**
 * How the log of a command looks for whoever reads it. The commands themselves: main.test.ts.
 */

import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../src/commands.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

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
    signals: { on: () => {}, exit: () => {} },
  });
  expect(code).toBe(1);
  return printed.slice(0, printed.indexOf("bigpeer: "));
}

const TEXT = /^\d\S+Z warn the variable BIGPEER_HOTS is not known .*\n$/;
const JSON_LINE = /^\{"level":"warn","time":"\S+","msg":"the variable BIGPEER_HOTS is .*"\}\n$/;

test("on a terminal the log is text, elsewhere it is JSON", async () => {
  expect(await warningLine(true)).toMatch(TEXT);
  expect(await warningLine(false)).toMatch(JSON_LINE);
});

test("a setting decides the format whoever reads it, and the level what is told", async () => {
  expect(await warningLine(true, { BIGPEER_LOG_FORMAT: "json" })).toMatch(JSON_LINE);
  expect(await warningLine(false, { BIGPEER_LOG_FORMAT: "text" })).toMatch(TEXT);
  expect(await warningLine(false, { BIGPEER_LOG_LEVEL: "error" })).toBe("");
});
