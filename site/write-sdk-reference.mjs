/**
 * Makes the reference of the SDK as Markdown files, which the site then has as pages.
 */
import { readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./generate.mjs";
import { SDK_REFERENCE } from "./pages.mjs";
import { buildSdkReference } from "./sdk-reference/build.mjs";

/**
 * Installs the compiler that it needs. Throws with each public symbol without documentation, and
 * leaves the files as they were then.
 */
export async function writeSdkReference() {
  const folder = join(ROOT, SDK_REFERENCE);
  const documents = relative(folder, join(ROOT, "docs"));
  const names = (await buildSdkReference(folder, { documents })).map(({ path }) => path);
  const old = readdirSync(folder).filter((name) => !names.includes(name));
  for (const name of old) rmSync(join(folder, name));
}
