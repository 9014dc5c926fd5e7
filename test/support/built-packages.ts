/**
 * Built packages: a plugin of Vite that gives tests the built file in `dist` for each source that they
 * import. Node loads it as it is, which takes a fraction of the time of transforming the source, once
 * for each worker. `scripts/setup.mjs`, which runs before `npm test`, keeps `dist` up to date.
 */
import type { Plugin } from "vite";

const BUILT = /\/packages\/[^/]+\/dist\//;
const SOURCE = /^(.*\/packages\/[^/]+)\/src\/(.*)\.ts$/;

/** Whether tests run the built packages. */
export const isBuilt: boolean = process.env["TEST_PACKAGES"] === "built";

/** The built file of a source; undefined for any other file. The console is bundled alone. */
export function builtFile(path: string): string | undefined {
  const [, folder, name] = SOURCE.exec(path) ?? [];
  const isBundled = folder === undefined || folder.endsWith("/console");
  return isBundled ? undefined : `${folder}/dist/${name}.js`;
}

export function builtPackages(): Plugin {
  return {
    name: "built-packages",
    enforce: "pre",
    config: () => ({ test: { server: { deps: { external: [BUILT] } } } }),
    async resolveId(source, importer, options) {
      const resolved = await this.resolve(source, importer, { ...options, skipSelf: true });
      const path = resolved?.id ?? "";
      const id = BUILT.test(path) ? path : builtFile(path);
      return id === undefined ? null : { id, external: "absolute" };
    },
  };
}
