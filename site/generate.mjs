/**
 * Generates what VitePress reads and what programs read, from the Markdown of the repository:
 *
 *   pages            each page with the links of the site, for VitePress
 *   plain            the same for programs: `sdk.md` beside the page `sdk`
 *   llms.txt         the list of pages with a line about each
 *   llms-full.txt    all pages in one file
 *
 * Uses nothing but Node itself.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { listPages, readRepository } from "./page-list.mjs";
import { IMAGES, PageTexts } from "./page-text.mjs";
import { GROUPS, HOME, SDK_REFERENCE } from "./pages.mjs";

export const SITE = fileURLToPath(new URL(".", import.meta.url));
export const ROOT = dirname(SITE);
export const BASE = "/docs/";

/** Where the generated pages are. */
export const PAGES = join(SITE, "dist", "pages");

/** The site as texts by path: the pages, and the files for programs. `faults` is empty if all is well. */
export function generate(groups = GROUPS, repository = readRepository(ROOT)) {
  const { groups: listed, pages, faults } = listPages(groups, repository);
  const home = { file: HOME, path: "index", text: repository.read(HOME) };
  const texts = new PageTexts(pages, repository);
  const rendered = new Map(pages.map((page) => [page.path, texts.render(page, faults)]));
  const homeText = texts.render(home, faults);
  const { tagline } = readHero(homeText);
  const plain = new Map([
    ...[...rendered].map(([path, text]) => [`${path}.md`, text]),
    ["index.md", `# Big Peer\n\n${tagline}\n${withoutHero(homeText)}`],
    ["llms.txt", listForPrograms(tagline, listed)],
    ["llms-full.txt", joinPages(pages, texts)],
  ]);
  return { groups: listed, pages, faults, plain, rendered: rendered.set("index", homeText) };
}

/** The whole site, with the reference of the SDK if it was made. */
export function generateSite() {
  return generate(GROUPS, readRepository(ROOT, [SDK_REFERENCE]));
}

/** Throws with all faults. */
export function generateSound() {
  const site = generateSite();
  if (site.faults.length > 0) throw new Error(`faults of the pages:\n${site.faults.join("\n")}`);
  return site;
}

/** Writes the pages that changed, and removes those that are no more. */
export function writePages({ rendered }) {
  const wanted = new Map([...rendered].map(([path, text]) => [join(PAGES, `${path}.md`), text]));
  const present = existsSync(PAGES) ? readdirSync(PAGES, { recursive: true }) : [];
  for (const name of present) {
    const path = join(PAGES, name);
    if (path.endsWith(".md") && !wanted.has(path)) rmSync(path);
  }
  for (const [path, text] of wanted) writeChanged(path, text);
  mkdirSync(join(PAGES, "public"), { recursive: true });
  for (const name of readdirSync(join(SITE, "public"))) {
    copyFileSync(join(SITE, "public", name), join(PAGES, "public", name));
  }
  // Pages have the images by other names; the text of pages for programs has them by their own.
  for (const folder of ["images", join("public", "images")]) {
    cpSync(join(ROOT, IMAGES), join(PAGES, folder), { recursive: true });
  }
}

function writeChanged(path, text) {
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Front matter of the home page: only what stands in one line under `hero:`. */
function readHero(text) {
  const [, tagline] = /^ {2}tagline: (.+)$/m.exec(text) ?? [];
  if (tagline === undefined) throw new Error(`${HOME}: expected hero.tagline in one line`);
  return { tagline };
}

function withoutHero(text) {
  return text.replace(/^---\n[\s\S]*?\n---\n/, "");
}

function listForPrograms(tagline, groups) {
  const lines = groups.flatMap(({ title, pages }) => [
    `## ${title}`,
    "",
    ...pages.map((page) => `- [${page.title}](${BASE}${page.path}.md): ${page.about}`),
    "",
  ]);
  return [
    "# Big Peer",
    "",
    `> ${tagline}`,
    "",
    `Each link is a page in plain Markdown. ${BASE}llms-full.txt has all pages in one file. The server`,
    "describes its data API as OpenAPI at /openapi.json.",
    "",
    ...lines,
  ]
    .join("\n")
    .trimEnd()
    .concat("\n");
}

/** Links of a page are relative to its address; here all are relative to the one file. */
function joinPages(pages, texts) {
  const faults = [];
  return pages
    .map((page) => `<!-- ${BASE}${page.path} -->\n\n${texts.render(page, faults, "llms-full")}`)
    .join("\n\n");
}
