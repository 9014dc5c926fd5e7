/**
 * The compiler that reads the sources of the SDK. It is not the compiler of the project, because
 * the package of TypeScript 7 has no API. So this folder has a lock file of its own, which is
 * installed on use.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Variables that `npm run` sets and that would change what npm installs, or where. */
const MISLEADING =
  /^npm_(package_|lifecycle_|config_(local_prefix|prefix|workspaces?|global|omit|only|dry_run)$)/i;

/** Installs the compiler if it is not there. Rejects with a message that says what to do. */
export async function loadTypescript() {
  const wanted = readVersion("package.json", ({ dependencies }) => dependencies.typescript);
  const installed = join("node_modules", "typescript", "package.json");
  if (readVersion(installed, ({ version }) => version) !== wanted) await install(wanted);
  return createRequire(import.meta.url)("typescript");
}

function readVersion(name, read) {
  const path = join(FOLDER, name);
  return existsSync(path) ? read(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}

async function install(version) {
  const options = ["--no-audit", "--no-fund", "--loglevel=error"];
  const npm = spawn("npm", ["ci", ...options], {
    cwd: FOLDER,
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !MISLEADING.test(name))),
    stdio: ["ignore", 2, 2],
  });
  const [code] = await once(npm, "exit").catch((error) => [error.message]);
  if (code === 0) return;
  throw new Error(
    `failed to install typescript ${version} for the SDK reference: npm ci ended with ${code}; ` +
      "check that npm can reach its registry, and retry",
  );
}
