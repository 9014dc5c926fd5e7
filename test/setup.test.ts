/**
 * scripts/setup.mjs and scripts/docs.mjs, run as real processes on a small clone with a stand-in for
 * npm.
 */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { isFullSize } from "../packages/protocol/test/support/test-size.ts";
import { createFixtureClone, type FixtureClone, PAGE } from "./support/fixture-clone.ts";
import { ROOT } from "./support/repository.ts";

const NPM_CI = "npm ci --include=dev --include=optional --loglevel=error --no-audit --no-fund";
const BUILT = ["tsc -b", "sdk", "console"];
const INSTALLED_AND_BUILT = [NPM_CI, "npm end", ...BUILT];
const SITE_BUILT = [`site: ${NPM_CI}`, "site: npm end", "site"];

function openClone(): FixtureClone {
  const clone = createFixtureClone();
  onTestFinished(clone.remove);
  return clone;
}

function placeLock(clone: FixtureClone, owner: number): string {
  const mark = join(clone.root, ".setup-lock", String(owner));
  mkdirSync(join(clone.root, ".setup-lock"));
  writeFileSync(mark, "");
  return mark;
}

function findLocks(clone: FixtureClone): string[] {
  return readdirSync(clone.root).filter((name) => name.startsWith(".setup-lock"));
}

/** The number of a process that has ended. */
async function findDeadProcess(clone: FixtureClone): Promise<number> {
  const { pid, ended } = clone.setUp({}, ["--version"]);
  await ended;
  return pid;
}

test("a fresh clone is installed, then built, and standard output stays empty", async () => {
  const clone = openClone();
  const { code, stdout, stderr } = await clone.setUp().ended;
  expect(clone.calls()).toEqual(INSTALLED_AND_BUILT);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain("bigpeer: installing dependencies");
  expect(findLocks(clone)).toEqual([]);
});

test.runIf(isFullSize)(
  "a clone that is ready is not installed again, and nothing is printed",
  async () => {
    const clone = openClone();
    await clone.setUp().ended;
    const outcome = await clone.setUp().ended;
    expect(outcome).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(clone.calls()).toEqual([...INSTALLED_AND_BUILT, ...BUILT]);
  },
);

test.runIf(isFullSize)(
  "a changed lock file, and a removed node_modules, cause a new installation",
  async () => {
    const clone = openClone();
    await clone.setUp().ended;
    clone.changeLockFile();
    await clone.setUp().ended;
    rmSync(join(clone.root, "node_modules"), { recursive: true });
    await clone.setUp().ended;
    expect(clone.calls().filter((call) => call === NPM_CI)).toHaveLength(3);
  },
);

