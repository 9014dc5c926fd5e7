/**
 * Bundles the console: `index.html` and its files, with names that change with their content. The
 * package of the console has them in dist/web, and the server has a copy that it serves at `/` of
 * the management listener.
 *
 * A bundle of the files that are built now is left alone, so that a set-up loses no time. The stamp
 * is written last: an interrupted build is none. `npm run build` runs it; setup.mjs calls it.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const home = join(root, "packages", "console");
const target = join(home, "dist", "web");
const copy = join(root, "packages", "server", "dist", "console");
const STAMP = "stamp.json";

/** What the bundle is made of. */
const SOURCES = [
  join(home, "src"),
  join(home, "public"),
  join(root, "packages", "protocol", "src"),
  join(root, "packages", "engine", "src"),
  join(root, "packages", "client", "src"),
];

export async function buildConsole() {
  const stamp = JSON.stringify([
    ...SOURCES.map(newest),
    statSync(join(root, "package-lock.json")).mtimeMs,
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
  ]);
  if (isBuilt(stamp)) return;
  const styles = await bundleStyles();
  const scripts = await bundleScripts();
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, "assets"), { recursive: true });
  for (const { fileName, code } of [styles, ...scripts]) {
    writeFileSync(join(target, "assets", fileName), code);
  }
  cpSync(join(home, "public", "favicon.svg"), join(target, "favicon.svg"));
  rmSync(copy, { recursive: true, force: true });
  cpSync(target, copy, { recursive: true });
  const entry = scripts.find(({ isEntry }) => isEntry);
  const page = pageWith({ "main.css": styles.fileName, "main.js": entry.fileName });
  for (const folder of [target, copy]) writeFileSync(join(folder, "index.html"), page);
  writeFileSync(join(copy, STAMP), stamp);
}

/** The entry, and files that are loaded on use: the code of each page, of the editor and of charts. */
export async function bundleScripts() {
  // Loaded on use: a set-up that finds everything built does not need it.
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({
    input: { main: join(home, "src", "main.tsx") },
    cwd: root,
    platform: "browser",
    resolve: { conditionNames: ["source", "browser", "import", "default"] },
  });
  const { output } = await bundle.generate({
    format: "esm",
    minify: true,
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundle.close();
  return output;
}

/** One file of all styles, in the order of index.css. */
export async function bundleStyles() {
  const { bundle } = await import("lightningcss");
  const { code } = bundle({ filename: join(home, "src", "styles", "index.css"), minify: true });
  const hash = createHash("sha256").update(code).digest("base64url").slice(0, 8);
  return { fileName: `main-${hash}.css`, code };
}

/** Written last: it is the version of the build. */
function pageWith(names) {
  let page = readFileSync(join(home, "public", "index.html"), "utf8");
  for (const [plain, hashed] of Object.entries(names)) {
    page = page.replace(`/assets/${plain}`, `/assets/${hashed}`);
  }
  return page;
}

function isBuilt(stamp) {
  const path = join(copy, STAMP);
  return existsSync(target) && existsSync(path) && readFileSync(path, "utf8") === stamp;
}

/** The number of files below a folder, and when the last of them was written. */
function newest(folder) {
  let [count, at] = [0, 0];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    count++;
    at = Math.max(at, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  }
  return [count, at];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
