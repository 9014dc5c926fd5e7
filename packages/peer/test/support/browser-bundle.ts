/**
 * Bundles an entry for browsers into one file, as the SDK is built, and measures the result.
 */

import { gzipSync } from "node:zlib";
import { build, type Rollup } from "vite";

export interface BundledFile {
  readonly code: string;
  readonly gzipBytes: number;
  /** Modules that it still imports: those of Node, if there are any. */
  readonly imports: readonly string[];
  /** The sources in it. */
  readonly modules: readonly string[];
}

/** `change` gets the code of each source; modules that match `external` stay imports. */
export async function bundleForBrowser(
  entry: string,
  change: (code: string) => string = (code) => code,
  external = /^node:/,
): Promise<BundledFile> {
  const conditions = ["source", "browser", "module", "import", "default"];
  const built = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [{ name: "change", transform: change }],
    resolve: { conditions },
    build: {
      write: false,
      minify: true,
      target: "es2022",
      modulePreload: false,
      rollupOptions: {
        input: entry,
        // A module of Node stays an import, so that it can be found. Files of the SDK are bundled
        // one by one, and find each other by their URLs.
        external,
        preserveEntrySignatures: "allow-extension",
      },
    },
  });
  const outputs = [built].flat() as Rollup.RollupOutput[];
  const [chunk, other] = outputs
    .flatMap(({ output }) => output)
    .filter((file) => file.type === "chunk");
  if (chunk === undefined || other !== undefined) throw new Error("expected one file");
  return {
    code: chunk.code,
    gzipBytes: gzipSync(chunk.code, { level: 9 }).length,
    imports: [...chunk.imports, ...chunk.dynamicImports],
    modules: Object.keys(chunk.modules),
  };
}
