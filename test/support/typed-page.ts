/**
 * The programs of a page in strict TypeScript: types are added where the compiler wants them, each file
 * is compiled, and the page gets what the compiler makes of it.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./repository.ts";

/** Text of a program, and the same with types. */
export type Annotation = readonly [text: string, typed: string];

const BLOCK = /^```js\n\/\/ (\S+)\.mjs\n([^]*?)^```$/gm;

/** As strict as the compiler can be; the types of the packages are checked too. */
export const STRICT: Readonly<Record<string, unknown>> = {
  target: "es2023",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  types: ["node"],
};

/** Runs the compiler in a folder that has a tsconfig.json. Throws with its complaints. */
export async function compile(folder: string, options: object): Promise<void> {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  await promisify(execFile)(process.execPath, [compiler, "-p", "."], { cwd: folder }).catch(
    (error: { readonly stdout?: string }) => {
      throw new Error(`expected programs that compile, found\n${error.stdout}`);
    },
  );
}

/** `folder` has the packages that the programs import. Each annotation must occur. */
export async function typedPage(
  page: string,
  folder: string,
  annotations: readonly Annotation[],
): Promise<string> {
  const sources = Array.from(page.matchAll(BLOCK), ([, name = "", text = ""]) => ({ name, text }));
  for (const [text] of annotations) {
    if (!sources.some((source) => source.text.includes(text))) {
      throw new Error(`expected a program with ${text}`);
    }
  }
  const home = join(folder, "typed");
  for (const { name, text } of sources) {
    const path = join(home, `${name}.mts`);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(
      path,
      annotations.reduce((typed, [from, to]) => typed.replaceAll(from, to), text),
    );
  }
  const compilerOptions = { ...STRICT, module: "nodenext", rootDir: ".", outDir: "built" };
  await compile(home, { compilerOptions, include: ["**/*.mts"] });
  return page.replaceAll(BLOCK, (_, name: string) => {
    const built = readFileSync(join(home, "built", `${name}.mjs`), "utf8");
    return `\`\`\`js\n// ${name}.mjs\n${built}\`\`\``;
  });
}
