/**
 * Modules of Triplit, which only `import` finds, from the folder that they were installed into.
 */
import { pathToFileURL } from "node:url";

export function load(manifest, path) {
  return import(new URL(`node_modules/${path}`, pathToFileURL(manifest)).href);
}
