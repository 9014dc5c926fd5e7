/**
 * Copies what the page `/docs/api` needs of Swagger UI beside the built server. The package itself
 * is no dependency of those who install the server: a script of another one that it brings along
 * reports who installs it.
 *
 * A copy of the installed version is left alone, so that a set-up loses no time. The version is
 * written last: an interrupted copy is none.
 *
 * Uses nothing but Node itself. `npm run build` runs it; setup.mjs calls it.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FILES = [
  "swagger-ui.css",
  "swagger-ui-bundle.js",
  "swagger-ui-bundle.js.LICENSE.txt",
  "LICENSE",
  "NOTICE",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "node_modules", "swagger-ui-dist");
const target = join(root, "packages", "server", "dist", "api-page");
const versionPath = join(target, "version");

/** Throws when the package is not installed. */
export function copyApiPage() {
  const { version } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  if (isCopied(version)) return;
  mkdirSync(target, { recursive: true });
  rmSync(versionPath, { force: true });
  for (const file of FILES) copyFileSync(join(source, file), join(target, file));
  writeFileSync(versionPath, version);
}

function isCopied(version) {
  if (!existsSync(versionPath) || readFileSync(versionPath, "utf8") !== version) return false;
  return FILES.every((file) => existsSync(join(target, file)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyApiPage();
