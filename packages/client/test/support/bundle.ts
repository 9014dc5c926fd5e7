/**
 * The client as one script, as a bundler makes it for a page.
 */

import { fileURLToPath } from "node:url";
import { build } from "vite";

const ENTRY = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** `iife` has everything in the global `bigpeer`. */
export async function bundleClient(format: "es" | "iife"): Promise<string> {
  const lib = { entry: ENTRY, formats: [format], name: "bigpeer", fileName: "client" };
  const outputs = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: true, lib },
  });
  const [output] = Array.isArray(outputs) ? outputs : [outputs];
  if (output === undefined || !("output" in output)) throw new Error("expected a bundle");
  if (output.output.length !== 1) throw new Error("expected one file");
  return output.output[0].code;
}
