/**
 * Page list: the pages of pages.mjs with their texts, and what is wrong with the list.
 *
 * The repository is an argument, `{ files, read }`: the paths of its files, and a function that
 * returns the text of one. So a test can hand in a small one.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findHeadings, plainText } from "./markdown-links.mjs";

const SKIPPED_FOLDERS = new Set([
  ".git",
  ".setup-lock",
  ".temp",
  "coverage",
  "data",
  "dist",
  "node_modules",
]);

/** The repository in a folder of this machine, with folders of generated pages if they exist. */
export function readRepository(root, generated = []) {
  const present = generated.map((folder) => join(root, folder)).filter((path) => existsSync(path));
  const files = [root, ...present]
    .flatMap(listFiles)
    .map((path) => relative(root, path).replaceAll("\\", "/"));
  return { files: files.sort(), read: (path) => readFileSync(join(root, path), "utf8") };
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (SKIPPED_FOLDERS.has(entry.name)) return [];
    if (entry.isDirectory()) return listFiles(path);
    return entry.isFile() ? [path] : [];
  });
}

/**
 * Groups with their pages. A page has `file`, `path`, `title`, `about`, `text` and, in a folder,
 * `folder`. The page of a folder itself has `isIndex`; a list made for the site has no `file`.
 */
export function listPages(groups, repository) {
  const faults = [];
  const listed = groups.map(({ title, pages }) => ({
    title,
    pages: pages.flatMap((entry) => listEntry(entry, repository, faults)),
  }));
  const pages = listed.flatMap((group) => group.pages);
  faults.push(...complainAboutFiles(pages, repository), ...complainAboutPaths(pages));
  return { groups: listed, pages, faults };
}

function listEntry(entry, repository, faults) {
  if (entry.generated !== undefined) return listGenerated(entry, repository, faults);
  if (entry.folder !== undefined) return listFolder(entry, repository, faults);
  return listFile(entry, repository, faults);
}

function listFile({ file, path = addressOf(file), title, about, ...rest }, repository, faults) {
  if (!repository.files.includes(file)) {
    faults.push(`site/pages.mjs: ${file} does not exist`);
    return [];
  }
  const text = repository.read(file);
  const heading = findHeadings(text)[0];
  if (heading?.level !== 1) faults.push(`${file}:1: a page begins with a heading, # Title`);
  if (about === undefined) faults.push(`site/pages.mjs: ${file} needs a line \`about\``);
  return [{ file, path, title: title ?? heading?.text ?? file, about, text, ...rest }];
}

function listFolder(entry, repository, faults) {
  const { folder, path = addressOf(folder), title, about, summary } = entry;
  const files = repository.files.filter((file) => file.startsWith(`${folder}/`) && isPage(file));
  if (files.length === 0) faults.push(`site/pages.mjs: ${folder} has no pages`);
  const pages = files.flatMap((file) => {
    const own = `${path}${file.slice(folder.length).replace(/\.md$/, "")}`;
    const line = summaryOf(repository.read(file), summary);
    return listFile({ file, path: own, about: line, folder }, repository, faults);
  });
  const items = pages.map((page) => {
    return `- [${page.title}](${page.path.slice(path.length + 1)}.md): ${page.about}`;
  });
  const text = `# ${title}\n\n${about}\n\n${items.join("\n")}\n`;
  const index = { file: undefined, path: `${path}/index`, title, about, text, folder };
  return [{ ...index, isIndex: true }, ...pages];
}

/** No pages before they are made, so that the others can be checked without the tools. */
function listGenerated({ generated, folder, path, title, about, pages }, repository, faults) {
  if (!repository.files.some((file) => file.startsWith(`${generated}/`))) return [];
  return [{ file: "index.md", title, about, isIndex: true }, ...pages].flatMap((page) => {
    const { file: name } = page;
    const place = { file: `${generated}/${name}`, path: `${path}/${name.replace(/\.md$/, "")}` };
    return listFile({ ...page, ...place, folder }, repository, faults);
  });
}

/** First sentence of the paragraph that begins with `mark`, or else of the first paragraph. */
function summaryOf(text, mark = "") {
  const paragraphs = text.split(/\n\s*\n/).slice(1);
  const found = paragraphs.find((paragraph) => paragraph.startsWith(mark)) ?? paragraphs[0];
  if (found === undefined) return undefined;
  const [, sentence] = /^(.+?[.:])(?:\s|$)/s.exec(found.slice(mark.length).trim()) ?? [];
  return sentence && plainText(sentence.replaceAll(/\s+/g, " ")).replace(/:$/, ".");
}

function addressOf(path) {
  return path.replace(/^docs\//, "").replace(/\.md$/, "");
}

function isPage(file) {
  return file.endsWith(".md");
}

/** Each page of `docs/` is listed, and no file is listed twice. */
function complainAboutFiles(pages, { files }) {
  const counts = countBy(pages, (page) => page.file);
  const own = files.filter((file) => file.startsWith("docs/") && isPage(file));
  const missing = own.filter((file) => !counts.has(file));
  const twice = [...counts].filter(([file, count]) => file !== undefined && count > 1);
  return [
    ...missing.map((file) => `${file}:1: the page is not listed in site/pages.mjs`),
    ...twice.map(([file]) => `site/pages.mjs: ${file} is listed twice`),
  ];
}

function complainAboutPaths(pages) {
  const counts = countBy(pages, (page) => page.path);
  const twice = [...counts].filter(([path, count]) => count > 1 || path === "index");
  // The server has its API page there.
  const taken = pages.filter(({ path }) => path === "api" || path.startsWith("api/"));
  return [
    ...twice.map(([path]) => `site/pages.mjs: two pages have the path ${path}`),
    ...taken.map(({ path }) => `site/pages.mjs: ${path} is the address of the API page`),
  ];
}

function countBy(items, keyOf) {
  const counts = new Map();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
