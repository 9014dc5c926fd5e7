/**
 * Text of a page: the Markdown of the repository with links that lead to pages of the site.
 *
 * A link to a file of the repository that is no page becomes text with its path, since the site does
 * not have the file and the repository has no known address. A link without a target is a fault.
 */
import { posix } from "node:path";
import { findHeadings, findLinks, lineAt } from "./markdown-links.mjs";

/** The folder of the images. */
export const IMAGES = "docs/images/";

const EXTERNAL = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

export class PageTexts {
  #pages;
  #repository;
  #byFile;
  #anchors = new Map();

  constructor(pages, repository) {
    this.#pages = pages;
    this.#repository = repository;
    this.#byFile = new Map(pages.flatMap((page) => (page.file ? [[page.file, page]] : [])));
  }

  /**
   * Text of the page with links from a page at `from`; `faults` gets what is wrong with it. `from`
   * is the path of the page itself unless its text becomes part of another.
   */
  render(page, faults, from = page.path) {
    let rendered = "";
    let end = 0;
    for (const link of findLinks(page.text)) {
      const place = `${page.file ?? page.folder}:${lineAt(page.text, link.start)}`;
      const fault = (message) => faults.push(`${place}: ${message}`);
      const { start, text } = this.#replace(page, link, from, fault);
      rendered += page.text.slice(end, start) + text;
      end = start === link.start ? link.end : link.targetEnd;
    }
    return rendered + page.text.slice(end);
  }

  /** What takes the place of the link from `start` on: the whole link, or its target alone. */
  #replace(page, link, from, fault) {
    const same = { start: link.targetStart, text: link.target };
    if (EXTERNAL.test(link.target)) return same;
    const [path, anchor] = link.target.split("#", 2);
    if (link.isImage) return this.#image(page, link, from, fault);
    // A list of a folder that was made for the site: its links lead to pages already.
    if (page.file === undefined) return this.#retarget(link, posix.dirname(page.path), from);
    const file = path === "" ? page.file : posix.join(posix.dirname(page.file), path);
    if (!this.#exists(file)) {
      fault(`${link.target} does not exist`);
      return same;
    }
    if (anchor !== undefined && !this.#hasAnchor(file, anchor)) {
      fault(`${link.target} has no such heading`);
      return same;
    }
    const target = this.#pageOf(file);
    if (target === undefined) return { start: link.start, text: this.#name(link, file, fault) };
    if (path === "" && from === page.path) return same;
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    return { start: link.targetStart, text: `${relativePath(from, target.path)}.md${suffix}` };
  }

  /** The site has the images of IMAGES, and no others. */
  #image(page, link, from, fault) {
    const file = posix.join(posix.dirname(page.file ?? ""), link.target);
    if (!file.startsWith(IMAGES))
      fault(`${link.target}: the site has the images of ${IMAGES} alone`);
    else if (!this.#exists(file)) fault(`${link.target} does not exist`);
    const text = relativePath(from, `images/${file.slice(IMAGES.length)}`);
    return { start: link.targetStart, text: text.startsWith(".") ? text : `./${text}` };
  }

  #retarget(link, folder, from) {
    const path = posix.join(folder, link.target).replace(/\.md$/, "");
    return { start: link.targetStart, text: `${relativePath(from, path)}.md` };
  }

  #pageOf(file) {
    const folder = file.replace(/\/$/, "");
    return (
      this.#byFile.get(file) ?? this.#pages.find((page) => page.isIndex && page.folder === folder)
    );
  }

  #exists(file) {
    const folder = `${file.replace(/\/$/, "")}/`;
    const { files } = this.#repository;
    return files.includes(file) || files.some((path) => path.startsWith(folder));
  }

  #hasAnchor(file, anchor) {
    if (!file.endsWith(".md")) return false;
    let anchors = this.#anchors.get(file);
    if (anchors === undefined) {
      const headings = findHeadings(this.#repository.read(file));
      anchors = new Set(headings.map((heading) => heading.anchor));
      this.#anchors.set(file, anchors);
    }
    return anchors.has(anchor);
  }

  /** The text of a link to a file of the repository, with the path unless it is the text. */
  #name({ text, target }, file, fault) {
    if (text === undefined) {
      fault(`${target}: write a link to a file of the repository as [text](path)`);
      return "";
    }
    const bare = text.replaceAll("`", "");
    return file === bare || file.endsWith(`/${bare}`) ? `\`${file}\`` : `${text} (\`${file}\`)`;
  }
}

function relativePath(from, to) {
  return posix.relative(posix.dirname(from), to);
}
