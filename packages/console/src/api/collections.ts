/**
 * The collections of an app with their sizes and indexes.
 */
import { ownFirst } from "../values/names.ts";
import { request } from "./request.ts";
import { ofApp } from "./session.ts";

export interface IndexField {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

export interface CollectionIndex {
  readonly name: string;
  readonly fields: readonly IndexField[];
  readonly state: "complete" | "building";
  /** Documents, while it is built. */
  readonly progress: { readonly done: number; readonly total: number } | null;
  /** Null when it is not known. */
  readonly use: IndexUse | null;
}

/** How often requests have read an index; times as text. */
export interface IndexUse {
  readonly count: number;
  readonly lastAt: string | null;
  /** When the count began: usually the start of the server. */
  readonly since: string;
}

export interface Collection {
  readonly name: string;
  readonly documents: number;
  readonly bytes: number;
  /** Whether `bytes` is estimated from some of the documents. */
  readonly isEstimated: boolean;
  readonly indexes: readonly CollectionIndex[];
}

export async function loadCollections(
  app: string,
  signal: AbortSignal,
): Promise<readonly Collection[]> {
  const path = ofApp(app, "/collection");
  const { data } = await request<{ readonly data: readonly Collection[] }>(path, { signal });
  return ownFirst(data);
}
