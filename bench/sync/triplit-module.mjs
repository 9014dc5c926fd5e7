/**
 * Loads modules of Triplit, which support only `import`, from the folder in which they were
 * installed.
 */
import { pathToFileURL } from "node:url";

export function load(manifest, path) {
  return import(new URL(`node_modules/${path}`, pathToFileURL(manifest)).href);
}
