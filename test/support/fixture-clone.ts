/**
 * A clone in a temporary folder on which scripts/setup.mjs and scripts/docs.mjs can be run for real,
 * with no network: its `npm`, its `tsc` and the build of its site are small programs that write down
 * that they were called, and `npm ci` takes as long as it is told to.
 */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ROOT } from "./repository.ts";

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface FixtureClone {
  readonly root: string;
  /** Runs the set-up; `env` is added to the environment, `nodeOptions` to the command line. */
  readonly setUp: (env?: Record<string, string>, nodeOptions?: string[]) => RunningSetUp;
  /** Builds the documentation site; `env` is added to the environment. */
  readonly buildSite: (env?: Record<string, string>) => RunningSetUp;
  /** Runs the real `npm pack` on a package of the clone that has the manifest of ours. */
  readonly pack: (name: string) => Promise<Outcome>;
  /**
   * What was called so far, in order: `npm ci …`, `npm end`, `tsc -b`, `site`. A line of npm in the
   * folder of the site begins with `site: `.
   */
  readonly calls: () => string[];
  readonly changeLockFile: () => void;
  readonly remove: () => void;
}

export interface RunningSetUp {
  readonly pid: number;
  readonly ended: Promise<Outcome>;
  /** What it has said on standard error so far. */
  readonly said: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
}

const NPM = `#!/usr/bin/env node
const fs = require("node:fs");
const place = process.cwd().endsWith("/site") ? "site: " : "";
const write = (line) => fs.appendFileSync(process.env.CALLS, place + line + "\\n");
const settings = Object.entries(process.env)
  .filter(([name]) => /^npm_config_(omit|production|dry_run|workspace|registry)$/i.test(name));
write(["npm", ...process.argv.slice(2)].join(" "));
for (const [name, value] of settings) write("setting " + name.toLowerCase() + "=" + value);
console.log("added some packages");
fs.rmSync("node_modules", { recursive: true, force: true });
setTimeout(() => {
  if (process.env.NPM_FAILS) {
    console.error("npm says why");
    process.exit(7);
  }
  fs.mkdirSync("node_modules/typescript/bin", { recursive: true });
  fs.writeFileSync("node_modules/typescript/bin/tsc", process.env.TSC);
  fs.mkdirSync("node_modules/swagger-ui-dist", { recursive: true });
  for (const [name, text] of Object.entries(JSON.parse(process.env.PAGE))) {
    fs.writeFileSync("node_modules/swagger-ui-dist/" + name, text);
  }
  write("npm end");
}, Number(process.env.NPM_TAKES_MS ?? 0));
`;

const TSC = `
require("node:fs").appendFileSync(process.env.CALLS, "tsc " + process.argv.slice(2).join(" ") + "\\n");
if (process.env.TSC_FAILS) {
  console.log("a.ts(1,1): error");
  process.exit(2);
}
`;

const SITE = `
import { appendFileSync } from "node:fs";
appendFileSync(process.env.CALLS, "site\\n");
console.log("built some pages");
if (process.env.SITE_FAILS) process.exitCode = 1;
`;

/** Stands for the build of the SDK for browsers, which needs the real packages. */
const SDK = `
import { appendFileSync } from "node:fs";
export async function buildSdk() {
  appendFileSync(process.env.CALLS, "sdk\\n");
}
`;

/** The same for the console. */
const CONSOLE = `
import { appendFileSync } from "node:fs";
export async function buildConsole() {
  appendFileSync(process.env.CALLS, "console\\n");
}
`;

const SCRIPTS = [
  "scripts/setup.mjs",
  "scripts/copy-api-page.mjs",
  "scripts/docs.mjs",
  "scripts/folder-lock.mjs",
  "scripts/npm-packages.mjs",
  "scripts/npm-command.mjs",
  "scripts/parent-watch.mjs",
  "scripts/package-files.mjs",
];

/** What stands for the package with the page, by file. */
export const PAGE: Readonly<Record<string, string>> = {
  "package.json": '{"version":"1.2.3"}',
  "swagger-ui.css": "the style",
  "swagger-ui-bundle.js": "the script",
  "swagger-ui-bundle.js.LICENSE.txt": "the licenses in the script",
  LICENSE: "the license",
  NOTICE: "the notice",
  "swagger-ui.js": "another script",
};

export function createFixtureClone(): FixtureClone {
  const root = mkdtempSync(join(tmpdir(), "bigpeer-setup-"));
  const callsPath = join(root, "calls.log");
  mkdirSync(join(root, "scripts"));
  mkdirSync(join(root, "bin"));
  mkdirSync(join(root, "site"));
  for (const script of [...SCRIPTS, "LICENSE"])
    copyFileSync(join(ROOT, script), join(root, script));
  writeFileSync(join(root, "scripts/sdk.mjs"), SDK);
  writeFileSync(join(root, "scripts/console.mjs"), CONSOLE);
  writeFileSync(join(root, "bin/npm"), NPM, { mode: 0o755 });
  writeFileSync(join(root, "package-lock.json"), "{}\n");
  writeFileSync(join(root, "site/package-lock.json"), "{}\n");
  writeFileSync(join(root, "site/build.mjs"), SITE);
  const fixtureEnv = {
    PATH: [join(root, "bin"), process.env["PATH"]].join(delimiter),
    CALLS: callsPath,
    TSC,
    PAGE: JSON.stringify(PAGE),
  };
  return {
    root,
    setUp: (env = {}, nodeOptions = []) => startSetUp(root, { ...fixtureEnv, ...env }, nodeOptions),
    buildSite: (env = {}) => {
      const script = join(root, "scripts/docs.mjs");
      return start(process.execPath, [script, "build"], { ...fixtureEnv, ...env });
    },
    pack: (name) => pack(root, name, fixtureEnv),
    calls: () =>
      existsSync(callsPath) ? readFileSync(callsPath, "utf8").trimEnd().split("\n") : [],
    changeLockFile: () => appendFileSync(join(root, "package-lock.json"), "\n"),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function pack(root: string, name: string, env: Record<string, string>): Promise<Outcome> {
  const folder = join(root, "packages", name);
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(ROOT, "packages", name, "package.json"), join(folder, "package.json"));
  const paths = (process.env["PATH"] ?? "").split(delimiter);
  const npm = paths.map((path) => join(path, "npm")).find((path) => existsSync(path)) ?? "npm";
  return start(npm, ["pack", "--dry-run"], env, folder).ended;
}

function startSetUp(
  root: string,
  env: Record<string, string>,
  nodeOptions: readonly string[],
): RunningSetUp {
  return start(process.execPath, [...nodeOptions, join(root, "scripts/setup.mjs")], env);
}

function start(
  command: string,
  parameters: readonly string[],
  env: Record<string, string>,
  cwd?: string,
): RunningSetUp {
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const child = spawn(command, parameters, {
    env: { ...Object.fromEntries(inherited), ...env },
    ...(cwd !== undefined && { cwd }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { pid: child.pid ?? 0, ended, said: () => stderr, kill: (signal) => child.kill(signal) };
}
