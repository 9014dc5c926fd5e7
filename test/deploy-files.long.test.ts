/**
 * The Dockerfile and the systemd unit, checked by linters: nothing here can run them.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { ROOT } from "./support/repository.ts";

interface Ended {
  readonly code: number | string;
  readonly output: string;
  /** On standard error. */
  readonly said: string;
}

async function run(program: string, words: readonly string[]): Promise<Ended> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, words);
    return { code: 0, output: stdout, said: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as {
      code: number | string;
      stdout: string;
      stderr: string;
    };
    return { code, output: stdout, said: stderr };
  }
}

/** The faults that dockerfilelint finds. */
async function lintDockerfile(text: string): Promise<unknown[]> {
  const path = join(temporaryFolder(), "Dockerfile");
  // dockerfilelint 1.8 takes the option for one with the name `--start`.
  writeFileSync(path, text.replace(/ --start-period=\d+s/, ""));
  const { output } = await run(process.execPath, [join(ROOT, "deploy/lint/lint.mjs"), path]);
  const { files } = JSON.parse(output) as { files: { issues: unknown[] }[] };
  return files.flatMap(({ issues }) => issues);
}

test("dockerfilelint finds nothing in the Dockerfile, and finds a planted fault", async () => {
  const text = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  expect(await lintDockerfile(text)).toEqual([]);
  const planted = text.replace("FROM node:24-bookworm-slim AS build", "FROM node:latest AS build");
  expect(await lintDockerfile(planted)).toHaveLength(1);
});

const hasSystemd = (await run("systemd-analyze", ["--version"])).code === 0;
if (!hasSystemd) {
  process.stderr.write("tests of the systemd unit are left out: there is no systemd-analyze\n");
}

/** The unit with this Node, which may be at another path than that of Debian. */
function plantUnit(change: (text: string) => string = (text) => text): string {
  const path = join(temporaryFolder(), "bigpeer.service");
  const text = readFileSync(join(ROOT, "deploy/bigpeer.service"), "utf8");
  writeFileSync(path, change(text.replace("/usr/bin/node", process.execPath)));
  return path;
}

test.runIf(hasSystemd)("systemd accepts the unit, and finds a planted fault", async () => {
  expect(await run("systemd-analyze", ["verify", plantUnit()])).toEqual({
    code: 0,
    output: "",
    said: "",
  });
  const wrong = plantUnit((text) => text.replace("ProtectSystem=strict", "ProtectSystem=stric"));
  expect((await run("systemd-analyze", ["verify", wrong])).said).toContain("stric");
});

test.runIf(hasSystemd)("systemd rates the exposure of the unit below 2 of 10", async () => {
  const words = ["security", "--offline=true", "--threshold=20", "--no-pager"];
  expect((await run("systemd-analyze", [...words, plantUnit()])).code).toBe(0);
  const open = plantUnit((text) =>
    text.replace("NoNewPrivileges=yes", "").replace(/^Sys.*$/gm, ""),
  );
  expect((await run("systemd-analyze", [...words, open])).code).not.toBe(0);
});
