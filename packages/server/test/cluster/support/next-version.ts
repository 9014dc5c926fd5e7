/**
 * The next version of the server, for tests with two versions: a copy of the built packages that has
 * another version and reads and writes one more format of log entries.
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NEWEST_ENTRY_FORMAT } from "@bigpeer/engine/cluster";

const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));

const PACKAGES = ["protocol", "engine", "node", "server"];

export const NEXT_VERSION = "9.9.9";

/** The newest format of log entries that it writes. */
export const NEXT_ENTRY_FORMAT: number = NEWEST_ENTRY_FORMAT + 1;

/** The program of the version under test. */
export const THIS_PROGRAM: string = join(ROOT, "packages/server/dist/main.js");

/** Makes it in an empty folder. Returns the path of its program. */
export function makeNextVersion(folder: string): string {
  for (const name of PACKAGES) {
    const [from, to] = [join(ROOT, "packages", name), join(folder, "packages", name)];
    cpSync(join(from, "dist"), join(to, "dist"), { recursive: true });
    cpSync(join(from, "package.json"), join(to, "package.json"));
  }
  linkModules(folder);
  const version = join(folder, "packages/server/dist/config/version.js");
  replaceIn(version, /VERSION = "[^"]+"/, `VERSION = "${NEXT_VERSION}"`);
  const entry = join(folder, "packages/engine/dist/cluster/log-entry.js");
  replaceIn(entry, /NEWEST_ENTRY_FORMAT = \d+;/, `NEWEST_ENTRY_FORMAT = ${NEXT_ENTRY_FORMAT};`);
  return join(folder, "packages/server/dist/main.js");
}

/** The own packages are the copies; libraries are those of this checkout. */
function linkModules(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@bigpeer"), { recursive: true });
  for (const name of PACKAGES) {
    symlinkSync(join(folder, "packages", name), join(modules, "@bigpeer", name));
  }
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== "@bigpeer") symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
}

function replaceIn(path: string, found: RegExp, by: string): void {
  const text = readFileSync(path, "utf8");
  const replaced = text.replace(found, by);
  if (replaced === text) throw new Error(`expected ${String(found)} in ${path}`);
  writeFileSync(path, replaced);
}
