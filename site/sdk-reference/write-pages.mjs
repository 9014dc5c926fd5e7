/**
 * The pages of the reference as Markdown.
 *
 * `<` outside of code is escaped, so that no viewer reads it as a tag. Links are relative: between
 * the pages, and to the documents of the repository.
 */

import { anchorOf } from "../markdown-links.mjs";
import { replaceLinks } from "./doc-links.mjs";
import { DESCRIBED_ELSEWHERE, PAGES } from "./pages.mjs";

const SYMBOLS =
  "This reference has every symbol that `@bigpeer/peer` exports, made from its doc comments.";

const ERRORS =
  "A function that returns a promise rejects with it, and any other function throws it.";

const GIVEN = [
  "In the examples, `peer` is an open peer. `appId`, `apiKey` and `dataUrl` are the values of the",
  "file `quickstart.json` of a server. The comment after a `console.log` is what it prints.",
].join(" ");

/** Texts by file name. `documents` is the path from the pages to the documents of `docs`. */
export function writePages(symbols, { documents }) {
  const writer = new PageWriter(symbols, documents);
  return new Map([
    ["index.md", writer.index()],
    ...PAGES.map((page) => [page.path, writer.page(page)]),
  ]);
}

class PageWriter {
  #symbols;
  #documents;
  /** The page of each symbol. */
  #pages;

  constructor(symbols, documents) {
    this.#symbols = new Map(symbols.map((symbol) => [symbol.name, symbol]));
    this.#documents = documents;
    this.#pages = new Map(
      PAGES.flatMap(({ path, symbols: names }) => names.map((name) => [name, path])),
    );
  }

  index() {
    const pages = PAGES.map(({ path, title, introduction, symbols }) => {
      const rows = symbols.map((name) => {
        const [first] = this.#symbols.get(name).doc.description.split(/(?<=\.) |\n\n/);
        return [this.#link(name), this.#text(first)];
      });
      return joinBlocks(
        `## [${title}](${path})`,
        introduction,
        tableOf(["Symbol", "What it is"], rows),
      );
    });
    const guide = this.#document("docs/sdk.md", "The guide to small peers");
    return joinBlocks(
      "# SDK reference",
      `${SYMBOLS} ${guide} explains how they work together.`,
      GIVEN,
      `All errors are of the class ${this.#link("PeerError")}. ${ERRORS}`,
      ...pages,
    );
  }

  page({ title, introduction, symbols }) {
    const parts = symbols.map((name) => this.#symbol(this.#symbols.get(name)));
    return joinBlocks(`# ${title}`, introduction, GIVEN, ...parts);
  }

  #symbol(symbol) {
    const { name, kind, doc, signatures, members } = symbol;
    const heading = `## ${name}`;
    if (kind === "function") return joinBlocks(heading, this.#callable(signatures));
    const properties = members.filter((member) => member.signatures.length === 0);
    const methods = members.filter((member) => member.signatures.length > 0);
    return joinBlocks(
      heading,
      this.#declaration(symbol),
      this.#text(doc.description),
      this.#parents(symbol),
      this.#types(symbol),
      this.#examples(doc),
      this.#properties(properties),
      ...methods.map((method) =>
        joinBlocks(`### ${methodTitle(name, method.name)}`, this.#callable(method.signatures)),
      ),
    );
  }

  /** What it is, as code, where its name and its members do not say it. */
  #declaration({ name, kind, typeParameters, parents, definition }) {
    const head = `${kind} ${name}${typeParameters}`;
    if (kind === "type") return codeOf(`${head} =${spread(definition)};`);
    if (parents.length > 0) return codeOf(`${head} extends ${parents.join(", ")}`);
    return typeParameters === "" ? "" : codeOf(head);
  }

  #parents({ parents = [] }) {
    const links = parents.filter((name) => this.#hasPlace(name)).map((name) => this.#link(name));
    return links.length === 0 ? "" : `It also has the members of ${links.join(" and ")}.`;
  }

  /** Links to the types that a definition names, which code cannot have. */
  #types({ name, definition = "" }) {
    const words = definition.match(/\b[A-Z]\w+/g) ?? [];
    const links = [...new Set(words)]
      .filter((word) => word !== name && this.#hasPlace(word))
      .map((word) => this.#link(word));
    return links.length === 0 ? "" : `See ${links.join(", ")}.`;
  }

  #properties(properties) {
    const rows = properties.map(({ name, type, isOptional, doc }) => [
      codeSpan(isOptional ? `${name}?` : name),
      this.#type(type),
      this.#text(doc.description).replaceAll("\n\n", " "),
    ]);
    return tableOf(["Member", "Type", "Description"], rows);
  }

  /** All signatures of a function or method; the first one has the full description. */
  #callable(signatures) {
    const parts = signatures.map(({ doc, parameters, returns, ...signature }) => {
      const rows = parameters.map((parameter) => [
        codeSpan(parameter.isOptional ? `${parameter.name}?` : parameter.name),
        this.#type(parameter.type),
        this.#text(doc.parameters.find(({ name }) => name === parameter.name)?.description ?? ""),
      ]);
      return joinBlocks(
        codeOf(signatureText({ ...signature, parameters, returns })),
        this.#text(doc.description),
        tableOf(["Parameter", "Type", "Description"], rows),
        this.#returns(returns, doc),
        this.#errors(doc),
        this.#examples(doc),
      );
    });
    return joinBlocks(...parts);
  }

  #returns(type, doc) {
    if (type === "") return "";
    const description = doc.returns === "" ? "" : ` ${this.#text(doc.returns)}`;
    const isNothing = /^(void|Promise<void>)$/.test(type) && description === "";
    return isNothing ? "" : `Returns ${this.#type(type)}.${description}`;
  }

  #errors({ errors }) {
    if (errors.length === 0) return "";
    return joinBlocks("Errors:", errors.map((text) => `- ${this.#text(text)}`).join("\n"));
  }

  #examples({ examples }) {
    return joinBlocks(...examples.map(({ code }) => codeOf(code)));
  }

  /** A type as code, with links to the types that it names. */
  #type(text) {
    const parts = text.replaceAll(/\s+/g, " ").split(/\b([A-Z]\w+)\b/);
    const shown = parts.map((part, place) => {
      if (part === "") return "";
      return place % 2 === 1 && this.#hasPlace(part) ? this.#link(part) : codeSpan(part);
    });
    // Neighbours that are both code are one piece of code.
    return shown.join("").replaceAll("``", "");
  }

  #hasPlace(name) {
    return this.#pages.has(name) || DESCRIBED_ELSEWHERE.has(name);
  }

  /** To a symbol, or to a member such as `Peer.close`. */
  #link(target) {
    const [name, member] = target.split(".");
    const elsewhere = DESCRIBED_ELSEWHERE.get(name);
    if (elsewhere !== undefined) return this.#document(elsewhere, codeSpan(name));
    const isMethod = this.#symbols
      .get(name)
      .members.some((each) => each.name === member && each.signatures.length > 0);
    const anchor = anchorOf(isMethod ? methodTitle(name, member) : name);
    return `[${codeSpan(target)}](${this.#pages.get(name)}#${anchor})`;
  }

  #document(target, label = target.replace(/^docs\//, "").replace(/#.*/, "")) {
    return `[${label}](${target.replace(/^docs/, this.#documents)})`;
  }

  #text(text) {
    return replaceLinks(escapeText(text), {
      symbol: (target) => this.#link(target),
      document: (target) => this.#document(target),
    });
  }
}

