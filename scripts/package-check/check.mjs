/**
 * Checks tarballs: publint reads the manifest and the files, are-the-types-wrong finds entries whose
 * types a compiler does not find.
 *
 * The packages are ES modules only, so how a CommonJS file sees them is not checked.
 */
import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** How older versions of TypeScript, and CommonJS files, resolve an import. */
const NOT_FOR_MODULES = new Set(["node10", "node16-cjs"]);

for (const path of process.argv.slice(2)) await check(path);

async function check(path) {
  const bytes = new Uint8Array(readFileSync(path));
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true });
  const problems = [
    ...messages.map((message) => formatMessage(message, pkg, { color: false })),
    ...(await typeProblems(bytes)),
  ];
  console.log(`${pkg.name}: ${problems.length === 0 ? "no problems" : problems.join("\n  ")}`);
  if (problems.length > 0) process.exitCode = 1;
}

async function typeProblems(bytes) {
  const result = await checkPackage(createPackageFromTarballData(bytes));
  // A command alone has no types.
  if (result.types === false) return [];
  return result.problems
    .filter(({ resolutionKind }) => !NOT_FOR_MODULES.has(resolutionKind))
    .map(({ kind, ...more }) => `types: ${kind} ${JSON.stringify(more)}`);
}
