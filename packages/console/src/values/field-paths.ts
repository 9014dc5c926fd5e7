/**
 * The paths of all fields of some documents, such as `owner.city`, for completion.
 */
import { quoteName } from "./names.ts";
import { kindOf } from "./show-value.ts";

const DEPTH_MAX = 3;

export function fieldPaths(documents: readonly Readonly<Record<string, unknown>>[]): string[] {
  const paths = new Set<string>();
  for (const document of documents) addPaths(document, "", DEPTH_MAX, paths);
  return [...paths];
}

function addPaths(value: object, prefix: string, depth: number, paths: Set<string>): void {
  for (const [name, field] of Object.entries(value)) {
    const path = `${prefix}${quoteName(name)}`;
    paths.add(path);
    const isMap = kindOf(field) === "object";
    if (isMap && depth > 1) addPaths(field as object, `${path}.`, depth - 1, paths);
  }
}
