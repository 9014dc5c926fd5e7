/**
 * The sources of the SDK and its examples as one program of the compiler.
 *
 * The packages are read from their sources, as the tests read them. A caller can replace files, so
 * that a test can plant a fault without touching the sources.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const ENTRY = "packages/peer/src/index.ts";

/**
 * `files` are texts by their path from the root, which need not exist on disk. What an earlier
 * program has read is not read again.
 */
export function createProgram(ts, files, earlier) {
  if (!existsSync(join(ROOT, "node_modules", "@bigpeer", "peer"))) {
    throw new Error("expected installed packages, found none: run node scripts/setup.mjs first");
  }
  const options = readOptions(ts);
  const host = ts.createCompilerHost(options);
  const texts = new Map(Object.entries(files).map(([path, text]) => [join(ROOT, path), text]));
  const { fileExists, readFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  const sourceFile = host.getSourceFile;
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path);
    if (text === undefined) return sourceFile(path, target, ...rest);
    return ts.createSourceFile(path, text, target);
  };
  const roots = [...new Set([join(ROOT, ENTRY), ...texts.keys()])];
  return ts.createProgram({ rootNames: roots, options, host, oldProgram: earlier });
}

function readOptions(ts) {
  const path = join(ROOT, "tsconfig.test.json");
  const { config } = ts.readConfigFile(path, (name) => readFileSync(name, "utf8"));
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
  return { ...options, noUnusedLocals: false, noUnusedParameters: false };
}
