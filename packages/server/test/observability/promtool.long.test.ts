/**
 * The metrics of a running server, read and linted by promtool of Prometheus.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testProgram } from "../../../../test/support/debian-programs.ts";
import { bundleScript, type Script } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "../support/bigpeer-process.ts";

const promtool = await testProgram("promtool");

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

async function check(text: string): Promise<{ code: unknown; said: string }> {
  const child = spawn(promtool.path, ["check", "metrics"], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (part: string) => {
      said += part;
    });
  }
  child.stdin.end(text);
  const [code] = await once(child, "close");
  return { code, said };
}

test.runIf(promtool.isPresent)(
  "promtool accepts all metrics of a server that was used",
  async () => {
    const dataDir = temporaryFolder();
    const server = new BigpeerProcess(script, ["--data-dir", dataDir, "--port", "0"]);
    const url = await server.url();
    const { apiKey } = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
    for (const statement of ["INSERT INTO cars DOCUMENTS ({'doors': 3})", "SELECT"]) {
      await fetch(`${url}/api/v4/store/execute`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ statement }),
      });
    }
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('bigpeer_commits_total{app="');
    expect(await check(text)).toEqual({ code: 0, said: "" });
  },
);

test.runIf(promtool.isPresent)(
  "promtool finds a text that is wrong, and a name that is",
  async () => {
    expect((await check('a{b="c} 1\n')).code).not.toBe(0);
    expect(
      (await check("# HELP a_count Help.\n# TYPE a_count counter\na_count 1\n")).said,
    ).not.toBe("");
  },
);
