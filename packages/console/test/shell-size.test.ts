/**
 * The size of the shell: what a browser loads before the first page, as it goes over the network.
 */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleScripts, bundleStyles, type ScriptFile } from "../../../scripts/console.mjs";

const SHELL_BYTES_MAX = 60 * 1024;

/** The entry and all that it imports at once. */
function shellOf(files: readonly ScriptFile[]): ScriptFile[] {
  const found = files.filter(({ isEntry }) => isEntry);
  for (const { imports } of found) {
    for (const name of imports) {
      const file = files.find(({ fileName }) => fileName === name);
      if (file !== undefined && !found.includes(file)) found.push(file);
    }
  }
  return found;
}

const files = await bundleScripts();
const shell = shellOf(files);

test("the shell has at most 60 KB, with its styles, compressed", async () => {
  const styles = await bundleStyles();
  const sizes = [...shell, styles].map(({ code }) => gzipSync(code).length);
  const size = sizes.reduce((sum, each) => sum + each, 0);
  expect(size).toBeGreaterThan(5 * 1024);
  expect(size).toBeLessThan(SHELL_BYTES_MAX);
});

test("pages, the editor and charts are loaded on use", () => {
  const sources = shell.flatMap(({ moduleIds }) => moduleIds);
  const late = /codemirror|lezer|uplot|-page\.tsx|packages\/(protocol|engine)\//;
  expect(sources.filter((path) => late.test(path))).toEqual([]);
  expect(files.filter(({ fileName }) => fileName.includes("-page-")).length).toBe(8);
});
