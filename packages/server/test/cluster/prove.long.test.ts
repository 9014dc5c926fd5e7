/**
 * One run of `npm run prove -- cluster`, of one minute: processes are killed and stopped and
 * connections are cut at random, and nothing is lost or done twice.
 */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";

const RUN = fileURLToPath(new URL("../../../../prove/run.mjs", import.meta.url));

/** Which faults there are, and when. */
const SEED = "1";

/** Starting, catching up and comparing the stores take longer than the minute itself. */
const RUN_MS_MAX = 540_000;

interface Result {
  /** Of what must never happen. How long writes were not possible depends on the machine. */
  readonly violations: readonly string[];
  readonly counts: { readonly [event: string]: number };
}

test("a minute of random failures of a cluster loses nothing and does nothing twice", async () => {
  const file = join(temporaryFolder(), "results.json");
  const words = [RUN, "cluster", "--minutes", "1", "--seed", SEED, "--json", file];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, words, { timeout: RUN_MS_MAX }, (error, stdout, stderr) => {
      resolve(`${stdout}${stderr}${error?.message ?? ""}`);
    });
  });
  const [result] = JSON.parse(readFileSync(file, "utf8")) as [Result];
  expect(result.violations, output).toEqual([]);
  expect(result.counts["insert acknowledged"]).toBeGreaterThan(50);
  expect(result.counts["mark written"]).toBeGreaterThan(50);
}, 600_000);