test.runIf(isFullSize)(
  "npm pack installs and builds what is missing before it packs",
  {
    timeout: 60_000,
  },
  async () => {
    const clone = openClone();
    const built = join(clone.root, "packages", "server", "dist");
    mkdirSync(built, { recursive: true });
    for (const ending of ["js", "js.map", "d.ts"]) writeFileSync(join(built, `old.${ending}`), "");
    writeFileSync(join(built, "old.d.ts.map"), '{"sources":["../src/old.ts"]}');
    writeFileSync(join(built, "page.js"), "no output of the compiler");
    const { code } = await clone.pack("server");
    expect(clone.calls()).toEqual([...INSTALLED_AND_BUILT, ...SITE_BUILT]);
    expect(code).toBe(0);
    expect(readdirSync(built).toSorted()).toEqual(["api-page", "page.js"]);
    const licence = join(clone.root, "packages", "server", "LICENSE");
    expect(readFileSync(licence, "utf8")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
  },
);

test("the site is built with its own tools, which are installed once, and stdout stays empty", async () => {
  const clone = openClone();
  const { code, stdout, stderr } = await clone.buildSite().ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain("bigpeer: installing the tools of the documentation site (npm ci)");
  await clone.buildSite().ended;
  expect(clone.calls()).toEqual([...SITE_BUILT, "site"]);
});

test.runIf(isFullSize)("a site that is not built is reported", async () => {
  const clone = openClone();
  const { code, stderr } = await clone.buildSite({ SITE_FAILS: "1" }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("bigpeer: the documentation site was not built: see above.");
  expect(readdirSync(join(clone.root, "site"))).not.toContain(".setup-lock");
});

/** The copied page, by file. */
function readPage(clone: FixtureClone): Record<string, string> {
  const folder = join(clone.root, "packages/server/dist/api-page");
  const names = readdirSync(folder);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

test.runIf(isFullSize)(
  "the page is copied with its licenses, again if it is incomplete, else not",
  async () => {
    const clone = openClone();
    await clone.setUp().ended;
    const { "package.json": _, "swagger-ui.js": __, ...wanted } = PAGE;
    const copied = { ...wanted, version: "1.2.3" };
    expect(readPage(clone)).toEqual(copied);
    const style = join(clone.root, "packages/server/dist/api-page/swagger-ui.css");
    writeFileSync(style, "left alone");
    await clone.setUp().ended;
    expect(readPage(clone)).toEqual({ ...copied, "swagger-ui.css": "left alone" });
    rmSync(style);
    await clone.setUp().ended;
    expect(readPage(clone)).toEqual(copied);
  },
);

test.runIf(isFullSize)("a page of another version is copied again", async () => {
  const clone = openClone();
  await clone.setUp().ended;
  const script = join(clone.root, "node_modules/swagger-ui-dist/swagger-ui-bundle.js");
  writeFileSync(script, "a new script");
  writeFileSync(join(script, "../package.json"), '{"version":"1.2.4"}');
  await clone.setUp().ended;
  const { version, "swagger-ui-bundle.js": content } = readPage(clone);
  expect({ version, content }).toEqual({ version: "1.2.4", content: "a new script" });
});

test("a failed installation is reported, builds nothing, and is tried again", async () => {
  const clone = openClone();
  const { code, stderr } = await clone.setUp({ NPM_FAILS: "1" }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("npm says why");
  expect(stderr).toContain("bigpeer: npm ci failed (exit code 7).");
  expect(findLocks(clone)).toEqual([]);
  await clone.setUp().ended;
  expect(clone.calls()).toEqual([NPM_CI, ...INSTALLED_AND_BUILT]);
});

test.runIf(isFullSize)("sources that do not compile are reported on standard error", async () => {
  const clone = openClone();
  const { code, stdout, stderr } = await clone.setUp({ TSC_FAILS: "1" }).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/a\.ts\(1,1\): error\n.*do not compile/);
});

test.runIf(isFullSize)(
  "npm settings that would change the installation are not passed to npm, others are",
  async () => {
    const clone = openClone();
    await clone.setUp({
      NODE_ENV: "production",
      npm_config_omit: "dev",
      NPM_CONFIG_PRODUCTION: "true",
      npm_config_dry_run: "true",
      npm_config_workspace: "packages/server",
      npm_config_registry: "https://registry.example/",
    }).ended;
    expect(clone.calls()).toEqual([
      NPM_CI,
      "setting npm_config_registry=https://registry.example/",
      "npm end",
      ...BUILT,
    ]);
  },
);

test.runIf(isFullSize)(
  "of several concurrent set-ups one installs, the others wait and find the work done",
  async () => {
    const clone = openClone();
    const runs = Array.from({ length: 4 }, () => clone.setUp({ NPM_TAKES_MS: "400" }));
    const outcomes = await Promise.all(runs.map((run) => run.ended));
    expect(outcomes.map((outcome) => outcome.code)).toEqual([0, 0, 0, 0]);
    expect(clone.calls()).toEqual([...INSTALLED_AND_BUILT, ...BUILT, ...BUILT, ...BUILT]);
    expect(findLocks(clone)).toEqual([]);
  },
);

test.runIf(isFullSize)(
  "the lock of a dead process is taken over, by one of several set-ups",
  async () => {
    const clone = openClone();
    placeLock(clone, await findDeadProcess(clone));
    const runs = Array.from({ length: 3 }, () => clone.setUp({ NPM_TAKES_MS: "200" }));
    const outcomes = await Promise.all(runs.map((run) => run.ended));
    expect(outcomes.map((outcome) => outcome.code)).toEqual([0, 0, 0]);
    expect(clone.calls()).toEqual([...INSTALLED_AND_BUILT, ...BUILT, ...BUILT]);
  },
);

test("a set-up waits for the lock of a living process until it is released", async () => {
  const clone = openClone();
  const mark = placeLock(clone, process.pid);
  const { ended, said } = clone.setUp();
  const waiting = `bigpeer: waiting for the set-up that process ${process.pid} does in this clone\n`;
  await vi.waitFor(() => expect(said()).toBe(waiting), { timeout: 30_000 });
  expect(clone.calls()).toEqual([]);
  rmSync(mark);
  const { code } = await ended;
  expect(code).toBe(0);
  expect(clone.calls()).toEqual(INSTALLED_AND_BUILT);
});

test.runIf(isFullSize)(
  "the lock of a process that has not touched its mark for long is taken over",
  async () => {
    const clone = openClone();
    const longAgo = new Date(Date.now() - 120_000);
    utimesSync(placeLock(clone, process.pid), longAgo, longAgo);
    const { code } = await clone.setUp().ended;
    expect(code).toBe(0);
    expect(clone.calls()).toEqual(INSTALLED_AND_BUILT);
  },
);

test.runIf(isFullSize)("a set-up that is stopped stops npm and releases the lock", async () => {
  const clone = openClone();
  const run = clone.setUp({ NPM_TAKES_MS: "60000" });
  await vi.waitFor(() => expect(clone.calls()).toEqual([NPM_CI]), { timeout: 30_000 });
  run.kill("SIGTERM");
  const { code } = await run.ended;
  expect(code).toBe(1);
  expect(findLocks(clone)).toEqual([]);
  expect(existsSync(join(clone.root, "node_modules"))).toBe(false);
});

test.runIf(isFullSize)(
  "after a killed set-up the next one waits for the npm process that it left behind",
  async () => {
    const clone = openClone();
    const killed = clone.setUp({ NPM_TAKES_MS: "800" });
    await vi.waitFor(() => expect(clone.calls()).toEqual([NPM_CI]), { timeout: 30_000 });
    killed.kill("SIGKILL");
    const { code } = await clone.setUp().ended;
    expect(code).toBe(0);
    expect(clone.calls()).toEqual([NPM_CI, "npm end", ...INSTALLED_AND_BUILT]);
    await killed.ended;
  },
);

test("a Node that is too old is reported before anything else is done", async () => {
  const clone = openClone();
  const pretend = "const versions = { ...process.versions, node: '20.18.3' };";
  const define = "Object.defineProperty(process, 'versions', { value: versions });";
  const { code, stderr } = await clone.setUp({}, [
    "--import",
    `data:text/javascript,${encodeURIComponent(pretend + define)}`,
  ]).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^bigpeer: Node 20\.19 or newer is needed/);
  expect(clone.calls()).toEqual([]);
});