function signatureText({ name, typeParameters, parameters, returns }) {
  const shown = parameters.map(({ name: each, type, isOptional }) => {
    return `${each}${isOptional ? "?" : ""}: ${type}`;
  });
  const end = returns === "" ? "" : `: ${returns}`;
  const line = `${name}${typeParameters}(${shown.join(", ")})${end}`;
  if (line.length <= 90) return line;
  return `${name}${typeParameters}(\n${shown.map((each) => `  ${each},\n`).join("")})${end}`;
}

function methodTitle(symbol, method) {
  return method === "constructor" ? `new ${symbol}()` : `${symbol}.${method}()`;
}

/** A long union has one line for each alternative. */
function spread(definition) {
  const alternatives = alternativesOf(definition);
  if (definition.length <= 80 || alternatives.length === 1) return ` ${definition}`;
  return alternatives.map((text) => `\n  | ${text.replaceAll("\n", "\n    ")}`).join("");
}

/** Splits a union, but not what is inside of brackets. */
function alternativesOf(definition) {
  const parts = [""];
  let depth = 0;
  for (const piece of definition.split(/( \| |=>|[(){}[\]<>])/)) {
    if (/^[({[<]$/.test(piece)) depth++;
    else if (/^[)}\]>]$/.test(piece)) depth--;
    if (piece === " | " && depth === 0) parts.push("");
    else parts.push(parts.pop() + piece);
  }
  return parts;
}

/** Outside of code there are no tags; links are replaced later. */
function escapeText(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, place) => (place % 2 === 1 ? part : part.replaceAll("<", "&lt;")))
    .join("");
}

function codeSpan(text) {
  return `\`${text}\``;
}

function codeOf(text) {
  return `\`\`\`ts\n${text}\n\`\`\``;
}

function tableOf(titles, rows) {
  if (rows.length === 0) return "";
  return [titles, titles.map(() => "---"), ...rows].map(rowOf).join("\n");
}

function rowOf(cells) {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function joinBlocks(...blocks) {
  return blocks.filter((block) => block !== "").join("\n\n");
}
