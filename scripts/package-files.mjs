/**
 * Makes the files of the package whose folder is the current one ready to be packed. `prepack` of each
 * package runs it, after the build.
 *
 *   built files   those whose source is gone are removed: the compiler leaves them
 *   licence       copied from the repository, because npm packs only files of the package
 *
 * Uses nothing but Node itself.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The compiler writes one of these for each source, and it names the source. */
const MAP_ENDING = ".d.ts.map";
const ENDINGS = [".js", ".js.map", ".d.ts", MAP_ENDING];

for (const name of existsSync("dist") ? readdirSync("dist", { recursive: true }) : []) {
  if (name.endsWith(MAP_ENDING)) removeStale(join("dist", name));
}
copyFileSync(fileURLToPath(new URL("../LICENSE", import.meta.url)), "LICENSE");

function removeStale(map) {
  const [source] = JSON.parse(readFileSync(map, "utf8")).sources;
  if (existsSync(join(dirname(map), source))) return;
  const stem = map.slice(0, -MAP_ENDING.length);
  for (const ending of ENDINGS) rmSync(stem + ending, { force: true });
}
