/**
 * The packages as a user gets them: tarballs made by `npm pack`, and folders outside the repository in
 * which they are installed. Other dependencies come from the npm registry or from npm's cache.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./repository.ts";

const run = promisify(execFile);

const OUTPUT_SIZE_MAX = 64 * 1024 * 1024;

export interface Tarball {
  readonly name: string;
  readonly path: string;
  /** The files in it. */
  readonly files: readonly string[];
}

export interface Packed {
  readonly folder: string;
  readonly tarballs: readonly Tarball[];
  remove(): void;
}

interface PackReport {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs all packages that are published with `npm pack`, which builds them first. */
export function packAll(): Promise<Packed> {
  const folders = readdirSync(join(ROOT, "packages"));
  const published = folders.filter((name) => {
    const manifest = readFileSync(join(ROOT, "packages", name, "package.json"), "utf8");
    return (JSON.parse(manifest) as { private?: boolean }).private !== true;
  });
  return pack(published.map((name) => `--workspace=packages/${name}`));
}

/** Packs some packages, which must be built, as they are. */
export function packBuilt(names: readonly string[]): Promise<Packed> {
  return pack(["--ignore-scripts", ...names.map((name) => `--workspace=${name}`)]);
}

async function pack(options: readonly string[]): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-packed-"));
  const words = ["pack", ...options, "--json", "--pack-destination", folder];
  const { stdout } = await npm(words, ROOT);
  // The scripts that build may print before it.
  const reports = Object.values(
    JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as Record<string, PackReport>,
  );
  const tarballs = reports.map(({ name, filename, files }) => {
    return { name, path: join(folder, filename), files: files.map(({ path }) => path) };
  });
  return { folder, tarballs, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The tarballs of these packages; of all without names. */
export function pathsOf({ tarballs }: Packed, names?: readonly string[]): string[] {
  const chosen = names ?? tarballs.map(({ name }) => name);
  return chosen.map((name) => {
    const found = tarballs.find((tarball) => tarball.name === name);
    if (found === undefined) throw new Error(`expected a tarball of ${name}`);
    return found.path;
  });
}

/** A new project with packages installed; `specifiers` are tarballs, or names in the registry. */
export async function installedProject(specifiers: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-project-"));
  const manifest = { name: "project", private: true, type: "module" };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  await npm(["install", "--no-audit", "--no-fund", "--prefer-offline", ...specifiers], folder);
  return folder;
}

function npm(words: readonly string[], cwd: string): Promise<{ stdout: string }> {
  return run("npm", words, { cwd, env: userEnvironment(), maxBuffer: OUTPUT_SIZE_MAX });
}

/** Without the settings of an `npm run` around the tests, and with this Node first in the path. */
export function userEnvironment(node: string = process.execPath): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^BIGPEER_|^TEST_|^VITEST|^NODE_ENV$|^FORCE_COLOR$/i.test(name),
  );
  const path = [dirname(node), process.env["PATH"]].join(delimiter);
  return { ...Object.fromEntries(entries), PATH: path };
}
