/**
 * The repository as data, for the tests that look at the project itself: its files, what they import,
 * what their tests are called, where their comments are.
 *
 * Nothing here judges; the judgements are in tidy.ts and documents.ts. A file is a path and a text, so
 * that a test can hand in a planted fault instead of a file on disk.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

export interface SourceFile {
  /** Relative to the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** True for `export * from "…"`. */
  readonly isExportAll: boolean;
}

/** Something found in a file: a comment, the title of a test. */
export interface Excerpt {
  readonly text: string;
  readonly line: number;
}

export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

const SKIPPED_FOLDERS = new Set([".git", ".temp", "node_modules", "dist", "coverage"]);

/** The data of a server that was started here. */
const DATA_FOLDER = join(ROOT, "data");

/** Every file of the repository whose name ends in one of the endings, in order of path. */
export function readFiles(endings: readonly string[]): SourceFile[] {
  const paths = listPaths(ROOT).filter((path) => endings.some((ending) => path.endsWith(ending)));
  return paths.toSorted().map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

function listPaths(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    const isSkipped = SKIPPED_FOLDERS.has(entry.name) || path === DATA_FOLDER;
    if (entry.isDirectory()) return isSkipped ? [] : listPaths(path);
    return [relative(ROOT, path).replaceAll("\\", "/")];
  });
}

export function isSource(file: SourceFile): boolean {
  return /^packages\/[^/]+\/src\//.test(file.path);
}

export function isTest(file: SourceFile): boolean {
  return /^(packages\/[^/]+\/)?test\//.test(file.path);
}

/** The folder of the package, `server` for `packages/server/src/main.ts`. */
export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

/** The path that a relative import means, from the root of the repository. */
export function resolveImport(from: SourceFile, specifier: string): string {
  return posix.join(posix.dirname(from.path), specifier);
}

const importsOf = new WeakMap<SourceFile, readonly Import[]>();

/** Several checks need the imports of a file, so they are kept. */
export function findImports(file: SourceFile): readonly Import[] {
  const known = importsOf.get(file);
  if (known !== undefined) return known;
  const found = parseImports(file);
  importsOf.set(file, found);
  return found;
}

const QUOTED = /^["'`](.*)["'`]$/s;

function parseImports(file: SourceFile): Import[] {
  const { module } = parseSync(file.path, file.text);
  const at = (specifier: string, offset: number, isExportAll: boolean): Import => {
    return { specifier, line: lineAt(file.text, offset), isExportAll };
  };
  const exported = module.staticExports.flatMap((statement) => statement.entries);
  return [
    ...module.staticImports.map((found) => at(found.moduleRequest.value, found.start, false)),
    ...exported.flatMap(({ moduleRequest, importName, start }) =>
      moduleRequest === null
        ? []
        : [at(moduleRequest.value, start, importName.kind.startsWith("All"))],
    ),
    ...module.dynamicImports.flatMap(({ moduleRequest, start }) => {
      const [, name] = QUOTED.exec(file.text.slice(moduleRequest.start, moduleRequest.end)) ?? [];
      // Otherwise it is an expression: an address that is known at run time alone.
      return name === undefined ? [] : [at(name, start, false)];
    }),
  ];
}

export function findComments(file: SourceFile): Excerpt[] {
  const { comments } = parseSync(file.path, file.text);
  return comments.map(({ value, start }) => ({ text: value, line: lineAt(file.text, start) }));
}

/** The titles of `test`, `it` and `describe`, also of `test.each(…)("…")`. */
export function findTestTitles(file: SourceFile): Excerpt[] {
  const found: Excerpt[] = [];
  visit(parseSync(file.path, file.text).program, (node) => {
    if (node["type"] !== "CallExpression" || !isTestCallee(node["callee"])) return;
    const title = Array.isArray(node["arguments"]) ? titleText(node["arguments"][0]) : undefined;
    if (title === undefined) return;
    found.push({ text: title, line: lineAt(file.text, Number(node["start"])) });
  });
  return found;
}

/** Each identifier that `isWanted`, once, where it stands first; `#name` without its sign. */
export function findIdentifiers(file: SourceFile, isWanted: (name: string) => boolean): Excerpt[] {
  const found = new Map<string, Excerpt>();
  visit(parseSync(file.path, file.text).program, ({ type, name, start }) => {
    if (type !== "Identifier" && type !== "PrivateIdentifier") return;
    const text = String(name);
    if (found.has(text) || !isWanted(text)) return;
    found.set(text, { text, line: lineAt(file.text, Number(start)) });
  });
  return [...found.values()];
}

type SyntaxNode = Record<string, unknown>;

function visit(value: unknown, see: (node: SyntaxNode) => void): void {
  if (!isNode(value)) return;
  if (typeof value["type"] === "string") see(value);
  for (const child of Object.values(value)) visit(child, see);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null;
}

function isTestCallee(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee["type"] === "MemberExpression") return isTestCallee(callee["object"]);
  if (callee["type"] === "CallExpression") return isTestCallee(callee["callee"]);
  return ["test", "it", "describe"].includes(String(callee["name"]));
}

function titleText(argument: unknown): string | undefined {
  if (!isNode(argument)) return undefined;
  if (typeof argument["value"] === "string") return argument["value"];
  if (!Array.isArray(argument["quasis"])) return undefined;
  return argument["quasis"]
    .map((part: { value: { cooked: string } }) => part.value.cooked)
    .join("…");
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
