/**
 * Releases all packages: `npm run release`. With `--dry-run` it prints what would be published, and
 * the entry of the changelog, and publishes nothing.
 *
 * All packages have one version, and the tag of a release is `v` and that version. Without `--dry-run`
 * the checkout must be clean and have that tag, and the changelog must have an entry with a date. The
 * workflow `.github/workflows/release.yml` runs it, because only there npm can sign where a package
 * comes from (provenance).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { npmCommand } from "./npm-command.mjs";
import { entryOf, faultsOf, publishOrder } from "./release-plan.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false } } });
const isDryRun = values["dry-run"];

const { version } = readManifest(root);
const manifests = readdirSync(join(root, "packages"))
  .map((name) => readManifest(join(root, "packages", name)))
  .filter((manifest) => manifest.private !== true);
const entry = entryOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);

const faults = faultsOf({
  version,
  manifests,
  entry,
  tags: git("tag", "--points-at", "HEAD").split("\n"),
  changes: git("status", "--porcelain"),
});
if (isDryRun) preview();
else if (faults.length === 0) publish();
else refuse();

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function git(...words) {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trimEnd();
}

function refuse() {
  for (const fault of faults) console.error(`bigpeer: ${fault}`);
  process.exitCode = 1;
}

function preview() {
  const packed = pack();
  for (const { name } of publishOrder(manifests)) {
    const { files, size, unpackedSize, filename } = packed.find((each) => each.name === name);
    console.log(`${name} ${version}: ${filename}, ${shown(size)}, unpacked ${shown(unpackedSize)}`);
    for (const line of summary(files)) console.log(`  ${line}`);
  }
  console.log(`\n${entry?.text ?? "no entry in CHANGELOG.md"}`);
  for (const fault of faults) console.log(`not yet: ${fault}`);
}

/** The files at the top of the package, and the number and size of those in each of its folders. */
function summary(files) {
  const parts = new Map();
  for (const { path, size } of files) {
    const part = path.includes("/")
      ? `${path.split("/").slice(0, -1).slice(0, 2).join("/")}/`
      : path;
    const { count, bytes } = parts.get(part) ?? { count: 0, bytes: 0 };
    parts.set(part, { count: count + 1, bytes: bytes + size });
  }
  return Array.from(parts, ([part, { count, bytes }]) => {
    return part.endsWith("/")
      ? `${part} ${count} files, ${shown(bytes)}`
      : `${part} ${shown(bytes)}`;
  });
}

function shown(bytes) {
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** What `npm pack` reports of each package. It builds first; of that only errors are shown. */
function pack() {
  const stdout = npm(["pack", "--workspaces", "--dry-run", "--json", "--loglevel=error"], "pipe");
  // The scripts that build may print before it.
  return Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m))));
}

function publish() {
  for (const { name } of publishOrder(manifests)) {
    npm(["publish", "--workspace", name, "--provenance", "--access", "public"], "inherit");
  }
}

function npm(words, output) {
  const [program, all] = npmCommand(words);
  const { status, stdout, error } = spawnSync(program, all, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", output, "inherit"],
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout;
  console.error(`bigpeer: npm ${words[0]} failed (exit code ${status}).`);
  return process.exit(1);
}
