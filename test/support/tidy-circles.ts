/**
 * Import circles: finds files that import each other, directly or through others. Imports of types
 * count, because files in a circle cannot be understood or moved one at a time.
 */
import {
  findImports,
  isSource,
  isTest,
  packageOf,
  resolveImport,
  type SourceFile,
} from "./repository.ts";

/** The files that each file imports, with the line. */
type ImportGraph = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Each file of a package that is in a circle is in one complaint, with a shortest circle. */
export function checkCircles(files: readonly SourceFile[]): string[] {
  const graph = importGraph(files);
  const found = new Set<string>();
  return [...graph.keys()].flatMap((start) => {
    const circle = found.has(start) ? undefined : shortestCircle(graph, start);
    if (circle === undefined) return [];
    for (const path of circle) found.add(path);
    const line = graph.get(start)?.get(circle[1] ?? start) ?? 1;
    return [`${start}:${line}: import circle: ${[...circle, start].join(" → ")}`];
  });
}

function importGraph(files: readonly SourceFile[]): ImportGraph {
  const own = files.filter(
    (file) => packageOf(file.path) !== undefined && (isSource(file) || isTest(file)),
  );
  return new Map(
    own.map((file) => {
      const relative = findImports(file).filter(({ specifier }) => specifier.startsWith("."));
      return [
        file.path,
        new Map(relative.map(({ specifier, line }) => [resolveImport(file, specifier), line])),
      ];
    }),
  );
}

/** The files of a shortest circle from `start` back to it; undefined when there is none. */
function shortestCircle(graph: ImportGraph, start: string): string[] | undefined {
  const importers = new Map<string, string>();
  const waiting = [start];
  for (const path of waiting) {
    for (const target of graph.get(path)?.keys() ?? []) {
      if (target === start) return pathTo(path, importers);
      if (importers.has(target)) continue;
      importers.set(target, path);
      waiting.push(target);
    }
  }
  return undefined;
}

/** The way from the start of a search to `path`. */
function pathTo(path: string, importers: ReadonlyMap<string, string>): string[] {
  const importer = importers.get(path);
  return importer === undefined ? [path] : [...pathTo(importer, importers), path];
}
