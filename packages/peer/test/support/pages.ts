/**
 * The pages of the documentation as data: their text, and their blocks of code.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const ROOT: string = fileURLToPath(new URL("../../../../", import.meta.url));

/** `path` is relative to the repository. */
export function pageOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The blocks of a text in one language, in their order. */
export function blocksIn(text: string, language: string): string[] {
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"));
  return Array.from(blocks, ([, block = ""]) => block);
}

/** The blocks of a page in one language. */
export function blocksOf(path: string, language: string): string[] {
  return blocksIn(pageOf(path), language);
}
