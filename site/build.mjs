/**
 * Builds the documentation site beside the built server, which serves it at `/docs/`.
 *
 * The site is built and checked in a folder of its own and then takes the place of the last one, so
 * that a build that fails changes nothing. A site that is up to date is not built again.
 * `npm run docs:build` installs the tools and runs this.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "vitepress";
import { BuildStamp, fingerprintOf } from "./build-stamp.mjs";
import { finishSite } from "./built-site.mjs";
import { generateSound, ROOT, SITE, writePages } from "./generate.mjs";
import { readRepository } from "./page-list.mjs";
import { writeSdkReference } from "./write-sdk-reference.mjs";

const built = join(SITE, "dist", "site");
const target = join(ROOT, "packages", "server", "dist", "docs-site");
const stamp = new BuildStamp(join(SITE, "dist", "build-stamp.txt"), target);

try {
  const fingerprint = fingerprintOf(readRepository(ROOT));
  if (stamp.isCurrent(fingerprint)) console.error(`the site in ${target} is up to date`);
  else {
    stamp.remove();
    await buildSite();
    stamp.write(fingerprint);
  }
} catch (error) {
  console.error(`failed to build the site: ${error.message}`);
  process.exitCode = 1;
}

async function buildSite() {
  await writeSdkReference();
  const site = generateSound();
  writePages(site);
  await build(SITE);
  for (const [name, text] of site.plain) writePlain(join(built, name), text);
  const { files } = finishSite(built);
  replace(target, built);
  console.error(`built ${site.pages.length} pages, ${files.length} files, in ${target}`);
}

function writePlain(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function replace(place, folder) {
  const old = `${place}.old`;
  rmSync(old, { recursive: true, force: true });
  mkdirSync(dirname(place), { recursive: true });
  if (existsSync(place)) renameSync(place, old);
  renameSync(folder, place);
  rmSync(old, { recursive: true, force: true });
}
