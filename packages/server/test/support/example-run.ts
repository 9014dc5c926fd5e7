/**
 * Runs a folder of examples as its reader would, and keeps what was said.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface ExampleRun {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/**
 * `name` is a folder of examples/. Of the environment `PATH` alone is taken over: neither a proxy nor
 * the settings of whoever runs the tests matter.
 */
export async function runExamples(
  name: string,
  env: Record<string, string>,
  ...words: string[]
): Promise<ExampleRun> {
  const script = fileURLToPath(new URL(`../../../../examples/${name}/run.mjs`, import.meta.url));
  const child = spawn(process.execPath, [script, ...words], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, lines: text.trimEnd().split("\n") };
}
