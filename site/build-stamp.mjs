/**
 * Stamp of the last build, so that a build of what is built already does nothing.
 *
 * It holds a fingerprint of everything that the build reads, and of the manifest that it wrote. The
 * site is up to date when both are the same and all files of the manifest are there.
 *
 * Uses nothing but Node itself.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What pages, tools, and the reference of the SDK are made from; lock files stand for packages. */
const INPUTS =
  /^(?:docs|site|scripts|packages\/[^/]+\/src)\/|(?:^|\/)(?:[^/]+\.md|package(?:-lock)?\.json|tsconfig[^/]*\.json)$/;

/** Fingerprint of what the build reads. All paths count, since links are checked against them. */
export function fingerprintOf({ files, read }) {
  const hash = createHash("sha256").update(process.version);
  for (const path of files) {
    hash.update(`\0${path}\0`);
    if (INPUTS.test(path)) hash.update(read(path));
  }
  return hash.digest("hex");
}

/** The stamp in `path` of the site in the folder `target`. */
export class BuildStamp {
  #path;
  #target;

  constructor(path, target) {
    this.#path = path;
    this.#target = target;
  }

  isCurrent(fingerprint) {
    const manifest = this.#readManifest();
    if (manifest === undefined || !existsSync(this.#path)) return false;
    if (readFileSync(this.#path, "utf8") !== textOf(fingerprint, manifest)) return false;
    return JSON.parse(manifest).files.every((name) => existsSync(join(this.#target, name)));
  }

  /** The site in the folder was made from what has the fingerprint. */
  write(fingerprint) {
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(this.#path, textOf(fingerprint, this.#readManifest()));
  }

  remove() {
    rmSync(this.#path, { force: true });
  }

  #readManifest() {
    const path = join(this.#target, "site.json");
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }
}

function textOf(fingerprint, manifest) {
  return `${fingerprint} ${createHash("sha256").update(manifest).digest("hex")}\n`;
}
