/**
 * Documents: pages of them, and one with the types of its fields.
 */
import { conditionFault, type PageRequest, pageStatements } from "../data/document-page.ts";
import { markOldCounters, oldCounterStatement } from "../data/old-counters.ts";
import { type TypedField, typedFields } from "../data/typed-fields.ts";
import { execute, type Fields, rowsOf } from "./execute.ts";
import { ApiError, request } from "./request.ts";
import { ofApp } from "./session.ts";

export interface DocumentPage {
  readonly rows: readonly Fields[];
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
  readonly warnings: readonly string[];
  /** Of the whole page, as the browser saw it. */
  readonly ms: number;
}

export async function loadPage(
  app: string,
  page: PageRequest,
  signal: AbortSignal,
): Promise<DocumentPage> {
  const start = performance.now();
  const rows: Fields[] = [];
  const warnings: string[] = [];
  for (const { text, args } of pageStatements(page)) {
    const result = await execute(app, text, { args, signal }).catch((failure: unknown) => {
      const { status, title, message, requestId } = ApiError.from(failure);
      throw new ApiError(status, title, conditionFault(message, text, page.condition), requestId);
    });
    rows.push(...result.items);
    warnings.push(...result.warnings.map(({ description }) => description));
    if (rows.length > page.size) break;
  }
  const hasMore = rows.length > page.size;
  const shown = rows.slice(0, page.size);
  const { cursor } = page;
  const isBackward = cursor !== undefined && "before" in cursor;
  return {
    rows: isBackward ? shown.toReversed() : shown,
    hasPrevious: isBackward ? hasMore : cursor !== undefined,
    hasNext: isBackward || hasMore,
    warnings,
    ms: performance.now() - start,
  };
}

/** Undefined if there is no such document. */
export async function loadDocument(
  app: string,
  { collection, id }: { readonly collection: string; readonly id: unknown },
  signal?: AbortSignal,
): Promise<readonly TypedField[] | undefined> {
  const body = { collection, id, serializedAs: "latestValuesAndTypes" };
  const path = ofApp(app, "/store/findbyid");
  const answer = await request<{ readonly fields: Fields | null }>(path, {
    method: "POST",
    body,
    ...(signal !== undefined && { signal }),
  });
  if (answer.fields === null) return undefined;
  const fields = typedFields(answer.fields);
  const statement = oldCounterStatement({ collection, id }, fields);
  if (statement === undefined) return fields;
  const { text, args } = statement;
  const [row = {}] = await rowsOf(app, text, { args, ...(signal !== undefined && { signal }) });
  return markOldCounters(fields, row);
}
