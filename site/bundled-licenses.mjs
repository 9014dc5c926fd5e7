/**
 * Licenses of the packages whose code is part of the built site: most of them ask that their text
 * goes with each copy. A plugin of Vite that writes `licenses.txt` beside the pages.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const INTRODUCTION = "The pages of this site contain a font and code of these packages.\n";

/** VitePress has the font in its package, without the license of the font. */
const FONT_LICENSE = new URL("inter-font-license.txt", import.meta.url);

export function bundledLicenses() {
  return {
    name: "bundled-licenses",
    apply: (_config, { isSsrBuild }) => isSsrBuild !== true,
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
      const folders = [...new Set(modules.flatMap(packageFolder))].sort();
      const font = describe("Inter", [fileURLToPath(FONT_LICENSE)]);
      const source = [INTRODUCTION, font, ...folders.map(describePackage)].join("\n");
      this.emitFile({ type: "asset", fileName: "licenses.txt", source });
    },
  };
}

/** Folder of the package that a module belongs to; none for a module of the site itself. */
function packageFolder(module) {
  const path = module.replace(/^\0/, "").replace(/\?.*$/, "");
  const found = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
  return found === null ? [] : [found[1]];
}

function describePackage(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { name, version, license } = manifest;
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(?:licen[cs]e|notice)/i.test(entry.name))
    .map((entry) => join(folder, entry.name));
  if (license === undefined && texts.length === 0) {
    throw new Error(`the package ${name} names no license`);
  }
  return describe(`${name} ${version} (${license ?? "see below"})`, texts);
}

function describe(title, paths) {
  const body = paths.map((path) => readFileSync(path, "utf8").trim()).join("\n\n");
  return `${"-".repeat(78)}\n${title}\n\n${body}\n`;
}
