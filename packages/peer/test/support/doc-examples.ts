/**
 * The examples in the doc comments of all sources.
 */

import { parseDocComment } from "../../../../site/sdk-reference/doc-comment.mjs";
import { findComments, isSource, readFiles } from "../../../../test/support/repository.ts";

export interface Example {
  readonly place: string;
  readonly code: string;
}

/** The folder whose examples need a page; all others run on Node. */
const ON_PAGES = "packages/peer/src/web/page/";

/** All examples in the sources, with their places. */
export function findExamples(host: "node" | "browser"): Example[] {
  const files = readFiles([".ts"]).filter(
    (file) =>
      isSource(file) &&
      file.text.includes("@example") &&
      file.path.startsWith(ON_PAGES) === (host === "browser"),
  );
  return files.flatMap((file) =>
    findComments(file).flatMap(({ text, line }) =>
      parseDocComment(`/*${text}*/`, line).examples.map((example) => {
        return { place: `${file.path}:${example.line}`, code: example.code };
      }),
    ),
  );
}
