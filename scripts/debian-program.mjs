/**
 * Programs of Debian for tests: nginx, Caddy and promtool of the deployment, tmux of the shell. Finds an installed one,
 * or downloads its package with apt-get, which checks its signature, and unpacks it into the user's
 * cache. Nothing is installed on the machine, and no service is started.
 *
 * Run as a program with a name, it prints the path of the executable, or on standard error the
 * reason why there is none. Uses nothing but Node itself, apt-get and dpkg-deb.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findInPath, isExecutable, printFound } from "./program.mjs";

const run = promisify(execFile);

/** `file` is the executable in the package `from`; `version` are words that make it end with 0. */
const PROGRAMS = {
  nginx: { from: "nginx", file: "usr/sbin/nginx", version: ["-v"] },
  caddy: { from: "caddy", file: "usr/bin/caddy", version: ["version"] },
  tmux: { from: "tmux", file: "usr/bin/tmux", version: ["-V"] },
  promtool: { from: "prometheus", file: "usr/bin/promtool", version: ["--version"] },
};

/** `{ path }` of an executable, or `{ reason }` why there is none. `NGINX` etc. name another one. */
export async function findDebianProgram(name, env = process.env) {
  const variable = name.toUpperCase();
  const named = env[variable];
  if (named !== undefined && named !== "") {
    return isExecutable(named)
      ? { path: named }
      : { reason: `${variable} is no program: ${named}` };
  }
  const program = PROGRAMS[name];
  if (program === undefined)
    return { reason: `expected one of ${Object.keys(PROGRAMS).join(", ")}` };
  const cache = join(env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "bigpeer");
  for (const path of candidates(name, program, cache, env)) {
    if ((await faultOf(path, program)) === undefined) return { path };
  }
  try {
    const path = join(await unpackPackage(program.from, cache, env), program.file);
    const fault = await faultOf(path, program);
    return fault === undefined ? { path } : { reason: `${name} of Debian does not run: ${fault}` };
  } catch (error) {
    return { reason: `there is no ${name}: ${lastLine(error)}` };
  }
}

/** Executables that are there: the one in PATH, and those in the cache. */
function candidates(name, { from, file }, cache, env) {
  const cached = namesIn(cache)
    .filter((folder) => folder.startsWith(`${from}_`))
    .map((folder) => join(cache, folder, file));
  return [...findInPath([name], env), ...cached.filter(isExecutable)];
}

function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Undefined when it runs. */
async function faultOf(path, { version }) {
  try {
    await run(path, version);
    return undefined;
  } catch (error) {
    return lastLine(error);
  }
}

function lastLine(error) {
  return (error.stderr || error.message).trim().split("\n").at(-1);
}

/** Returns the folder of its content. In one step at the end, so that no half of it is found. */
async function unpackPackage(name, cache, env) {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "unpacking-"));
  try {
    const archive = await download(name, folder, env);
    await run("dpkg-deb", ["-x", archive, "content"], { cwd: folder, env });
    const target = join(cache, archive.replace(/\.deb$/, "").replace(/[^\w.+-]/g, "_"));
    rmSync(target, { recursive: true, force: true });
    renameSync(join(folder, "content"), target);
    return target;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the name of the downloaded file. */
async function download(name, folder, env) {
  const options = { cwd: folder, env };
  try {
    await run("apt-get", ["-qq", "download", name], options);
  } catch (error) {
    // The lists of packages may be absent or old; only root can fetch them.
    if (process.getuid?.() !== 0 || error.code === "ENOENT") throw error;
    await run("apt-get", ["-qq", "update"], options);
    await run("apt-get", ["-qq", "download", name], options);
  }
  const archive = namesIn(folder).find((file) => file.endsWith(".deb"));
  if (archive === undefined) throw new Error(`apt-get downloaded no package ${name}`);
  return archive;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printFound(await findDebianProgram(process.argv[2] ?? ""));
}
