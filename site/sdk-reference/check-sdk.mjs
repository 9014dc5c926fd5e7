/**
 * What the public symbols lack: each complaint is `path:line: name …`.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findHeadings } from "../markdown-links.mjs";
import { documentLinks, symbolLinks } from "./doc-links.mjs";
import { DESCRIBED_ELSEWHERE, PAGES } from "./pages.mjs";
import { ENTRY, ROOT } from "./sdk-program.mjs";

const TAGS = new Set(["param", "returns", "throws", "example"]);

/** `symbols` as readSdk returns them; `codes` are all error codes. */
export function checkSdk(symbols, codes) {
  const names = new Set(
    symbols.flatMap(({ name, members }) => [
      name,
      ...members.map((member) => `${name}.${member.name}`),
    ]),
  );
  return [
    ...symbols.flatMap((symbol) => checkSymbol(symbol, { names, codes })),
    ...checkPages(names),
  ];
}

function checkSymbol(symbol, known) {
  const { name, doc, members, signatures = [] } = symbol;
  const lacks = doc.examples.length === 0 ? [complain(symbol, name, "has no @example")] : [];
  return [
    ...checkDescribed(symbol, name, known),
    ...lacks,
    ...signatures.flatMap((signature) => checkParameters(signature, name)),
    ...members.flatMap((member) => checkMember(member, `${name}.${member.name}`, known)),
  ];
}

function checkMember(member, name, known) {
  if (member.signatures.length === 0) return checkDescribed(member, name, known);
  return member.signatures.flatMap((signature) => [
    ...checkDescribed(signature, name, known),
    ...checkParameters(signature, name),
  ]);
}

function checkDescribed(part, name, { names, codes }) {
  const { doc } = part;
  if (doc.description === "") return [complain(part, name, "has no doc comment")];
  const texts = [doc.description, doc.returns, ...doc.errors];
  texts.push(...doc.parameters.map(({ description }) => description));
  return [
    ...doc.tags.filter((tag) => !TAGS.has(tag)).map((tag) => `has an unknown tag @${tag}`),
    ...doc.errors.flatMap((text) => checkErrors(text, codes)),
    ...doc.examples.filter(({ code }) => code === "").map(() => "has an empty @example"),
    ...texts
      .flatMap(symbolLinks)
      .filter((target) => !names.has(target))
      .map((target) => `links to ${target}, which is not exported`),
    ...texts.flatMap(documentLinks).flatMap(checkDocument),
  ].map((text) => complain(part, name, text));
}

/** `@throws` begins with one or more codes. */
function checkErrors(text, codes) {
  const [, listed] = /^((?:`[\w.]+`(?:, )?)+): \S/.exec(text) ?? [];
  if (listed === undefined) return ["has a @throws that does not begin with `a.code`:"];
  return Array.from(listed.matchAll(/`([\w.]+)`/g), ([, code]) => code)
    .filter((code) => !codes.includes(code))
    .map((code) => `has a @throws with the unknown code ${code}`);
}

function checkParameters(signature, name) {
  const { parameters, doc } = signature;
  const described = doc.parameters.filter(({ description }) => description !== "");
  const missing = parameters.filter((each) => described.every((other) => other.name !== each.name));
  const unknown = doc.parameters.filter((each) =>
    parameters.every((other) => other.name !== each.name),
  );
  return [
    ...missing.map((each) => complain(signature, name, `has no @param ${each.name}`)),
    ...unknown.map((each) =>
      complain(signature, name, `has a @param ${each.name} of no parameter`),
    ),
  ];
}

function checkPages(names) {
  const listed = PAGES.flatMap(({ symbols }) => symbols);
  const exported = [...names].filter((name) => !name.includes("."));
  return [
    ...exported
      .filter((name) => listed.filter((each) => each === name).length !== 1)
      .map((name) => `${ENTRY}:1: ${name} is not on one page of site/sdk-reference/pages.mjs`),
    ...listed
      .filter((name) => !names.has(name))
      .map((name) => `site/sdk-reference/pages.mjs:1: ${name} is not exported`),
    ...[...DESCRIBED_ELSEWHERE.values()]
      .flatMap(checkDocument)
      .map((text) => `site/sdk-reference/pages.mjs:1: ${text}`),
  ];
}

/** A document exists and has the heading. */
function checkDocument(target) {
  const [path, anchor] = target.split("#");
  if (!existsSync(join(ROOT, path))) return [`names ${target}, which does not exist`];
  if (anchor === undefined) return [];
  const headings = findHeadings(readFileSync(join(ROOT, path), "utf8"));
  return headings.some((heading) => heading.anchor === anchor)
    ? []
    : [`names ${target}, which has no such heading`];
}

function complain({ path, line }, name, text) {
  return `${path}:${line}: ${name} ${text}`;
}
