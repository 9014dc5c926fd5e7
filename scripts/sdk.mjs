/**
 * Bundles the peer for browsers: `bigpeer.js` for pages, `bigpeer-loader.js` and `bigpeer-worker.js`
 * for their worker, and
 * `bigpeer-patterns.js`, `bigpeer-explain.js` and `bigpeer-attachments.js`, which it loads on use. The package of the
 * peer has the files in dist/sdk, and the server has a copy that it serves at /sdk/.
 *
 * It bundles the sources: the compiler would hide the comments by which `import()` is left alone by
 * the bundlers of apps. A bundle that this script and this bundler made of the files that are built
 * now is left alone, so that a set-up loses no time. The stamp is written last: an interrupted build
 * is none.
 *
 * `npm run build` runs it; setup.mjs calls it.
 */
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
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = {
  target: join(root, "packages", "peer", "dist", "sdk"),
  copy: join(root, "packages", "server", "dist", "sdk"),
};
const STAMP = "stamp.json";

/** The source of each file. */
const ENTRIES = {
  bigpeer: "packages/peer/src/web/page/index.ts",
  "bigpeer-loader": "packages/peer/src/web/worker/loader.ts",
  "bigpeer-worker": "packages/peer/src/web/worker/worker.ts",
  "bigpeer-patterns": "packages/peer/src/web/patterns.ts",
  "bigpeer-explain": "packages/peer/src/web/explain.ts",
  "bigpeer-attachments": "packages/peer/src/web/attachments.ts",
  "bigpeer-compat": "packages/peer/src/compat/index.ts",
  "bigpeer-compat-v4": "packages/peer/src/compat-v4/index.ts",
};

/** In the bundles, a module for Node and the one for browsers that takes its place. */
const FOR_BROWSERS = {
  "packages/engine/src/crdt/simple-state.ts": "packages/engine/src/crdt/no-simple-state.ts",
  "packages/engine/src/query/statement/explain-sync.ts":
    "packages/engine/src/query/statement/no-explain-sync.ts",
  "packages/peer/src/this-host.ts": "packages/peer/src/web/page/compat-host.ts",
};

/** Bundles that others import, by their entry: two copies of one would have two logs, and so on. */
const SHARED = {
  "packages/peer/src/web/page/index.ts": "bigpeer",
  "packages/peer/src/compat/index.ts": "bigpeer-compat",
};

/** Packages whose code is in the bundles. */
const SOURCES = ["protocol", "engine", "peer"];

/** A test gives other folders, and what stands for the bundler. */
export async function buildSdk(folders = FOLDERS, bundle = bundleSdkFile) {
  const { target, copy } = folders;
  const stamp = stampOf();
  if (isBuilt(folders, stamp)) return;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const name of Object.keys(ENTRIES)) {
    const { code } = await bundle(name);
    writeFileSync(join(target, `${name}.js`), code);
  }
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  cpSync(target, copy, { recursive: true });
  writeFileSync(join(copy, STAMP), stamp);
}

/** Bundles one file. Returns its code, what it imports, and the sources in it. */
export async function bundleSdkFile(name) {
  // Loaded on use: a set-up that finds everything built does not need it.
  const { rolldown } = await import("rolldown");
  const made = await rolldown({
    input: { [name]: ENTRIES[name] },
    cwd: root,
    platform: "browser",
    // No getter of ours has an effect, so what only reads a property and is not used may go.
    plugins: [redirects(name)],
    treeshake: { propertyReadSideEffects: false },
    optimization: { inlineConst: { mode: "all", pass: 3 } },
    resolve: { conditionNames: ["source", "browser", "import", "default"] },
  });
  const { output } = await made.generate({ format: "esm", minify: true });
  await made.close();
  const [{ code, imports, dynamicImports, moduleIds }, ...others] = output;
  if (others.length > 0) throw new Error(`expected one file for ${name}, found ${output.length}`);
  return { code: unmarked(code), imports: [...imports, ...dynamicImports], modules: moduleIds };
}

/** Resolves the modules of FOR_BROWSERS and SHARED. */
function redirects(name) {
  return {
    name: "redirects",
    async resolveId(specifier, importer, options) {
      if (importer === undefined || !specifier.startsWith(".")) return null;
      const found = await this.resolve(specifier, importer, { ...options, skipSelf: true });
      const path = found === null ? "" : relative(root, found.id).replaceAll("\\", "/");
      if (FOR_BROWSERS[path] !== undefined) return join(root, FOR_BROWSERS[path]);
      if (name.startsWith("bigpeer-compat") && SHARED[path] !== undefined) {
        return { id: `./${SHARED[path]}.js`, external: true };
      }
      return found;
    },
  };
}

/**
 * Without the marks for other bundlers, except those on `import()`: nothing is left for them to
 * remove. After a word, as `return`, a space stays.
 */
function unmarked(code) {
  return code.replaceAll(/(?<=\w)\/\* @__PURE__ \*\/|\/\* @__PURE__ \*\/ /g, "");
}

/** What the bundles depend on: the built packages, this script, and the bundler. */
function stampOf() {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return JSON.stringify([
    ...SOURCES.map((name) => newest(join(root, "packages", name, "dist"))),
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
    lock.packages["node_modules/rolldown"].version,
  ]);
}

function isBuilt({ target, copy }, stamp) {
  const path = join(copy, STAMP);
  if (!existsSync(path) || readFileSync(path, "utf8") !== stamp) return false;
  const names = Object.keys(ENTRIES).map((name) => `${name}.js`);
  return [target, copy].every((folder) => names.every((name) => existsSync(join(folder, name))));
}

/** The number of files below a folder, and when the last of them was written. */
function newest(folder) {
  let [count, at] = [0, 0];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (
      !entry.isFile() ||
      !entry.name.endsWith(".js") ||
      entry.parentPath.startsWith(FOLDERS.target)
    )
      continue;
    count++;
    at = Math.max(at, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  }
  return [count, at];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSdk();
