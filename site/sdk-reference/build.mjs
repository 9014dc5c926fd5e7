/**
 * Makes the reference of the SDK from its doc comments: Markdown pages in a folder.
 *
 *   node site/sdk-reference/build.mjs OUT
 *
 * It fails with the name and place of each public symbol or member without documentation, and of
 * each example that does not compile. Nothing is written then.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { checkSdk } from "./check-sdk.mjs";
import { checkExamples, exampleFiles } from "./examples.mjs";
import { PAGES } from "./pages.mjs";
import { readSdk } from "./read-sdk.mjs";
import { createProgram } from "./sdk-program.mjs";
import { loadTypescript } from "./typescript.mjs";
import { writePages } from "./write-pages.mjs";

/** What the sources lack; `complaints` are lines `path:line: name …`. */
export class SdkReferenceError extends Error {
  constructor(complaints) {
    super(`failed to build the SDK reference:\n${complaints.join("\n")}`);
    this.name = "SdkReferenceError";
    this.complaints = complaints;
  }
}

/**
 * Writes the pages into a folder, which is created if it does not exist. Resolves with their names
 * and titles, in the order for a reader. `documents` is the path from the folder to the documents
 * of `docs`; `files` replaces sources, for tests.
 */
export async function buildSdkReference(outputFolder, { documents = "..", files = {} } = {}) {
  const ts = await loadTypescript();
  const program = createProgram(ts, files);
  const { symbols, complaints: hidden } = readSdk(ts, program);
  const complaints = [
    ...hidden,
    ...checkSdk(symbols, codesOf(symbols)),
    ...findExampleErrors(ts, symbols, { files, program }),
  ];
  if (complaints.length > 0) throw new SdkReferenceError(complaints);
  mkdirSync(outputFolder, { recursive: true });
  for (const [name, text] of writePages(symbols, { documents })) {
    writeFileSync(join(outputFolder, name), `${text}\n`);
  }
  const pages = PAGES.map(({ path, title }) => ({ path, title }));
  return [{ path: "index.md", title: "SDK reference" }, ...pages];
}

function findExampleErrors(ts, symbols, { files, program }) {
  const examples = exampleFiles(symbols);
  const texts = Object.fromEntries(examples.map(({ path, text }) => [path, text]));
  return checkExamples(ts, createProgram(ts, { ...files, ...texts }, program), examples);
}

/** All error codes, from the definition of their type. */
function codesOf(symbols) {
  const { definition = "" } = symbols.find(({ name }) => name === "ErrorCode") ?? {};
  return Array.from(definition.matchAll(/"([\w.]+)"/g), ([, code]) => code);
}

async function main([outputFolder, ...rest]) {
  if (outputFolder === undefined || rest.length > 0) {
    console.error("expected one folder: node site/sdk-reference/build.mjs OUT");
    process.exitCode = 1;
    return;
  }
  try {
    const pages = await buildSdkReference(outputFolder);
    console.log(`wrote ${pages.length} pages of the SDK reference to ${outputFolder}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) await main(argv.slice(2));
