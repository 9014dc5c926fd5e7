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
}

export interface Collection {
  readonly name: string;
  readonly documents: number;
  /** Estimated. */
  readonly bytes: number | null;
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
