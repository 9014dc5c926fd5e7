/**
 * The examples of the management API are true: every call of examples/management, made by curl against
 * the server as a process of its own, gets the answer that stands there.
 */

import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "../support/bigpeer-process.ts";
import { runExamples } from "../support/example-run.ts";

const TOKEN = "a-token-of-the-administrator";

/** Starts a server on an empty folder and runs examples against it. */
async function expectAllTrue(
  env: Record<string, string>,
  exampleEnv: Record<string, string>,
  words: readonly string[],
): Promise<void> {
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const dataDir = temporaryFolder();
  const settings = ["--data-dir", dataDir, "--port", "0", "--management-port", "0"];
  await new BigpeerProcess(script, settings, env).url();
  const given = { DATA_DIR: dataDir, ...exampleEnv };
  const { code, lines } = await runExamples("management", given, ...words);
  expect(lines.filter((line) => !line.startsWith("ok "))).toEqual([
    expect.stringMatching(/^\d{2,} calls to http:\S+, 0 failed$/),
  ]);
  expect(code).toBe(0);
}

test("every example of the management API gets the documented answer, from an empty folder on", async () => {
  await expectAllTrue({}, {}, []);
}, 120_000);

test("with an admin token the examples pass as well, except those of a server without one", async () => {
  const env = { BIGPEER_ADMIN_TOKEN: TOKEN };
  await expectAllTrue(env, { ADMIN_TOKEN: TOKEN }, ["01-interface", "02-second-app"]);
}, 120_000);

test("a wrong admin token reveals only which paths and methods exist", async () => {
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const dataDir = temporaryFolder();
  const settings = ["--data-dir", dataDir, "--port", "0", "--management-port", "0"];
  await new BigpeerProcess(script, settings, { BIGPEER_ADMIN_TOKEN: TOKEN }).url();
  const given = { DATA_DIR: dataDir, ADMIN_TOKEN: `${TOKEN}-of-another-server` };
  const { code, lines } = await runExamples("management", given, "01-interface");
  expect(code).toBe(1);
  const reported = lines.filter((line) => line.startsWith("ok "));
  expect(reported.map((line) => line.replace(/^ok +\S+ /, ""))).toEqual([
    "An unknown path.",
    "A method that the path does not support.",
  ]);
}, 120_000);
