/**
 * The built site, checked and made ready for the server:
 *
 *   - every link between pages leads to a page, and its `#anchor` to a heading
 *   - nothing is loaded from another address
 *   - `site.json` lists the files, and the hashes of the scripts in the text of pages, which the
 *     server allows in its content security policy
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BASE } from "./generate.mjs";

const MANIFEST = "site.json";

/** Addresses below the base that the server has beside the site. */
const SERVED_ELSEWHERE = new Set(["api"]);

/** Checks the site in a folder and writes its manifest. Throws with all faults. */
export function finishSite(folder) {
  const files = listFiles(folder);
  const pages = new Map(
    files
      .filter((name) => name.endsWith(".html"))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
  const faults = [...pages].flatMap(([name, html]) => complainAboutPage(name, html, files, pages));
  if (faults.length > 0) throw new Error(`faults of the built site:\n${faults.join("\n")}`);
  const scriptHashes = [...new Set([...pages.values()].flatMap(hashScripts))].sort();
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify({ scriptHashes, files }, null, 2)}\n`);
  return { files, scriptHashes };
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => path.slice(folder.length).replaceAll("\\", "/").replace(/^\//, ""))
    .filter((name) => name !== MANIFEST)
    .sort();
}

function complainAboutPage(name, html, files, pages) {
  const tags = [...html.matchAll(/<([a-z]+)\b[^>]*?\s(href|src)="([^"]*)"[^>]*>/g)];
  return tags.flatMap(([tag, element, attribute, value]) => {
    const target = decodeEntities(value);
    const isLoaded = element !== "a" && !/rel="(?:alternate|canonical)"/.test(tag);
    const fault = complainAboutTarget({ name, target, isLoaded }, files, pages);
    return fault === undefined ? [] : [`${name}: ${attribute}="${target}" ${fault}`];
  });
}

function complainAboutTarget({ name, target, isLoaded }, files, pages) {
  if (target.startsWith("data:") || target === "") return undefined;
  if (/^(?:[a-z]+:|\/\/)/i.test(target)) return isLoaded ? "leads outside" : undefined;
  const page = name.replace(/(?:index)?\.html$/, "");
  const url = new URL(target, `http://site${BASE}${page}`);
  if (!url.pathname.startsWith(BASE)) return "leads outside the site";
  const path = decodeURIComponent(url.pathname.slice(BASE.length));
  if (SERVED_ELSEWHERE.has(path)) return undefined;
  const file = [path, `${path}.html`, `${path}index.html`].find((each) => files.includes(each));
  if (file === undefined) return "leads nowhere";
  const anchor = decodeURIComponent(url.hash.slice(1));
  const isFound = anchor === "" || pages.get(file)?.includes(` id="${anchor}"`) === true;
  return isFound ? undefined : "has no such heading";
}

/** Sources of a content security policy for each script that stands in the text of a page. */
function hashScripts(html) {
  const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)];
  return scripts
    .filter(([, attributes, text]) => !/\ssrc=/.test(attributes) && text !== "")
    .map(([, , text]) => `sha256-${createHash("sha256").update(text).digest("base64")}`);
}

function decodeEntities(text) {
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
