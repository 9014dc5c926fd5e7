/**
 * The examples of doc comments as files for the compiler, and the errors that it finds in them.
 *
 * An example is written as a module. It can use what the SDK exports without an import, and these
 * names: `peer`, which is an open peer, and `appId`, `apiKey` and `dataUrl` of a quickstart file.
 */

import { join } from "node:path";
import { ROOT } from "./sdk-program.mjs";

const GIVEN = new Map([
  ["peer", "Peer"],
  ["appId", "string"],
  ["apiKey", "string"],
  ["dataUrl", "string"],
]);

/** One file for each example. */
export function exampleFiles(symbols) {
  const examples = symbols.flatMap((symbol) => examplesOf(symbol));
  return examples.map((example, place) => {
    const path = `site/sdk-reference/example-${place + 1}.ts`;
    const head = headOf(example.code, symbols);
    return { ...example, path, text: `${head}\n${example.code}\n` };
  });
}

/** `path:line: name: message` for each error, where the example stands in its doc comment. */
export function checkExamples(ts, program, files) {
  return files.flatMap((file) => {
    const source = program.getSourceFile(join(ROOT, file.path));
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ start, messageText }) => {
      const { line } = source.getLineAndCharacterOfPosition(start ?? 0);
      const message = ts.flattenDiagnosticMessageText(messageText, " ");
      // The head is one line.
      return `${file.sourcePath}:${file.line + line - 1}: ${file.name}: ${message}`;
    });
  });
}

/** Examples of the symbol, and of its members. */
function examplesOf({ name, path, doc, members }) {
  const methods = members.flatMap((member) =>
    member.signatures.length === 0 ? [member] : member.signatures,
  );
  const described = [
    { name, path, doc },
    ...methods.map((member) => ({ ...member, name: `${name}.${member.name}` })),
  ];
  return described.flatMap((part) =>
    part.doc.examples.map(({ code, line }) => {
      return { name: part.name, sourcePath: part.path, line, code };
    }),
  );
}

/** Imports and declarations of what the example uses without having it itself. */
function headOf(code, symbols) {
  const imported = new Set(
    Array.from(code.matchAll(/^import \{([^}]*)\}/gm), ([, names]) => names.split(/,\s*/))
      .flat()
      .map((name) => name.replace("type ", "").trim()),
  );
  const given = [...GIVEN].filter(([name]) => isUsed(name, code) && !isDeclared(name, code));
  const types = new Set(given.map(([, type]) => type));
  const names = symbols
    .filter(({ name }) => (isUsed(name, code) || types.has(name)) && !imported.has(name))
    .map(({ name, kind }) => (kind === "function" || kind === "class" ? name : `type ${name}`));
  const declarations = given.map(([name, type]) => `declare const ${name}: ${type};`);
  const importing =
    names.length === 0 ? "export {};" : `import { ${names.join(", ")} } from "@bigpeer/peer";`;
  return [importing, ...declarations].join(" ");
}

function isUsed(name, code) {
  return new RegExp(`\\b${name}\\b`).test(code);
}

function isDeclared(name, code) {
  return new RegExp(`^const ${name}\\b`, "m").test(code);
}
