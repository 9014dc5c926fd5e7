/**
 * nearestCollection: spelling suggestion for an unknown collection name, for hints in messages.
 */

import { nearest } from "@bigpeer/protocol";
import { type DocumentView, present } from "./document-view.ts";

/** Names that are compared at most: a hint must not cost more than the request. */
const NAMES_COMPARED = 1000;

/** Undefined when no name is near. */
export function nearestCollection(view: DocumentView, name: string): string | undefined {
  return nearest(name, [...present(view.collections(NAMES_COMPARED))]);
}
